"""What a stack hears, mixes and moves by, compiled, against the same in NumPy, in any blocks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.auto.mixtures import mix_classes, mix_targets
from nystream._core.auto.stack import all_inside, coded, entered, gathered, ridge_systems, softmax_systems

RATES = np.array([1.0, 0.1])
NONE = np.empty(0, dtype=np.int64)


def shared(v, losses, eta, share):
    u = v * np.exp(-eta * (losses - losses.min()))
    return (1 - share) * u / u.sum() + share / len(v)


def cut(n, size):
    return [slice(i, i + size) for i in range(0, n, size)]


@pytest.mark.parametrize("size", [1, 7, 30])
@pytest.mark.parametrize("first", [0, 1])
def test_outputs_within_bounds_then_answers_then_lags_are_heard(size, first):
    rng, n, C = np.random.default_rng(0), 30, 2
    F, answers, T = rng.normal(size=(n, 3, first + C)), rng.normal(size=(n, 2, C)), rng.normal(size=(n, first + C))
    low, high = -rng.random((n, C)), rng.random((n, C))
    shift, scale, lags = np.array([1.0, -2.0]), np.array([2.0, 0.5]), np.full((2, C), np.nan)
    parts = [
        gathered(F[p], first, low[p], high[p], shift, scale, answers[p], True, lags, RATES, T[p]) for p in cut(n, size)
    ]
    G, now = np.concatenate(parts), np.full((2, C), np.nan)
    for t in range(n):
        assert_array_equal(G[t, :3], np.clip(F[t, :, first:], low[t], high[t]))
        assert_allclose(G[t, 3:5], np.clip((answers[t] - shift) / scale, low[t], high[t]), rtol=1e-12)
        assert_allclose(G[t, 5:], np.nan_to_num((now - shift) / scale, nan=0.0), atol=1e-12)
        label = T[t, first:] * scale + shift
        now = np.where(np.isnan(now), label, now + RATES[:, None] * (label - now))
    assert_allclose(lags, now, rtol=1e-12)


def test_without_targets_lags_stay_and_one_bound_serves_all_rows():
    rng = np.random.default_rng(0)
    F, lags = 3 * rng.normal(size=(5, 3, 2)), rng.normal(size=(2, 2))
    bounds, before = (np.full((1, 1), -1.5), np.full((1, 1), 1.5)), lags.copy()
    G = gathered(F, 0, *bounds, np.zeros(1), np.ones(1), None, False, lags, RATES)
    assert_array_equal(G[:, :3], np.clip(F, -1.5, 1.5))
    assert_array_equal(G[:, 3:], np.broadcast_to(before, (5, 2, 2)))
    assert_array_equal(lags, before)


@pytest.mark.parametrize("size", [1, 7, 30])
@pytest.mark.parametrize(("last", "aside"), [(-1, 0), (5, 1)])
def test_targets_are_mixed_by_shares_that_follow_losses(size, last, aside):
    rng, n, E, N, S, K = np.random.default_rng(1), 30, 5, 7, 2, 2
    G, stacked, T, w = (rng.normal(size=s) for s in ((n, N, K), (n, S, K), (n, K), n))
    w, reach, early = np.abs(w), 0.8, 12
    M, steady = S + 1 + (last >= 0), np.array([0, 3])
    experts, members = np.full((K, E), 1 / E), np.full((K, M), 1 / M)
    recent = np.full((1, E), np.nan)
    low, high, shift, scale = -rng.random((n, K)), rng.random((n, K)), np.array([1.0, 2.0]), np.array([3.0, 0.5])
    parts = [
        mix_targets(
            G[p], stacked[p], experts, members, last, aside, steady, low[p], high[p], shift, scale, 0.5, 0.01, T[p],
            w[p], recent, 0.1, reach, early - p.start,
        )
        for p in cut(n, size)
    ]  # fmt: skip
    P, spread, errors, core = (np.concatenate(some) for some in zip(*parts, strict=True))
    v, m, r = np.full((K, E), 1 / E), np.full((K, M), 1 / M), None
    for t in range(n):
        F = G[t, :E]
        for k in range(K):
            q = [*stacked[t, :, k], *([G[t, last, k]] if last >= 0 else []), v[k] @ F[:, k]]
            p = np.clip(m[k] @ q, low[t, k], high[t, k])
            assert_allclose(P[t, k], p * scale[k] + shift[k], rtol=1e-12, atol=1e-12)
            y = np.clip(T[t, k], p - reach, p + reach) if t < early else T[t, k]
            v[k] = shared(v[k], (F[:, k] - y) ** 2, 0.5 * w[t], 0.01)
            m[k] = shared(m[k], (np.array(q) - y) ** 2, 0.5 * w[t], 0.01)
        assert_allclose(spread[t], F[: E - aside].std(axis=0) * scale, rtol=1e-12)
        assert_allclose(core[t], F[steady].mean(axis=0) * scale + shift, rtol=1e-12, atol=1e-12)
        assert_allclose(errors[t], ((F[steady] - T[t]) ** 2).mean(axis=1).min(), rtol=1e-12)
        losses = ((F - T[t]) ** 2).mean(axis=1)
        r = losses if r is None else r + 0.1 * (losses - r)
    assert_allclose(experts, v, rtol=1e-9)
    assert_allclose(members, m, rtol=1e-9)
    assert_allclose(recent[0], r, rtol=1e-12)


def test_without_steady_experts_the_core_is_the_mean_of_all_and_nothing_is_missed():
    rng = np.random.default_rng(0)
    G, stacked, T = rng.normal(size=(4, 3, 1)), rng.normal(size=(4, 2, 1)), rng.normal(size=(4, 1))
    shares, frame = (np.full((1, 3), 1 / 3), np.full((1, 3), 1 / 3)), (np.full((1, 1), -9.0), np.full((1, 1), 9.0))
    found = mix_targets(
        G, stacked, *shares, -1, 0, NONE, *frame, np.zeros(1), np.ones(1), 0.5, 0.01, T, None, np.ones((1, 3)), 0.1
    )
    assert_allclose(found[3], G.mean(axis=1), rtol=1e-12)
    assert_array_equal(found[2], np.zeros(4))


@pytest.mark.parametrize("size", [1, 7, 30])
@pytest.mark.parametrize(("K", "again"), [(2, True), (3, True), (3, False)])
def test_classes_are_mixed_by_shares_that_follow_losses(size, K, again):
    rng, n, E, S, C = np.random.default_rng(2), 30, 4, 2, 1 if K == 2 else K
    G = rng.normal(size=(n, E + 1, C))
    stacked, same = rng.dirichlet(np.ones(K), (n, S)), rng.dirichlet(np.ones(K), n)
    labels = rng.integers(0, K, n).astype(float)
    T, first, steady, M = coded(labels[:, None], K), K - C + 1, np.array([1, 2]), S + 1 + again
    experts, members, recent = np.full((1, E), 1 / E), np.full((1, M), 1 / M), np.full((1, E), np.nan)
    parts = [
        mix_classes(
            G[p], stacked[p], experts, members, same[p] if again else None, steady, 0.5, 0.01, first, T[p], labels[p],
            None, recent, 0.1,
        )
        for p in cut(n, size)
    ]  # fmt: skip
    P, errors = (np.concatenate(some) for some in zip(*parts, strict=True))
    v, m = np.full(E, 1 / E), np.full(M, 1 / M)
    for t in range(n):
        F, code, y = G[t, :E], T[t, first:], int(labels[t])
        mean = np.clip((v @ F + 1) / 2, 0.01, 0.99)
        mean = np.array([1 - mean[0], mean[0]]) if K == 2 else mean
        said = np.array([*stacked[t], *([same[t]] if again else []), mean / mean.sum()])
        p = m @ said
        assert_allclose(P[t], p / p.sum(), rtol=1e-9)
        losses = ((F - code) ** 2).mean(axis=1)
        assert_allclose(errors[t], losses[steady].min(), rtol=1e-12)
        v, m = shared(v, losses, 0.5, 0.01), shared(m, -np.log(said[:, y]), 1.0, 0.01)
    assert_allclose(experts[0], v, rtol=1e-9)
    assert_allclose(members[0], m, rtol=1e-9)


def test_equations_of_ridges_are_sums_that_fade_and_a_ridge():
    rng, S, K, E = np.random.default_rng(3), 2, 3, 4
    gram, sums, new, more = (rng.normal(size=s) for s in ((S * K, E, E), (S * K, E), (K, E, E), (K, E)))
    new[0] += 1e9 * np.eye(E)  # rounding decides there
    decay, lam = np.array([0.9, 0.5]), np.array([0.1, 2.0])
    G = decay[:, None, None, None] * gram.reshape(S, K, E, E) + new
    b = decay[:, None, None] * sums.reshape(S, K, E) + more
    ridge = np.maximum(lam[:, None], 1e-3 * np.diagonal(G, axis1=2, axis2=3).max(axis=2))
    A, right = ridge_systems(gram, sums, new, more, decay, lam, 0.25, 1e-3)
    assert_allclose(gram.reshape(G.shape), G, rtol=1e-12)
    assert_allclose(sums.reshape(b.shape), b, rtol=1e-12)
    assert_allclose(A.reshape(G.shape), G + ridge[..., None, None] * np.eye(E), rtol=1e-12)
    assert_allclose(right.reshape(b.shape), b + 0.25 * ridge[..., None], rtol=1e-12)
    assert not new.any()
    assert not more.any()


def test_equations_of_newton_steps_are_sums_that_fade_and_a_ridge():
    rng, S, E, C = np.random.default_rng(4), 2, 3, 2
    N = E + C
    weights, gradient, hessian, new = (rng.normal(size=s) for s in ((S, N), (S, N), (S, N, N), (S, N, N)))
    decay, lam, start = np.array([0.9, 0.5]), np.array([0.1, 2.0]), np.repeat([0.25, 0.0], [E, C])
    H = decay[:, None, None] * hessian + new
    slope = gradient + (lam * (1 - decay))[:, None] * (weights - start)
    A, b = softmax_systems(weights, gradient, hessian, new, decay, lam, E, 0.25, 2.0)
    assert_allclose(hessian, H, rtol=1e-12)
    assert_allclose(A, 2 * H + lam[:, None, None] * np.eye(N), rtol=1e-12)
    assert_allclose(b, slope, rtol=1e-12)
    assert not new.any()
    assert not gradient.any()


@pytest.mark.parametrize("size", [1, 7, 20])
def test_labels_enter_with_the_range_of_those_before_them(size):
    Y = np.random.default_rng(5).normal(size=(20, 2))
    low, high, shift, scale = np.full(2, np.inf), np.full(2, -np.inf), np.array([1.0, 2.0]), np.array([0.5, 3.0])
    parts = [entered(Y[p], low, high, shift, scale, 0.5) for p in cut(20, size)]
    T, under, over = (np.concatenate(some) for some in zip(*parts, strict=True))
    assert_allclose(T, (Y - shift) / scale, rtol=1e-12)
    for t in range(20):
        a, b = (Y[:t].min(axis=0), Y[:t].max(axis=0)) if t else (np.zeros(2), np.zeros(2))
        assert_allclose(under[t], (a - 0.5 * (b - a) - shift) / scale, rtol=1e-12)
        assert_allclose(over[t], (b + 0.5 * (b - a) - shift) / scale, rtol=1e-12)
    assert_array_equal(low, Y.min(axis=0))
    assert_array_equal(high, Y.max(axis=0))


def test_one_label_beyond_a_fence_or_a_share_of_such_is_noticed():
    Y, fences, none = np.zeros((3, 2)), np.array([[-1.0, -1.0], [1.0, 1.0]]), np.zeros((1, 2))
    assert all_inside(Y, fences, none)
    assert not all_inside(Y, fences, np.array([[0.0, 1e-9]]))
    for wild in (1.5, -1.5):
        other = Y.copy()
        other[2, 1] = wild
        assert not all_inside(other, fences, none)


def test_codes_are_a_constant_and_plus_or_minus_one():
    assert_array_equal(coded(np.array([[1.0], [0.0]]), 3), [[1, -1, 1, -1], [1, 1, -1, -1]])
    with pytest.raises(ValueError, match="labels must be 0 to 2, got 3"):
        coded(np.array([[3.0]]), 3)


def test_shapes_that_do_not_fit_are_refused():
    F, one = np.zeros((2, 3, 1)), np.ones(1)
    with pytest.raises(ValueError, match=r"that fits shape \(2, 1\) is needed"):
        gathered(F, 0, np.zeros((3, 1)), np.zeros((2, 1)), one, one)
    with pytest.raises(ValueError, match=r"shape \(2, 3, 1\) is needed"):
        gathered(F.astype(np.float32), 0, np.zeros((2, 1)), np.zeros((2, 1)), one, one)
    frozen = np.zeros((1, 1))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="written to"):
        gathered(F, 0, np.zeros((2, 1)), np.zeros((2, 1)), one, one, None, False, frozen, one)
