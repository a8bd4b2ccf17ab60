"""The kernel smoother against its definition, one row at a time."""

from __future__ import annotations

import numpy as np
import pytest
from grids import grid
from numpy.testing import assert_allclose, assert_array_equal

from nystream.learners.smoother import KernelSmoother
from oracles.drift import smoother


def data(n=300, d=3, outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    X = (8 * rng.normal(size=(n, d))).round() / 8  # repeats, and ties: distances are exact in any order of summation
    return X, rng.normal(size=(n, outputs)), rng.choice([0.0, 0.5, 1.0, 3.0], size=n)


@pytest.mark.parametrize("dtype", ["float64", "float32"])  # eighths and their squares are exact in either
@pytest.mark.parametrize(("window", "k"), grid([1, 2, 5, 31, 32, 33, 100, 1000], [1, 5, 64]))
def test_predictions_are_those_of_the_definition(window, k, dtype):
    X, Y, w = data()
    ones = np.ones(len(X))
    plain = KernelSmoother(window, neighbours=k, dtype=dtype).run(X, Y)
    assert_allclose(plain, smoother(X, Y, window, k, ones), rtol=1e-9, atol=1e-12)
    weighted = KernelSmoother(window, neighbours=k, dtype=dtype).run(X, Y, w)
    assert_allclose(weighted, smoother(X, Y, window, k, w), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("d", [3, 60])
@pytest.mark.parametrize("size", [1, 5, 32, 45])
def test_blocks_and_rows_give_the_same_bits(d, size, dtype):
    X, Y, w = data(d=d)
    X += np.random.default_rng(1).normal(size=X.shape)
    whole, parts = KernelSmoother(50, dtype=dtype), KernelSmoother(50, dtype=dtype)
    expected = whole.run(X, Y, w)
    got = [parts.run(X[i : i + size], Y[i : i + size], w[i : i + size]) for i in range(0, len(X), size)]
    assert_array_equal(np.vstack(got), expected)
    assert whole.to_bytes() == parts.to_bytes()


def test_predict_is_what_the_next_step_says():
    X, Y, _ = data()
    model = KernelSmoother(50)
    model.run(X[:200], Y[:200])
    ahead = model.predict(X[200:])
    assert_array_equal(ahead[0], model.step(X[200], Y[200]))


def test_memory_does_not_grow_and_the_window_slides():
    X, Y, _ = data(n=500)
    model = KernelSmoother(20)
    model.run(X[:10], Y[:10])
    before = model.nbytes
    assert model.size == 10
    model.run(X[10:], Y[10:])
    assert (model.size, model.nbytes) == (20, before)
    assert_array_equal(np.sort(model.points_, axis=0), np.sort(X[-20:], axis=0))


def test_late_outputs_are_exact():
    X, Y, _ = data(outputs=2)
    mix = np.array([[1.0, 0.5], [0.0, -2.0]])
    late, known = KernelSmoother(60), KernelSmoother(60)
    late.run(X[:150], Y[:150])
    late.add_outputs(mix)
    wide = np.hstack([Y, Y @ mix])
    known.run(X[:150], wide[:150])
    assert_allclose(late.run(X[150:], wide[150:]), known.run(X[150:], wide[150:]), rtol=1e-12, atol=1e-14)


def test_late_columns_are_zero_in_the_past():
    X, Y, _ = data()
    late, known = KernelSmoother(60), KernelSmoother(60)
    wide = np.column_stack([X, np.where(np.arange(300) < 150, 0.0, 1.0)])
    late.run(X[:150], Y[:150])
    late.widen(4)
    known.run(wide[:150], Y[:150])
    assert_array_equal(late.run(wide[150:], Y[150:]), known.run(wide[150:], Y[150:]))


def test_extreme_rows_and_weights_give_finite_means():
    X, Y, _ = data(n=40)
    X[::3] *= 1e200
    w = np.resize([1e-320, 1e308, 1.0], len(X))
    P = KernelSmoother(10).run(X, 1e300 * Y, w)
    assert np.isfinite(P).all()
    assert np.abs(P).max() <= 1e300 * np.abs(Y).max() * (1 + 1e-12)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="neighbours must be at most 64"):
        KernelSmoother(neighbours=65)
    with pytest.raises(ValueError, match="window"):
        KernelSmoother(0)
