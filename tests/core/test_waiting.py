"""Rows that wait to be learnt together, against their features, products and labels computed apart."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream._core.auto.experts import answered, with_constant
from nystream._core.kernels import KernelRows

PLACES, M, D, K = 8, 11, 3, 2


def parts():
    rng = np.random.default_rng(0)
    kernel = KernelRows("gaussian", -0.3)
    return kernel, *(rng.normal(size=s) for s in ((20, D), (20, K), (M, D), (K, M + 1)))


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_answered_and_kept_as_far_as_there_is_room(weighted):
    kernel, U, Y, points, weights = parts()
    w = np.random.default_rng(1).uniform(0.5, 2.0, 20) if weighted else None
    rows, P, row, at = np.full((PLACES, M + K + 2), np.nan), np.full((20, K), np.nan), 4, 5
    assert answered(kernel, U, Y, w, row, points, weights, rows, at, P) == 3
    Z = with_constant(kernel, U, points)
    assert_array_equal(P[4:7], KernelRows("linear").block(Z[4:7], weights))
    assert_array_equal(rows[5:], np.hstack([Z[4:7], Y[4:7], np.ones((3, 1)) if w is None else w[4:7, None]]))
    assert np.isnan(rows[:5]).all()
    assert np.isnan(P[:4]).all()
    assert np.isnan(P[7:]).all()
    assert answered(kernel, U, Y, w, 18, points, weights, rows, 0, P) == 2
    assert_array_equal(rows[:2, : M + 1], Z[18:])
    assert answered(kernel, U, Y, w, 0, points, weights, rows, PLACES, P) == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Y", np.zeros((19, K))),
        ("w", np.zeros(19)),
        ("points", np.zeros((M, D + 1))),
        ("weights", np.zeros((K, M))),
        ("weights", np.zeros((K + 1, M + 1))),
        ("rows", np.zeros((PLACES, M + K + 1))),
        ("P", np.zeros((20, K + 1))),
        ("row", 21),
        ("row", -1),
        ("at", PLACES + 1),
        ("at", -1),
    ],
)
def test_what_does_not_fit_is_refused(name, value):
    kernel, U, Y, points, weights = parts()
    given = {"kernel": kernel, "U": U, "Y": Y, "w": None, "row": 0, "points": points, "weights": weights, "at": 0}
    given |= {"rows": np.zeros((PLACES, M + K + 2)), "P": np.zeros((20, K)), name: value}
    with pytest.raises(ValueError, match=r"is needed|not there"):
        answered(**given)
