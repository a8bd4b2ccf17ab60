"""The sketched Newton step against a fresh SVD every round, exact ONS, its bounds and its laws."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import persist
from nystream.losses import Loss, as_loss
from nystream.runtime.types import Change
from nystream.solvers import ONS, SketchedONS
from oracles.newton import quadratic_features
from oracles.ons import step_size
from oracles.second_order import frequent_directions

LOSSES = ["squared", "logistic", "squared_hinge", "hinge", "absolute"]


def stream(loss="squared", n=300, dim=20, seed=0, bound=0.9):
    """Rows whose directions matter less and less, with repeats and multiples, labels (n, 1) within the bound."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, dim)) / (1 + np.arange(dim))
    Z[n // 2 : n // 2 + 20] = Z[:20]
    Z[-20:] = 0.3 * Z[3]
    f = Z[:, 0] - Z[:, 1] + 0.3 * rng.normal(size=n)
    if as_loss(loss).labels == "sign":
        return Z, np.where(f >= 0, 1.0, -1.0)[:, None]
    return Z, bound * np.tanh(f)[:, None]


def started(loss="squared", dim=20, **params):
    solver = SketchedONS(loss, **params)
    solver.start(dim, 1)
    return solver


@pytest.mark.parametrize("sketch", [2, 3, 7, 12, 30])
@pytest.mark.parametrize("name", LOSSES)
def test_predictions_equal_those_of_a_fresh_svd_every_round(name, sketch):
    loss = as_loss(name)
    Z, Y = stream(name)
    P, u, S, gradients, lost = frequent_directions(Z, Y[:, 0], loss, sketch, 1.3, 0.5, step_size(loss, 1.3))
    solver = started(name, clip=1.3, lam=0.5, sketch=sketch)
    assert_allclose(solver.run(Z, Y)[:, 0], P, rtol=0, atol=1e-10)
    assert_allclose(solver.weights[:, 0], u, rtol=0, atol=1e-9)
    assert_allclose(solver.directions.T @ solver.directions, S.T @ S, rtol=0, atol=1e-10)
    assert_allclose(solver.inverse, np.linalg.inv(0.5 * np.eye(20) + S.T @ S), rtol=0, atol=1e-9)
    assert_allclose(solver.regret_bound(2.0), 0.5 * (0.5 * 2.0 + gradients + excess(solver, Z, Y, P)), rtol=1e-10)
    assert_allclose(solver.log_det(), np.linalg.slogdet(np.eye(20) + S.T @ S / 0.5)[1], rtol=1e-9)
    assert_allclose(solver.lost(), lost, rtol=1e-9, atol=1e-12)
    assert (lost > 0) == (sketch <= 20)


def excess(solver, Z, Y, P):
    """Sum of (eta_t - sigma)_+ dl^2 (|p| + clip)^2."""
    loss = as_loss(solver.loss)
    eta, sigma = step_size(loss, solver.clip), loss.curvature(solver.clip)
    slopes = loss.grad(Y[:, 0], P)
    steps = np.array([eta(t) - sigma for t in range(1, len(P) + 1)])
    return float((steps * (slopes * (np.abs(P) + solver.clip)) ** 2).sum())


def test_golden_values():
    X, y, _ = oracles.golden_stream()
    solver = started(dim=6, sketch=4, clip=1.0, eta=1 / 8)
    p = solver.run(quadratic_features(X), y[:, None])[:, 0]
    assert_allclose(((p - y) ** 2).sum(), 29.6119898893, atol=5e-11)


def test_alternating_labels_on_one_point_need_one_direction():
    y = np.resize([-1.0, 1.0], 200)
    solver = started(dim=1, sketch=2)
    p = solver.run(np.ones((200, 1)), y[:, None])[:, 0]
    assert_allclose(((p - y) ** 2).sum() - 200, 16.0726070072, atol=5e-11)
    assert len(solver.directions) == 1
    assert solver.lost() == 0.0


@pytest.mark.parametrize("name", LOSSES)
def test_a_sketch_above_the_number_of_features_is_ons(name):
    Z, Y = stream(name, n=600, dim=9)
    exact = ONS(name, clip=1.3, lam=0.1)
    exact.start(9, 1)
    sketched = started(name, dim=9, clip=1.3, lam=0.1, sketch=10)
    assert_allclose(sketched.run(Z, Y), exact.run(Z, Y), rtol=0, atol=1e-9)
    assert_allclose(sketched.inverse, exact.inverse, rtol=0, atol=1e-9)
    assert_allclose(sketched.regret_bound(1.0), exact.regret_bound(1.0), rtol=1e-9)
    assert sketched.lost() == 0.0


@pytest.mark.parametrize("sketch", [5, 12, 13])
def test_equal_eigenvalues_are_handled(sketch):
    """Rows of the identity make every eigenvalue a multiple root of the secular equation."""
    Z = np.tile(np.eye(12), (20, 1))
    y = np.resize([0.5, -0.5], len(Z))
    P, _, S, _, lost = frequent_directions(Z, y, as_loss("squared"), sketch, 1.0, 1.0, lambda t: 0.125)
    solver = started(dim=12, sketch=sketch)
    assert_allclose(solver.run(Z, y[:, None])[:, 0], P, rtol=0, atol=1e-13)
    assert_allclose(solver.directions.T @ solver.directions, S.T @ S, rtol=0, atol=1e-13)
    assert_allclose(solver.lost(), lost, rtol=1e-12)


@pytest.mark.parametrize("sketch", [3, 8])
def test_the_sketch_is_below_the_gradients_by_at_most_what_was_lost(sketch):
    Z, Y = stream(n=400, dim=20)
    solver = started(sketch=sketch, clip=1.0)
    p = solver.run(Z, Y)
    G = np.sqrt(solver._sigma) * as_loss("squared").grad(Y, p) * Z
    gap = np.linalg.eigvalsh(G.T @ G - solver.directions.T @ solver.directions)
    assert gap[0] >= -1e-10
    assert gap[-1] <= solver.lost() + 1e-10
    tails = np.cumsum((np.linalg.svd(G, compute_uv=False) ** 2)[::-1])[::-1]
    assert solver.lost() <= min(tails[k] / (sketch - k) for k in range(sketch)) + 1e-10


def test_blocks_of_any_size_give_the_same_bits():
    Z, Y = stream(n=205)
    rows = started(sketch=6)
    expected = np.array([rows.step(z, y) for z, y in zip(Z, Y, strict=True)])
    for size in (7, 64, 205):
        solver = started(sketch=6)
        parts = [solver.run(Z[i : i + size], Y[i : i + size]) for i in range(0, 205, size)]
        assert_array_equal(np.vstack(parts), expected)
        assert_array_equal(solver.weights, rows.weights)


def test_a_long_stream_keeps_the_directions_orthogonal():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(20_000, 30)) / (1 + np.arange(30))
    solver = started(dim=30, sketch=6)
    solver.run(Z, np.tanh(Z[:, :1] + 0.5 * rng.normal(size=(20_000, 1))))
    S = solver.directions
    V = S / np.linalg.norm(S, axis=1, keepdims=True)
    assert_allclose(V @ V.T, np.eye(5), atol=1e-13)


