"""The best in hindsight against dense solves and a general minimiser, and the dimensions of a stream."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import oracles
from nystream import ONS, PKAWV, Fourier, Gaussian, KernelAWV, Linear, Nystrom, Taylor
from nystream.evaluate import Hindsight
from nystream.losses import Huber, Squared, as_loss

G = Gaussian(0.7)


def stream(n=120, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X[n // 2 : n // 2 + 10] = X[:10]
    return X, np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=n)


def test_the_dimensions_are_the_golden_ones():
    X, _, _ = oracles.golden_stream()
    known = Hindsight(Gaussian(0.3), X)
    got = [known.log_det(0.5), known.effective_dimension(0.5), known.online_dimension(0.5)]
    assert_allclose(got, [37.4513398014, 19.9947412412, 25.6463865937], atol=5e-11)


def test_the_best_for_the_squared_loss_is_batch_ridge_regression():
    X, y = stream()
    K = oracles.gaussian(X, X, 0.7)
    known = Hindsight(G, X)
    for lam in (1e-3, 1.0, 30.0):
        best = known.best(y, lam=lam)
        a = np.linalg.solve(K + lam * np.eye(len(K)), y)
        assert_allclose(best.values, K @ a, atol=1e-9)
        assert_allclose(best.norm2, a @ K @ a, rtol=1e-8)
        assert_allclose(best.total, lam**2 * a @ a, rtol=1e-8)
        assert_allclose(best.total + lam * best.norm2, oracles.best_in_hindsight(K, y, lam), rtol=1e-9)


def test_charged_regret_is_what_the_live_meters_say():
    X, y = stream()
    features = Taylor(G, degree=5)
    for source, learner in [(G, KernelAWV(G, lam=0.3)), (features, PKAWV(features, lam=0.3))]:
        p = learner.run(X, y)
        known = Hindsight(source, X)
        assert_allclose(known.best(y, lam=0.3).charged_regret(p), learner.regret(), rtol=1e-9)
        assert_allclose(known.log_det(0.3), learner.log_det(), rtol=1e-9)
        assert_allclose(known.effective_dimension(0.3), learner.effective_dimension(), rtol=1e-9)
        assert_allclose(known.online_dimension(0.3), learner.online_dimension(), rtol=1e-9)


def test_several_outputs_are_one_problem_each():
    X, y = stream()
    Y = np.column_stack([y, X[:, 1]])
    known = Hindsight(G, X)
    both, apart = known.best(Y, lam=0.2), [known.best(column, lam=0.2) for column in Y.T]
    assert_allclose(both.values, np.column_stack([best.values for best in apart]), atol=1e-12)
    assert_allclose(both.regret(np.zeros(Y.shape)), sum(best.regret(np.zeros(len(Y))) for best in apart), rtol=1e-12)


@pytest.mark.parametrize("name", ["logistic", "squared_hinge", "huber", "squared"])
def test_other_losses_are_minimised_too(name):
    X, y = stream()
    loss = Huber(0.3) if name == "huber" else as_loss(name)
    labels = np.where(y > 0, 1.0, -1.0) if loss.labels == "sign" else y
    Z = oracles_features(X)
    best = Hindsight(Quadratic(), X).best(labels, lam=0.2, loss=loss)

    def objective(w):
        return np.sum(loss.value(labels, Z @ w)) + 0.2 * w @ w, Z.T @ loss.grad(labels, Z @ w) + 0.4 * w

    w = minimize(objective, np.zeros(Z.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x
    assert_allclose(best.values, Z @ w, atol=1e-6)
    assert_allclose(best.total + 0.2 * best.norm2, objective(w)[0], rtol=1e-10)


def oracles_features(X):
    return np.column_stack([np.ones(len(X)), X, X**2, X[:, 0] * X[:, 1]])


class Quadratic(Fourier):
    """Six plain features."""

    def __init__(self):
        super().__init__(G, 6)

    def start(self, d):
        self.d_ = d

    def _map(self, X, out):
        out[:] = oracles_features(X)


def test_newton_agrees_with_the_closed_form_on_half_the_squared_loss():
    X, y = stream()
    known = Hindsight(G, X)
    assert_allclose(known.best(y, lam=0.1, loss=Huber(1e9)).values, known.best(y, lam=0.2).values, atol=1e-9)


def test_a_loss_with_kinks_is_refused_with_a_way_out():
    X, y = stream()
    with pytest.raises(ValueError, match="choose the comparator with a smooth loss"):
        Hindsight(G, X).best(np.where(y > 0, 1.0, -1.0), loss="hinge", lam=0.01)


def test_clipped_comparators_stay_within_the_clip_and_keep_their_shape():
    X, y = stream()
    known = Hindsight(G, X)
    free, clipped, loose = (known.best(y, lam=0.1, clip=clip) for clip in (None, 0.4, 50.0))
    scale = 0.4 / np.abs(free.values).max()
    assert_allclose(clipped.values, scale * free.values, rtol=1e-12, atol=1e-14)
    assert_allclose(clipped.norm2, scale**2 * free.norm2, rtol=1e-12)
    assert_allclose(clipped.total, ((y - clipped.values) ** 2).sum(), rtol=1e-12)
    assert loose.norm2 == free.norm2


def test_a_fitted_map_is_used_as_it_stands_and_never_changed():
    X, y = stream()
    fitted = Nystrom(G, 8).fit(X[-20:])
    before = fitted.transform(X)
    best = Hindsight(fitted, X).best(y, lam=0.1)
    assert_allclose(fitted.transform(X), before, atol=1e-14)
    w = np.linalg.solve(before.T @ before + 0.1 * np.eye(8), before.T @ y)
    assert_allclose(best.values, before @ w, atol=1e-9)


def test_more_features_than_rows_and_directions_without_data_do_no_harm():
    X, y = stream(30)
    wide = Fourier(G, 80, seed=0)
    wide.start(2)
    Z = wide.transform(X)
    best = Hindsight(wide, X).best(y, lam=0.1)
    assert_allclose(best.values, Z @ np.linalg.solve(Z.T @ Z + 0.1 * np.eye(80), Z.T @ y), atol=1e-9)
    flat = np.hstack([X, np.zeros((30, 1))])
    assert Hindsight(Linear(), flat).Z.shape == (30, 2)
    none = Hindsight(Linear(), np.zeros((5, 2)))
    assert (none.best(np.ones(5)).total, none.top, none.online_dimension(1.0)) == (5.0, 0.0, 0.0)


def test_regret_is_a_difference_of_losses():
    X, y = stream()
    p = ONS(clip=2.0).run(X, y)
    best = Hindsight(Linear(), X).best(y, lam=0.5)
    assert isinstance(best.loss, Squared)
    assert_allclose(best.regret(p), ((p - y) ** 2).sum() - ((best.values - y) ** 2).sum(), rtol=1e-12)
    assert_allclose(best.charged_regret(p), best.regret(p) - 0.5 * best.norm2, rtol=1e-12)


def test_bad_arguments_are_refused():
    X, y = stream(20)
    with pytest.raises(ValueError, match="source must be"):
        Hindsight("gaussian", X)
    known = Hindsight(G, X)
    with pytest.raises(ValueError, match="lam must be"):
        known.best(y, lam=0.0)
    with pytest.raises(ValueError, match="one score per class"):
        known.best(np.zeros(20), loss="softmax")
    with pytest.raises(ValueError, match="one label for each of the 20 rows"):
        known.best(y[:5])
    with pytest.raises(ValueError, match=r"shape \(20,\), got \(19,\)"):
        known.best(y).regret(y[1:])
    with pytest.raises(ValueError, match="too large"):
        Hindsight(G, np.zeros((10_001, 1)))
