"""The linear expert of the steady stack."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import Auto
from nystream.auto.linear import LAM, LinearMoments


def data(n=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 1e-3, 1e6][:d] + [0.0, 5.0, 1.6e9][:d]
    T = X @ np.array([[1.0, 2.0], [1e3, 0.0], [1e-6, 3e-6]])[:d] + [7.0, -2.0] + rng.normal(size=(n, 2))
    return X, T, rng


def fitted(X, T, w=None):
    line = LinearMoments()
    line.start(X.shape[1], T.shape[1])
    line.learn(X, T, w)
    line.solve()
    return line


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_ridge_regression_on_standardised_columns(weighted):
    X, T, rng = data()
    w = rng.uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    mean = np.average(X, axis=0, weights=w)
    unit = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    Z, middle = (X - mean) / unit, np.average(T, axis=0, weights=w)
    B = np.linalg.solve(Z.T @ (w[:, None] * Z) + LAM * np.eye(3), Z.T @ (w[:, None] * (T - middle)))
    found = fitted(X, T, w if weighted else None).predict(X[:20])
    assert_allclose(found, middle + Z[:20] @ B, rtol=1e-6, atol=1e-6)


def test_a_missing_value_counts_as_the_mean_of_its_column():
    X, T, _ = data()
    line, mean = fitted(X, T), X.mean(axis=0)
    asked = X[:2].copy()
    asked[0, 1], asked[1] = np.nan, np.nan
    told = np.where(np.isnan(asked), mean, asked)
    assert_allclose(line.predict(asked), line.predict(told), rtol=1e-6)


def test_constant_and_missing_columns_have_no_weight():
    X, T, rng = data()
    more = np.column_stack([X, np.full(len(X), 3.0), np.full(len(X), np.nan)])
    line = fitted(more, T)
    assert_allclose(line.predict(more), fitted(X, T).predict(X), rtol=1e-9)
    moved = more.copy()
    moved[:, 3:] = rng.normal(size=(len(X), 2))
    assert_allclose(line.predict(moved), line.predict(more), rtol=1e-9)


def test_columns_that_come_later_were_missing_before():
    X, T, _ = data()
    late = LinearMoments()
    late.start(2, 2)
    late.learn(X[:100, :2], T[:100], None)
    late.solve()
    before = late.predict(X[:5, :2])
    late.widen(3)
    assert_allclose(late.predict(X[:5]), before, rtol=1e-12)
    late.learn(X[100:], T[100:], None)
    late.solve()
    assert np.sqrt(np.mean((late.predict(X[100:]) - T[100:]) ** 2)) < 1.1


def test_classes_that_come_later_had_the_code_minus_one():
    X, _, rng = data(d=3)
    y = rng.integers(0, 2, len(X))
    codes = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    grown = fitted(X, codes[:, :2])
    grown.grow(3)
    assert_allclose(grown.predict(X), fitted(X, codes).predict(X), rtol=1e-9, atol=1e-9)


def test_one_value_far_out_does_not_ruin_the_weights():
    X, T, _ = data()
    line = fitted(X, T)
    far = X[:1].copy()
    far[0, 0] = 1e300
    line.learn(far, T[:1], None)
    line.solve()
    assert np.isfinite(line.weights_).all()
    assert np.sqrt(np.mean((line.predict(X) - T) ** 2)) < 2.0


def test_prediction_changes_nothing():
    X, T, _ = data()
    line = fitted(X, T)
    before = {name: value.copy() for name, value in line._state().items()}
    line.predict(X)
    for name, value in line._state().items():
        assert_array_equal(value, before[name])


@pytest.mark.parametrize("n", [60, 100, 200])
def test_later_rows_of_a_straight_line_are_predicted_from_few_rows(n):
    """Noise 1, coefficient 10: kernels alone were 1.39 at 100 rows, where the noise is 1."""
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n + 500, 3))
        y = 10 * X[:, 0] + 500 + rng.normal(size=n + 500)
        model = Auto(task="regression")
        model.run(X[:n], y[:n])
        errors.append(np.mean((model.predict(X[n:]) - y[n:]) ** 2))
    assert np.sqrt(np.mean(errors)) < {60: 1.5, 100: 1.25, 200: 1.12}[n]