def test_the_solver_follows_a_change_of_basis_and_restarts():
    Z, Y = stream(dim=8)
    wide = np.hstack([Z, np.zeros((300, 3))])
    still, moved = started(dim=11, sketch=5), started(dim=8, sketch=5)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(11, 11)))[0]
    first = still.run(wide[:104], Y[:104])
    assert_allclose(moved.run(Z[:104], Y[:104]), first, atol=1e-12)
    moved.rebase(Change(turn[:, :8]), 11)
    assert_allclose(moved.run(wide[104:] @ turn.T, Y[104:]), still.run(wide[104:], Y[104:]), atol=1e-11)
    assert_allclose(moved.regret_bound(1.0), still.regret_bound(1.0), rtol=1e-10)
    moved.rebase(Change(None), 4)
    assert moved.restarts_ == 1
    assert_array_equal(moved.predict(np.ones((2, 4))), np.zeros((2, 1)))
    with pytest.raises(TypeError, match="orthonormal"):
        moved.rebase(Change(2 * np.eye(4)), 4)


def test_copies_and_saved_solvers_go_on_bit_for_bit():
    Z, Y = stream()
    solver = started(sketch=4)
    solver.run(Z[:133], Y[:133])
    twins = [copy.deepcopy(solver), persist.from_bytes(persist.to_bytes(solver))]
    expected = solver.run(Z[133:], Y[133:])
    for twin in twins:
        assert_array_equal(twin.run(Z[133:], Y[133:]), expected)


def test_hard_rows_stay_finite():
    Z, Y = stream(n=100)
    hard = np.vstack([np.zeros((3, 20)), np.repeat(Z[:1], 500, axis=0), Z[:1] + 1e-9, 1e6 * Z[:9], 1e-160 * Z[:9], Z])
    labels = np.resize(Y, (len(hard), 1))
    for lam in (1.0, 1e-6):
        solver = started(sketch=5, lam=lam)
        assert np.isfinite(solver.run(hard, labels)).all()
        assert np.isfinite(solver.inverse).all()
        assert (solver.values_ >= 0).all()


def test_a_gradient_that_overflows_is_refused_and_changes_nothing():
    Z, Y = stream(n=50)
    solver = started(sketch=5)
    solver.run(Z, Y)
    before = persist.to_bytes(solver)
    with pytest.raises(FloatingPointError, match="scale the features down"):
        solver.run(1e160 * Z[:1], Y[:1])
    assert persist.to_bytes(solver) == before


class Raising(Loss):
    """A loss known to Python only, which refuses one label."""

    name = "raising"

    def grad(self, y, p):
        if y == 13.0:
            raise RuntimeError("unlucky")
        return 2 * (p - y)

    def curvature(self, clip, bound=None):
        return 0.125


def test_a_loss_known_to_python_only_gives_the_same_numbers_and_may_raise():
    Z, Y = stream(n=60)
    solver, known = started(Raising(), sketch=4), started(sketch=4)
    assert_allclose(solver.run(Z, Y), known.run(Z, Y), atol=1e-14)
    before = persist.to_bytes(known)
    with pytest.warns(UserWarning, match="outside"), pytest.raises(RuntimeError, match="unlucky"):
        solver.step(Z[0], np.array([13.0]))
    assert_array_equal(solver.weights, persist.from_bytes(before).weights)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="sketch must be a whole number of at least 2"):
        SketchedONS(sketch=1)
    with pytest.raises(ValueError, match="one output"):
        SketchedONS().start(3, 2)
