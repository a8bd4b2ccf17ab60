"""Taylor features: the truncated series of the Gaussian kernel, its known remainder, and the choice of the degree."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import pdtrc

from nystream import persist
from nystream.features import Taylor
from nystream.kernels import Gaussian, Laplacian, Polynomial
from nystream.learners.families.feature import FeatureLearner
from nystream.solvers import OGD

SHAPES = [(1, 0), (1, 9), (2, 6), (3, 4), (5, 3), (8, 2), (18, 2), (4, 1)]


def started(kernel, d, **params):
    taylor = Taylor(kernel, **params)
    taylor.start(d)
    return taylor


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def series(U, degree):
    """exp(-(|u|^2 + |u'|^2)/2) sum_{j <= M} (u'u')^j / j!"""
    G, q = U @ U.T, (U * U).sum(1)
    return np.exp(-(q[:, None] + q) / 2) * sum(G**j / math.factorial(j) for j in range(degree + 1))


class OnTaylor(FeatureLearner):
    """The least learner that has features: gradient descent on them."""

    def __init__(self, features):
        self.features = features

    def _parts(self):
        return self.features.clone(), OGD("squared", eta=0.1)


@pytest.mark.parametrize(("d", "degree"), SHAPES)
def test_there_is_one_feature_for_every_monomial(d, degree):
    assert started(Gaussian(1.0), d, degree=degree).dim == math.comb(d + degree, degree)


@pytest.mark.parametrize(("d", "degree"), SHAPES)
def test_the_gram_matrix_is_the_truncated_series(d, degree):
    X, centre = rows(20, d), rows(1, d, seed=1)[0]
    Z = started(2.5 * Gaussian(1.7), d, degree=degree, centre=centre).transform(X)
    assert_allclose(Z @ Z.T, 2.5 * series((X - centre) / 1.7, degree), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("d", "degree"), SHAPES)
def test_each_feature_is_its_monomial_in_the_order_of_the_paper(d, degree):
    X = rows(3, d)
    U = X / 0.8
    exponents = [  # by degree, then larger leading exponents first
        np.bincount(np.array(which, dtype=int), minlength=d)
        for n in range(degree + 1)
        for which in itertools.combinations_with_replacement(range(d), n)
    ]
    norms = [math.sqrt(math.prod(math.factorial(k) for k in exponent)) for exponent in exponents]
    expected = np.array(
        [[math.exp(-u @ u / 2) * np.prod(u**k) / c for k, c in zip(exponents, norms, strict=True)] for u in U]
    )
    assert_allclose(started(Gaussian(0.8), d, degree=degree).transform(X), expected, rtol=1e-13, atol=1e-15)


def test_golden_order():
    u, v = 0.5, -2.0
    expected = np.array([1, u, v, u * u / 2**0.5, u * v, v * v / 2**0.5]) * math.exp(-(u * u + v * v) / 2)
    assert_allclose(started(Gaussian(1.0), 2, degree=2).row(np.array([u, v])), expected, rtol=1e-14)


def test_golden_values_of_vovk_regression_on_taylor_features():
    t = np.arange(1, 51)
    X = np.column_stack([np.sin(t), np.cos(1.7 * t)])
    y = 0.9 * np.sin(3 * np.sin(t)) + 0.1 * np.cos(7 * t)
    Z = started(Gaussian(0.8), 2, degree=6).transform(X)
    A, b, p = 0.5 * np.eye(28), np.zeros(28), []
    for z, label in zip(Z, y, strict=True):
        A += np.outer(z, z)
        p.append(b @ np.linalg.solve(A, z))
        b += label * z
    assert_allclose([((y - p) ** 2).sum(), p[-1]], [7.9069326126, -0.2403596754], rtol=0, atol=1e-10)


def test_the_papers_redundant_features_have_the_same_kernel():
    X, sigma, degree = rows(15, 3), 1.4, 4
    power, blocks = np.exp(-(X * X).sum(1) / (2 * sigma**2))[:, None], []
    for j in range(degree + 1):
        blocks.append(power)
        power = np.einsum("ni,nj->nij", power, X / sigma).reshape(len(X), -1) / math.sqrt(j + 1)
    listing = np.hstack(blocks)
    Z = started(Gaussian(sigma), 3, degree=degree).transform(X)
    assert (listing.shape[1], Z.shape[1]) == (121, 35)
    assert_allclose(Z @ Z.T, listing @ listing.T, rtol=0, atol=1e-13)


@pytest.mark.parametrize("degree", [1, 3, 6, 10])
@pytest.mark.parametrize("radius", [0.5, 1.5, 3.0])
def test_the_error_is_within_its_bound(degree, radius):
    X = rows(60, 2)
    X *= (radius * np.random.default_rng(1).uniform(0.5, 1, 60) / np.linalg.norm(X, axis=1))[:, None]
    X[0] = [radius, 0.0]  # the largest error is on the diagonal
    taylor = started(3.0 * Gaussian(1.2), 2, degree=degree)
    Z = taylor.transform(X)
    error = np.abs(3.0 * Gaussian(1.2)(X, X) - Z @ Z.T).max()
    assert error <= taylor.error_bound(radius) + 1e-14  # rounding of the two kernels
    assert_allclose(taylor.error_bound(radius), 3.0 * (radius / 1.2) ** (2 * degree + 2) / math.factorial(degree + 1))


def test_the_error_bound_needs_a_degree_and_is_zero_at_the_centre():
    assert Taylor(Gaussian(1.0), degree=3).error_bound(0.0) == 0.0
    with pytest.raises(ValueError, match="the degree is not chosen yet"):
        Taylor(Gaussian(1.0)).error_bound(1.0)
    with pytest.raises(ValueError, match="radius must be"):
        Taylor(Gaussian(1.0), degree=3).error_bound(-1.0)


@pytest.mark.parametrize(("d", "degree"), SHAPES)
def test_what_is_missed_is_the_tail_of_a_poisson_variable(d, degree):
    X = 2 * rows(40, d)
    taylor = started(0.5 * Gaussian(1.5), d, degree=degree)
    Z = taylor.transform(X)
    assert_allclose(taylor.tail(X), 0.5 - (Z * Z).sum(1), rtol=0, atol=1e-14)


def test_the_running_tail_counts_rows_learnt_from_and_nothing_else():
    X, y = rows(1100, 3), rows(1100, 1)[:, 0]
    template = Taylor(Gaussian(2.0), degree=3)
    block, steps = OnTaylor(template), OnTaylor(template)
    block.run(X, y)
    for x, label in zip(X, y, strict=True):
        steps.step(x, label)
    assert block.features_.tail_ == steps.features_.tail_  # the same additions in the same order
    before = block.features_.tail_
    block.predict(X)
    block.features_.transform(X)
    assert block.features_.tail_ == before
    assert_allclose(before, block.features_.tail(X).sum(), rtol=1e-12)
    assert_allclose(template.fit(X).partial_fit(X).tail_, 2 * before, rtol=1e-12)


def test_auto_takes_the_smallest_degree_that_satisfies_the_rule():
    for radius, lam, horizon in ((0.5, 1.0, 100), (1.0, 0.1, 10_000), (2.5, 1e-3, 1000)):
        taylor = started(2.0 * Gaussian(1.3), 2, radius=radius, lam=lam, horizon=horizon)
        missed = horizon * 2.0 * pdtrc(np.arange(60), (radius / 1.3) ** 2)
        assert taylor.degree_ == np.flatnonzero(missed <= lam / horizon)[0]
        assert taylor.dim == math.comb(2 + taylor.degree_, 2)


def test_auto_is_capped_with_a_warning_that_says_what_is_missed():
    taylor = Taylor(Gaussian(1.0), radius=3.0, horizon=1000)
    missed = 1000 * pdtrc(5, 9.0)
    with pytest.warns(UserWarning, match=rf"degree 5, 1287 features .*n tail\(R\) = {missed:.3g} for n = 1000"):
        taylor.start(8)
    assert taylor.degree_ == 5
    with pytest.warns(UserWarning, match="degree 3, 165 features"):
        started(Gaussian(1.0), 8, radius=3.0, max_features=200)
    with pytest.raises(ValueError, match="degree 1 alone has 4001 features, more than the 3000 allowed"):
        started(Gaussian(1.0), 4000, radius=3.0)
    with pytest.raises(ValueError, match="more than 37 times sigma=1, where Taylor features underflow"):
        started(Gaussian(1.0), 1, radius=40.0)


def test_fit_measures_centre_and_radius_where_auto_lacks_them():
    X = rows(200, 2) * 0.3 + 50.0
    taylor = Taylor(Gaussian(1.0)).fit(X)
    radius = np.linalg.norm(X - X.mean(0), axis=1).max()
    assert_allclose(taylor.centre_, X.mean(0))
    assert taylor.degree_ == started(Gaussian(1.0), 2, radius=radius).degree_
    Z = taylor.transform(X)
    assert np.abs(Z @ Z.T - Gaussian(1.0)(X, X)).max() < 1e-8
    around = Taylor(Gaussian(1.0), centre=[50.0, 51.0]).fit(X)
    assert_array_equal(around.centre_, [50.0, 51.0])
    assert around.degree_ > taylor.degree_
    with pytest.raises(ValueError, match="0 rows: nothing to measure a radius on"):
        Taylor(Gaussian(1.0)).partial_fit(np.zeros((0, 2)))


def test_auto_without_a_radius_is_refused_in_a_learner():
    with pytest.raises(ValueError, match=r"needs radius, the largest .* give a degree"):
        OnTaylor(Taylor(Gaussian(1.0))).step([0.0, 1.0], 1.0)


@pytest.mark.parametrize("kernel", [Laplacian(1.0), Polynomial(2), Gaussian(1.0) + Gaussian(2.0), "gaussian"])
def test_other_kernels_are_refused(kernel):
    with pytest.raises(TypeError, match=r"Taylor needs a Gaussian kernel, got .*; use Nystrom for any kernel"):
        Taylor(kernel, degree=2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"degree": -1}, "degree must be a whole number of at least 0, got -1"),
        ({"degree": 2.5}, "degree must be a whole number of at least 0, got 2.5"),
        ({"degree": True}, "degree must be a whole number"),
        ({"degree": "best"}, "degree must be a whole number of at least 0 or 'auto', got 'best'"),
        ({"centre": [[0.0]]}, "centre must be one row"),
        ({"centre": [0.0, np.nan]}, "centre has nan"),
        ({"radius": 0.0}, "radius must be a number greater than 0"),
        ({"lam": 0.0}, "lam must be a number greater than 0"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1"),
        ({"max_features": 0}, "max_features must be a whole number of at least 1"),
    ],
)
def test_bad_parameters_are_refused_at_once(params, message):
    with pytest.raises(ValueError, match=message):
        Taylor(Gaussian(1.0), **params)


