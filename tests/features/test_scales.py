"""Learnt column scales: the gradient against differences of the loss, what they are for, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import from_bytes, to_bytes
from nystream._core.features import absolute_sums
from nystream.features import LearnedScales
from nystream.features.scales import _held_out, _Rows, _split
from nystream.kernels import Laplacian
from nystream.runtime.incremental import run_to_completion


def data(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.column_stack([np.sign(X[:, 0]) + 0.1 * rng.normal(size=n), np.abs(X[:, 1])])


def slow_loss(X, Y, w, v, lam, fitted, held):
    """Ridge on the rows fitted, squared loss on those held out, one pair of rows at a time."""
    scales = np.exp(v)
    K = np.array([[np.exp(-np.abs(scales * (X[i] - X[j])).sum()) for j in fitted] for i in [*fitted, *held]])
    mean = Y[fitted].mean(axis=0)
    a = np.linalg.solve(K[: len(fitted)] + np.diag(lam / w[fitted]), Y[fitted] - mean)
    r = K[len(fitted) :] @ a + mean - Y[held]
    return float((w[held, None] * r**2).sum() / r.size)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_that_of_the_loss_held_out(outputs, weighted):
    X, Y = data(120)
    Y, rng = Y[:, :outputs], np.random.default_rng(1)
    w = rng.uniform(0.5, 2, 120) if weighted else np.ones(120)
    split, v = _split(120, 60, 30, rng), rng.normal(size=4) - 1
    loss, gradient = run_to_completion(_held_out(_Rows(X, Y, w if weighted else None), v, 0.1, *split))
    assert_allclose(loss, slow_loss(X, Y, w, v, 0.1, *split), rtol=1e-9)
    steps = 1e-5 * np.eye(4)
    slopes = [(slow_loss(X, Y, w, v + s, 0.1, *split) - slow_loss(X, Y, w, v - s, 0.1, *split)) / 2e-5 for s in steps]
    assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-7)
    alone = run_to_completion(_held_out(_Rows(X, Y, w if weighted else None), v, 0.1, *split, moves=False))[0]
    assert_allclose(alone, loss, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 3, 8, 17])
def test_sums_of_absolute_differences_are_those_of_all_pairs(d):
    rng = np.random.default_rng(d)
    W, U, V = rng.normal(size=(7, 5)), rng.normal(size=(7, d)), rng.normal(size=(5, d))
    expected = (W[:, :, None] * np.abs(U[:, None] - V[None])).sum(axis=(0, 1))
    assert_allclose(absolute_sums(W, U, V), expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(absolute_sums(W[:0], U[:0], V), np.zeros(d))
    with pytest.raises(ValueError, match="do not fit"):
        absolute_sums(W.T.copy(), U, V)


def test_rows_held_out_come_after_those_fitted():
    rng = np.random.default_rng(0)
    for n in (2, 20, 1000):
        fitted, held = _split(n, 50, 30, rng)
        assert fitted.max() < held.min()
        assert held.max() < n


def test_columns_that_tell_nothing_shrink_and_a_ridge_does_better_for_it():
    X, Y = data(600, d=12)
    scales = LearnedScales().fit(X[:400], Y[:400, 0])
    v = scales.scales_
    assert v[0] > 10 * v[1:].max()
    errors = []
    for kernel in (Laplacian(12 / 1.4), Laplacian(scales=v)):
        a = np.linalg.solve(kernel(X[:400], X[:400]) + 0.1 * np.eye(400), Y[:400, 0])
        errors.append(np.mean((kernel(X[400:], X[:400]) @ a - Y[400:, 0]) ** 2))
    assert errors[1] < 0.3 * errors[0]
    assert_allclose(scales.transform(X), X * v)


def test_noise_leaves_the_columns_alike():
    """Nothing can be learnt: what was learnt by chance must not be chosen over the beginning by much."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.normal(size=400)
    assert LearnedScales().fit(X, y).loss_ < 1.2 * y.var()


def test_few_rows_constant_labels_and_equal_rows_are_taken():
    X, Y = data(10)
    few = LearnedScales().fit(X, Y)
    assert len(set(few.scales_.tolist())) == 1
    assert np.isnan(few.loss_)
    assert np.isnan(LearnedScales().fit(data(50)[0], np.full(50, 3.0)).loss_)
    assert np.isfinite(LearnedScales().fit(np.ones((50, 2)), np.arange(50.0)).scales_).all()
    assert_array_equal(LearnedScales().fit(np.empty((0, 2)), np.empty(0)).scales_, np.full(2, 1.4))


def test_weight_zero_leaves_no_trace_and_the_common_size_of_weights_does_not_matter():
    X, Y = data(200)
    some = np.arange(200) % 3 > 0
    expected = LearnedScales(5, rows=60, held=40).fit(X[some], Y[some]).scales_
    assert_allclose(LearnedScales(5, rows=60, held=40).fit(X, Y, 7.0 * some).scales_, expected, rtol=1e-9)


def test_the_seed_decides_and_saving_keeps_all():
    X, Y = data(200)
    a, b = (LearnedScales(5, rows=60, held=40, seed=3).fit(X, Y) for _ in range(2))
    assert_array_equal(a.scales_, b.scales_)
    back = from_bytes(to_bytes(a))
    assert_array_equal(back.transform(X), a.transform(X))
    back.widen(6)
    assert_array_equal(back.scales_[:4], a.scales_)
    assert_allclose(back.scales_[4:], a.scales_.mean())


def test_what_cannot_be_is_refused():
    with pytest.raises(TypeError, match="call fit"):
        LearnedScales().partial_fit(np.ones((3, 2)), np.ones(3))
    with pytest.raises(ValueError, match="no data"):
        LearnedScales().transform(np.ones((3, 2)))
    with pytest.raises(ValueError, match="lam"):
        LearnedScales(lam=0)
