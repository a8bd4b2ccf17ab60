"""The compiled kernel rows: exp to one ulp, values by definition, and bits that do not depend on the block."""

import math
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from instruction_sets import LEVELS, found_at
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.kernels import KernelRows, exp

NUMBERS = {
    "linear": (),
    "polynomial": (0.5, 1.5, 5),
    "gaussian": (-0.02,),
    "laplacian": (-0.1,),
    "matern12": (0.2,),
    "matern32": (0.2,),
    "matern52": (0.2,),
}
FORMS = {form: KernelRows(form, *numbers) for form, numbers in NUMBERS.items()}
WIDTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 22, 31, 32, 33, 40, 64, 71)  # around every switch of method
SHAPES = ((1, 1), (2, 3), (7, 4), (8, 64), (9, 65), (17, 530))  # rows and points, around every switch of block size


def by_definition(form, X, Y):
    """Differences of every pair, in extended precision where the machine has it."""
    X, Y = X.astype(np.longdouble), Y.astype(np.longdouble)
    difference = X[:, None] - Y
    square = (difference**2).sum(2)
    u = 0.2 * np.sqrt(square)
    values = {
        "linear": X @ Y.T,
        "polynomial": (0.5 * (X @ Y.T) + 1.5) ** 5,
        "gaussian": np.exp(-0.02 * square),
        "laplacian": np.exp(-0.1 * np.abs(difference).sum(2)),
        "matern12": np.exp(-u),
        "matern32": (1 + u) * np.exp(-u),
        "matern52": (1 + u + u * u / 3) * np.exp(-u),
    }
    return values[form].astype(np.float64)


def ulps(values, exact):
    return np.abs(values - exact) / np.spacing(np.abs(exact))


@pytest.mark.parametrize(("low", "high"), [(-745.2, 709.7), (-1.0, 1.0), (-1e-12, 1e-12), (-745.2, -708.3)])
def test_exp_is_within_one_ulp_of_the_library(low, high):
    x = np.random.default_rng(0).uniform(low, high, 20_001)
    assert ulps(exp(x), np.array([math.exp(v) for v in x])).max() <= 1


def test_exp_at_the_ends_of_its_range():
    x = [0.0, -0.0, -745.2, -746.0, -1e9, -np.inf, 709.782, 709.79, 1e9, np.inf]
    expected = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, math.exp(709.782), np.inf, np.inf, np.inf]
    assert ulps(exp(x)[:7], np.array(expected)[:7]).max() <= 1
    assert_array_equal(exp(x)[7:], expected[7:])
    assert np.isnan(exp([np.nan])[0])
    assert 0 < exp([-745.0])[0] < sys.float_info.min  # subnormal, not flushed


@pytest.mark.parametrize("far", [-750.0, -705.0, 705.0, 800.0, -np.inf, np.nan])
def test_exp_of_a_number_does_not_depend_on_its_neighbours(far):
    x = np.random.default_rng(0).uniform(-699, 699, 301)
    alone = exp(x)
    assert_array_equal(alone, [exp([v])[0] for v in x])
    for place in (0, 127, 128, 300):
        mixed = x.copy()
        mixed[place] = far
        assert_array_equal(np.delete(exp(mixed), place), np.delete(alone, place))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", WIDTHS)
def test_a_block_has_the_values_of_the_definition(form, d):
    rng = np.random.default_rng(d)
    for n, m in SHAPES:
        X, Y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
        scale = 1.0 if form not in ("linear", "polynomial") else (1 + np.abs(X) @ np.abs(Y).T) ** 5
        assert_allclose(FORMS[form].block(X, Y) / scale, by_definition(form, X, Y) / scale, rtol=2e-14, atol=1e-15)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", WIDTHS)