def test_a_centre_of_another_width_is_refused():
    with pytest.raises(ValueError, match="centre has 3 numbers, but rows have 2 columns"):
        started(Gaussian(1.0), 2, degree=2, centre=np.zeros(3))


def test_too_many_features_are_refused_with_their_number_before_anything_is_allocated():
    with pytest.raises(ValueError, match=r"degree=40 with 18 columns has 449972009097765 features.*takes \d+ bytes"):
        started(Gaussian(1.0), 18, degree=40)
    with pytest.raises(ValueError, match=r"12650 features, .* takes 1280180000 bytes"):
        started(Gaussian(1.0), 21, degree=4)
    assert started(Gaussian(1.0), 21, degree=4, max_features=12_650).dim == 12_650
    assert started(Gaussian(1.0), 21, degree=3).dim == 2024
    assert started(Gaussian(1.0), 20, degree=4).dim == 10_626
    with pytest.raises(ValueError, match=r"10 features.*the limit is 9"):
        started(Gaussian(1.0), 3, degree=2, max_features=9)


def test_far_points_have_no_features_and_a_whole_tail():
    X = np.array([[1e6, 0.0], [1e300, -1e300], [50.0, 50.0]])
    taylor = started(Gaussian(1.0), 2, degree=8)
    assert_array_equal(taylor.transform(X), 0.0)
    assert_array_equal(taylor.tail(X), 1.0)
    taylor.note(X)
    assert taylor.tail_ == 3.0


