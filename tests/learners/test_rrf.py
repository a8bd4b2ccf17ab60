"""RRF: both gradients against central differences, whole runs against the formulas, and what the scales are for."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian, Laplacian
from nystream.learners.fogd import FOGD
from nystream.learners.rrf import RRF
from nystream.losses import Huber, MulticlassHinge, Softmax, as_loss
from oracles.features import rrf

LOSSES = ["hinge", "logistic", "squared", "huber", "softmax", "multiclass_hinge"]
NAMED = {"softmax": Softmax(classes=3), "multiclass_hinge": MulticlassHinge(classes=3)}


def stream(n=300, d=4, seed=0, loss="hinge"):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    if loss in NAMED:
        return X, np.digitize(f, [-0.4, 0.4]).astype(float)
    return X, np.where(f >= 0, 1.0, -1.0) if loss in ("hinge", "logistic") else f


def features(E, a, x, gain):
    u = (E * np.exp(a)[:, None]).T @ x
    return gain * np.concatenate([np.cos(u), np.sin(u)])


def objective(loss, y, E, a, W, x, gain, lam):
    p = W @ features(E, a, x, gain)
    value = loss.value(int(y), p) if loss.multiclass else loss.value(y, p[0])
    return float(value) + lam / 2 * (W**2).sum()


def slopes(loss, y, E, a, W, x, gain, lam, small=1e-6):
    """Central differences of the objective in W and in a."""

    def slope(da, dW):
        up, down = (objective(loss, y, E, a + s * da, W + s * dW, x, gain, lam) for s in (small, -small))
        return (up - down) / (2 * small)

    dW = [slope(0 * a, unit.reshape(W.shape)) for unit in np.eye(W.size)]
    return np.reshape(dW, W.shape), np.array([slope(unit, 0 * W) for unit in np.eye(a.size)])


@pytest.mark.parametrize("loss", ["logistic", "squared", "softmax"])
def test_both_gradients_are_central_differences_of_the_loss(loss):
    X, y = stream(loss=loss)
    lam, kernel = 0.01, 2.0 * Gaussian(0.8)
    model = RRF(kernel, dim=20, loss=NAMED.get(loss, loss), eta=0.1, eta_scale=0.02, lam=lam, seed=1)
    model.run(X[:200], y[:200])
    gain, named = np.sqrt(2.0 / 10), as_loss(NAMED.get(loss, loss))
    for t in range(200, 205):
        E, a, W = model.E_.copy(), model.a_.copy(), model.W_.copy()
        model.step(X[t], y[t])
        dW, da = slopes(named, y[t], E, a, W, X[t], gain, lam)
        assert_allclose((W - model.W_) / 0.1, dW, rtol=0, atol=1e-7)
        assert np.abs(da).max() > 1e-3
        assert_allclose((a - model.a_) / 0.02, np.clip(da, -1, 1), rtol=0, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_is_that_of_the_formulas(loss):
    X, y = stream(loss=loss)
    outputs = 3 if loss in NAMED else 1
    model = RRF(Gaussian(0.8), dim=60, loss=NAMED.get(loss, loss), eta=0.2, eta_scale=0.05, lam=0.001, seed=4)
    expected, a = rrf(model, X, y, loss, 0.2, 0.05, 0.001, outputs)
    assert_allclose(model.run(X, y).reshape(300, -1), expected, rtol=0, atol=1e-10)
    assert_allclose(model.a_, a, rtol=0, atol=1e-11)
    assert np.abs(a + np.log(0.8)).max() > 0.01


def test_scales_that_do_not_learn_are_fogd():
    X, y = stream()
    fixed = FOGD(Gaussian(0.8), dim=60, eta=0.2, lam=0.01, seed=2)
    model = RRF(Gaussian(0.8), dim=60, eta=0.2, eta_scale=0.0, lam=0.01, seed=2)
    assert_allclose(model.run(X, y), fixed.run(X, y), rtol=0, atol=1e-12)
    assert_allclose(model.predict(X), fixed.predict(X), rtol=0, atol=1e-12)


def test_the_first_round_moves_no_scale_and_the_default_rate_is_a_thirtieth():
    X, y = stream()
    first, model = RRF(Gaussian(0.8), seed=0), RRF(Gaussian(0.8), eta_scale=0.01, seed=0)
    first.step(X[0], y[0])
    assert_array_equal(first.a_, np.full(4, -np.log(0.8)))
    assert_array_equal(RRF(Gaussian(0.8), eta=0.3, seed=0).run(X, y), model.run(X, y))


def test_a_round_without_loss_changes_nothing():
    X, y = stream()
    model = RRF(Gaussian(0.8), eta=1.0, seed=0)
    P = model.run(X, y)
    t = int(np.flatnonzero(P * y > 1.05)[-1])
    model = RRF(Gaussian(0.8), eta=1.0, seed=0)
    model.run(X[:t], y[:t])
    before = model.W_.copy(), model.a_.copy()
    model.step(X[t], y[t])
    assert_array_equal(model.W_, before[0])
    assert_array_equal(model.a_, before[1])


def test_rows_and_blocks_give_the_same_bits():
    X, y = stream()
    block, rows = (RRF(Gaussian(0.8), dim=50, loss="logistic", seed=0) for _ in range(2))
    assert_array_equal(block.run(X, y), [rows.step(x, label) for x, label in zip(X, y, strict=True)])
    assert_array_equal(block.a_, rows.a_)


def test_a_step_of_the_scales_is_bounded():
    X, y = stream(50)
    model = RRF(Gaussian(0.8), dim=20, loss="squared", eta=1e-3, eta_scale=0.5, seed=0)
    X *= 1e5
    before = None
    for x, label in zip(X, 1e3 * y, strict=True):
        model.step(x, label)
        if before is not None:
            assert np.abs(model.a_ - before).max() <= 0.5 + 1e-12
        before = model.a_.copy()
    assert np.isfinite(model.predict(X)).all()


def test_rows_whose_angles_overflow_give_finite_numbers():
    X, y = stream(50)
    model = RRF(Gaussian(1e-100), dim=4, loss="squared", eta=0.1, eta_scale=50.0, seed=0)
    assert np.isfinite(model.run(1e300 * X, y)).all()
    assert np.isfinite(model.a_).all()
    assert np.isfinite(model.predict(1e300 * X)).all()
    assert np.isfinite(model.run(X, y)).all()
    assert np.abs(model.a_).max() <= 300.0


def test_columns_of_noise_are_shrunk_and_accuracy_gained():
    X = np.random.default_rng(0).uniform(-1, 1, (4000, 10))
    y = np.sign(X[:, 0] * X[:, 1])
    model, fixed = RRF(Gaussian(1.0), eta_scale=0.1, seed=0), FOGD(Gaussian(1.0), seed=0)
    right = [np.mean(m.run(X, y)[2000:] * y[2000:] > 0) for m in (model, fixed)]
    assert right[0] - right[1] > 0.15  # measured 0.24
    assert model.scales[:2].min() > 2 * model.scales[2:].max()


def test_several_targets_and_weights():
    X, y = stream(loss="squared")
    one = RRF(Gaussian(0.8), dim=40, loss="squared", eta=0.1, eta_scale=0.0, seed=0)
    two = one.clone()
    P = two.run(X, np.column_stack([y, 2 * y]))
    assert_allclose(P[:, 0], one.run(X, y), rtol=0, atol=1e-12)
    assert_allclose(P[:, 1], 2 * P[:, 0], rtol=0, atol=1e-10)
    double, twice = (RRF(Gaussian(0.8), dim=40, loss=Huber(), eta=eta, eta_scale=0.0, seed=0) for eta in (0.2, 0.1))
    assert_allclose(twice.run(X, y, weights=np.full(300, 2.0)), double.run(X, y), rtol=0, atol=1e-12)


def test_late_classes_and_late_columns_leave_what_was_learnt():
    X, y = stream(loss="softmax")
    model = RRF(Gaussian(0.8), dim=40, loss="softmax", seed=0)
    model.run(X[:200], np.minimum(y[:200], 1))
    before = model.predict(X)
    grown, wide = copy.deepcopy(model), copy.deepcopy(model)
    grown.reserve(4, 3)
    assert_allclose(grown.predict(X), np.column_stack([before, np.zeros(300)]), rtol=0, atol=1e-13)
    wide.widen(6)
    assert_allclose(wide.predict(np.hstack([X, np.zeros((300, 2))])), before, rtol=0, atol=1e-13)
    assert wide.run(np.hstack([X, X[:, :2]])[200:], y[200:]).shape == (100, 3)


def test_bad_arguments_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"RRF needs a Gaussian kernel, got Laplacian\(\); use FOGD"):
        RRF(Laplacian())
    for name, value, message in [
        ("dim", 5, "dim must be even"),
        ("eta", 0.0, "eta must be a number greater than 0"),
        ("eta_scale", -0.1, "eta_scale must be a number at least 0"),
        ("lam", 4.0, "eta \\* lam must be less than 1, got eta=0.3, lam=4.0"),
        ("seed", -1, "seed must be a whole number"),
        ("loss", "hing", "did you mean 'hinge'"),
    ]:
        with pytest.raises(ValueError, match=message):
            RRF(Gaussian(), **{name: value})
