"""The compiled smoother refuses arrays that would make it read elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from nystream._core.auto.experts import smooth


@pytest.mark.parametrize(
    ("X", "Y", "w", "neighbours"),
    [
        (np.zeros((3, 3)), None, None, 2),
        (np.zeros((3, 2), dtype=np.float32), None, None, 2),
        (np.zeros((2, 3)).T, None, None, 2),
        (np.zeros((3, 2)), np.zeros((2, 1)), None, 2),
        (np.zeros((3, 2)), np.zeros((3, 2)), None, 2),
        (np.zeros((3, 2)), np.zeros((3, 1)), np.ones(2), 2),
        (np.zeros((3, 2)), None, None, 0),
        (np.zeros((3, 2)), None, None, 65),
    ],
)
def test_wrong_arrays_are_refused(X, Y, w, neighbours):
    with pytest.raises(ValueError, match=r"is needed|neighbours"):
        smooth(np.zeros((5, 2)), np.zeros((5, 2)), 0, neighbours, X, Y, w)


def test_no_rows_are_no_predictions():
    P, kept = smooth(np.zeros((5, 2)), np.zeros((5, 2)), 4, 3, np.zeros((0, 2)), np.zeros((0, 1)))
    assert (P.shape, kept) == ((0, 1), 4)
