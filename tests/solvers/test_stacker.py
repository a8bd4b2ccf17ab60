"""The stackers against their definitions: discounted least squares, and Newton steps by numerical derivatives."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from nystream import from_bytes, to_bytes
from nystream.solvers.stacker import RidgeStacker, SoftmaxStacker

MEMBERS = [(1.0, 1.0), (0.99, 0.1)]


def scores(n=47, experts=3, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    columns = 1 if classes == 2 else classes
    codes = np.where(labels[:, None] == np.arange(classes), 1.0, -1.0)[:, -columns:]
    return codes[:, None, :] * rng.uniform(0, 1, (1, experts, 1)) + rng.normal(size=(n, experts, columns)), labels


def logits(theta, F, classes):
    out = np.einsum("nec,e->nc", F, theta[: F.shape[1]]) + theta[F.shape[1] :]
    return np.hstack([np.zeros((len(F), 1)), out]) if classes == 2 else out


def log_loss(theta, F, labels, weights, classes):
    P = softmax(logits(theta, F, classes), axis=1)
    return -(weights * np.log(P[np.arange(len(F)), labels])).sum()


def derivatives(f, theta, h=1e-4):
    """Gradient and Hessian by central differences."""
    E = h * np.eye(len(theta))
    gradient = np.array([(f(theta + e) - f(theta - e)) / (2 * h) for e in E])
    cross = [[f(theta + a + b) - f(theta + a - b) - f(theta - a + b) + f(theta - a - b) for b in E] for a in E]
    return gradient, np.array(cross) / (4 * h * h)


def newton(F, labels, weights, classes, decay, lam, block=10):
    """The recursion of the docstring, derivatives by differences."""
    start = np.r_[np.full(F.shape[1], 2 / F.shape[1]), np.zeros(F.shape[2])]
    theta, H, P = start.copy(), np.zeros((len(start), len(start))), []
    for i in range(0, len(F), block):
        part = slice(i, i + block)
        P.append(softmax(logits(theta, F[part], classes), axis=1))
        if len(P[-1]) < block:
            break
        g, h = derivatives(lambda v, p=part: log_loss(v, F[p], labels[p], weights[p], classes), theta)
        H = decay**block * H + h
        slope = g + lam * (1 - decay**block) * (theta - start)
        theta = theta - np.linalg.solve(H + lam * np.eye(len(start)), slope)
    return np.vstack(P)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("size", [1, 7, 47])
def test_softmax_stacker_takes_the_newton_steps_of_its_definition(classes, size):
    F, labels = scores(classes=classes)
    weights = np.random.default_rng(1).uniform(0, 2, len(F))
    stacker = SoftmaxStacker(MEMBERS)
    stacker.start(3, classes)
    parts = [stacker.run(F[i : i + size], labels[i : i + size], weights[i : i + size]) for i in range(0, 47, size)]
    for s, (decay, lam) in enumerate(MEMBERS):
        expected = newton(F, labels, weights, classes, decay, lam)
        assert_allclose(np.vstack(parts)[:, s], expected, atol=2e-6)


@pytest.mark.parametrize("size", [1, 7, 47])
def test_ridge_stacker_is_discounted_least_squares_towards_the_mean(size):
    rng = np.random.default_rng(0)
    F, Y, weights = rng.normal(size=(47, 4, 2)), rng.normal(size=(47, 2)), rng.uniform(0, 2, 47)
    stacker = RidgeStacker(MEMBERS)
    stacker.start(4, 2)
    parts = [stacker.run(F[i : i + size], Y[i : i + size], weights[i : i + size]) for i in range(0, 47, size)]
    got = np.vstack(parts)
    for s, (decay, lam) in enumerate(MEMBERS):
        for k in range(2):
            for t in range(47):
                used = t // 10 * 10
                age = (used - 1 - np.arange(used)) // 10 * 10
                v = weights[:used] * decay ** age.astype(float)
                A = (F[:used, :, k].T * v) @ F[:used, :, k] + lam * np.eye(4)
                w = np.linalg.solve(A, F[:used, :, k].T @ (v * Y[:used, k]) + lam / 4)
                assert_allclose(got[t, s, k], F[t, :, k] @ w, atol=1e-10)


def test_rescaled_sums_are_those_of_outputs_and_labels_in_the_new_unit():
    rng = np.random.default_rng(0)
    F, Y, unit = rng.normal(size=(47, 4, 2)), rng.normal(size=(47, 2)), np.array([10.0, 0.1])
    old, new = RidgeStacker(MEMBERS), RidgeStacker(MEMBERS)
    for stacker, factor in ((old, 1.0), (new, unit)):
        stacker.start(4, 2)
        stacker.run(F * factor, Y * factor)
    old.rescale(unit)
    for t in range(3):  # completes the block
        for stacker in (old, new):
            stacker.run(F[t : t + 1] * unit, Y[t : t + 1] * unit)
    assert_allclose(old.weights_, new.weights_, rtol=1e-9)


@pytest.mark.parametrize("before", [2, 3])
def test_a_late_class_changes_no_odds_between_the_old_ones(before):
    F, labels = scores(classes=before)
    stacker = SoftmaxStacker(MEMBERS)
    stacker.start(3, before)
    stacker.run(F, labels)
    P = stacker.predict(F)
    stacker.grow(before + 1)
    codes = np.concatenate([-F, F], axis=2) if before == 2 else F
    Q = stacker.predict(np.concatenate([codes, np.full((47, 3, 1), -1.0)], axis=2))
    assert_allclose(Q[:, :, :before] / Q[:, :, :before].sum(axis=2, keepdims=True), P, atol=1e-12)


def test_curvature_is_carried_to_the_parameters_of_three_classes():
    """The Hessian of the two-class loss, written with w' = w/2 and two biases: by differences."""
    F, labels = scores(n=10, classes=2)
    stacker = SoftmaxStacker([(1.0, 1.0)])
    stacker.start(3, 2)
    stacker.run(F[:9], labels[:9])
    stacker.grow(3)
    wide = np.concatenate([-F[:9], F[:9], np.zeros((9, 3, 1))], axis=2)

    def loss(theta):
        P = softmax(logits(theta, wide, 3)[:, :2], axis=1)
        return -np.log(P[np.arange(9), labels[:9]]).sum()

    gradient, hessian = derivatives(loss, stacker.weights_[0])
    assert_allclose(stacker.new_gradient_[0], gradient, atol=1e-6)
    assert_allclose(stacker.new_hessian_[0], hessian, atol=1e-5)


