"""Exact streaming least squares against fresh solves, dense definitions and itself in other orders."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream.runtime.types import Change
from nystream.solvers import AWV


def stream(n=120, r=13, K=1, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, r))
    Z[n // 2 :: 7] = Z[1]  # repeats
    return Z, Z @ rng.normal(size=(r, K)) + rng.normal(size=(n, K))


def learnt(Z, Y, weights=None, **parameters):
    solver = AWV(**parameters)
    solver.start(Z.shape[1], Y.shape[1])
    return solver, solver.run(Z, Y, weights)


def same_bits(a, b):
    first, second = a._state(), b._state()
    meter = a.meter_._state(), b.meter_._state()
    factor = all(np.array_equal(first[k], second[k]) for k in ("tiles_", "dinv_", "q_"))
    return factor and all(np.array_equal(meter[0][k], meter[1][k]) for k in meter[0])


@pytest.mark.parametrize("lam", [1.0, 1e-3])
@pytest.mark.parametrize("r", [1, 8, 13, 40])
def test_predictions_equal_a_fresh_solve_every_round(r, lam):
    Z, Y = stream(r=r)
    A, b = lam * np.eye(r), np.zeros((r, 1))
    awv, ridge = np.empty_like(Y), np.empty_like(Y)
    for t, z in enumerate(Z):
        ridge[t] = z @ np.linalg.solve(A, b)
        A += np.outer(z, z)
        awv[t] = z @ np.linalg.solve(A, b)
        b += np.outer(z, Y[t])
    for vovk, expected in [(True, awv), (False, ridge)]:
        solver, P = learnt(Z, Y, lam=lam, vovk=vovk)
        assert_allclose(P, expected, rtol=1e-9, atol=1e-11)
        assert_allclose(solver.matrix, A, rtol=1e-12, atol=1e-12 * np.abs(A).max())
        assert_allclose(solver.right_side, b, rtol=1e-11, atol=1e-11)
        assert_allclose(solver.weights, np.linalg.solve(A, b), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_rows_and_one_pass_give_the_same_bits(size):
    Z, Y = stream(n=150, K=2)
    w = np.random.default_rng(1).integers(0, 3, 150).astype(float)
    whole, P = learnt(Z, Y, w, clip=1.0)
    blocks, rows = copy.deepcopy(whole), copy.deepcopy(whole)
    for solver in (blocks, rows):
        solver.start(13, 2)
    parts = [slice(i, i + size) for i in range(0, 150, size)]
    assert_array_equal(np.vstack([blocks.run(Z[p], Y[p], w[p]) for p in parts]), P)
    assert_array_equal([rows.step(z, y, weight) for z, y, weight in zip(Z, Y, w, strict=True)], P)
    assert same_bits(whole, blocks)
    assert same_bits(whole, rows)


@pytest.mark.parametrize("vovk", [True, False])
def test_predict_has_the_bits_of_the_next_step(vovk):
    Z, Y = stream(K=2)
    solver, _ = learnt(Z[:100], Y[:100], vovk=vovk, clip=0.7)
    assert_array_equal(solver.predict(Z[100:101])[0], solver.step(Z[100], Y[100]))


def test_weights_count_as_repetitions_and_zero_as_absence():
    Z, Y = stream(n=60)
    w = np.random.default_rng(1).integers(0, 4, 60).astype(float)
    expected = dict(zip([False, True], oracles.least_squares(Z @ Z.T, Y, 0.5, w)[:2], strict=True))
    for vovk in (True, False):
        solver, P = learnt(Z, Y, w, lam=0.5, vovk=vovk)
        assert_allclose(P, expected[vovk], atol=1e-10)
        n = w.astype(int)
        repeated, _ = learnt(np.repeat(Z, n, axis=0), np.repeat(Y, n, axis=0), lam=0.5, vovk=vovk)
        assert_allclose(solver.predict(Z), repeated.predict(Z), atol=1e-11)
        assert_allclose(solver.matrix, repeated.matrix, rtol=1e-12, atol=1e-12)
        assert_allclose(solver.log_det(), repeated.log_det(), rtol=1e-12)
        assert_allclose(solver.meter_.best, repeated.meter_.best, rtol=1e-11)
        assert_allclose(solver.std(Z), repeated.std(Z), rtol=1e-11)


def test_a_row_of_weight_zero_changes_no_bit_and_is_predicted():
    Z, Y = stream()
    solver, _ = learnt(Z[:50], Y[:50])
    twin = copy.deepcopy(solver)
    expected = solver.predict(Z[50:60])
    assert_array_equal(solver.run(Z[50:60], Y[50:60], np.zeros(10)), expected)
    assert_array_equal(solver.step(Z[50], Y[50], 0.0), expected[0])
    assert_array_equal(solver.step(Z[50], Y[50], 1e-320), expected[0])  # 1/w overflows: nothing to learn
    assert same_bits(solver, twin)


def test_tiny_and_huge_weights_are_exact():
    Z, Y = stream(n=80)
    w = 10.0 ** np.random.default_rng(3).integers(-9, 5, 80)
    _, P = learnt(Z, Y, w, vovk=True)
    A, b = np.eye(13), np.zeros(13)
    for t in range(80):
        A += w[t] * np.outer(Z[t], Z[t])
        assert_allclose(P[t, 0], Z[t] @ np.linalg.solve(A, b), rtol=1e-9, atol=1e-10)
        b += w[t] * Y[t, 0] * Z[t]


def test_several_outputs_are_several_solvers_to_the_last_bit():
    Z, Y = stream(K=10)
    _, together = learnt(Z, Y)
    apart = [learnt(Z, np.ascontiguousarray(Y[:, k : k + 1]))[1] for k in range(10)]
    assert_array_equal(together, np.hstack(apart))


def test_leverage_log_det_and_dimensions_equal_their_dense_definitions():
    Z, Y = stream()
    lam = 0.3
    solver, _ = learnt(Z, Y, lam=lam)
    K = Z @ Z.T
    A = lam * np.eye(13) + Z.T @ Z
    assert_allclose(solver.leverage(Z), np.einsum("ij,ij->i", Z, np.linalg.solve(A, Z.T).T), rtol=1e-10)
    assert_allclose(solver.log_det(), oracles.log_det(K, lam), rtol=1e-10)
    assert_allclose(solver.effective_dimension(), oracles.effective_dimension(K, lam), rtol=1e-9)
    assert_allclose(solver.meter_.online_dimension, oracles.online_dimension(K, lam), rtol=1e-9)
    top = np.linalg.eigvalsh(K)[-1]
    bound = solver.effective_dimension() * (1 + np.log1p(top / lam))
    assert solver.meter_.online_dimension <= solver.log_det() <= bound
    noise = oracles.best_in_hindsight(K, Y, lam) / 120
    assert_allclose(solver.std(Z)[:, 0], np.sqrt(noise * (1 + solver.leverage(Z))), rtol=1e-9)


def test_scaling_features_and_ridge_together_changes_nothing():
    Z, Y = stream()
    for vovk in (True, False):
        _, P = learnt(Z, Y, lam=0.5, vovk=vovk)
        _, Q = learnt(3 * Z, Y, lam=4.5, vovk=vovk)
        assert_allclose(P, Q, rtol=1e-9, atol=1e-11)


def test_a_hundred_thousand_rounds_build_up_no_error():
    rng = np.random.default_rng(0)
    r, n = 24, 100_000
    for lam, scale in [(1.0, 1.0), (1e-6, 10.0)]:
        X = rng.normal(size=(n, r)) * np.logspace(0, -2, r) * scale
        Y = np.tanh(X[:, :1]) + 0.1 * rng.normal(size=(n, 1))
        solver, _ = learnt(X, Y, lam=lam)
        A, b = lam * np.eye(r) + X.T @ X, X.T @ Y
        exact = X[:200] @ np.linalg.solve(A, b)
        s = np.einsum("ij,ij->i", X[:200], np.linalg.solve(A, X[:200].T).T)
        assert_allclose(solver.predict(X[:200]), exact / (1 + s)[:, None], rtol=1e-9, atol=1e-11)
        assert_allclose(solver.leverage(X[:200]), s, rtol=1e-9)
        assert_allclose(solver.meter_.best, (Y**2).sum() - b[:, 0] @ np.linalg.solve(A, b)[:, 0], rtol=1e-9)


@pytest.mark.parametrize("tree", [((0, 1), (2, 3)), (((3, 0), 2), 1), (0, (1, (2, 3)))])
def test_merge_in_any_tree_equals_one_pass(tree):
    Z, Y = stream(n=160, K=2)
    w = np.random.default_rng(2).uniform(0.1, 2, 160)
    whole, _ = learnt(Z, Y, w, lam=0.1)
    parts = [learnt(Z[i::4].copy(), Y[i::4].copy(), w[i::4].copy(), lam=0.1)[0] for i in range(4)]

    def merged(node):
        return parts[node] if isinstance(node, int) else merged(node[0]).merge(merged(node[1]))

    one = merged(tree)
    assert_allclose(one.predict(Z), whole.predict(Z), rtol=1e-10, atol=1e-11)
    assert_allclose(one.matrix, whole.matrix, rtol=1e-10, atol=1e-10)
    assert_allclose(one.meter_.best, whole.meter_.best, rtol=1e-10)
    assert_allclose(one.std(Z), whole.std(Z), rtol=1e-10)
    more = stream(n=40, K=2, seed=5)
    assert_allclose(one.run(*more), whole.run(*more), rtol=1e-10, atol=1e-11)


def test_merging_many_parts_keeps_the_digits_of_one_pass_where_features_nearly_repeat():
    Z, _ = stream(n=1600)
    Z = Z @ np.diag(np.logspace(0, -4, 13)) + Z[:, :1]  # the condition number of A is 2e9
    Y = Z @ np.ones((13, 1))
    whole, _ = learnt(Z, Y, lam=1e-6)
    parts = [learnt(Z[i::16].copy(), Y[i::16].copy(), lam=1e-6)[0] for i in range(16)]
    one = parts[0]
    for part in parts[1:]:
        one.merge(part)
    assert np.linalg.cond(whole.matrix) > 1e9
    assert_allclose(one.weights, whole.weights, rtol=0, atol=1e-10)


def test_merging_models_without_rows_leaves_the_ridge():
    solver, _ = learnt(np.zeros((3, 5)), np.zeros((3, 1)), lam=0.3)
    for _ in range(10):
        solver.merge(learnt(np.zeros((3, 5)), np.zeros((3, 1)), lam=0.3)[0])
    assert_allclose(solver.matrix, 0.3 * np.eye(5), rtol=1e-14, atol=1e-16)
    assert solver.log_det() >= 0


def test_merge_refuses_what_does_not_fit():
    Z, Y = stream()
    solver, _ = learnt(Z, Y)
    twin = copy.deepcopy(solver)
    for other in (learnt(Z, Y, lam=2.0)[0], learnt(Z, Y, vovk=False)[0], learnt(Z, Y, clip=1.0)[0], object()):
        with pytest.raises(ValueError, match="equal parameters"):
            solver.merge(other)
    for other in (learnt(Z[:, :5].copy(), Y)[0], learnt(Z, np.hstack([Y, Y]))[0]):
        with pytest.raises(ValueError, match="equal features and outputs"):
            solver.merge(other)
    assert same_bits(solver, twin)


@pytest.mark.parametrize("lam", [1.0, 1e-3])
def test_unlearning_is_the_inverse_of_learning_in_any_order(lam):
    Z, Y = stream(n=100, K=2)
    w = np.random.default_rng(2).uniform(0.0, 2, 100)
    w[::9] = 0.0
    gone = np.random.default_rng(4).permutation(100)[:60]
    kept = np.setdiff1d(np.arange(100), gone)
    solver, _ = learnt(Z, Y, w, lam=lam)
    solver.unlearn(Z[gone], Y[gone], w[gone])
    fresh, _ = learnt(Z[kept], Y[kept], w[kept], lam=lam)
    assert_allclose(solver.predict(Z), fresh.predict(Z), rtol=1e-8, atol=1e-9)
    assert_allclose(solver.matrix, fresh.matrix, atol=1e-9)
    assert_allclose(solver.right_side, fresh.right_side, atol=1e-9)
    assert_allclose(solver.meter_.best, fresh.meter_.best, rtol=1e-8)
    assert_allclose(solver.std(Z), fresh.std(Z), rtol=1e-8)
    assert_allclose(solver.log_det(), fresh.log_det(), rtol=1e-9)
    assert_allclose(solver.run(Z, Y), fresh.run(Z, Y), rtol=1e-8, atol=1e-9)


def test_unlearning_everything_leaves_the_ridge():
    Z, Y = stream(n=40)
    solver, _ = learnt(Z, Y)
    solver.unlearn(Z, Y)
    assert_allclose(solver.matrix, np.eye(13), atol=1e-11)
    assert_allclose(solver.weights, 0, atol=1e-11)
    with pytest.raises(ValueError, match="no row was learnt"):
        solver.std(Z)


def test_unlearning_what_was_not_learnt_is_refused_and_changes_nothing():
    Z, Y = stream(n=60)
    solver, _ = learnt(Z[:40], Y[:40])
    twin = copy.deepcopy(solver)
    never = np.zeros((1, 13))
    never[0, 4] = 1e3
    for rows, labels, weights in [
        (never, Y[:1], None),  # A would be indefinite
        (np.vstack([Z[:3], 1e3 * Z[3:4]]), Y[:4], None),
        (Z[:2], Y[:2], np.array([1.0, 1e5])),
        (np.vstack([Z[:40], Z[40:41]]), Y[:41], None),  # A would be positive, but less than its ridge
    ]:
        with pytest.raises(ValueError, match="Nothing was changed"):
            solver.unlearn(rows, labels, weights)
    assert same_bits(solver, twin)


def test_new_outputs_are_combinations_of_the_old_ones():
    Z, Y = stream(K=3)
    mix = np.array([[0.0, 2.0], [-1.0, 1.0], [0.0, 0.5]])
    late, _ = learnt(Z[:80], Y[:80])
    late.add_outputs(mix)
    known, _ = learnt(Z[:80], np.hstack([Y[:80], Y[:80] @ mix]))
    more = np.hstack([Y, Y[:, ::-1][:, :2]])[80:].copy()
    assert_allclose(late.run(Z[80:], more), known.run(Z[80:], more), rtol=1e-11, atol=1e-12)
    assert late.outputs_ == 5
    many, _ = learnt(Z, Y)
    many.grow(12)
    assert many.predict(Z).shape == (120, 12)
    assert_array_equal(many.predict(Z)[:, 3:], 0.0)


@pytest.mark.parametrize(("old", "new"), [(3, 5), (8, 9), (13, 40)])
def test_appended_features_count_as_zero_in_past_rows(old, new):
    Z, Y = stream(n=100, r=new)
    Z[:60, old:] = 0.0
    solver, _ = learnt(Z[:60, :old].copy(), Y[:60])
    solver.rebase(Change(np.eye(new, old)), new)
    whole, P = learnt(Z, Y)
    assert_allclose(solver.run(Z[60:], Y[60:]), P[60:], rtol=1e-11, atol=1e-12)
    assert_allclose(solver.meter_.regret(), whole.meter_.regret(), rtol=1e-11)


def test_a_map_that_moves_is_refused():
    solver, _ = learnt(*stream())
    for change, dim in [(Change(None), 13), (Change(np.eye(13)[::-1]), 13), (Change(np.eye(12, 13)), 12)]:
        with pytest.raises(TypeError, match="appends coordinates"):
            solver.rebase(change, dim)


def test_a_copy_goes_on_with_the_same_bits_and_shares_no_memory():
    Z, Y = stream()
    solver, _ = learnt(Z[:70], Y[:70])
    before = solver.predict(Z)
    twins = [copy.deepcopy(solver), pickle.loads(pickle.dumps(solver))]
    after = [twin.run(Z[70:], Y[70:]) for twin in twins]
    assert all(twin.tiles_.ctypes.data % 64 == 0 for twin in twins)
    assert_array_equal(solver.predict(Z), before)
    for P in after:
        assert_array_equal(copy.deepcopy(solver).run(Z[70:], Y[70:]), P)


def test_parameters_are_checked():
    for bad in (0, -1.0, float("inf"), None):
        with pytest.raises(ValueError, match="lam must be a number greater than 0"):
            AWV(bad)
    with pytest.raises(ValueError, match="clip must be a number greater than 0"):
        AWV(clip=0.0)
    assert repr(AWV(0.5, vovk=False)) == "AWV(lam=0.5, vovk=False)"