def test_large_degrees_neither_overflow_nor_lose_the_kernel():
    X = np.linspace(-25, 25, 41)[:, None]
    Z = started(Gaussian(1.0), 1, degree=1200).transform(X)
    assert_allclose(Z @ Z.T, Gaussian(1.0)(X, X), rtol=0, atol=1e-11)


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)),
                                  lambda m: persist.from_bytes(persist.to_bytes(m))])  # fmt: skip
def test_copies_and_files_go_on_bit_for_bit(twin):
    X = rows(50, 3)
    taylor = Taylor(2.0 * Gaussian(1.0), degree=4, centre=[0.1, 0.2, 0.3]).fit(X)
    other = twin(taylor)
    assert repr(other) == repr(taylor)
    assert_array_equal(other.transform(X), taylor.transform(X))
    assert other.partial_fit(X).tail_ == taylor.partial_fit(X).tail_
    other.fit(10 * X)
    assert other.tail_ != taylor.tail_


def test_one_map_serves_several_threads():
    X = rows(3000, 6)
    taylor = started(Gaussian(2.0), 6, degree=4)
    expected = taylor.transform(X)
    with ThreadPoolExecutor(2) as pool:
        for Z in pool.map(taylor.transform, [X] * 8):
            assert_array_equal(Z, expected)


def test_nbytes_counts_the_tables():
    taylor = started(Gaussian(1.0), 18, degree=2)
    assert 8 * 190 <= taylor.nbytes <= 8 * 190 * 4
    assert Taylor(Gaussian(1.0)).nbytes == 0