@pytest.mark.parametrize("kind", [RidgeStacker, SoftmaxStacker])
def test_predict_is_pure_and_saving_loses_nothing(kind):
    F, labels = scores(classes=3)
    Y = labels if kind is SoftmaxStacker else np.random.default_rng(0).normal(size=(47, 3))
    stacker = kind(MEMBERS)
    stacker.start(3, 3)
    stacker.run(F[:25], Y[:25])
    before = to_bytes(stacker)
    stacker.predict(F)
    assert to_bytes(stacker) == before
    twin, saved = copy.deepcopy(stacker), from_bytes(before)
    expected = stacker.run(F[25:], Y[25:])
    assert_array_equal(twin.run(F[25:], Y[25:]), expected)
    assert_array_equal(saved.run(F[25:], Y[25:]), expected)


@pytest.mark.parametrize(
    ("members", "message"),
    [([], "list of pairs"), ([(0.0, 1.0)], "decay must be"), ([(1.1, 1.0)], "decay"), ([(1.0, 0.0)], "lam must be")],
)
def test_bad_members_are_named(members, message):
    with pytest.raises(ValueError, match=message):
        RidgeStacker(members)


# -- many classes ----------------------------------------------------------------------------------------------------
def test_with_many_classes_the_sums_bound_the_hessian_of_the_log_loss():
    """Twice the blocks minus the Hessian by differences has no negative eigenvalue, and the gradient is exact."""
    F, labels = scores(n=8, experts=2, classes=70)
    stacker = SoftmaxStacker([(1.0, 1.0)])
    stacker.start(2, 70)
    stacker.run(F[:8], labels[:8])
    theta = np.r_[np.ones(2), np.zeros(70)]
    gradient, H = derivatives(lambda v: log_loss(v, F, labels, np.ones(8), 70), theta, h=1e-3)
    assert_allclose(stacker.new_gradient_[0], gradient, atol=1e-5)
    assert_allclose(stacker.new_hessian_[0], H[:2, :2], atol=1e-4)
    bound = np.zeros((72, 72))
    bound[:2, :2], bound[2:, 2:] = 2 * stacker.new_hessian_[0], 2 * np.diag(stacker.new_curve_[0])
    assert np.linalg.eigvalsh(bound - H).min() > -1e-4


def test_with_many_classes_it_learns_which_expert_is_right_and_memory_is_linear_in_classes():
    rng = np.random.default_rng(0)
    labels = rng.integers(500, size=300)
    codes = np.where(labels[:, None] == np.arange(500), 1.0, -1.0)
    stacker = SoftmaxStacker()
    stacker.start(2, 500)
    P = stacker.run(np.stack([codes, rng.normal(size=codes.shape)], axis=1), labels)
    right = P[np.arange(300), :, labels]
    assert (right[-50:].mean(axis=0) > 5 * right[:10].mean(axis=0)).all()
    assert stacker.nbytes < 8 * 30 * 500


def test_growing_past_many_classes_keeps_the_odds_of_those_there_were():
    F, labels = scores(n=40, experts=3, classes=60)
    stacker = SoftmaxStacker(MEMBERS)
    stacker.start(3, 60)
    stacker.run(F, labels)
    before = stacker.predict(F)
    stacker.grow(80)
    wide = np.concatenate([F, np.full((40, 3, 20), -1.0)], axis=2)
    after = stacker.predict(wide)[:, :, :60]
    assert_allclose(after / after.sum(axis=2, keepdims=True), before, rtol=1e-9)
    assert np.isfinite(stacker.run(wide, labels)).all()


def test_restarted_targets_are_as_new_and_others_are_left_alone():
    rng = np.random.default_rng(0)
    F, Y = rng.normal(size=(25, 3, 2)), rng.normal(size=(25, 2))
    stacker, other, fresh = (RidgeStacker(MEMBERS) for _ in range(3))
    for one in (stacker, other, fresh):
        one.start(3, 2)
    stacker.run(F, Y)
    other.run(F, Y)
    stacker.restart(np.array([1]))
    fresh.seen_ = stacker.seen_
    both = stacker.run(F, Y)
    assert_allclose(both[:, :, 1], fresh.run(F, Y)[:, :, 1])
    assert_allclose(both[:, :, 0], other.run(F, Y)[:, :, 0])
