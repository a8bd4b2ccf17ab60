"""ONS where double precision is short: against sixty digits, on rows and ridges that are twenty orders apart."""

from __future__ import annotations

import warnings
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.runtime.types import Change
from nystream.solvers import ONS

LAM = 1e-8


def newton_step(Z, Y, clip, lam, eta, grad):
    """Predictions (n,) by the recursion for P = A^-1, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        top, eta, r, out = Decimal(clip), Decimal(eta), Z.shape[1], []
        P, u = [[Decimal(i == j) / Decimal(lam) for j in range(r)] for i in range(r)], [Decimal(0)] * r
        for row, label in zip(Z, Y[:, 0], strict=True):
            z, y = [Decimal(float(x)) for x in row], Decimal(float(label))
            ybar = sum(a * b for a, b in zip(u, z, strict=True))
            p = max(min(ybar, top), -top)
            out.append(float(p))
            v = [sum(a * b for a, b in zip(line, z, strict=True)) for line in P]
            s, dl = sum(a * b for a, b in zip(v, z, strict=True)), grad(y, p)
            den = 1 + eta * dl * dl * s
            kap, rho = (ybar - p) / s + dl / den, eta * dl * dl / den
            u = [a - kap * b for a, b in zip(u, v, strict=True)]
            P = [[P[i][j] - rho * v[i] * v[j] for j in range(r)] for i in range(r)]
    return np.array(out)


GRADIENTS = {"squared": lambda y, p: 2 * (p - y), "squared_hinge": lambda y, p: -2 * y * max(0, 1 - y * p)}


def far(rng):
    return 1e6 * rng.normal(size=(100, 5))


def of_all_sizes(rng):
    return rng.normal(size=(100, 5)) * 10.0 ** rng.integers(-6, 7, size=(100, 1))


def near_duplicates(rng):
    Z = of_all_sizes(rng)
    Z[30:60] = Z[30] * (1 + 1e-9 * rng.normal(size=(30, 5)))
    return Z


def started(loss, dim, clip):
    solver = ONS(loss, clip=clip, lam=LAM)
    solver.start(dim, 1)
    return solver


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("rows", [far, of_all_sizes, near_duplicates])
def test_predictions_at_condition_1e20_are_those_of_sixty_digits(rows, name):
    rng = np.random.default_rng(0)
    Z, clip = rows(rng), {"squared": 1.0, "squared_hinge": 1.3}[name]
    Y = np.where(Z[:, :1] + np.abs(Z[:, :1]) * rng.normal(size=(100, 1)) >= 0, 1.0, -1.0)
    if name == "squared":
        Y *= rng.uniform(size=(100, 1))
    block, single = started(name, 5, clip), started(name, 5, clip)
    expected = newton_step(Z, Y, clip, LAM, block._step, GRADIENTS[name])
    assert_allclose(block.run(Z, Y)[:, 0], expected, rtol=0, atol=1e-9)
    assert_allclose([single.step(z, y)[0] for z, y in zip(Z, Y, strict=True)], expected, rtol=0, atol=1e-9)
    assert len(np.unique(expected.round(6))) > 10  # not all of them clipped
    for solver in (block, single):
        assert solver.metric_.pivots.min() >= LAM


def test_no_pivot_falls_below_the_ridge_whatever_comes():
    rng = np.random.default_rng(1)
    Z = np.vstack([np.repeat(of_all_sizes(rng)[:20], 50, axis=0), far(rng), near_duplicates(rng), np.zeros((40, 5))])
    Z = Z[rng.permutation(len(Z))]
    Y = rng.normal(size=(len(Z), 1)) * 10.0 ** rng.integers(-3, 4, size=(len(Z), 1))
    solver = started("squared", 5, 1.0)
    with pytest.warns(UserWarning, match="guarantee is void"):
        P = solver.run(Z, Y)
    assert np.abs(P).max() <= 1.0
    assert solver.metric_.pivots.min() >= LAM * (1 - 1e-12)
    assert np.isfinite(solver.weights).all()


@pytest.mark.parametrize("label", [1e100, 1e200, -1.7e308])
def test_a_label_beyond_all_bounds_leaves_finite_numbers(label):
    solver, Z = started("squared", 3, 1.0), np.random.default_rng(0).normal(size=(60, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        P = solver.run(Z, np.where(np.arange(60)[:, None] % 7 == 3, label, 0.5))
        P = np.vstack([P, [solver.step(z, np.array([label])) for z in Z]])
    assert np.isfinite(P).all()
    assert np.isfinite(solver.weights).all()
    assert np.isfinite(solver.meter_).all()
    assert (solver.metric_.dinv_ >= 0).all()


def test_rows_that_are_all_but_zero_teach_nothing_and_break_nothing():
    solver, Z = started("squared", 4, 1.0), np.random.default_rng(0).normal(size=(40, 4))
    Z[::2] *= 10.0 ** -np.arange(100, 200, 5)[:, None]  # s = z'A^-1 z goes through the subnormal numbers to 0
    P = solver.run(Z, np.full((40, 1), 0.7))
    assert np.isfinite(P).all()
    assert np.isfinite(solver.metric_.pivots).all()
    other = started("squared", 4, 1.0)
    other.run(np.ascontiguousarray(Z[1::2]), np.full((20, 1), 0.7))
    assert_allclose(solver.weights, other.weights, rtol=1e-7, atol=1e-9)


def test_a_rotation_keeps_the_metric_of_an_ill_conditioned_stream():
    rng = np.random.default_rng(2)
    Z, Y = of_all_sizes(rng), rng.uniform(-1, 1, (100, 1))
    T = np.linalg.qr(rng.normal(size=(7, 5)))[0]
    solver = started("squared", 5, 1.0)
    solver.run(Z, Y)
    pivots, weights = solver.metric_.pivots, solver.weights
    solver.rebase(Change(T), 7)
    assert solver.metric_.pivots.min() >= LAM * (1 - 1e-12)
    assert_allclose(np.log(solver.metric_.pivots).sum(), np.log(pivots).sum() + 2 * np.log(LAM), rtol=1e-6)
    assert_allclose(solver.weights, T @ weights, rtol=1e-6, atol=1e-6 * np.abs(weights).max())


def test_blocks_are_cut_where_rounding_would_show():
    """The first of 16 equal rows takes 20 orders off the leverage of the others: G_jj would be its rounding."""
    Z, Y = np.full((16, 1), 1e6), np.resize([0.3, -0.4], (16, 1))
    block, single = started("squared", 1, 1.0), started("squared", 1, 1.0)
    expected = newton_step(Z, Y, 1.0, LAM, block._step, GRADIENTS["squared"])
    assert_allclose(block.run(Z, Y)[:, 0], expected, rtol=0, atol=1e-12)
    assert_array_equal(block.run(np.zeros((16, 1)), Y), np.zeros((16, 1)))
    assert_allclose([single.step(z, y)[0] for z, y in zip(Z, Y, strict=True)], expected, rtol=0, atol=1e-12)
