"""Kernel rows in single precision: close to those of double, and bits that do not depend on the block."""

import numpy as np
import pytest
from instruction_sets import LEVELS, found_at
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.kernels import KernelRows, rounded
from nystream._core.terms import Eviction, Terms
from nystream.kernels import Gaussian, Kernel, Laplacian

NUMBERS = {
    "linear": (),
    "polynomial": (0.5, 1.5, 3),
    "squared": (),
    "absolute": (),
    "gaussian": (-0.02,),
    "laplacian": (-0.1,),
    "matern12": (0.2,),
    "matern32": (0.2,),
    "matern52": (0.2,),
}
FORMS = {form: KernelRows(form, *numbers) for form, numbers in NUMBERS.items()}
WIDTHS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 22, 31, 32, 33, 40, 64, 71)  # around every switch of method
SHAPES = ((1, 1), (2, 3), (7, 4), (8, 64), (9, 65), (17, 530))  # rows and points, around every switch of block size


def values(form, X, Y):
    return FORMS[form].block(X, Y, single=True)


def size_of(form, X, Y):
    """What a rounding is relative to: the sum of the absolute terms, where they may cancel or add up."""
    sums = 1 + np.abs(X) @ np.abs(Y).T
    distance = 1 + (np.abs(X) ** 2).sum(axis=1)[:, None] + (np.abs(Y) ** 2).sum(axis=1)
    return {"linear": sums, "polynomial": sums**3, "squared": distance, "absolute": distance}.get(form, 1.0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", WIDTHS)
def test_values_are_those_of_double_precision_to_six_digits(form, d):
    rng = np.random.default_rng(d)
    for n, m in SHAPES:
        X, Y = (rounded(rng.normal(size=(k, d))).astype(np.float64) for k in (n, m))
        size = size_of(form, X, Y)
        assert_allclose(values(form, X, Y) / size, FORMS[form].block(X, Y) / size, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", WIDTHS)
def test_rows_blocks_parts_and_transposes_agree_bit_for_bit(form, d):
    rng = np.random.default_rng(d)
    for n, m in SHAPES:
        X, Y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
        K = values(form, X, Y)
        assert_array_equal(values(form, Y, X).T, K)
        assert_array_equal(values(form, X[n // 2 : n // 2 + 1], Y)[0], K[n // 2])
        assert_array_equal(values(form, X[n // 3 :], Y[m // 2 :]), K[n // 3 :, m // 2 :])
        assert_array_equal(FORMS[form].diag(X, single=True), values(form, X, X).diagonal())
        assert_array_equal(values(form, rounded(X), rounded(Y)), K)


@pytest.mark.parametrize("d", [2, 8, 12, 22, 33, 100])
def test_near_duplicates_far_from_the_origin_keep_their_distance(d):
    X = 1e5 + np.random.default_rng(d).integers(0, 8, size=(20, d)) / 8  # differences are exact in single precision
    square = ((X[:, None] - X) ** 2).sum(2)
    assert_allclose(KernelRows("gaussian", -1 / d).block(X, X, single=True), np.exp(-square / d), rtol=1e-6)
    assert_allclose(KernelRows("matern12", 1.0).block(X, X, single=True), np.exp(-np.sqrt(square)), rtol=1e-6)


@pytest.mark.parametrize("d", [22, 33, 100, 400])
@pytest.mark.parametrize("centre", [0.0, 0.6, 1.0, 2.0, 2.6, 3.0, 10.0])  # of rows that spread by 1: some cancel
def test_rows_away_from_the_origin_keep_their_values(d, centre):
    rng = np.random.default_rng(d)
    X, Y = (rounded(rng.normal(centre, 1.0, size=(n, d))).astype(np.float64) for n in (40, 300))
    k = KernelRows("gaussian", -0.5 / d)
    assert_allclose(k.block(X, Y, single=True), k.block(X, Y), rtol=0, atol=2e-6)


@pytest.mark.parametrize("form", ["gaussian", "laplacian", "matern12", "matern32", "matern52"])
@pytest.mark.parametrize("d", WIDTHS)
def test_a_point_is_at_distance_zero_from_itself(form, d):
    X = np.random.default_rng(d).normal(1e3, 10, size=(9, d))
    assert_array_equal(values(form, X, X).diagonal(), np.ones(9))


@pytest.mark.parametrize("huge", [1e30, 1e200])  # the square of the one is beyond single precision, the other itself
@pytest.mark.parametrize("form", ["gaussian", "laplacian", "matern12", "matern32", "matern52"])
@pytest.mark.parametrize("d", [3, 12, 22, 40])
def test_huge_inputs_give_limits_and_never_nan(form, d, huge):
    X = np.full((9, d), huge)
    X[::2] *= -1
    same = np.arange(9)[:, None] % 2 == np.arange(9) % 2
    assert_array_equal(values(form, X, X), same.astype(float))


@pytest.mark.parametrize("rate", [1e-320, 1e-100, 1e100, 1e308])
def test_a_rate_beyond_single_precision_is_the_nearest_in_it(rate):
    X = np.array([[0.0], [1.0], [3.0]])
    expected = np.ones((3, 3)) if rate < 1 else np.eye(3)
    assert_array_equal(KernelRows("gaussian", -rate).block(X, X, single=True), expected)
    assert_array_equal(KernelRows("matern32", rate).block(X, X, single=True), expected)


def test_the_exponential_is_within_two_roundings_and_not_flushed():
    x = np.concatenate([np.linspace(0, 87, 4001), np.linspace(0, 1e-6, 50)]).astype(np.float32)
    k = KernelRows("laplacian", -1.0)
    found = k.block(x[:, None], np.zeros((1, 1)), single=True)[:, 0]
    assert_allclose(found, np.exp(-x.astype(np.float64)), rtol=2.5e-7)
    far = k.block(np.array([[100.0], [103.0], [105.0], [1e6]]), np.zeros((1, 1)), single=True)[:, 0]
    assert_allclose(far, [np.exp(-100.0), np.exp(-103.0), 0.0, 0.0], rtol=0, atol=1.5e-45)
    assert far[0] > 0


@pytest.mark.parametrize("far", [100.0, 1e30])
def test_a_value_does_not_depend_on_those_beside_it(far):
    x = np.random.default_rng(0).uniform(0, 80, size=(301, 1))
    k, origin = KernelRows("laplacian", -1.0), np.zeros((1, 1))
    alone = k.block(x, origin, single=True)
    for place in (0, 127, 128, 300):
        mixed = x.copy()
        mixed[place] = far
        assert_array_equal(np.delete(k.block(origin, mixed, single=True), place), np.delete(alone, place))


def test_rounding_is_that_of_numpy_and_ends_at_the_largest_number():
    x = np.array([1 / 3, -1e-50, 3e38, 1e39, -1e300])
    most = np.finfo(np.float32).max
    assert_array_equal(rounded(x), np.array([1 / 3, -1e-50, 3e38, most, -most], dtype=np.float32))


ELSEWHERE = """
import sys
import numpy as np
from nystream._core.kernels import KernelRows, isa
rng = np.random.default_rng(7)
found = {"isa": np.array(isa())}
for form, numbers in NUMBERS.items():
    k = KernelRows(form, *numbers)
    for d in (1, 3, 6, 8, 12, 22, 41):
        X, Y = rng.normal(size=(19, d)), rng.normal(size=(70, d))
        K = k.block(X, Y, single=True)
        assert np.array_equal(K, np.vstack([k.block(x[None], Y, single=True) for x in X]))
        assert np.array_equal(K, k.block(Y, X, single=True).T)
        found[f"{form}.{d}"] = K
np.savez(sys.stdout.buffer, **found)
"""


@pytest.mark.parametrize("level", LEVELS)
def test_every_instruction_set_gives_the_same_values(level):
    """Each one alone is exact about rows and blocks; between them only roundings differ."""
    found = found_at(level, ELSEWHERE.replace("NUMBERS", repr(NUMBERS)))
    rng = np.random.default_rng(7)
    for form in NUMBERS:
        for d in (1, 3, 6, 8, 12, 22, 41):
            X, Y = rng.normal(size=(19, d)), rng.normal(size=(70, d))
            size = size_of(form, X, Y)
            assert_allclose(found[f"{form}.{d}"] / size, FORMS[form].block(X, Y) / size, rtol=1e-6, atol=1e-6)


# -- terms -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("d", [3, 12, 22, 40])
def test_terms_keep_their_points_in_single_precision_and_the_rest_in_double(d):
    rng = np.random.default_rng(0)
    X, A, Z = rng.normal(size=(100, d)), rng.normal(size=(100, 2)), rng.normal(size=(131, d))
    kernel = Gaussian(2.0)
    terms, double = Terms(kernel, d, 2, True), Terms(kernel, d, 2)
    for i in range(100):
        terms.store(X[i], A[i], 1.0, i)
        double.store(X[i], A[i], 1.0, i)
    assert_array_equal(terms.points, X.astype(np.float32))
    assert_array_equal(terms.coef, A)
    assert terms.points.dtype == np.float32
    assert double.nbytes - terms.nbytes == 4 * d * terms.capacity
    assert_allclose(terms.predict(Z), kernel.compiled.block(Z, X, single=True) @ A, rtol=0, atol=1e-12)
    assert_allclose(terms.predict(Z), double.predict(Z), rtol=0, atol=1e-5)


@pytest.mark.parametrize("d", [3, 12, 22, 40])
def test_rows_of_a_block_follow_the_points_bit_for_bit(d):
    rng = np.random.default_rng(1)
    X, kernel = rng.normal(size=(60, d)), Laplacian(3.0)
    terms = Terms(kernel, d, 1, True)
    for i in range(20):
        terms.store(rng.normal(size=d), np.ones(1), 1.0, i)
    terms.open_block(X, 10**6)
    for j in range(60):
        k = terms.begin_round(j)
        assert_array_equal(k, kernel.compiled.block(X[j : j + 1], terms.points, single=True)[0])
        assert terms.own_value() == 1.0
        if j % 3 == 0:
            terms.store(X[j], np.ones(1), 1.0, j)
        elif j % 3 == 1:
            terms.replace(j % terms.n, X[j], np.ones(1), 1.0, j)
        else:
            terms.forget(j % terms.n)
    terms.close_block()


def test_new_columns_are_zero_in_the_points():
    terms = Terms(KernelOfLength(), 2, 1, True)
    terms.store(np.array([0.1, 2.0]), np.ones(1), 4.01, 1)
    terms.reshape(4, 1)
    assert_array_equal(terms.points, np.array([[0.1, 2.0, 0.0, 0.0]], dtype=np.float32))
    assert_array_equal(terms.own, KernelRows("linear").diag(terms.points, single=True))


class KernelOfLength(Kernel):
    """<x, y>."""

    @property
    def compiled(self):
        return KernelRows("linear")


def test_what_has_no_single_precision_is_refused():
    with pytest.raises(TypeError, match="no compiled form"):
        Terms(Gaussian(1.0) + Gaussian(2.0), 3, 1, True)
    for rule in ("project", "merge"):
        with pytest.raises(TypeError, match="double precision"):
            Eviction(Terms(Gaussian(1.0), 3, 1, True), rule, 5)
