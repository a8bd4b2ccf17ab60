"""GrowingTaylor: the degree of the rows so far, features of each row's own round, and learners on it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import poisson

import oracles
from nystream import AIOLI, PKAWV, PKRR, Gaussian, Linear, Taylor, from_bytes
from nystream.evaluate import Hindsight
from nystream.features import GrowingTaylor

G = Gaussian(0.8)


def stream(n=300, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d)) * np.linspace(0.2, 1.0, n)[:, None]
    return X, np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=n)


def own_rounds(X, map_):
    """(n, r) features of each row in its own round, 0 beyond; r is the number in the end."""
    map_.start(X.shape[1])
    rows = []
    for x in X:
        map_.observe(x)
        rows.append(map_.row(x))
    return np.array([np.pad(z, (0, map_.dim - len(z))) for z in rows])


def test_the_degree_is_the_smallest_that_misses_little_of_the_rows_so_far():
    X, _ = stream()
    map_ = GrowingTaylor(G, lam=0.5)
    map_.start(2)
    degrees = []
    for t, x in enumerate(X, 1):
        map_.observe(x)
        n = max(16, 2 ** math.ceil(math.log2(t)))
        far = np.linalg.norm(X[:t], axis=1).max() / 0.8
        least = next(M for M in range(99) if n * poisson.sf(M, far**2) <= 0.5 / n)
        degrees.append(map_.degree)
        assert map_.degree >= least
        assert map_.degree == max(least, *degrees)
    assert degrees[0] < degrees[50] < degrees[-1]
    assert_allclose(map_.transform(X), Taylor(G, degree=map_.degree).fit(X).transform(X))


@pytest.mark.parametrize("cls", [PKRR, PKAWV])
def test_learners_have_the_features_of_each_rows_own_round(cls):
    X, y = stream(150)
    Z = own_rounds(X, GrowingTaylor(G, lam=0.1, max_features=60))
    ridge, awv, _ = oracles.least_squares(Z @ Z.T, y, 0.1, np.ones(150))
    model = cls(GrowingTaylor(G, lam=0.1, max_features=60), lam=0.1)
    for x, label in zip(X, y, strict=True):
        model.step(x, label)
    fresh = cls(GrowingTaylor(G, lam=0.1, max_features=60), lam=0.1)
    p = fresh.run(X, y)
    assert_allclose(p, (ridge if cls is PKRR else awv)[:, 0], atol=1e-9)
    assert fresh.size == Z.shape[1] <= 60
    assert_allclose(fresh.predict(X), model.predict(X), atol=1e-9)
    twin = from_bytes(fresh.to_bytes())
    assert twin.run(X, y).tolist() == fresh.run(X, y).tolist()


def test_the_next_prediction_knows_the_features_that_its_row_would_append():
    X, y = stream(80)
    model = PKAWV(GrowingTaylor(G, lam=0.1), lam=0.1)
    model.run(X, y)
    far = np.array([1.5, -1.2])
    expected, size = model.predict(far[None], ahead=1)[0], model.size
    assert model.step(far, 0.3) == pytest.approx(expected, abs=1e-12)
    assert model.size > size


def test_the_bound_against_the_kernel_holds():
    for seed in range(5):
        X, _ = stream(200, seed=seed)
        y = np.random.default_rng(seed).choice([-1.0, 1.0], 200)
        for most in (6, 200):
            model = PKAWV(GrowingTaylor(G, lam=0.1, max_features=most), lam=0.1)
            p = model.run(X, y)
            best = Hindsight(G, X).best(y, lam=0.1)
            assert best.charged_regret(p) <= model.regret_bound(against="kernel")


def test_what_depends_on_the_order_is_refused_and_other_learners_follow_it():
    X, y = stream(60)
    model = PKRR(GrowingTaylor(G))
    model.run(X, y)
    for ability in ("merge", "unlearn"):
        assert not model.can(ability)
    with pytest.raises(TypeError, match="GrowingTaylor features depend on the order of the rows"):
        model.unlearn(X[:1], y[:1])
    AIOLI(GrowingTaylor(G)).run(X, np.sign(y))
    with pytest.raises(TypeError, match="GrowingTaylor needs a Gaussian kernel"):
        GrowingTaylor(Linear())
