"""The large ridge that learns rows in groups: weights from the factor, groups, late targets."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import from_bytes, to_bytes
from nystream._core.linalg import solution
from nystream.auto.experts import LargeRidge, Ridge
from nystream.auto.views import View
from nystream.scaling import StandardScale
from nystream.solvers import AWV


def fitted(kind, outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(150, 3)), rng.normal(size=(150, outputs))
    view, expert = View(StandardScale()), kind(20)
    view.fit(X)
    expert.fit(view, X, Y, None, np.random.default_rng(1))
    return view, expert


def rows(n=100, outputs=2, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.normal(size=(n, outputs)), rng.uniform(0.5, 2, n)


@pytest.mark.parametrize(("dim", "outputs"), [(1, 1), (8, 1), (9, 3), (37, 2), (300, 10)])
def test_weights_from_the_tiles_are_those_of_least_squares(dim, outputs):
    rng = np.random.default_rng(dim)
    solver = AWV(0.1, vovk=False)
    solver.start(dim, outputs)
    Z, Y = rng.normal(size=(2 * dim, dim)), rng.normal(size=(2 * dim, outputs))
    solver.run(Z, Y)
    expected = np.linalg.solve(Z.T @ Z + 0.1 * np.eye(dim), Z.T @ Y)
    assert_allclose(solution(solver.tiles_, solver.q_, dim, outputs), expected.T, atol=1e-10)
    with pytest.raises(ValueError, match="not the factor of"):
        solution(solver.tiles_, solver.q_, dim + 8, outputs)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_group_is_predicted_by_the_ridge_that_learnt_all_groups_before(weighted):
    (view, big), (_, ridge) = fitted(LargeRidge), fitted(Ridge)
    X, Y, w = rows()
    given = w if weighted else None
    U = view(X)
    P = big.run(U, Y, given)
    for i in range(0, 100, LargeRidge.together):
        part = slice(i, i + LargeRidge.together)
        assert_allclose(P[part], ridge.predict(U[part]), atol=1e-9)
        if i + LargeRidge.together <= 100:
            ridge.run(U[part], Y[part], None if given is None else given[part])
    assert_allclose(big.predict(U), ridge.predict(U), atol=1e-9)


@pytest.mark.parametrize("size", [1, 7, LargeRidge.together, LargeRidge.together + 1])
def test_blocks_do_not_matter_nor_does_saving_between_them(size):
    (view, whole), (_, parts) = fitted(LargeRidge), fitted(LargeRidge)
    X, Y, _ = rows()
    U, Q = view(X), []
    P = whole.run(U, Y, None)
    for i in range(0, 100, size):
        Q.append(parts.run(U[i : i + size], Y[i : i + size], None))
        parts = from_bytes(to_bytes(parts))
    assert_array_equal(np.concatenate(Q), P)


def test_a_late_target_is_as_if_it_had_always_been_there():
    """The third is half the first minus the second, learnt from the start or added between two groups."""
    combination = np.array([[0.5], [-1.0]])
    X, Y, _ = rows()
    full = np.hstack([Y, Y @ combination])
    view, late = fitted(LargeRidge)
    U = view(X)
    late.run(U[:45], Y[:45], None)
    before = late.predict(U)
    late.add_outputs(combination)
    assert_allclose(late.predict(U), np.hstack([before, before @ combination]), atol=1e-12)
    late.run(U[45:], full[45:], None)
    known = late.predict(U)
    assert_allclose(known[:, 2:], known[:, :2] @ combination, atol=1e-9)
