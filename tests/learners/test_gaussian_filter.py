"""The diagonal Gaussian filter against its slow definition, and against the exact posterior where it is exact."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sparse_streams import LABELS, as_lists, stream

from nystream import GaussianFilter, from_bytes
from oracles.sparse import gaussian_filter


@pytest.mark.parametrize("loss", LABELS)
@pytest.mark.parametrize("prior", [0.3, 3.0])
@pytest.mark.parametrize("pairs", [False, True])
def test_predictions_are_those_of_the_slow_definition(loss, prior, pairs):
    X, Y = stream(loss)
    w = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.5], size=len(Y))
    for weights in (None, w):
        K = 4 if loss == "softmax" else 1
        model = GaussianFilter(loss, prior=prior, pairs=pairs)
        model.reserve(X.shape[1], K)
        got = model.run(X, Y, weights)
        expected = gaussian_filter(as_lists(X), Y, loss, K, prior, pairs=pairs, weights=weights)
        assert_allclose(got.reshape(len(Y), -1), expected, rtol=1e-12, atol=1e-12)


def test_several_targets_are_learnt_as_by_several_learners():
    X, Y = stream("squared", outputs=3)
    together = GaussianFilter().run(X, Y)
    for k in range(3):
        assert_array_equal(together[:, k], GaussianFilter().run(X, Y[:, k]))


def test_a_round_is_a_newton_step_for_the_posterior_of_that_row():
    """(diag(q) + h x x')^-1 x e, by solving, with the precisions q that there were."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 16)), np.where(rng.random(80) < 0.7, 1.0, -1.0)
    model = GaussianFilter("logistic", bits=4, prior=0.5)
    model.run(X[:79], y[:79])
    w, v = model.table_[:, 0, 0].copy(), model.table_[:, 0, 1].copy()
    p = model.step(X[79], y[79])
    x = np.append(X[79], 1.0)
    assert_allclose(p, w @ x, rtol=1e-12)
    chance = 1 / (1 + np.exp(-p))
    e, h = (y[79] + 1) / 2 - chance, chance * (1 - chance)
    q = 0.5 * np.mean((X**2).sum(axis=1) + 1) + v
    assert_allclose(model.table_[:, 0, 0], w + np.linalg.solve(np.diag(q) + h * np.outer(x, x), x * e), rtol=1e-9)
    assert_allclose(model.table_[:, 0, 1], v + h * x**2, rtol=1e-9)


def test_deviations_shrink_where_rows_were_seen():
    X, Y = stream("squared", n=400)
    model = GaussianFilter()
    assert np.isinf(model.std(X)).all()
    model.run(X[:, :20], Y)
    seen, met = np.zeros((1, 20)), np.zeros((1, 20))
    seen[0, :5], met[0, 0] = 1.0, 1.0
    assert model.std(met)[0] < model.std(seen)[0]
    assert model.std(10 * met)[0] > model.std(met)[0]
    assert model.can("std")


def test_late_classes_and_files():
    X, Y = stream("softmax")
    late = np.where(np.arange(len(Y)) < 75, np.minimum(Y, 1), Y)
    model, known = GaussianFilter("softmax"), GaussianFilter("softmax")
    known.reserve(X.shape[1], 2)
    P = model.run(X, late)
    assert P.shape == (len(Y), 4)
    assert_array_equal(P[:75, :2], known.run(X[:75], late[:75]))
    twin = from_bytes(model.to_bytes())
    assert_array_equal(twin.run(X, Y), model.run(X, Y))
    assert twin.to_bytes() == model.to_bytes()


def test_folding_multiplies_the_gaussians_that_meet():
    one, two = np.array([[[1.0, 3.0]]]), np.array([[[5.0, 1.0]]])
    assert_allclose(GaussianFilter()._folded(one, two), [[[2.0, 4.0]]])
    assert_array_equal(GaussianFilter()._folded(one, 0 * two), one)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="prior must be"):
        GaussianFilter(prior=0.0)
    with pytest.raises(ValueError, match="loss must be one of"):
        GaussianFilter("absolute")
