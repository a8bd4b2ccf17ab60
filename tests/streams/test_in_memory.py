"""Arrays and data frames."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import streams


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.bool_])
def test_any_real_dtype_becomes_float64_block_by_block(dtype):
    X = (np.arange(12).reshape(6, 2) % 2).astype(dtype)
    for block, y in streams.arrays(X, X[:, 0]).blocks(4):
        assert block.dtype == y.dtype == np.float64
    assert_array_equal(streams.arrays(X, X[:, 0]).load()[0], X.astype(float))


def test_clean_arrays_are_not_copied():
    X = np.ones((10, 2))
    block, _ = next(streams.arrays(X, np.zeros(10)).blocks(5))
    assert np.shares_memory(block, X)
    assert streams.arrays(X).load()[0] is X


def test_lists_and_several_targets_are_taken():
    X, Y = streams.arrays([[1, 2], [3, 4]], [[1, 0], [0, 1]])
    assert X.shape == (2, 2)
    assert Y.shape == (2, 2)


def test_text_targets_become_classes():
    stream = streams.arrays(np.ones((3, 1)), np.array(["b", "a", "b"]))
    assert_array_equal(stream.load()[1], [0.0, 1.0, 0.0])
    assert stream.labels == ("b", "a")
    given = streams.arrays(np.ones((3, 1)), [2, 1, 2], labels=[1, 2])
    assert_array_equal(given.load()[1], [1.0, 0.0, 1.0])


def test_a_pandas_frame_gives_its_names_and_may_hold_the_target():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "flag": [True, False], "y": ["no", "yes"]})
    stream = streams.arrays(frame, "y")
    assert stream.columns == ("a", "b", "flag")
    assert stream.labels == ("no", "yes")
    assert_array_equal(stream.load()[0], [[1.0, 0.5, 1.0], [2.0, 1.5, 0.0]])
    apart = streams.arrays(frame[["a", "b"]], frame["y"].astype("category"))
    assert_array_equal(apart.load()[1], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"column 'y' of X must hold numbers.*; drop or encode it"):
        streams.arrays(frame)
    with pytest.raises(ValueError, match="y='z' is not a column of X; it has a, b, flag, y"):
        streams.arrays(frame, "z")


def test_a_polars_frame_gives_its_names_and_may_hold_the_target():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2], "b": [0.5, None], "y": ["no", "yes"]})
    stream = streams.arrays(frame, "y")
    assert (stream.columns, stream.labels) == (("a", "b"), ("no", "yes"))
    assert_array_equal(stream.load()[0], [[1.0, 0.5], [2.0, np.nan]])
    with pytest.raises(ValueError, match=r"column 'y' of X must hold numbers.*; drop or encode it"):
        streams.arrays(frame)


def test_what_does_not_fit_is_refused_at_once():
    sparse = pytest.importorskip("scipy.sparse")
    for X, y, options, message in (
        (np.ones(3), None, {}, r"X must have rows and columns, got shape \(3,\)"),
        (np.ones((3, 0)), None, {}, r"X must have rows and columns, got shape \(3, 0\)"),
        (np.ones((3, 1)), np.ones(2), {}, r"y must have one target for each of the 3 rows of X, got shape \(2,\)"),
        (np.ones((3, 1)), "y", {}, "y='y' names a column, but X is not a data frame"),
        (np.array([["a"]]), None, {}, "X must hold numbers, got dtype"),
        (np.ones((3, 1), complex), None, {}, "X must hold numbers, got dtype complex128"),
        (np.ones((2, 1)), [1, 5], {"labels": [1, 2]}, "y, row 1: 5.0 is not one of the labels 1, 2"),
        (np.ones((2, 1)), [["a"], ["b"]], {}, "y: classes must be one column"),
        (np.ones((2, 2)), None, {"columns": ["a"]}, "columns has 1 names for the 2 columns of X"),
        (sparse.csr_array(np.eye(2)), None, {}, "X is a sparse matrix"),
    ):
        with pytest.raises(ValueError, match=message):
            streams.arrays(X, y, **options)
