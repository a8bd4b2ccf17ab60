"""Frames of numbers as the arrays that they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nystream.data.frames import Chunks, are_finite, frame_columns, join_columns, matrix_of

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

X = np.random.default_rng(0).normal(size=(50, 3))
NAMES = ["a", "b", "c"]
COLUMNS = {"a": X[:, 0].copy(), "b": X[:, 1].astype(np.float32), "c": (100 * X[:, 2]).astype(np.int64)}
MAKERS = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrow": pyarrow.table}


def in_pieces(cuts: list[int]) -> Chunks:
    return Chunks(np.split(COLUMNS["a"], cuts))


@pytest.mark.parametrize("cuts", [[], [20], [0, 7, 7, 30, 50]])
@pytest.mark.parametrize("rows", [slice(0, 50), slice(3, 7), slice(5, 31), slice(30, 50), slice(9, 9), slice(45, 90)])
def test_a_slice_of_pieces_is_that_of_the_whole(cuts, rows):
    pieces = in_pieces(cuts)
    assert len(pieces) == 50
    np.testing.assert_array_equal(pieces[rows], COLUMNS["a"][rows])


def test_rows_picked_from_pieces_keep_their_order():
    index = np.random.default_rng(1).integers(50, size=200)
    np.testing.assert_array_equal(in_pieces([0, 7, 30])[index], COLUMNS["a"][index])


def test_within_a_piece_nothing_is_copied():
    assert np.shares_memory(in_pieces([20])[slice(3, 18)], COLUMNS["a"])


@pytest.mark.parametrize("library", MAKERS)
def test_columns_are_those_of_the_frame(library):
    found = frame_columns(MAKERS[library](COLUMNS))
    assert found is not None
    assert list(found) == NAMES
    for name, column in COLUMNS.items():
        np.testing.assert_array_equal(found[name], column)
        assert found[name].dtype == column.dtype
    rows = join_columns(list(found.values()))(slice(10, 20))
    np.testing.assert_array_equal(rows, np.column_stack(list(COLUMNS.values()))[10:20])
    assert rows.flags.c_contiguous
    assert rows.dtype == np.float64


@pytest.mark.parametrize("join", [pyarrow.concat_tables, lambda parts: polars.concat(parts, rechunk=False)])
def test_chunks_become_pieces_that_share_their_memory(join):
    make = pyarrow.table if join is pyarrow.concat_tables else polars.DataFrame
    halves = [{name: column[part] for name, column in COLUMNS.items()} for part in (slice(0, 21), slice(21, 50))]
    found = frame_columns(join([make(half) for half in halves]))
    assert found is not None
    assert all(isinstance(column, Chunks) and len(column.arrays) == 2 for column in found.values())
    np.testing.assert_array_equal(found["c"][slice(0, 50)], COLUMNS["c"])


OTHERS: dict[str, Any] = {
    "strings": {**COLUMNS, "d": ["x"] * 50},
    "booleans": {**COLUMNS, "d": [True] * 50},
    "holes": {**COLUMNS, "d": [None, *range(49)]},
    "times": {**COLUMNS, "d": np.arange(50).astype("datetime64[us]")},
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("library", MAKERS)
def test_a_frame_with_other_columns_than_plain_numbers_has_none(library, kind):
    found = frame_columns(MAKERS[library](OTHERS[kind]))
    if library == "pandas" and kind == "holes":  # which has nan for them
        assert found is not None
        assert not are_finite(found.values())
    else:
        assert found is None


def test_what_is_no_frame_has_no_columns():
    assert frame_columns(X) is None
    assert frame_columns([[1.0]]) is None
    assert frame_columns(pandas.Series([1.0])) is None
    assert frame_columns(polars.LazyFrame({"a": [1.0]})) is None


def test_a_frame_of_one_type_shows_its_matrix():
    frame = pandas.DataFrame(X, columns=NAMES)
    shown = matrix_of(frame)
    assert shown is not None
    np.testing.assert_array_equal(shown, X)
    assert np.shares_memory(shown, np.asarray(frame["b"]))
    assert matrix_of(pandas.DataFrame(COLUMNS)) is None
    assert matrix_of(pandas.DataFrame({"a": ["x"]})) is None
    assert matrix_of(pandas.DataFrame()) is None
    assert matrix_of(X) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f8"])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_one_number_that_is_not_finite_is_seen(bad, dtype, order):
    matrix = np.array(X, dtype=dtype, order="F" if order == "F" else "C")
    matrix = np.repeat(matrix, 2, axis=1)[:, ::2] if order == "strided" else matrix
    assert are_finite([matrix])
    matrix[49, 2] = bad
    assert not are_finite([matrix])
    assert not are_finite([X, Chunks([matrix[:49, 2], matrix[49:, 2]])])
