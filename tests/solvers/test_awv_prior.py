"""AWV started from a matrix of one's own: the definition, and everything that mentions the ridge."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import from_bytes, to_bytes
from nystream.solvers import AWV

N, DIM, OUTPUTS = 60, 11, 2


def data(seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(N, DIM))
    return Z, Z[:, :OUTPUTS] + 0.1 * rng.normal(size=(N, OUTPUTS)), rng.choice([0.0, 0.5, 2.0], size=N)


def prior(seed=1):
    R = np.random.default_rng(seed).normal(size=(DIM, DIM))
    return 0.1 * R @ R.T + 0.2 * np.eye(DIM)


def started(**params):
    solver = AWV(0.5, **params)
    solver.start(DIM, OUTPUTS)
    solver.start_from(prior())
    return solver


@pytest.mark.parametrize("vovk", [False, True])
def test_predictions_are_those_of_the_definition(vovk):
    Z, Y, w = data()
    solver = started(vovk=vovk)
    expected = np.empty((N, OUTPUTS))
    for t in range(N):
        A = prior() + (Z[:t].T * w[:t]) @ Z[:t]
        if vovk:
            A += (w[t] or 1.0) * np.outer(Z[t], Z[t])  # a row of weight 0 is only asked
        expected[t] = Z[t] @ np.linalg.solve(A, (Z[:t].T * w[:t]) @ Y[:t])
    assert_allclose(solver.run(Z, Y, w), expected, rtol=1e-9, atol=1e-12)
    A = prior() + (Z.T * w) @ Z
    assert_allclose(solver.matrix, A, rtol=1e-10, atol=1e-12)
    assert_allclose(solver.log_det(), np.linalg.slogdet(A)[1] - np.linalg.slogdet(prior())[1], rtol=1e-10)
    assert_allclose(solver.effective_dimension(prior()), DIM - np.trace(prior() @ np.linalg.inv(A)), rtol=1e-10)


@pytest.mark.parametrize("vovk", [False, True])
def test_the_regret_charges_the_matrix_and_stays_below_its_bound(vovk):
    Z, Y, _ = data()
    solver = started(vovk=vovk)
    P = solver.run(Z, Y)
    W = np.linalg.solve(prior() + Z.T @ Z, Z.T @ Y)
    best = ((Y - Z @ W) ** 2).sum() + np.trace(W.T @ prior() @ W)
    assert_allclose(solver.meter_.regret(), ((Y - P) ** 2).sum() - best, rtol=1e-9)
    assert solver.meter_.regret() <= solver.meter_.regret_bound()


def test_a_right_hand_side_may_be_given_too():
    Z, Y, _ = data()
    solver = started()
    b = np.random.default_rng(2).normal(size=(DIM, OUTPUTS))
    solver.start_from(prior(), b)
    assert_allclose(solver.weights, np.linalg.solve(prior(), b), rtol=1e-9)
    solver.run(Z, Y)
    assert_allclose(solver.right_side, b + Z.T @ Y, rtol=1e-9, atol=1e-10)


def test_starting_from_the_ridge_is_starting():
    Z, Y, w = data()
    plain = AWV(0.5)
    plain.start(DIM, OUTPUTS)
    solver = started()
    solver.run(Z, Y)
    solver.start_from(0.5 * np.eye(DIM))
    assert_allclose(solver.run(Z, Y, w), plain.run(Z, Y, w), rtol=1e-12, atol=1e-14)
    assert_allclose(solver.meter_.regret(), plain.meter_.regret(), rtol=1e-10)


def test_merge_and_unlearn_are_exact_and_need_the_matrix_where_it_counts():
    Z, Y, _ = data()
    left, right, whole = started(), started(), started()
    left.run(Z[:40], Y[:40])
    right.run(Z[40:], Y[40:])
    whole.run(Z, Y)
    for call in (lambda: left.merge(right), left.effective_dimension):
        with pytest.raises(ValueError, match="give it as `prior`"):
            call()
    left.merge(right, prior())
    assert_allclose(left.weights, whole.weights, rtol=1e-8, atol=1e-10)
    assert_allclose(left.meter_.best, whole.meter_.best, rtol=1e-8)
    left.unlearn(Z[:40], Y[:40])
    assert_allclose(left.weights, right.weights, rtol=1e-7, atol=1e-9)
    with pytest.raises(ValueError, match="cannot all have been learnt"):
        left.unlearn(Z[:40], Y[:40])


def test_new_features_get_the_ridge():
    Z, Y, _ = data()
    solver = started()
    solver.run(Z, Y)
    before = solver.log_det()
    solver.widen(DIM + 3)
    assert_allclose(solver.matrix[DIM:, DIM:], 0.5 * np.eye(3))
    assert_allclose(solver.log_det(), before, rtol=1e-10)


def test_a_matrix_that_is_not_positive_definite_is_refused_and_nothing_changes():
    Z, Y, _ = data()
    solver = started()
    solver.run(Z, Y)
    before = to_bytes(solver)
    with pytest.raises(ValueError, match="not positive definite"):
        solver.start_from(-np.eye(DIM))
    assert to_bytes(solver) == before


def test_a_copy_goes_on_bit_for_bit():
    Z, Y, _ = data()
    solver = started()
    solver.run(Z[:20], Y[:20])
    twins = (copy.deepcopy(solver), from_bytes(to_bytes(solver)))
    expected = solver.run(Z[20:], Y[20:])
    for twin in twins:
        assert_array_equal(twin.run(Z[20:], Y[20:]), expected)
        assert twin.log_det() == solver.log_det()
