"""Softmax: derivatives, the stationarity of its step, its agreement with the logistic loss, its curvature."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logsumexp

from nystream.losses import Logistic, Softmax


def cases(seed, n, K, scale=2.0):
    rng = np.random.default_rng(seed)
    return rng, rng.integers(0, K, n), rng.normal(0, scale, (n, K))


def test_value_is_logsumexp_minus_the_score_of_the_label():
    _, y, P = cases(0, 50, 6)
    slow = logsumexp(P, axis=1) - P[np.arange(50), y]
    assert_allclose(Softmax().value(y, P), slow, rtol=1e-12)
    assert_allclose([Softmax().value(a, p) for a, p in zip(y, P, strict=True)], slow, rtol=1e-12)


def test_gradient_and_hessian_are_central_differences():
    _, y, P = cases(1, 10, 5)
    h = 1e-5
    for label, p in zip(y, P, strict=True):
        step = h * np.eye(5)
        slopes = [(Softmax().value(label, p + e) - Softmax().value(label, p - e)) / (2 * h) for e in step]
        assert_allclose(Softmax().grad(label, p), slopes, atol=1e-9)
        bends = [(Softmax().grad(label, p + e) - Softmax().grad(label, p - e)) / (2 * h) for e in step]
        assert_allclose(Softmax().second(label, p), bends, atol=1e-9)
    assert Softmax().second(y, P).shape == (10, 5, 5)


@pytest.mark.parametrize("K", [2, 3, 10, 100])
def test_implicit_step_is_stationary(K):
    rng, y, P = cases(K, 200, K)
    s, c = 10 ** rng.uniform(-4, 4, (2, 200))
    alpha = Softmax().implicit(y, P, s, c)
    residual = alpha + c[:, None] * Softmax().grad(y, P + s[:, None] * alpha)
    # rounding of z = p + s alpha alone moves the gradient by 1e-16 |z|
    assert (np.abs(residual).max(axis=1) <= 1e-14 * c * (10 + np.abs(P + s[:, None] * alpha).max(axis=1))).all()


def test_implicit_step_is_the_minimiser_of_its_objective():
    rng, y, P = cases(7, 10, 5)
    for label, p in zip(y, P, strict=True):
        s, c = 10 ** rng.uniform(-0.5, 0.5, 2)
        slow = minimize(
            lambda a, label=label, p=p, s=s, c=c: s / 2 * a @ a + c * (logsumexp(p + s * a) - (p + s * a)[label]),
            np.zeros(5), method="BFGS", options={"gtol": 1e-7},
        )  # fmt: skip
        assert_allclose(Softmax().implicit(label, p, s, c), slow.x, atol=1e-5)


def test_two_classes_are_the_logistic_loss_with_twice_the_feature():
    rng, y, P = cases(8, 300, 2, scale=10.0)
    s, c = 10 ** rng.uniform(-8, 8, (2, 300))
    margin = P[np.arange(300), y] - P[np.arange(300), 1 - y]
    step = Logistic().implicit(1.0, margin, 2 * s, c)
    alpha = Softmax().implicit(y, P, s, c)
    assert_allclose(alpha[np.arange(300), y], step, rtol=1e-12)
    assert_allclose(alpha[np.arange(300), 1 - y], -step, rtol=1e-12)


def test_implicit_step_is_finite_bounded_and_never_raises_the_loss_at_extremes():
    s, c = (v.ravel() for v in np.meshgrid(np.geomspace(1e-8, 1e8, 9), np.geomspace(1e-8, 1e8, 9)))
    for scale in (1e-3, 1.0, 1e3):
        _, y, P = cases(9, len(s), 4, scale)
        alpha = Softmax().implicit(y, P, s, c)
        assert np.isfinite(alpha).all()
        assert (np.abs(alpha) <= c[:, None]).all()
        assert (np.abs(alpha.sum(axis=1)) <= 1e-15 * c).all()
        assert (Softmax().value(y, P + s[:, None] * alpha) <= Softmax().value(y, P) + 1e-12 * (1 + scale)).all()


def test_one_class_or_no_feature_or_no_weight_means_no_step():
    assert Softmax().value(0, np.array([3.0])) == 0.0
    assert Softmax().grad(0, np.array([3.0])).tolist() == [0.0]
    assert Softmax().implicit(0, np.array([3.0]), 1.0, 1.0).tolist() == [0.0]
    for s, c in ((0.0, 1.0), (1.0, 0.0)):
        assert not Softmax().implicit(0, np.zeros(3), s, c).any()
        assert not Softmax().implicit([0, 1], np.zeros((2, 3)), s, c).any()


def test_huge_scores_neither_overflow_nor_lose_a_tiny_loss():
    p = np.array([1e3, 0.0, 960.0])
    assert Softmax().value(0, p) == pytest.approx(math.exp(-40.0), rel=1e-12)
    assert Softmax().value(1, p) == pytest.approx(1e3, rel=1e-12)
    assert Softmax().grad(0, p)[0] == pytest.approx(-math.exp(-40.0), rel=1e-12)
    assert_allclose(Softmax().value([0, 1], np.stack([p, p])), [math.exp(-40.0), 1e3], rtol=1e-12)


@pytest.mark.parametrize(("K", "clip"), [(2, 0.5), (3, 0.5), (3, 1.5), (6, 1.0)])
def test_curvature_holds_on_the_box_and_cannot_be_larger(K, clip):
    loss, rng = Softmax(K), np.random.default_rng(K)
    corners = rng.choice([-clip, clip], (40000, K))
    A = np.where(rng.random((40000, 1)) < 0.5, corners, rng.uniform(-clip, clip, (40000, K)))
    B = np.roll(corners, 1, axis=0)
    worst = np.full(K, clip)  # y last and all rivals first, a approaching b along that line
    worst[0] = -clip
    A, B = np.vstack([A, 0.99 * worst]), np.vstack([B, worst])
    y = np.zeros(len(A), dtype=int)
    line = (loss.grad(y, B) * (A - B)).sum(axis=1)
    gap = loss.value(y, A) - loss.value(y, B) - line
    ratio = 2 * gap[line != 0] / line[line != 0] ** 2
    sigma = loss.curvature(clip)
    assert ratio.min() >= sigma * (1 - 1e-9)
    assert ratio.min() <= sigma * 1.02


def test_curvature_is_zero_while_the_number_of_classes_is_open():
    assert Softmax().curvature(1.0) == 0.0


def test_the_runner_up_rule_is_refused():
    with pytest.raises(ValueError, match="one implicit step, rule 'exact'"):
        Softmax().implicit(0, np.zeros(3), 1.0, 1.0, rule="runner_up")
