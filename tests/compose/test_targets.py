"""Standardised targets: what learners with steps and bounds of unit scale need on raw ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import FOGD, ONS, PKRR, Auto, Fourier, Gaussian
from nystream.compose.targets import StandardizedTarget

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
G = Gaussian(1.5)


def fogd():
    return FOGD(G, dim=40, loss="squared", seed=0)


def oracle(learner, X, Y):
    """Row by row: predicted with the moments before, learnt with those after."""
    P = np.zeros(Y.shape)
    for t in range(len(Y)):
        p = learner.predict(X[t : t + 1])[0]
        before, after = Y[:t], Y[: t + 1]
        mean, deviation = (
            (before.mean(axis=0), before.std(axis=0)) if t else (np.zeros(Y.shape[1:]), np.zeros(Y.shape[1:]))
        )
        P[t] = mean + np.where(deviation > 0, deviation, 1.0) * p
        deviation = after.std(axis=0)
        learner.step(X[t], (Y[t] - after.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
    return P


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rounds_are_those_of_the_definition(offset):
    targets = offset + 1e3 * Y
    model = StandardizedTarget(fogd())
    assert_allclose(model.run(X, targets), oracle(fogd(), X, targets), rtol=1e-8, atol=1e-6)


def test_several_targets_have_a_scale_each():
    both = np.column_stack([1e4 + Y, 1e-3 * Y**2])
    model = StandardizedTarget(PKRR(Fourier(G, 30, seed=0), lam=0.1))
    assert_allclose(model.run(X, both), oracle(PKRR(Fourier(G, 30, seed=0), lam=0.1), X, both), rtol=1e-7, atol=1e-7)
    assert model.std(X).shape == both.shape


def test_predictions_follow_shifts_and_units_of_the_target():
    plain, other = StandardizedTarget(fogd()), StandardizedTarget(fogd())
    P, Q = plain.run(X, Y), other.run(X, 500.0 - 20 * Y[:, None].repeat(1, axis=1)[:, 0])
    assert_allclose(Q[1:], 500.0 - 20 * P[1:], rtol=1e-9)


def test_blocks_equal_steps_and_files_go_on_bit_for_bit():
    whole, parts, steps = (StandardizedTarget(fogd()) for _ in range(3))
    weights = rng.choice([0.0, 0.5, 2.0], size=120)
    learner = PKRR(Fourier(G, 30, seed=0), lam=0.1)
    whole, parts, steps = (StandardizedTarget(learner) for _ in range(3))
    expected = whole.run(X, Y, weights)
    assert_allclose([steps.step(x, y, w) for x, y, w in zip(X, Y, weights.tolist(), strict=True)], expected, rtol=1e-10)
    first = parts.run(X[:50], Y[:50], weights[:50])
    parts = nystream.from_bytes(parts.to_bytes())
    assert_array_equal(np.append(first, parts.run(X[50:], Y[50:], weights[50:])), expected)
    some = weights > 0
    alone = StandardizedTarget(learner)
    assert_array_equal(alone.run(X[some], Y[some], weights[some]), expected[some])


def test_a_refused_block_leaves_no_trace():
    model = StandardizedTarget(ONS(Fourier(G, 20, seed=0), clip=3.0), bound=3.0)
    model.run(X[:50], Y[:50])
    before = model.to_bytes()
    for bad in ([np.nan], [np.inf]):
        with pytest.raises(ValueError, match="y has"):
            model.run(X[:1], bad)
    with pytest.raises(ValueError, match="does not take weights"):
        model.run(X[:1], [1.0], [2.0])
    assert model.to_bytes() == before


def test_targets_beyond_the_bound_are_learnt_as_the_bound():
    wild = Y.copy()
    wild[60] = 1e9
    model = StandardizedTarget(ONS(Fourier(G, 20, seed=0), clip=3.0), bound=3.0)
    assert np.isfinite(model.run(X, wild)).all()  # and no warning of labels beyond the clip


def test_only_numbers_have_a_scale():
    with pytest.raises(ValueError, match="does not learn numbers"):
        StandardizedTarget(FOGD(G, loss="hinge"))
    with pytest.raises(ValueError, match="does not learn numbers"):
        StandardizedTarget(Auto(task="classification"))
    with pytest.raises(ValueError, match="bound must be"):
        StandardizedTarget(fogd(), bound=-1)
