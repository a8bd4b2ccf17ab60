"""The boundary: what is converted, what is refused, and that the message says where and what to do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from nystream._core.inputs import all_finite, is_clean_row
from nystream.data.inputs import as_block, as_labels, as_row, as_weights


def test_blocks_of_any_layout_become_contiguous_floats():
    X = np.arange(6).reshape(2, 3)
    for given in (X, X.tolist(), X.astype(np.float32), np.asfortranarray(X), X[:, ::-1][:, ::-1]):
        block = as_block(given)
        assert block.dtype == np.float64
        assert block.flags.c_contiguous
        assert np.array_equal(block, X)
    clean = X.astype(float)
    assert as_block(clean) is clean
    assert as_row(clean[0], 3).base is clean


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"got one dimension; for one row pass X\[None\]"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (np.zeros((2, 0)), "0 columns"),
        (np.zeros((2, 4)), "has 4 columns, but the learner was started with 3"),
        ([[1, 2, 3], [4, np.nan, 6]], "X has nan at row 1, column 1; remove or impute"),
        ([[1, 2, 3], [4, 5, -np.inf]], "X has -inf at row 1, column 2"),
        ([[1, 2, 3], [4, 5]], "rows of equal length"),
        ([["a", "b", "c"]], "X must hold real numbers"),
        ([[1 + 2j, 0, 0]], "X must hold real numbers"),
        ([[None, 0, 0]], "missing values"),
        (np.array([["2020-01-01"] * 3], dtype="datetime64[D]"), "X must hold real numbers, got datetime64"),
        (np.ma.masked_greater([[1, 2, 9]], 5), "X has nan at row 0, column 2"),
        (csr_array(np.eye(3)), r"X is a sparse matrix, which is not supported; pass X\.toarray\(\)"),
    ],
)
def test_bad_blocks_are_refused_with_position_and_remedy(X, message):
    with pytest.raises(ValueError, match=message):
        as_block(X, 3)


@pytest.mark.parametrize(
    ("Y", "kind", "message"),
    [
        ([1, 2], "real", "one label for each of the 3 rows, got shape"),
        (None, "real", "y is missing"),
        ([1, np.nan, 2], "real", r"y has \[nan\] at row 1"),
        ([1, -1, 0], "sign", r"must be -1 or \+1; got 0 at row 2"),
        ([0, 1.5, 2], "class", r"class number 0, 1, 2, \.\.\.; got 1.5 at row 1"),
        ([0, 1, -1], "class", "got -1 at row 2"),
        ([0, 1, 3], "class", "below the loss's 3 classes; got 3 at row 2"),
        (np.ones((3, 2)), "sign", "one column of labels for this loss, got 2"),
        (["a", "b", "c"], "real", "y must hold real numbers"),
    ],
)
def test_bad_labels_are_refused(Y, kind, message):
    with pytest.raises(ValueError, match=message):
        as_labels(Y, kind, 3, classes=3)


def test_class_numbers_far_beyond_any_count_of_classes_are_refused():
    with pytest.raises(ValueError, match=r"y must be below 100000; got 1e\+09 at row 2 \(number the classes 0, 1, 2"):
        as_labels([0, 1, 1e9], "class", 3)


def test_labels_become_columns():
    assert as_labels([1, 2], "real", 2).shape == (2, 1)
    assert as_labels(np.ones((2, 4)), "real", 2).shape == (2, 4)
    assert as_labels(None, "none", 2).shape == (2, 1)


def test_weights_are_checked():
    assert as_weights(None, 3) is None
    for bad in ([1, 2], [1, -1, 1], [1, np.nan, 1]):
        with pytest.raises(ValueError, match="weights must"):
            as_weights(bad, 3)


def test_compiled_checks_agree_with_numpy():
    for special in (0.0, np.nan, np.inf, -np.inf, 1e308, 5e-324):
        row = np.array([1.0, special, 2.0])
        assert is_clean_row(row, 3) == all_finite(row) == np.isfinite(row).all()
    assert not is_clean_row(np.zeros(4), 3)
    assert not is_clean_row(np.zeros(6)[::2], 3)
    assert not is_clean_row(np.zeros(3, np.float32), 3)
    assert not is_clean_row([0.0, 0.0, 0.0], 3)
    assert not is_clean_row(np.ma.masked_greater([0.0, 0.0, 9.0], 5), 3)
