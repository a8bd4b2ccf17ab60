"""The compiled smoother refuses arrays that would make it read elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from nystream._core.auto.smoother import smooth


@pytest.mark.parametrize(
    ("X", "T", "neighbours"),
    [
        (np.zeros((3, 3)), None, 2),
        (np.zeros((3, 2), dtype=np.float32), None, 2),
        (np.zeros((2, 3)).T, None, 2),
        (np.zeros((3, 2)), np.zeros((2, 2)), 2),
        (np.zeros((3, 2)), np.zeros((3, 3)), 2),
        (np.zeros((3, 2)), None, 0),
        (np.zeros((3, 2)), None, 65),
    ],
)
def test_wrong_arrays_are_refused(X, T, neighbours):
    with pytest.raises(ValueError, match=r"is needed|neighbours"):
        smooth(np.zeros((5, 2)), np.zeros((5, 2)), 0, neighbours, X, T)


def test_no_rows_are_no_predictions():
    P, kept = smooth(np.zeros((5, 2)), np.zeros((5, 2)), 4, 3, np.zeros((0, 2)), np.zeros((0, 2)))
    assert (P.shape, kept) == ((0, 1), 4)
