"""Bordering and carrying over A = L D L' against fresh sums over all rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.solvers.nested_awv import NestedAWV

LAM = 0.3


def data(n=60, r=21, K=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, r)), rng.normal(size=(n, K)), rng.integers(1, 4, n).astype(float)


def learnt(Z, Y, w=None, dim=None, vovk=True):
    solver = NestedAWV(LAM, vovk=vovk)
    solver.start(dim or Z.shape[1], Y.shape[1])
    wide = np.zeros((len(Z), solver.dim_))
    wide[:, : Z.shape[1]] = Z
    return solver, solver.run(wide, Y, w)


def squared_loss(P, Y, w):
    return (w[:, None] * (P - Y) ** 2).sum()


@pytest.mark.parametrize("r", [1, 8, 9, 21])
def test_a_bordered_model_equals_one_that_had_the_feature_all_along(r):
    Z, Y, w = data(r=r)
    solver, P = learnt(Z[:, : r - 1], Y, w, dim=r)
    z = w * Z[:, -1]
    solver.reveal(r - 1, z @ Z[:, :-1], LAM + float(z @ Z[:, -1]), z @ Y)
    expected, _ = learnt(Z, Y, w)
    assert_allclose(solver.matrix, expected.matrix, atol=1e-10)
    assert_allclose(solver.right_side, expected.right_side, atol=1e-10)
    assert_allclose(solver.meter_.best, expected.meter_.best, rtol=1e-10)
    assert_allclose(solver.meter_.regret(), squared_loss(P, Y, w) - expected.meter_.best.sum(), rtol=1e-10)
    assert solver.meter_.regret() <= solver.meter_.regret_bound()
    assert_allclose(solver.predict(Z), expected.predict(Z), atol=1e-10)


def test_features_may_be_bordered_one_after_the_other():
    Z, Y, w = data(r=19)
    solver, _ = learnt(Z[:, :3], Y, w)
    for i in range(3, 19):
        solver.widen(8 * (i // 8 + 1))
        z = w * Z[:, i]
        solver.reveal(i, z @ Z[:, :i], LAM + float(z @ Z[:, i]), z @ Y)
    expected, _ = learnt(Z, Y, w)
    assert_allclose(solver.matrix[:19, :19], expected.matrix, atol=1e-9)
    assert_allclose(solver.weights[:19], expected.weights, atol=1e-10)
    assert_allclose(solver.meter_.best, expected.meter_.best, rtol=1e-9)


def test_a_pivot_never_falls_below_the_ridge():
    """Products that no rows can have, as rounding makes them: the Schur complement would be negative."""
    Z, Y, _ = data(r=4)
    solver, _ = learnt(Z, Y, dim=5)
    solver.border(4, Z.T @ Z[:, 0], float(Z[:, 0] @ Z[:, 0]) - 1.0, Z[:, 0] @ Y)
    assert solver.pivots.min() >= LAM
    assert np.isfinite(solver.predict(np.ones((1, 5)))).all()


def test_a_feature_without_products_is_bordered_without_a_solve():
    Z, Y, w = data(r=9)
    (solver, _), (expected, _) = learnt(Z, Y, w, dim=16), learnt(Z, Y, w, dim=16)
    solver.border_alone(9, 1.7, Y[0])
    expected.border(9, np.zeros(9), 1.7, Y[0])
    for name in ("tiles_", "dinv_", "q_"):
        assert_array_equal(getattr(solver, name), getattr(expected, name))


def test_appended_features_are_features_that_were_zero():
    Z, Y, w = data(r=5)
    solver, _ = learnt(Z, Y, w)
    solver.widen(13)
    wide = np.hstack([Z, np.zeros((60, 8))])
    expected, _ = learnt(wide, Y, w)
    assert_allclose(solver.matrix, expected.matrix, atol=1e-12)
    assert_allclose(solver.run(wide + 1.0, Y), expected.run(wide + 1.0, Y), atol=1e-12)


@pytest.mark.parametrize("shrink", [1.0, 0.5])
@pytest.mark.parametrize("vovk", [True, False])
def test_a_carried_model_equals_one_on_the_carried_rows(vovk, shrink):
    """T with orthonormal columns, and a projection that loses a part of the rows."""
    Z, Y, w = data(r=6)
    T = np.linalg.qr(np.random.default_rng(1).normal(size=(10, 6)))[0]
    T[:, 3:] *= shrink
    solver, _ = learnt(Z, Y, w, dim=8, vovk=vovk)
    carried, lost = solver.carried(T, 16)
    expected, _ = learnt(Z @ T.T, Y, w, dim=16, vovk=vovk)
    assert_allclose(carried.matrix, expected.matrix, atol=1e-10)
    assert_allclose(carried.right_side, expected.right_side, atol=1e-10)
    assert_allclose(carried.meter_.best, expected.meter_.best, rtol=1e-9)
    assert_allclose(lost, w @ ((Z * Z).sum(1) - ((Z @ T.T) ** 2).sum(1)), rtol=1e-9, atol=1e-10)
    assert_allclose(carried.meter_.loss, solver.meter_.loss)
    query = np.ones((3, 16))
    assert_allclose(carried.run(query, Y[:3]), expected.run(query, Y[:3]), atol=1e-10)
