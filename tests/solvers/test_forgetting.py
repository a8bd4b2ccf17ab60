"""Least squares that forgets, against its definition: every round solved from all rows before it."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import from_bytes, to_bytes
from nystream.solvers import AWV, Forgetting
from oracles.drift import faded, forgetting

N, DIM, OUTPUTS = 120, 7, 2


def data(seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(N, DIM))
    return Z, Z[:, :OUTPUTS] ** 2 + 0.1 * rng.normal(size=(N, OUTPUTS)), rng.choice([0.0, 0.5, 1.0, 3.0], size=N)


def started(prior=None, **params):
    solver = Forgetting(**params)
    solver.start(DIM, OUTPUTS)
    if prior is not None:
        solver.start_from(prior)
    return solver


@pytest.mark.parametrize(
    ("decay", "refresh", "every"),
    [(0.99, None, 32), (0.95, None, 13), (0.5, None, 1), (0.4, None, 1), (0.9, 1, 1), (0.9, 5, 5), (0.99, 200, 200)],
)
@pytest.mark.parametrize("with_prior", [False, True])
def test_predictions_are_those_of_the_definition(decay, refresh, every, with_prior):
    Z, Y, w = data()
    prior = 0.3 * np.eye(DIM) + 0.1 if with_prior else None
    solver = started(prior, lam=0.2, decay=decay, refresh=refresh)
    ground = 0.2 * np.eye(DIM) if prior is None else prior
    expected = forgetting(Z, Y, w, ground, decay, every)
    assert_allclose(solver.run(Z, Y, w), expected, rtol=1e-9, atol=1e-11)
    A, b = faded(Z, Y, w, ground, decay, every)
    assert_allclose(solver.matrix, A, rtol=1e-9, atol=1e-11)
    assert_allclose(solver.right_side, b, rtol=1e-9, atol=1e-10)
    assert_allclose(solver.weights, np.linalg.solve(A, b), rtol=1e-8, atol=1e-10)
    assert_allclose(solver.leverage(Z), np.einsum("ij,ij->i", Z, np.linalg.solve(A, Z.T).T), rtol=1e-8)
    assert_allclose(solver.predict(Z), Z @ np.linalg.solve(A, b), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("size", [1, 3, 13, 50])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decay", [0.9, 0.95, 0.99])
def test_blocks_and_steps_give_the_same_bits(size, weighted, decay):
    Z, Y, w = data()
    w = w if weighted else None
    whole, parts, steps = (started(decay=decay) for _ in range(3))
    expected = whole.run(Z, Y, w)
    cuts = [slice(i, i + size) for i in range(0, N, size)]
    assert_array_equal(np.vstack([parts.run(Z[c], Y[c], None if w is None else w[c]) for c in cuts]), expected)
    rows = [steps.step(z, y, 1.0 if w is None else w[t]) for t, (z, y) in enumerate(zip(Z, Y, strict=True))]
    assert_array_equal(rows, expected)
    assert to_bytes(whole) == to_bytes(parts) == to_bytes(steps)


def test_without_decay_it_is_ridge_regression_bit_for_bit():
    Z, Y, w = data()
    plain = AWV(0.01, vovk=False)
    plain.start(DIM, OUTPUTS)
    solver = started(decay=1.0)
    assert_array_equal(solver.run(Z, Y, w), plain.run(Z, Y, w))
    assert_array_equal(solver.step(Z[0], Y[0]), plain.step(Z[0], Y[0]))
    assert solver.gram_.size == solver.rows_.size == 0


def test_the_ridge_survives_when_only_one_direction_is_ever_seen():
    """Forgetting the ridge as well would let A become singular: 0.9^2000 = 1e-92."""
    z = np.zeros((2000, DIM))
    z[:, 0] = 1.0
    solver = started(lam=0.5, decay=0.9)
    solver.run(z, np.ones((2000, OUTPUTS)))
    assert solver.matrix.diagonal()[1:].min() >= 0.25
    assert_allclose(solver.predict(np.eye(DIM)[1:]), 0.0, atol=1e-12)


@pytest.mark.parametrize("size", [1e9, 1e60])
def test_one_enormous_row_costs_one_direction_until_it_has_faded(size):
    """The sums then hold nothing but it and its rounding; the factor does not, and the ridge comes back later."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(1000, DIM))
    Y = Z[:, :OUTPUTS].copy()
    Z[100] *= size
    solver, steps = started(decay=0.9), started(decay=0.9)
    P = solver.run(Z, Y)
    assert_array_equal([steps.step(z, y) for z, y in zip(Z, Y, strict=True)], P)
    if size == 1e9:
        assert solver.faded_ == 1.0
        assert_allclose(P[-100:], Y[-100:], atol=0.05)
    else:  # still there: least squares on the others, among the functions that are 0 on that row
        rest = np.linalg.svd(Z[100:101] / size)[2][1:].T
        root = 0.9 ** (np.arange(898.0, -1.0, -1.0) / 2)[:, None]
        best = rest @ np.linalg.lstsq(root * (Z[101:] @ rest), root * Y[101:], rcond=None)[0]
        assert_allclose(solver.weights, best, atol=1e-6)


def test_rows_that_are_always_enormous_never_leave_a_singular_matrix():
    z = np.zeros((4000, DIM))
    z[:, 0] = 1e9
    solver = started(decay=0.9)
    solver.run(z, np.ones((4000, OUTPUTS)))
    assert solver.matrix.diagonal().min() > 0
    assert np.isfinite(solver.predict(np.eye(DIM))).all()
    assert_allclose(solver.predict(z[:1]), 1.0, rtol=1e-3)


def test_late_outputs_are_exact():
    Z, Y, w = data()
    mix = np.array([[1.0, 0.5], [0.0, -2.0]])
    late, known = started(decay=0.95), Forgetting(decay=0.95)
    known.start(DIM, OUTPUTS + 2)
    late.run(Z[:60], Y[:60], w[:60])
    late.add_outputs(mix)
    wide = np.hstack([Y, Y @ mix])
    known.run(Z[:60], wide[:60], w[:60])
    assert_allclose(late.run(Z[60:], wide[60:]), known.run(Z[60:], wide[60:]), rtol=1e-9, atol=1e-11)
    late.grow(5)
    assert_array_equal(late.predict(Z)[:, 4], 0.0)


@pytest.mark.parametrize("cut", [0, 1, 13, 40])
def test_a_copy_goes_on_bit_for_bit(cut):
    Z, Y, w = data()
    solver = started(0.2 * np.eye(DIM), decay=0.95)
    solver.run(Z[:cut], Y[:cut], w[:cut])
    twins = (copy.deepcopy(solver), from_bytes(to_bytes(solver)))
    expected = solver.run(Z[cut:], Y[cut:], w[cut:])
    for twin in twins:
        assert_array_equal(twin.run(Z[cut:], Y[cut:], w[cut:]), expected)


def test_memory_does_not_grow():
    Z, Y, _ = data()
    solver = started()
    before = solver.nbytes
    solver.run(np.tile(Z, (5, 1)), np.tile(Y, (5, 1)))
    assert solver.nbytes <= before + 8 * DIM  # the pivots that the factor was refreshed with


@pytest.mark.parametrize("bad", [{"decay": 0.0}, {"decay": 1.5}, {"refresh": 0}, {"decay": 0.1, "refresh": 32}])
def test_nonsense_is_refused(bad):
    with pytest.raises(ValueError, match=r"decay|refresh"):
        Forgetting(**bad)
