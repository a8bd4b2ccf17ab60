"""StreamingGP: its densities by definition, coverage, the choice of width and noise, the bound on its log loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from nystream import Gaussian, StreamingGP, from_bytes
from oracles.gp import streaming_gp

G = Gaussian(1.0)


def drawn(n, width, noise, seed=0):
    """Labels of a Gaussian process of that width, amplitude 1, on a line."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, 1))
    K = np.exp(-((X - X.T) ** 2) / (2 * width**2)) + 1e-9 * np.eye(n)
    return X, np.linalg.cholesky(K) @ rng.normal(size=n) + noise * rng.normal(size=n)


def test_log_densities_are_those_of_the_joint_distribution():
    X, y = drawn(60, 0.7, 0.3)
    model = StreamingGP(G, widths=(0.5, 2.0), lam=(0.05, 0.5), tol=0.05, landmarks=12)
    expected_p, expected = streaming_gp(
        X, y, lambda A, B: np.exp(-((A - B.T) ** 2) / 2), (0.5, 2.0), (0.05, 0.5), 0.05, 12
    )
    for t in range(60):
        if t:
            assert_allclose(model.log_density(X[t : t + 1], y[t : t + 1]), expected[t], atol=1e-8)
        assert_allclose(model.step(X[t], y[t]), expected_p[t], atol=1e-8)
    assert_allclose(model.log_loss(), -expected.sum(), atol=1e-7)


def test_density_integrates_to_one_and_agrees_with_mean_std_and_quantiles():
    X, y = drawn(80, 1.0, 0.3)
    model = StreamingGP(G)
    model.run(X, y)
    x = np.array([[12.0]])  # outside of all data: wide
    grid = np.linspace(-60, 60, 200_001)
    density = np.exp([model.log_density(x, np.array([v]))[0] for v in grid[::200]])
    fine = np.interp(grid, grid[::200], density)
    assert_allclose(integrate.simpson(fine, x=grid), 1.0, atol=1e-3)
    mean = integrate.simpson(fine * grid, x=grid)
    assert_allclose(mean, model.predict(x)[0], atol=1e-2)
    spread = math.sqrt(integrate.simpson(fine * (grid - mean) ** 2, x=grid))
    assert_allclose(spread, model.std(x)[0], rtol=0.02)
    low, high = model.predict_interval(x, 0.8)
    inside = (grid >= low[0]) & (grid <= high[0])
    assert_allclose(integrate.simpson(fine[inside], x=grid[inside]), 0.8, atol=5e-3)
    three = model.predict_quantile(x, [0.1, 0.5, 0.9])
    assert three.shape == (1, 3)
    assert_allclose(three[0, [0, 2]], [low[0], high[0]])
    assert_allclose(model.predict_quantile(x, 0.5), three[:, 1])


@pytest.mark.parametrize(("width", "noise"), [(0.5, 0.1), (2.0, 0.3)])
def test_width_and_noise_are_found_and_intervals_cover(width, noise):
    X, y = drawn(900, width, noise, seed=1)
    model = StreamingGP(G)
    inside = []
    for i in range(0, 900, 50):
        if i:
            low, high = model.predict_interval(X[i : i + 50], 0.9)
            inside.append(np.mean((low <= y[i : i + 50]) & (y[i : i + 50] <= high)))
        model.run(X[i : i + 50], y[i : i + 50])
    shares = model.weights()
    best = max(shares, key=shares.get)
    assert best.startswith(f"width {width:g},")
    assert_allclose(sum(shares.values()), 1.0)
    assert 0.86 < np.mean(inside) < 0.94


def test_log_loss_is_within_ln_n_of_the_best_model():
    X, y = drawn(300, 0.5, 0.2)
    y[200:] *= 30.0
    mixed = StreamingGP(G, widths=(0.5, 4.0), lam=(0.01, 1.0))
    mixed.run(X, y)
    losses = []
    for width in (0.5, 4.0):
        for lam in (0.01, 1.0):
            one = StreamingGP(G, widths=width, lam=lam)
            one.run(X, y)
            assert one.regret_bound() == 0.0
            losses.append(one.log_loss())
    assert_allclose(mixed.regret(), mixed.log_loss() - min(losses), atol=1e-8)
    assert mixed.regret() <= mixed.regret_bound() == math.log(4)


def test_a_landmark_changes_no_prediction_of_its_own_row():
    X, y = drawn(40, 0.5, 0.1)
    growing = StreamingGP(G, widths=0.5, lam=0.1)
    growing.run(X, y)
    far = np.array([[100.0]])
    assert_allclose(growing.predict(far), 0.0, atol=1e-12)
    before = growing.std(far)[0], growing.size
    assert growing.step(far[0], 0.3) == pytest.approx(0.0, abs=1e-12)
    assert growing.size == before[1] + 1
    assert before[0] ** 2 == pytest.approx(1.0, rel=0.5)  # about scale^2: nothing is known there


def test_saved_models_go_on_bit_for_bit():
    X, y = drawn(120, 0.5, 0.1)
    model = StreamingGP(G, landmarks=10)
    model.run(X[:60], y[:60])
    twin = from_bytes(model.to_bytes())
    assert (twin.run(X[60:], y[60:]) == model.run(X[60:], y[60:])).all()
    assert twin.log_loss() == model.log_loss()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"widths": ()}, "widths must be a positive number or a list of them, got"),
        ({"lam": (0.1, -1.0)}, "lam must be a positive number or a list of them, got"),
        ({"landmarks": 0}, "landmarks"),
        ({"tol": 1.0}, "tol"),
        ({"scale": 0.0}, "scale"),
    ],
)
def test_bad_parameters_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        StreamingGP(G, **settings)


def test_what_needs_data_is_refused_before_the_first_row():
    model = StreamingGP(G)
    assert model.log_loss() == model.regret() == 0.0
    for ask in (model.std, model.predict_interval):
        with pytest.raises(ValueError, match="has learnt no row yet"):
            ask(np.zeros((1, 2)))
    model.run(np.zeros((1, 2)), [1.0])
    with pytest.raises(ValueError, match="y must have 2 numbers, one for each row"):
        model.log_density(np.zeros((2, 2)), [1.0])
    with pytest.raises(ValueError, match="q must be a number greater than 0 and less than 1, or a list of such, got 1"):
        model.predict_quantile(np.zeros((1, 2)), 1)
