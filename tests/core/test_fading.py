"""Mixtures around a change and what they are made of, compiled, against the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.auto.drift import (
    fading_shares,
    few_rounds,
    mix_fading,
    spread_of_two,
    standardised,
    together,
    with_residuals,
)
from nystream._core.auto.stack import moving_rounds
from nystream._core.inputs import put
from nystream.solvers.stacker import ROUNDING, RidgeStacker

SHIFT, SCALE = np.array([1.0, -2.0]), np.array([2.0, 0.5])


def followed(losses, shares, powers, age, rate, weights):
    """Shares before every row, as they are defined."""
    before = []
    for t, loss in enumerate(losses):
        before.append(shares)
        unit = np.ones((len(shares), 1))
        if rate:
            powers = np.where(np.isnan(powers), loss, (1 - rate) * powers + rate * loss)
            unit = 2 * powers.min(axis=1, keepdims=True)
        v = shares * np.exp(-weights[t] * (loss - loss.min(axis=1, keepdims=True)) / unit)
        a = 1 / (age + t + 2)
        shares = (1 - a) * v / v.sum(axis=1, keepdims=True) + a / shares.shape[1]
    return np.array(before), shares


def members_and_targets(n=40, M=3):
    rng = np.random.default_rng(0)
    return tuple(rng.normal(size=(n, 2)) for _ in range(M)), rng.normal(size=(n, 2)), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("rate", [0.0, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
def test_shares_follow_losses_and_change_less_and_less(rate, weighted):
    members, T, w = members_and_targets()
    losses = np.ascontiguousarray(((together(members, 40, 2) - T[:, None]) ** 2).transpose(0, 2, 1))
    w = w if weighted else np.ones(40)
    shares, powers = np.full((2, 3), 1 / 3), np.full((2, 3), np.nan)
    expected, last = followed(losses, shares, powers, 10, rate, w)
    found = fading_shares(losses, shares, powers, 10, rate, w if weighted else None)
    assert_allclose(found, expected, rtol=1e-10)
    assert_allclose(shares, last, rtol=1e-10)


@pytest.mark.parametrize("size", [1, 7, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_members_are_mixed_by_their_shares_in_blocks_of_any_size(size, weighted):
    members, T, w = members_and_targets()
    given, parts = w if weighted else None, np.array([1.0, 0.5, 0.0])
    losses = np.ascontiguousarray(((together(members, 40, 2) - T[:, None]) ** 2).transpose(0, 2, 1))
    before = fading_shares(losses, np.full((2, 3), 1 / 3), np.full((2, 3), np.nan), 10, 0.05, given)
    shares, powers, found = np.full((2, 3), 1 / 3), np.full((2, 3), np.nan), []
    for i in range(0, 40, size):
        some = slice(i, i + size)
        known = (shares, powers, 10 + i, 0.05, SHIFT, SCALE, parts, None if given is None else given[some])
        found.append(mix_fading(tuple(V[some] for V in members), T[some], *known))
    P, carried = (np.concatenate(some) for some in zip(*found, strict=True))
    assert_allclose(carried, before @ parts, rtol=1e-14)
    mixed = np.einsum("tkm,tmk->tk", before, together(members, 40, 2)) * SCALE + SHIFT
    assert_allclose(P, mixed, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "spoil",
    [
        {"members": (np.zeros((4, 2)),) * 3},
        {"members": (np.zeros((5, 2)),) * 2},
        {"T": np.zeros((5, 3))},
        {"shares": np.zeros((2, 4))},
        {"powers": np.zeros((2, 4))},
        {"shift": np.zeros(3)},
        {"parts": np.zeros(2)},
    ],
)
def test_members_and_shares_that_do_not_fit_are_refused(spoil):
    given = {
        "members": (np.zeros((5, 2)),) * 3,
        "T": np.zeros((5, 2)),
        "shares": np.full((2, 3), 1 / 3),
        "powers": np.full((2, 3), np.nan),
        "age": 10,
        "rate": 0.05,
        "shift": np.zeros(2),
        "scale": np.ones(2),
        "parts": np.zeros(3),
    }
    assert mix_fading(**given)[0].shape == (5, 2)
    with pytest.raises(ValueError, match=r"is needed|must be"):
        mix_fading(**{**given, **spoil})


def test_numbers_stand_beside_what_others_say():
    V = np.arange(6.0).reshape(3, 2)
    assert_array_equal(together((1.0, V), 3, 2), np.stack([np.ones((3, 2)), V], axis=1))


def test_standard_units_and_the_spread_of_two():
    rng = np.random.default_rng(1)
    V = rng.normal(size=(6, 2))
    assert_array_equal(standardised(V, SHIFT, SCALE), (V - SHIFT) / SCALE)
    P, A, B = (rng.normal(size=(6, 2)) for _ in range(3))
    share, a, b = (rng.random((6, 2)) for _ in range(3))
    expected = np.sqrt(share * (a**2 + (A - P) ** 2) + (1 - share) * (b**2 + (B - P) ** 2))
    assert_allclose(spread_of_two(P, share, A, a, B, b), expected, rtol=1e-14)


@pytest.mark.parametrize("size", [1, 7, 30])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_that_move_after_every_row_are_those_of_stackers_with_blocks_of_one(size, weighted):
    rng = np.random.default_rng(3)
    F, Y, w = rng.normal(size=(30, 2, 3)), rng.normal(size=(30, 3)), rng.uniform(0.5, 2.0, 30)
    stacker = RidgeStacker([(0.9, 0.5), (1.0, 2.0)], block=1)
    stacker.start(2, 3)
    moved = (stacker.weights_.copy(), stacker.gram_.copy(), stacker.sums_.copy())
    expected = stacker.run(F, Y, w if weighted else None)
    known = (*moved, stacker._decay, stacker._lam, stacker.total / 2, ROUNDING)
    parts = [slice(i, i + size) for i in range(0, 30, size)]
    found = [moving_rounds(F[p], Y[p], *known, w[p] if weighted else None) for p in parts]
    assert_allclose(np.concatenate(found), expected, rtol=1e-9, atol=1e-12)
    for one, other in zip(moved, (stacker.weights_, stacker.gram_, stacker.sums_), strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["Y", "weights", "gram", "sums", "decay", "lam"])
def test_stackers_that_do_not_fit_are_refused(name):
    given = {
        "F": np.zeros((4, 2, 3)),
        "Y": np.zeros((4, 3)),
        "weights": np.zeros((1, 3, 2)),
        "gram": np.zeros((1, 3, 2, 2)),
        "sums": np.zeros((1, 3, 2)),
        "decay": np.ones(1),
        "lam": np.ones(1),
        "start": 0.0,
        "rounding": ROUNDING,
    }
    assert moving_rounds(**given).shape == (4, 1, 3)
    with pytest.raises(ValueError, match=r"is needed|must be"):
        moving_rounds(**{**given, name: np.zeros((*given[name].shape[:-1], 5))})


@pytest.mark.parametrize("size", [1, 7, 20])
def test_few_rows_are_learnt_exactly_in_blocks_of_any_size(size):
    rng, width, ridge = np.random.default_rng(2), 3.0, 0.1
    Z, T, w = rng.normal(size=(20, 3)), rng.normal(size=(20, 2)), rng.uniform(0.5, 2.0, 20)
    kept, inverse, whitened, count, said = np.zeros((12, 3)), np.zeros((12, 12)), np.zeros((12, 2)), 0, []
    for i in range(0, 20, size):
        p = slice(i, i + size)
        P, count = few_rounds(Z[p], T[p], kept, inverse, whitened, count, width, ridge, w[p])
        said.append(P)
    assert count == 12  # there is no room for more
    D = ((Z[:, None] - Z) ** 2).sum(axis=2)
    K = 0.5 * (np.exp(-2 * D / width) + np.exp(-0.5 * D / width))
    for t, P in enumerate(np.concatenate(said)):
        n = min(t, 12)
        weights = np.linalg.solve(K[:n, :n] + np.diag(ridge / w[:n]), T[:n])
        assert_allclose(P, K[t, :n] @ weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("spoil", [{"T": np.zeros((2, 3))}, {"kept": np.zeros((12, 2))}, {"count": 13}])
def test_few_rows_that_do_not_fit_are_refused(spoil):
    given = {
        "Z": np.zeros((2, 3)),
        "T": np.zeros((2, 2)),
        "kept": np.zeros((12, 3)),
        "inverse": np.zeros((12, 12)),
        "whitened": np.zeros((12, 2)),
        "count": 0,
        "width": 1.0,
        "ridge": 0.1,
    }
    with pytest.raises(ValueError, match=r"is needed|at most"):
        few_rounds(**{**given, **spoil})


def test_residuals_stand_beside_predictions():
    P, Y = np.arange(6.0).reshape(3, 2), np.full((3, 2), 10.0)
    assert_array_equal(with_residuals(P, Y), np.hstack([P, Y - P]))


def test_a_row_is_put_in_its_place_and_what_does_not_fit_is_refused():
    store = np.zeros((3, 2))
    put(store, 1, np.array([[1.0, 2.0]]))
    put(store, 2, np.array([[3, 4]]))
    assert_array_equal(store, [[0, 0], [1, 2], [3, 4]])
    for place, row in ((3, np.zeros((1, 2))), (-1, np.zeros((1, 2))), (0, np.zeros((1, 3))), (0, np.zeros((2, 2)))):
        with pytest.raises(ValueError, match="is needed"):
            put(store, place, row)
    store.flags.writeable = False
    with pytest.raises(ValueError, match="can be written to"):
        put(store, 0, np.zeros((1, 2)))
