"""The growable matrix: a list of rows that is always one array."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from nystream import persist
from nystream.dictionary import Rows

ACTIONS = st.lists(st.tuples(st.sampled_from(["append", "extend", "remove"]), st.integers(0, 40)), max_size=60)


@given(ACTIONS)
def test_any_sequence_of_actions_equals_that_on_a_list(actions):
    rows, model, fresh = Rows(3), [], 0
    for action, number in actions:
        if action == "remove":
            if model:
                i = number % len(model)
                rows.remove(i)
                model[i] = model[-1]
                model.pop()
            continue
        new = [np.full(3, float(fresh + i)) for i in range(1 if action == "append" else number)]
        fresh += len(new)
        model += new
        if action == "append":
            rows.append(new[0])
        else:
            rows.extend(np.array(new).reshape(-1, 3))
        assert rows.n == len(rows) == len(model) <= rows.capacity
    assert_array_equal(rows.view, np.array(model).reshape(-1, 3))


def test_appending_reallocates_a_logarithmic_number_of_times():
    rows, addresses = Rows(2), set()
    for i in range(10_000):
        rows.append(np.array([i, -i]))
        addresses.add((rows.capacity, rows.view.ctypes.data))
    assert_array_equal(rows.view[:, 0], np.arange(10_000))
    assert len(addresses) == 11  # 16, 32, ..., 16384
    assert rows.nbytes == 16384 * 2 * 8


def test_the_view_is_a_window_and_starts_on_a_cache_line():
    for d in (1, 3, 8):
        rows = Rows(d)
        for n in (1, 16, 17, 300):
            rows.extend(np.ones((n, d)))
            assert rows.view.ctypes.data % 64 == 0
            assert rows.view.flags.c_contiguous
    rows.view[0] = 5.0
    assert_array_equal(rows.view[0], np.full(8, 5.0))


def test_copies_hold_the_same_rows_in_memory_of_their_own():
    rows = Rows(2)
    rows.extend(np.arange(80.0).reshape(40, 2))
    rows.remove(3)
    for twin in (copy.deepcopy(rows), persist.from_bytes(persist.to_bytes(rows))):
        assert_array_equal(twin.view, rows.view)
        assert not np.shares_memory(twin.view, rows.view)
        twin.append(np.zeros(2))
        assert rows.n == 39
    assert rows.clone().n == 0


def test_only_stored_rows_are_saved():
    rows = Rows(2)
    rows.extend(np.ones((17, 2)))
    assert rows.capacity == 32
    assert rows._state()["rows_"].shape == (17, 2)


def test_a_row_that_was_written_behind_the_last_is_stored_by_advancing():
    rows, told = Rows(2), Rows(2)
    for i in range(40):
        row = np.array([i, -i], dtype=float)
        rows.reserve(1)
        rows.memory[rows.n] = row
        rows.advance()
        told.append(row)
        assert_array_equal(rows.view, told.view)
    assert rows.capacity == told.capacity == 64


def test_what_does_not_fit_is_refused():
    rows = Rows(2)
    with pytest.raises(ValueError, match=r"rows of 2 numbers are stored here, got an array of shape \(3, 3\)"):
        rows.extend(np.ones((3, 3)))
    with pytest.raises(IndexError, match="no row 0 to remove: 0 are stored"):
        rows.remove(0)
    with pytest.raises(ValueError, match="d must be a whole number of at least 1, got 0"):
        Rows(0)
    assert rows.n == 0
    rows.extend(np.ones((16, 2)))
    with pytest.raises(IndexError, match="there is no memory behind row 15; reserve it first"):
        rows.advance()
    assert rows.n == 16
