"""ONS against dense solves with projection by bisection, its regret bound, and its own laws."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from nystream import persist
from nystream.losses import Logistic, Loss, as_loss
from nystream.runtime.types import Change
from nystream.solvers import ONS
from oracles.ons import newton_step, step_size

LOSSES = ["squared", "logistic", "squared_hinge", "hinge", "absolute"]
CLIPS = [0.4, 2.0]


def stream(loss, n=150, dim=6, seed=0, bound=0.4):
    """Rows with repeats, some of them large enough to be clipped, labels (n, 1) within the bound."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, dim))
    Z[n // 2 : n // 2 + 10] = Z[:10]
    f = Z[:, 0] - 0.5 * Z[:, 1] + 0.5 * rng.normal(size=n)
    if as_loss(loss).labels == "sign":
        return Z, np.where(f >= 0, 1.0, -1.0)[:, None]
    return Z, 0.97 * bound * np.tanh(f)[:, None]


def started(loss, dim=6, **params):
    solver = ONS(loss, **params)
    solver.start(dim, 1)
    return solver


def learnt(solver):
    """A copy of the state, that of the metric beside the rest."""
    state = copy.deepcopy(solver._state())
    return state.pop("metric_")._state() | state


def assert_same(got, expected):
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        assert_array_equal(got[name], value)


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("name", LOSSES)
def test_ons_equals_dense_solves_with_projection_by_bisection(name, clip):
    loss = as_loss(name)
    Z, Y = stream(name, bound=clip)
    P, u, A, gradients = newton_step(loss, Z, Y, clip, 0.7, step_size(loss, clip))
    block, rows = (started(name, clip=clip, lam=0.7) for _ in range(2))
    assert_allclose(block.run(Z, Y), P, rtol=0, atol=1e-10)
    assert_allclose([rows.step(z, y) for z, y in zip(Z, Y, strict=True)], P, rtol=0, atol=1e-10)
    for solver in (block, rows):
        assert_allclose(solver.weights[:, 0], u, rtol=0, atol=1e-9)
        assert_allclose(solver.inverse, np.linalg.inv(A), rtol=0, atol=1e-10)
        assert_allclose(solver.log_det(), np.linalg.slogdet(A / 0.7)[1], rtol=1e-10)
        assert_allclose(solver.meter_[0], gradients, rtol=1e-10)
    assert np.abs(P).max() == clip  # the projection was really asked for


@pytest.mark.parametrize("name", LOSSES)
def test_blocks_of_any_size_equal_single_steps(name):
    Z, Y = stream(name, n=205, dim=20, bound=0.8)
    rows = started(name, dim=20, clip=0.8)
    expected = np.array([rows.step(z, y) for z, y in zip(Z, Y, strict=True)])
    for size in (1, 7, 64, 205):
        solver = started(name, dim=20, clip=0.8)
        got = np.vstack([solver.run(Z[i : i + size], Y[i : i + size]) for i in range(0, 205, size)])
        assert_allclose(got, expected, rtol=0, atol=1e-10)
        assert_allclose(solver.weights, rows.weights, rtol=0, atol=1e-10)
        assert_allclose(solver.inverse, rows.inverse, rtol=0, atol=1e-10)
        assert_allclose(solver.meter_, rows.meter_, rtol=1e-10)


def test_the_projection_satisfies_its_optimality_conditions():
    Z, Y = stream("squared", n=60)
    solver = started("squared", clip=0.4)
    active = 0
    for z, y in zip(Z, Y, strict=True):
        u, P = solver.weights[:, 0].copy(), solver.inverse
        p = solver.step(z, y)[0]
        w = u - (u @ z - p) / (z @ P @ z) * (P @ z)  # moves along A^-1 z
        assert abs(p) <= 0.4
        assert_allclose(w @ z, p, atol=1e-12)
        active += abs(u @ z) > 0.4
        assert p == np.clip(u @ z, -0.4, 0.4) or abs(p - u @ z) < 1e-12
    assert active > 5


def comparators(loss, Z, Y, clip):
    """Batch solutions for several ridges, scaled into |w'z| <= clip; and 0."""

    def value(w, lam):
        return float(np.sum(loss.value(Y[:, 0], Z @ w))) + lam * float(w @ w)

    found = [np.zeros(Z.shape[1])]
    for lam in (1e-3, 0.1, 10.0):
        w = minimize(value, found[-1], args=(lam,), method="L-BFGS-B").x
        found.append(w * min(1.0, clip / max(np.abs(Z @ w).max(), 1e-12)))
    return found


def streams_of_the_bound(name, clip):
    rng = np.random.default_rng(5)
    n = 300
    Z = rng.normal(size=(n, 4)) / 2
    sign = as_loss(name).labels == "sign"
    top = 1.0 if sign else 0.97 * clip
    random = top * np.where(Z[:, 0] + 0.3 * rng.normal(size=n) >= 0, 1.0, -1.0)
    yield "random", Z, random[:, None]
    yield "alternating", np.ones((n, 1)), top * np.resize([-1.0, 1.0], n)[:, None]
    switching = top * np.where((np.arange(n) // 50) % 2 == 0, 1.0, -1.0) * np.sign(Z[:, 0])
    yield "switching", Z, switching[:, None]


@pytest.mark.parametrize("name", LOSSES)
def test_regret_stays_below_the_sharp_bound(name):
    loss, clip = as_loss(name), 1.3
    for _, Z, Y in streams_of_the_bound(name, clip):
        solver = started(name, dim=Z.shape[1], clip=clip)
        P = solver.run(Z, Y)
        paid = float(np.sum(loss.value(Y, P)))
        for w in comparators(loss, Z, Y, clip):
            regret = paid - float(np.sum(loss.value(Y[:, 0], Z @ w)))
            assert regret <= solver.regret_bound(norm2=float(w @ w)) + 1e-9


def test_the_bound_is_nearly_reached_on_alternating_labels():
    solver = started("squared", dim=1)
    Y = np.resize([-1.0, 1.0], 200)[:, None]
    regret = float(np.sum((solver.run(np.ones((200, 1)), Y) - Y) ** 2)) - 200
    assert_allclose(regret, 16.0726070072, atol=1e-9)
    assert regret <= solver.regret_bound(0.0) <= 1.06 * regret


def test_a_step_size_above_the_curvature_enters_the_bound():
    Z, Y = stream("squared", bound=1.0)
    right, larger = started("squared"), started("squared", eta=1.0)
    for solver in (right, larger):
        solver.run(Z, Y)
    assert right.meter_[2] == 0
    assert larger.regret_bound(0.0) > 0.5 * larger.meter_[0]


def test_scaling_the_features_and_the_ridge_together_changes_no_prediction():
    Z, Y = stream("logistic")
    one, other = started("logistic", clip=2.0), started("logistic", clip=2.0, lam=9.0)
    assert_allclose(other.run(3.0 * Z, Y), one.run(Z, Y), rtol=0, atol=1e-11)


class PlainLogistic(Loss):
    """The logistic loss as a user would write it, without a compiled form."""

    name = "plain_logistic"
    labels = "sign"

    def grad(self, y, p):
        return -y / (1 + np.exp(y * p))

    def curvature(self, clip, bound=None):
        return Logistic().curvature(clip)


def test_a_loss_of_ones_own_learns_like_its_compiled_twin():
    Z, Y = stream("logistic")
    plain, built_in = started(PlainLogistic(), clip=2.0), started("logistic", clip=2.0)
    assert PlainLogistic().compiled is None
    assert_allclose(plain.run(Z, Y), built_in.run(Z, Y), rtol=0, atol=1e-12)
    assert_allclose(plain.step(Z[0], Y[0]), built_in.step(Z[0], Y[0]), rtol=0, atol=1e-12)


def test_an_error_inside_a_loss_leaves_the_block_unlearnt():
    class Broken(PlainLogistic):
        def grad(self, y, p):
            if y == 0:
                raise ZeroDivisionError("the loss is at fault")
            return super().grad(y, p)

    Z, Y = stream("logistic", n=20)
    solver = started(Broken())
    solver.run(Z[:10], Y[:10])
    before = learnt(solver)
    with pytest.raises(ZeroDivisionError, match="the loss is at fault"):
        solver.run(Z[10:16], np.vstack([Y[10:15], [[0.0]]]))
    assert_same(learnt(solver), before)


def test_appended_coordinates_start_fresh_and_keep_what_was_learnt():
    Z, Y = stream("squared")
    solver = started("squared", dim=4, lam=0.5)
    solver.run(np.ascontiguousarray(Z[:80, :4]), Y[:80])
    weights, inverse = solver.weights, solver.inverse
    solver.rebase(Change(np.eye(6, 4)), 6)
    assert_array_equal(solver.weights, np.vstack([weights, np.zeros((2, 1))]))
    assert_allclose(solver.inverse[:4, :4], inverse, rtol=1e-14, atol=1e-16)
    assert_array_equal(solver.inverse[4:], np.hstack([np.zeros((2, 4)), 2 * np.eye(2)]))
    padded = np.hstack([Z[:80, :4], np.zeros((80, 2))])
    whole = started("squared", lam=0.5)
    expected = whole.run(np.vstack([padded, Z[80:]]), Y)
    assert_allclose(solver.run(Z[80:], Y[80:]), expected[80:], rtol=0, atol=1e-10)


def test_a_map_may_start_without_features():
    Z, Y = stream("squared", bound=1.0)
    solver, fresh = started("squared", dim=0), started("squared")
    assert_array_equal(solver.run(np.zeros((5, 0)), Y[:5]), np.zeros((5, 1)))
    assert_array_equal(solver.step(np.zeros(0), Y[0]), [0.0])
    solver.rebase(Change(np.eye(6, 0)), 6)
    assert_array_equal(solver.run(Z, Y), fresh.run(Z, Y))


def test_a_rotation_of_the_features_changes_no_prediction():
    Z, Y = stream("logistic")
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(9, 6)))[0]
    still, turned = started("logistic", clip=2.0), started("logistic", clip=2.0)
    expected = still.run(Z, Y)
    turned.run(Z[:70], Y[:70])
    turned.rebase(Change(Q), 9)
    assert_allclose(turned.run(Z[70:] @ Q.T, Y[70:]), expected[70:], rtol=0, atol=1e-10)
    with pytest.raises(TypeError, match="orthonormal columns"):
        turned.rebase(Change(2 * np.eye(9)), 9)


def test_a_restart_forgets_the_weights_and_counts_in_the_bound():
    Z, Y = stream("squared")
    solver, fresh = started("squared"), started("squared")
    solver.run(Z[:50], Y[:50])
    bound = solver.regret_bound(1.0)
    solver.rebase(Change(None), 6)
    assert_allclose(solver.regret_bound(1.0), bound + 0.5, rtol=1e-12)
    assert_allclose(solver.run(Z[50:], Y[50:]), fresh.run(Z[50:], Y[50:]), rtol=0, atol=1e-12)


def test_a_zero_row_predicts_zero_and_teaches_nothing():
    solver = started("squared")
    solver.run(*stream("squared"))
    before = learnt(solver)
    assert_array_equal(solver.step(np.zeros(6), np.array([0.3])), [0.0])
    assert_array_equal(solver.run(np.zeros((40, 6)), np.full((40, 1), 0.3)), np.zeros((40, 1)))
    after = learnt(solver)
    assert after.pop("t_") == before.pop("t_") + 41
    assert_same(after, before)


def test_repeated_and_huge_rows_give_finite_numbers_within_the_clip():
    Z, Y = stream("squared")
    hard = np.vstack([np.repeat(Z[:1], 500, axis=0), 1e6 * Z, 1e-6 * Z])
    for lam in (1.0, 1e-6):
        solver = started("squared", lam=lam)
        P = solver.run(hard, np.resize(Y, (len(hard), 1)))
        assert np.abs(P).max() <= 1.0
        assert np.isfinite(solver.weights).all()
        assert np.isfinite(solver.inverse).all()


def test_a_saved_solver_goes_on_bit_for_bit():
    Z, Y = stream("logistic")
    solver = started("logistic", clip=2.0)
    solver.run(Z[:50], Y[:50])
    twin = persist.from_bytes(persist.to_bytes(solver))
    assert_array_equal(twin.run(Z[50:], Y[50:]), solver.run(Z[50:], Y[50:]))
    assert twin.regret_bound(1.0) == solver.regret_bound(1.0)


def test_a_label_outside_the_clip_warns_once_and_is_learnt():
    solver = started("squared", dim=1)
    with pytest.warns(UserWarning, match="guarantee is void"):
        solver.step(np.ones(1), np.array([5.0]))
    assert solver.weights[0, 0] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solver.run(np.ones((3, 1)), np.full((3, 1), 5.0))
        started("absolute", dim=1).step(np.ones(1), np.array([5.0]))  # its constants do not depend on y


def test_a_clip_on_the_kink_of_the_loss_warns():
    with pytest.warns(UserWarning, match="lies on the kink"):
        started("hinge", clip=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        started("hinge", clip=1.5)
        started("squared_hinge", clip=1.0)


def test_bad_arguments_are_refused_where_they_are_given():
    with pytest.raises(TypeError, match="one-vs-rest"):
        ONS("softmax")
    with pytest.raises(ValueError, match="clip must be"):
        ONS(clip=0.0)
    with pytest.raises(ValueError, match="lam must be"):
        ONS(lam=0.0)
    with pytest.raises(ValueError, match="'auto' or 'sqrt'"):
        ONS(eta="fast")
    with pytest.raises(ValueError, match="one output, got 2"):
        ONS().start(3, 2)

    class Unknown(Loss):
        name = "unknown"

        def grad(self, y, p):
            return np.sign(p - y)

    with pytest.raises(ValueError, match="lipschitz"):
        ONS(Unknown())
    assert ONS(Unknown(), eta=0.5).eta == 0.5


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_that_share_no_pass_are_those_of_a_block(loss):
    Z, Y = stream(loss)
    apart, blocks = started(loss, clip=2.0), started(loss, clip=2.0)
    apart._newton.samples = 1
    assert_allclose(apart.run(Z, Y), blocks.run(Z, Y), rtol=0, atol=1e-12)
