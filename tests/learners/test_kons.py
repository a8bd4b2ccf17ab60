"""KONS against explicit features, golden values, its regret bounds and its limits."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from grids import grid
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream.kernels import Gaussian, Kernel, Linear, Polynomial
from nystream.learners import KONS, ONS
from nystream.losses import Loss, Softmax, Squared, as_loss
from oracles.newton import feature_rows, newton, quadratic_features

LOSSES = ["squared", "logistic", "squared_hinge", "hinge", "absolute"]
CLIPS = [0.4, 2.0]


def stream(loss, n=300, d=2, seed=0, bound=2.0):
    """Points of which a third repeats earlier ones; noisy labels of the loss's kind."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X[n // 2 :: 3] = X[: len(X[n // 2 :: 3])]
    f = np.sin(3 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    if as_loss(loss).labels == "sign":
        return X, np.where(f >= 0, 1.0, -1.0)
    return X, 0.97 * bound * np.tanh(f)


def by_steps(learner, X, y):
    return np.array([learner.step(a, b) for a, b in zip(X, y, strict=True)])


@pytest.mark.parametrize(
    ("loss", "clip", "total", "last"),
    [
        ("squared", 1.0, 7.1781861889, -0.4735612471),
        ("logistic", 2.0, 23.3003253158, -0.8177285456),
        ("squared_hinge", 1.0, 14.8816548374, -0.8653315862),
        ("hinge", 1.5, 17.8532014761, -1.1667351258),
    ],
)
def test_golden_values(loss, clip, total, last):
    X, real, signs = oracles.golden_stream()
    y = real if loss == "squared" else signs
    for learn in (KONS.run, by_steps):
        learner = KONS(Gaussian(0.3), loss=loss, clip=clip)
        p = learn(learner, X, y)
        assert_allclose([as_loss(loss).value(y, p).sum(), learner.total_loss_, p[-1]], [total, total, last], atol=5e-11)


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_polynomial_kernel_equals_newton_steps_on_its_features(loss, clip):
    X, y = stream(loss, d=3, bound=clip)
    y = 1.1 * y if loss == "absolute" else y  # off the kink: rounding would decide the subgradient there
    Z = quadratic_features(X)
    expected = ONS(loss=loss, clip=clip, lam=0.7).run(Z, y)
    assert_allclose(newton(Z, y, as_loss(loss), clip, 0.7).p, expected, atol=1e-8)
    block, rows = KONS(Polynomial(2), loss=loss, clip=clip, lam=0.7), KONS(Polynomial(2), loss=loss, clip=clip, lam=0.7)
    assert_allclose(block.run(X, y), expected, atol=1e-8)
    assert_allclose(by_steps(rows, X, y), expected, atol=1e-8)
    assert np.abs(expected).max() == clip


@pytest.mark.parametrize(("loss", "clip"), grid(LOSSES, CLIPS))
def test_a_gaussian_kernel_equals_dense_solves_over_300_rounds(loss, clip):
    X, y = stream(loss, bound=clip)
    slow = newton(feature_rows(oracles.gaussian(X, X, 0.5)), y, as_loss(loss), clip, 0.5)
    block, rows = KONS(Gaussian(0.5), loss=loss, clip=clip, lam=0.5), KONS(Gaussian(0.5), loss=loss, clip=clip, lam=0.5)
    assert_allclose(block.run(X, y), slow.p, atol=1e-10)
    assert_allclose(by_steps(rows, X, y), slow.p, atol=1e-10)
    assert_allclose(block.log_det(), np.linalg.slogdet(slow.A / 0.5)[1], rtol=1e-9)
    assert_allclose(block.bound_terms(0.0).dimension, 0.5 * slow.bound[-1], rtol=1e-9)
    assert block.size == rows.size == np.sum((slow.dl != 0) | (slow.ybar != slow.p))


def test_a_projection_without_a_gradient_still_moves_the_function():
    X, y = stream("squared_hinge", d=3)
    X, y = np.vstack([X, 3 * X]), np.r_[y, y]  # beyond the margin and beyond the clip
    slow = newton(quadratic_features(X), y, as_loss("squared_hinge"), 1.2)
    silent = (slow.dl == 0) & (np.abs(slow.ybar) > 1.2)
    assert silent.sum() > 5
    learner = KONS(Polynomial(2), loss="squared_hinge", clip=1.2)
    assert_allclose(learner.run(X, y), slow.p, atol=1e-8)
    assert learner.size > learner._factor.n  # stored, but not in the factor


def test_rounds_without_gradient_and_projection_store_nothing():
    X = np.random.default_rng(0).uniform(-1, 1, (200, 1))
    learner = KONS(Gaussian(1.0), loss="hinge", clip=1.5)
    p = learner.run(X, np.ones(200))
    assert learner.size == np.sum((p < 1) | (p == 1.5)) < 20


def in_features(learner, X, Z):
    """The function and the metric of a learner on rows X with features Z."""
    if not learner.size:
        return np.zeros(Z.shape[1]), np.eye(Z.shape[1])
    stored = Z[[int(np.flatnonzero((x == X).all(1))[0]) for x in learner.points]]
    psi = learner.scale_.view * stored[learner._entered]
    return learner.coef @ stored, np.eye(Z.shape[1]) + psi.T @ psi


def test_the_projection_satisfies_its_optimality_conditions():
    """p = clip(u(x)), and the round moves the function along A^-1 phi: the projection, then the Newton step."""
    X, y = stream("absolute", n=80, bound=0.4)
    Z = feature_rows(oracles.gaussian(X, X, 0.5))
    learner, active = KONS(Gaussian(0.5), loss="absolute", clip=0.4), 0
    for t in range(80):
        u, A = in_features(learner, X, Z)
        p = learner.step(X[t], y[t])
        assert abs(p) <= 0.4
        assert_allclose(p, np.clip(u @ Z[t], -0.4, 0.4), atol=1e-9)
        move = in_features(learner, X, Z)[0] - u
        along = np.linalg.solve(A, Z[t])
        assert_allclose(move, along * (move @ Z[t]) / (along @ Z[t]), atol=1e-8)
        active += abs(u @ Z[t]) > 0.4
    assert active > 5


def test_the_published_dual_form_agrees_where_it_is_defined():
    """ybar_t = [k.c - (d k)' (D K D + lam I)^-1 D K c]/lam with c_s = eta dl_s^2 p_s - dl_s - h_s/s_s."""
    X, y = stream("squared", n=120, bound=1.0)
    lam, eta = 0.5, 0.125
    learner = KONS(Gaussian(0.5), lam=lam)
    p, K = learner.run(X, y), oracles.gaussian(X, X, 0.5)
    dl, c = 2 * (p - y), np.zeros(120)
    d = dl * np.sqrt(eta)
    for t in range(120):
        k, G = K[t, :t], d[:t, None] * K[:t, :t] * d[:t] + lam * np.eye(t)
        inner = np.linalg.solve(G, d[:t] * k) if t else np.zeros(0)
        ybar = (k @ c[:t] - inner @ (d[:t] * (K[:t, :t] @ c[:t]))) / lam
        s = (K[t, t] - inner @ (d[:t] * k)) / lam
        assert_allclose(np.clip(ybar, -1, 1), p[t], atol=1e-9)
        c[t] = eta * dl[t] ** 2 * p[t] - dl[t] - (ybar - p[t]) / s


def comparators(X, y, clip, kernel):
    """Values and squared norms of functions within [-clip, clip]: 0, and batch solutions scaled into it."""
    K = kernel(X, X)
    yield np.zeros(len(X)), 0.0
    for ridge in (0.01, 0.1, 1.0, 10.0):
        a = np.linalg.solve(K + ridge * np.eye(len(X)), y)
        f = K @ a
        scale = clip / max(clip, np.abs(f).max())
        yield scale * f, max(float(scale**2 * a @ f), 0.0)


def adversities(loss, n, seed):
    X, y = stream(loss, n=n, seed=seed, bound=1.0)
    yield X, y
    yield np.repeat(X[:1], n, axis=0), np.resize([-1.0, 1.0], n)
    yield np.sin(np.arange(n))[:, None], np.where(np.arange(n) // 25 % 2 == 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_regret_never_exceeds_the_bounds(loss):
    clip, worst = {"squared": 1.0, "squared_hinge": 1.2, "absolute": 1.1}.get(loss, 1.5), 0.0
    for seed in range(3):
        for X, y in adversities(loss, 120, seed):
            learner = KONS(Gaussian(0.5), loss=loss, clip=clip, lam=0.3)
            p = learner.run(X, y)
            for f, norm2 in comparators(X, y, clip, Gaussian(0.5)):
                regret = learner.regret_against(f, y)
                assert_allclose(regret, np.sum(as_loss(loss).value(y, p) - as_loss(loss).value(y, f)), atol=1e-9)
                sharp, blind = learner.bound_terms(norm2, f).total, learner.regret_bound(norm2)
                assert regret <= sharp <= blind + 1e-9
                assert regret <= learner.published_bound(norm2).total
                assert learner.published_bound(norm2).total <= learner.published_bound(norm2, a_priori=True).total
                worst = max(worst, regret / sharp)
    print(f"{loss}: largest regret/bound {worst:.3f}")
    assert worst > 0.2  # the comparators are worth the name


def test_alternating_labels_cost_what_theory_says():
    y = np.resize([-1.0, 1.0], 400)
    for rounds, regret, places in [(200, 16.0726070072, 1e-9), (400, 18.69, 5e-3)]:
        learner = KONS(Gaussian(1.0))
        learner.run(np.zeros((rounds, 1)), y[:rounds])
        assert_allclose(learner.regret_against(np.zeros(rounds), y[:rounds]), regret, atol=places)
        assert learner.size == rounds


def test_dimensions_equal_their_dense_definitions_on_the_rescaled_kernel():
    X, y = stream("logistic")
    learner = KONS(Gaussian(0.5), loss="logistic", clip=2.0, lam=0.05)
    p = learner.run(X, y)
    d = as_loss("logistic").grad(y, p) * np.exp(-1.0)
    K = d[:, None] * oracles.gaussian(X, X, 0.5) * d
    assert_allclose(learner.log_det(), oracles.log_det(K, 0.05), rtol=1e-8)
    assert_allclose(learner.online_dimension(), oracles.online_dimension(K, 0.05), rtol=1e-8)
    assert_allclose(learner.effective_dimension(), oracles.effective_dimension(K, 0.05), rtol=1e-8)
    top = np.linalg.eigvalsh(K)[-1]
    assert learner.online_dimension() <= learner.log_det() <= learner.effective_dimension() * (1 + np.log1p(top / 0.05))


def test_scaling_kernel_and_ridge_together_changes_nothing():
    X, y = stream("squared", bound=0.4)
    for c in (1e-3, 7.0):
        scaled = KONS(c * Gaussian(0.5), clip=0.4, lam=0.5 * c).run(X, y)
        assert_allclose(scaled, KONS(Gaussian(0.5), clip=0.4, lam=0.5).run(X, y), atol=1e-10)


def test_blocks_of_any_size_and_single_steps_agree():
    X, y = stream("absolute", bound=0.4)
    expected = KONS(Gaussian(0.5), loss="absolute", clip=0.4).run(X, y)
    for size in (1, 7, 64, 130):
        learner = KONS(Gaussian(0.5), loss="absolute", clip=0.4)
        got = np.concatenate([learner.run(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)])
        assert_allclose(got, expected, atol=1e-10)


def test_prediction_uses_the_function_that_the_next_step_uses():
    X, y = stream("squared", bound=0.4)
    learner = KONS(Gaussian(0.5), clip=0.4, lam=0.5)
    for t in range(0, 300, 30):
        learner.run(X[t : t + 29], y[t : t + 29])
        expected = learner.predict(X[t + 29 : t + 30])[0]
        assert_allclose(learner.step(X[t + 29], y[t + 29]), expected, atol=1e-11)


def test_a_full_learner_refuses_before_anything_changes():
    X, y = stream("squared_hinge")
    free = KONS(Gaussian(0.5), loss="squared_hinge", clip=2.0)
    free.run(X, y)
    exact = KONS(Gaussian(0.5), loss="squared_hinge", clip=2.0, max_points=free.size)
    exact.run(X, y)  # rounds that store nothing do not count
    tight = KONS(Gaussian(0.5), loss="squared_hinge", clip=2.0, max_points=free.size - 1)
    tight.run(X[:20], y[:20])
    before, copied = tight.to_bytes(), copy.deepcopy(tight)
    with pytest.raises(ValueError, match=rf"more than max_points={free.size - 1}; use ProsNKons"):
        tight.run(X[20:], y[20:])
    assert tight.to_bytes() == before
    assert_array_equal(tight.run(X[20:90], y[20:90]), copied.run(X[20:90], y[20:90]))
    rows = iter(zip(X[90:], y[90:], strict=True))
    while tight.size < tight.max_points:
        tight.step(*next(rows))
    before = tight.to_bytes()
    with pytest.raises(ValueError, match="more than max_points"):
        tight.step(np.array([9.0, 9.0]), 1.0)  # a new point always has a gradient
    assert tight.to_bytes() == before


class Cube(Loss):
    """A loss of one's own, in Python; it refuses labels over 5."""

    name = "cube"

    def value(self, y, p):
        return np.abs(p - y) ** 3

    def grad(self, y, p):
        if y > 5:
            raise ArithmeticError("too large")
        return 3 * abs(p - y) * (p - y)


def test_a_loss_of_ones_own_works_and_may_fail_without_harm():
    X, y = stream("squared", bound=1.0)
    learner = KONS(Gaussian(0.5), loss=Cube(), eta=0.1)
    assert_allclose(learner.run(X, y), by_steps(KONS(Gaussian(0.5), loss=Cube(), eta=0.1), X, y), atol=1e-10)
    assert np.sum(Cube().value(y[-100:], learner.predict(X[-100:]))) < 0.5 * np.sum(np.abs(y[-100:]) ** 3)
    before = learner.to_bytes()
    with pytest.raises(ArithmeticError, match="too large"):
        learner.run(X[:150], np.r_[y[:149], 6.0])
    assert learner.to_bytes() == before
    with pytest.raises(ValueError, match=r"eta='auto' needs loss\.lipschitz"):
        KONS(Gaussian(), loss=Cube())


def test_a_python_kernel_gives_what_the_compiled_one_gives():
    class Slow(Kernel):
        def __call__(self, X, Y):
            return np.asfortranarray(oracles.gaussian(X, Y, 0.5))

    X, y = stream("squared", bound=1.0, n=150)
    assert_allclose(KONS(Slow()).run(X, y), KONS(Gaussian(0.5)).run(X, y), atol=1e-10)


@pytest.mark.parametrize("lam", [1.0, 1e-8])
@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_hard_points_give_finite_numbers_and_pivots_above_the_floor(loss, lam):
    rng = np.random.default_rng(0)
    near = 1e-9 * rng.normal(size=(100, 2))
    X = np.vstack([np.zeros((3, 2)), np.ones((2000, 2)), 1 + near, 1e6 * rng.normal(size=(50, 2))])
    y = np.resize([1.0, -1.0, -1.0], len(X))
    y[0] = 0.0 if loss == "squared" else 1.0
    learner = KONS(Gaussian(0.5), loss=loss, clip=1.5, lam=lam)
    p = learner.run(X, y)
    assert np.all(np.abs(p) <= 1.5)
    assert np.isfinite(learner.predict(X[::50])).all()
    assert learner._factor.diagonal.min() >= np.sqrt(lam)
    assert np.isfinite([learner.log_det(), learner.online_dimension(), learner.regret_bound(1.0)]).all()


def test_a_point_without_a_feature_predicts_zero_and_teaches_nothing():
    learner = KONS(Linear())
    X = np.array([[0.0], [1.0], [0.0], [2.0], [0.0]])
    p = learner.run(X, np.full(5, 0.5))
    assert_array_equal(p[[0, 2, 4]], 0.0)
    assert learner.size == 2
    assert learner.n_seen == 5
    assert_array_equal(learner.points, [[1.0], [2.0]])
    huge = KONS(Linear())
    assert np.isfinite(huge.run(1e6 * X, np.full(5, 0.5))).all()


def test_a_label_out_of_range_is_learnt_with_one_warning():
    X, y = stream("squared", bound=1.0)
    y[10], y[20], y[200] = 3.0, -4.0, 5.0
    learner = KONS(Gaussian(0.5))
    with pytest.warns(UserWarning, match="set clip to a bound") as caught:
        learner.run(X[:150], y[:150])
    learner.run(X[150:], y[150:])  # any further warning would be an error
    assert len(caught) == 1
    single = KONS(Gaussian(0.5))
    with pytest.warns(UserWarning, match="guarantee is void"):
        single.step(X[0], 3.0)
    KONS(Gaussian(0.5), loss="absolute", clip=0.7).run(X, y)  # nothing depends on |y| there
    slow = newton(feature_rows(oracles.gaussian(X, X, 0.5)), y, Squared(), 1.0)
    assert_allclose(learner.predict(X[:1]), KONS_of(X, y).predict(X[:1]), atol=1e-12)
    assert_allclose(slow.p[-1], KONS_of(X[:-1], y[:-1]).predict(X[-1:])[0], atol=1e-9)


def KONS_of(X, y):
    learner = KONS(Gaussian(0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.run(X, y)
    return learner


def test_a_clip_on_the_kink_of_the_loss_warns():
    with pytest.warns(UserWarning, match="lies on the kink"):
        KONS(Gaussian(), loss="hinge", clip=1.0).step(np.ones(1), 1.0)


def test_columns_that_come_late_count_as_zero():
    X, y = stream("squared", bound=1.0)
    wide = np.hstack([X, np.zeros((300, 1))])
    wide[150:, 2] = 0.3
    late, whole = KONS(Gaussian(0.5)), KONS(Gaussian(0.5))
    late.run(X[:150], y[:150])
    late.widen(3)
    assert_allclose(np.r_[late.run(wide[150:], y[150:])], whole.run(wide, y)[150:], atol=1e-11)


def test_a_learner_that_saw_nothing_answers_for_itself():
    learner = KONS(Gaussian(), lam=4.0)
    assert learner.regret_bound(0.5) == 1.0
    assert learner.published_bound(0.5).total == 2.0
    assert (learner.log_det(), learner.online_dimension(), learner.effective_dimension()) == (0.0, 0.0, 0.0)
    assert learner.regret_against([], []) == 0.0
    assert (learner.size, learner.nbytes) == (0, 0)


def test_bad_arguments_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match="kernel must be a kernel such as"):
        KONS("rbf")
    with pytest.raises(TypeError, match="KONS has one output, softmax needs one per class"):
        KONS(Gaussian(), loss=Softmax(3))
    for name, bad in [("clip", 0), ("lam", -1.0), ("eta", "fast"), ("eta", 0.0), ("max_points", 0)]:
        with pytest.raises(ValueError, match=f"{name}.* must be"):
            KONS(Gaussian(), **{name: bad})
    X, y = stream("squared", n=20, bound=1.0)
    learner = KONS(Gaussian())
    learner.run(X, y)
    with pytest.raises(ValueError, match="one label for each of the 20 rows"):
        learner.regret_against(np.zeros(19), y)
    with pytest.raises(ValueError, match="scale values down"):
        learner.bound_terms(1.0, np.full(20, 1.5))
    with pytest.raises(TypeError, match="KONS cannot merge"):
        learner.merge(learner)
