"""Scores to probabilities: distributions, order kept, and what the online maps learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from nystream.compose.probabilities import FLOOR, SMALLEST, Brier, Logistic, Platt, Softmax, Temperature

MAPS = [Brier, Logistic, Platt, Softmax, Temperature]


def learn(calibration, F, labels):
    for f, label in zip(F, labels, strict=True):
        calibration.learn(f, int(label))


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("classes", [1, 2, 5])
def test_rows_are_distributions_with_the_largest_score_on_top(kind, classes):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(200, classes)) * rng.choice([0.1, 1.0, 8.0], size=(200, 1))
    calibration = kind()
    learn(calibration, F, rng.integers(classes, size=200))
    P = calibration(F)
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert (P >= 0).all()
    assert_array_equal(P.argmax(axis=1), F.argmax(axis=1))


@pytest.mark.parametrize("kind", MAPS)
def test_huge_scores_give_finite_probabilities(kind):
    F = np.array([[1e8, -1e8, 0.0], [-1e8, -1e8, -1e8], [0.0, 0.0, 0.0]])
    calibration = kind()
    learn(calibration, F, [2, 0, 1])
    calibration.learn(F[0], 1, weight=1e9)
    assert np.isfinite(calibration(F)).all()


def test_brier_is_the_nearest_distribution_to_half_of_one_plus_the_score():
    rng = np.random.default_rng(1)
    for f in rng.normal(size=(5, 4)):
        target = (f + 1) / 2
        nearest = minimize(
            lambda p, t=target: ((p - t) ** 2).sum(),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            tol=1e-12,
        ).x
        assert_allclose(Brier()(f[None])[0], (1 - FLOOR) * nearest + FLOOR / 4, atol=1e-6)


def test_brier_of_two_opposite_scores_is_clipping():
    f = np.array([-3.0, -0.5, 0.0, 0.25, 2.0])
    P = Brier()(np.column_stack([-f, f]))
    assert_allclose(P[:, 1], (1 - FLOOR) * np.clip((f + 1) / 2, 0, 1) + FLOOR / 2, rtol=1e-12)


def test_platt_finds_the_slope_of_a_stream_of_known_odds():
    rng = np.random.default_rng(2)
    f = rng.normal(size=20_000)
    y = rng.random(20_000) < 1 / (1 + np.exp(-3 * f))
    platt = Platt()
    learn(platt, np.column_stack([-f, f]), y)
    assert platt.a_ == pytest.approx(3.0, rel=0.1)
    assert platt.b_ == pytest.approx(0.0, abs=1e-12)  # two opposite scores are symmetric


def test_platt_keeps_its_slope_positive_on_a_stream_that_contradicts_it():
    f = np.ones(500)
    platt = Platt()
    learn(platt, np.column_stack([-f, f]), [0] * 500)
    assert platt.a_ == SMALLEST


def test_temperature_finds_the_slope_of_a_stream_of_known_odds():
    rng = np.random.default_rng(3)
    F = rng.normal(size=(20_000, 3))
    P = np.exp(2 * F)
    y = (P.cumsum(axis=1) / P.sum(axis=1, keepdims=True) > rng.random((20_000, 1))).argmax(axis=1)
    temperature = Temperature()
    learn(temperature, F, y)
    assert temperature.a_ == pytest.approx(2.0, rel=0.1)


def test_the_losses_own_maps_never_move():
    F = np.random.default_rng(4).normal(size=(50, 3))
    for kind in (Brier, Logistic, Softmax):
        calibration = kind()
        before = calibration(F)
        learn(calibration, F, [0] * 50)
        assert_array_equal(calibration(F), before)
    assert_allclose(Softmax()(F), np.exp(F) / np.exp(F).sum(axis=1, keepdims=True))
    assert_allclose(Logistic()(np.column_stack([-F[:, 0], F[:, 0]]))[:, 1], 1 / (1 + np.exp(-F[:, 0])))


@pytest.mark.parametrize("kind", [Platt, Temperature])
def test_a_row_of_weight_zero_teaches_nothing(kind):
    plain, asked = kind(), kind()
    for label, scores in ((0, [0.4, -0.4]), (1, [1.0, -1.0])):
        asked.learn(np.array(scores), 1 - label, 0.0)
        for each in (plain, asked):
            each.learn(np.array(scores), label)
    assert asked._state() == plain._state()
