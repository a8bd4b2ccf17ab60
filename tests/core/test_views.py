"""Rows as experts see them, against their definitions in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.auto.experts import after_constant, seen, with_constant
from nystream._core.kernels import KernelRows


def numbers(n, d):
    rng = np.random.default_rng(d)
    X, mean, scale = 3 * rng.normal(size=(n, d)), rng.normal(size=d), rng.uniform(0.5, 2.0, size=d)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[0, 0], X[1, 0] = np.inf, -np.inf
    return X, mean, scale


@pytest.mark.parametrize("clip", [None, 1.5])
@pytest.mark.parametrize("kind", ["none", "diagonal", "full"])
@pytest.mark.parametrize("d", [1, 7, 40])
def test_rows_are_scaled_clipped_filled_and_turned(d, kind, clip):
    X, mean, scale = numbers(30, d)
    if clip is None:
        X[:2, 0] = 0.5
    U = (X - mean) / scale
    U = np.nan_to_num(U if clip is None else np.clip(U, -clip, clip), nan=0.0)
    T = {"none": None, "diagonal": np.linspace(0.0, 2.0, d), "full": np.random.default_rng(1).normal(size=(d, d))}[kind]
    expected = U if T is None else U * T if T.ndim == 1 else U @ T.T
    got = seen(X, mean, scale, clip, T)
    assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(np.vstack([seen(X[i : i + 1], mean, scale, clip, T) for i in range(30)]), got)


def test_constants_stand_after_kernel_values_and_before_plain_columns():
    rng = np.random.default_rng(0)
    X, points, kernel = rng.normal(size=(9, 4)), rng.normal(size=(5, 4)), KernelRows("gaussian", -0.5)
    Z = with_constant(kernel, X, points)
    assert_array_equal(Z, np.hstack([kernel.block(X, points), np.ones((9, 1))]))
    assert_array_equal(after_constant(X), np.hstack([np.ones((9, 1)), X]))
    assert with_constant(kernel, X[:0], points).shape == (0, 6)
    assert after_constant(X[:0]).shape == (0, 5)


@pytest.mark.parametrize(
    ("X", "mean", "scale", "T"),
    [
        (np.zeros((3, 2)), np.zeros(3), np.ones(2), None),
        (np.zeros((3, 2)), np.zeros(2), np.ones(1), None),
        (np.zeros((3, 2)), np.zeros(2), np.ones(2), np.ones((2, 3))),
        (np.zeros((3, 2)), np.zeros(2), np.ones(2), np.ones(3)),
        (np.zeros((3, 2), dtype=np.float32), np.zeros(2), np.ones(2), None),
        (np.zeros((2, 3)).T, np.zeros(2), np.ones(2), None),
        (np.zeros(2), np.zeros(2), np.ones(2), None),
    ],
)
def test_arrays_that_do_not_fit_are_refused(X, mean, scale, T):
    with pytest.raises(ValueError, match="is needed"):
        seen(X, mean, scale, None, T)


def test_points_of_other_columns_are_refused():
    with pytest.raises(ValueError, match="is needed"):
        with_constant(KernelRows("linear"), np.zeros((3, 2)), np.zeros((4, 3)))