def test_rows_blocks_parts_and_transposes_agree_bit_for_bit(form, d):
    rng = np.random.default_rng(d)
    k = FORMS[form]
    for n, m in SHAPES:
        X, Y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
        K = k.block(X, Y)
        assert_array_equal(k.block(Y, X).T, K)
        assert_array_equal(k.row(Y, X[n // 2]), K[n // 2])
        assert_array_equal(k.block(X[n // 3 :], Y[m // 2 :]), K[n // 3 :, m // 2 :])
        assert_array_equal(k.diag(X), k.block(X, X).diagonal())


@pytest.mark.parametrize("form", ["gaussian", "laplacian", "matern12", "matern32", "matern52"])
@pytest.mark.parametrize("d", WIDTHS)
def test_a_point_is_at_distance_zero_from_itself(form, d):
    X = np.random.default_rng(d).normal(1e3, 10, size=(9, d))
    assert_array_equal(FORMS[form].block(X, X).diagonal(), np.ones(9))


@pytest.mark.parametrize("d", [2, 8, 22, 33, 100])
def test_near_duplicates_far_from_the_origin_keep_their_distance(d):
    rng = np.random.default_rng(d)
    X = 1e6 + rng.integers(0, 8, size=(20, d)) / 8  # differences are exact in floating point
    square = ((X[:, None] - X) ** 2).sum(2)
    assert_allclose(KernelRows("gaussian", -1 / d).block(X, X), np.exp(-square / d), rtol=1e-13)
    assert_allclose(KernelRows("matern12", 1.0).block(X, X), np.exp(-np.sqrt(square)), rtol=1e-13)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [3, 22, 40])
def test_huge_inputs_give_limits_and_never_nan_where_a_limit_exists(form, d):
    X = np.full((9, d), 1e200)
    X[::2] *= -1
    K = FORMS[form].block(X, X)
    if form in ("linear", "polynomial"):
        assert np.isinf(K).all()
    else:
        assert_array_equal(K, (np.arange(9)[:, None] % 2 == np.arange(9) % 2).astype(float))


@pytest.mark.parametrize("form", FORMS)
def test_layout_and_type_of_the_input_change_no_bit(form):
    k = FORMS[form]
    X = np.random.default_rng(0).integers(-8, 8, size=(18, 22)).astype(np.float64) / 4
    Y = X[::-1].copy()
    K = k.block(X, Y)
    assert_array_equal(k.block(np.asfortranarray(X), Y.astype(np.float32)), K)
    assert_array_equal(k.block(np.repeat(X, 2, axis=0)[::2], Y.tolist()), K)
    assert_array_equal(k.row(np.asfortranarray(Y), X.astype(np.float32)[3]), K[3])
    assert_array_equal(k.block((4 * X).astype(np.int64), (4 * Y).astype(np.int8)), k.block(4 * X, 4 * Y))


def test_empty_blocks_have_the_shape_of_what_is_missing():
    k, X = FORMS["gaussian"], np.ones((4, 3))
    assert k.block(X, X[:0]).shape == (4, 0)
    assert k.block(X[:0], X).shape == (0, 4)
    assert k.row(X[:0], X[0]).shape == k.diag(X[:0]).shape == (0,)


def test_shapes_that_do_not_fit_are_refused():
    k, X = FORMS["gaussian"], np.ones((4, 3))
    with pytest.raises(ValueError, match=r"X has 3 columns and Y has 2"):
        k.block(X, X[:, :2])
    with pytest.raises(ValueError, match=r"X has 3 columns and x has 2"):
        k.row(X, X[0, :2])
    with pytest.raises(ValueError, match=r"X must be two-dimensional"):
        k.block(X[0], X)
    with pytest.raises(ValueError, match=r"x must be one row"):
        k.row(X, X)


def test_threads_share_a_kernel():
    k = FORMS["gaussian"]
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(64, 40)), rng.normal(size=(300, 40))
    with ThreadPoolExecutor(4) as pool:
        for K in pool.map(lambda _: k.block(X, Y), range(16)):
            assert_array_equal(K, k.block(X, Y))


ELSEWHERE = """
import sys
import numpy as np
from nystream._core.kernels import KernelRows, exp, isa
rng = np.random.default_rng(7)
found = {"isa": np.array(isa()), "exp": exp(np.linspace(-750, 705, 5001))}
for form, numbers in NUMBERS.items():
    k = KernelRows(form, *numbers)
    for d in (1, 3, 8, 22, 41):
        X, Y = rng.normal(size=(19, d)), rng.normal(size=(70, d))
        K = k.block(X, Y)
        assert np.array_equal(K, np.stack([k.row(Y, x) for x in X])) and np.array_equal(K, k.block(Y, X).T)
        found[f"{form}.{d}"] = K
np.savez(sys.stdout.buffer, **found)
"""


@pytest.mark.parametrize("level", LEVELS)
def test_every_instruction_set_gives_the_same_values(level):
    """Each one alone is exact about rows and blocks; between them only roundings differ."""
    found = found_at(level, ELSEWHERE.replace("NUMBERS", repr(NUMBERS)))
    exact = np.array([math.exp(v) for v in np.linspace(-750, 705, 5001)])
    assert ulps(found["exp"], exact).max() <= 1
    rng = np.random.default_rng(7)
    for form in NUMBERS:
        for d in (1, 3, 8, 22, 41):
            X, Y = rng.normal(size=(19, d)), rng.normal(size=(70, d))
            scale = 1.0 if form not in ("linear", "polynomial") else (1 + np.abs(X) @ np.abs(Y).T) ** 5
            assert_allclose(found[f"{form}.{d}"] / scale, by_definition(form, X, Y) / scale, rtol=2e-14, atol=1e-15)
