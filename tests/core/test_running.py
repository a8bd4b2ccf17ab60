"""Running standardisation of clean rows, compiled: the bits of a row alone and of the sums that NumPy adds up."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream._core.inputs import scale_rows
from nystream.scaling import RunningScale


@pytest.mark.parametrize("seed", range(6))
def test_blocks_rows_and_running_sums_give_the_same_bits(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 7)) * 10.0 ** rng.integers(-8, 9, size=7) + rng.normal(size=7) * 1e3
    X[:, 3] = 2.5  # constant, and its deviation 0
    X[:400, 4] = -1.0
    block, rows, sums = RunningScale(), RunningScale(), RunningScale()
    for scale in (block, rows, sums):
        scale.start(7)
    found = np.vstack([block(X[:1]), block(X[1:500]), block(X[500:])])
    assert_array_equal(found, np.vstack([rows.step(x) for x in X]))
    assert_array_equal(found, np.vstack([sums._part(X[i : i + 100]) for i in range(0, 900, 100)]))
    for name in ("first_", "count_", "total_", "spread_"):
        assert_array_equal(getattr(block, name), getattr(sums, name))
        assert_array_equal(getattr(block, name), getattr(rows, name))


def test_a_mark_is_not_moved_by_the_rows_after_it():
    X = np.random.default_rng(0).normal(size=(50, 3))
    scale = RunningScale()
    scale.start(3)
    scale(X[:20])
    mark = scale.mark()
    first = scale(X[20:])
    scale.rewind(mark)
    assert_array_equal(scale(X[20:]), first)


def test_arrays_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        scale_rows(np.ones((2, 3)), np.ones(3), np.ones(3), np.ones(2), np.ones(3))
