"""Frozen scalings against their definitions, column by column."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import from_bytes, streams, to_bytes
from nystream.scaling import GlobalScale, LogScale, StandardScale

SCALES = [StandardScale(), StandardScale(clip=None), GlobalScale(), LogScale(), LogScale(clip=1.0)]


def rows(n=200, seed=0):
    """A plain column, a skewed one far from 0, a constant one, a small one that is mostly 0."""
    rng = np.random.default_rng(seed)
    rare = np.where(rng.random(n) < 0.2, rng.normal(size=n), 0.0)
    return np.column_stack([rng.normal(size=n), 1000 + np.exp(2 * rng.normal(size=n)), np.full(n, 0.1), 1e-6 * rare])


def slow_standard(X, new, clip=np.inf):
    out = np.empty_like(new)
    for j in range(X.shape[1]):
        deviation = X[:, j].std() if np.ptp(X[:, j]) > 0 else 1.0
        out[:, j] = np.clip((new[:, j] - X[:, j].mean()) / deviation, -clip, clip)
    return out


def slow_log(X, new, clip=np.inf):
    def warp(V, x):
        away = np.abs(x - np.median(x))
        spread = np.median(away) or away.mean() or 1.0
        u = (V - np.median(x)) / spread
        return np.sign(u) * np.log1p(np.abs(u))

    both = [np.column_stack([warp(V[:, j], X[:, j]) for j in range(X.shape[1])]) for V in (X, new)]
    return slow_standard(*both, clip)


def test_standard_is_the_textbook_standardisation_clipped():
    X, new = rows(), 3 * rows(seed=1)
    assert_allclose(StandardScale().fit(X)(new), slow_standard(X, new, 3.0), rtol=1e-9, atol=1e-12)
    assert_allclose(StandardScale(clip=30.0).fit(X)(new), slow_standard(X, new, 30.0), rtol=1e-9, atol=1e-12)


def test_global_divides_all_columns_by_the_root_of_their_mean_variance():
    X, new = rows(), rows(seed=1)
    expected = (new - X.mean(axis=0)) / np.sqrt(X.var(axis=0).mean())
    assert_allclose(GlobalScale().fit(X)(new), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("clip", [3.0, 1.0, None])
def test_log_is_the_log_of_robust_units_standardised(clip):
    X, new = rows(), rows(seed=1)
    expected = slow_log(X, new, np.inf if clip is None else clip)
    assert_allclose(LogScale(clip=clip).fit(X)(new), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("pattern", SCALES, ids=repr)
def test_constant_columns_become_zero_and_move_by_their_own_units(pattern):
    X = np.full((50, 2), [0.1, 1e9 + 0.1])
    scale = pattern.clone().fit(X)
    assert_allclose(scale(X), 0.0, atol=1e-6)
    moved = scale(X + np.array([0.5, 0.0]))[:, 0]
    assert_allclose(moved, np.log1p(0.5) if isinstance(scale, LogScale) else 0.5, rtol=1e-9)


@pytest.mark.parametrize("pattern", SCALES, ids=repr)
@pytest.mark.parametrize("unit", [1e-150, 1e-6, 1e150])
def test_units_do_not_matter(pattern, unit):
    X, new = rows()[:, [0, 1, 3]], rows(seed=1)[:, [0, 1, 3]]
    expected = pattern.clone().fit(X)(new)
    assert_allclose(pattern.clone().fit(unit * X)(unit * new), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("pattern", SCALES, ids=repr)
def test_missing_values_stay_and_do_not_count(pattern):
    X = rows()
    spoilt = X.copy()
    spoilt[::3, 0] = np.nan
    scale = pattern.clone().fit(np.column_stack([spoilt, np.full(len(X), np.nan)]))
    Z = scale(np.column_stack([spoilt, np.full(len(X), np.nan)]))
    assert_array_equal(np.isnan(Z[:, 0]), np.isnan(spoilt[:, 0]))
    assert np.isnan(Z[:, 4]).all()
    if not isinstance(pattern, GlobalScale):
        alone = pattern.clone().fit(X[np.arange(len(X)) % 3 != 0, :1])
        assert_allclose(Z[1::3, :1], alone(X[1::3, :1]), rtol=1e-12)


@pytest.mark.parametrize("pattern", SCALES, ids=repr)
def test_one_row_is_scaled_as_in_a_block_and_nothing_is_changed(pattern):
    X = rows()
    scale = pattern.clone().fit(X)
    before = X.copy()
    assert_array_equal(np.array([scale(x) for x in X]), scale(X))
    assert_array_equal(X, before)


@pytest.mark.parametrize("pattern", SCALES, ids=repr)
def test_copies_and_files_scale_alike(pattern):
    X = rows()
    scale = pattern.clone().fit(X)
    for twin in (copy.deepcopy(scale), from_bytes(to_bytes(scale))):
        assert_array_equal(twin(X), scale(X))
    with pytest.raises(ValueError, match="not fitted yet"):
        scale.clone()(X)


@pytest.mark.parametrize("pattern", SCALES, ids=repr)
def test_new_columns_are_left_as_they_are(pattern):
    X = rows()
    scale = pattern.clone().fit(X)
    expected = scale(X)
    scale.widen(6)
    Z = scale(np.column_stack([X, np.zeros((len(X), 2))]))
    assert_array_equal(Z[:, :4], expected)
    assert_array_equal(Z[:, 4:], 0.0)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="clip"):
        StandardScale(clip=0.0)
    with pytest.raises(ValueError, match=r"StandardScale.fit needs rows"):
        StandardScale().fit(np.zeros((0, 3)))


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
@pytest.mark.parametrize("first", [1, 60, 200, 5000])
def test_a_stream_is_scaled_by_its_first_rows_however_it_is_cut(size, first):
    X, y = rows(), np.arange(200.0)
    scale = LogScale()
    stream = streams.rescale((X, y), scale, first)
    blocks = list(stream.blocks(size))
    expected = LogScale().fit(X[:first])(X)
    assert_array_equal(np.vstack([b for b, _ in blocks]), expected)
    assert_array_equal(np.concatenate([c for _, c in blocks]), y)
    assert_array_equal(stream.load()[0], expected)  # a second pass
    with pytest.raises(ValueError, match="not fitted yet"):
        scale(X)


def test_a_stream_refuses_what_is_no_scaling():
    with pytest.raises(ValueError, match="StandardScale"):
        streams.arrays(rows()).rescale("standard")
