"""The re-estimated change point: a candidate that began too early restarts at a later row."""

from __future__ import annotations

import numpy as np

from nystream.runtime.types import Array

__all__ = ["LOOKS", "first_of_new"]

LOOKS = (15, 20, 25, 30, 40, 50, 70, 100, 140, 200)
"""Ages of a candidate, in rows, at which the change point is estimated again."""
CLEAR = 1.5
"""Log likelihood that rows before the new change point have to gain by the incumbent, and later ones by the ridge."""


def first_of_new(gains: Array, most: int) -> int:
    """Return how many of the first rows, at most `most`, still belong to the time before the change; 0 if unclear.

    gains (n,): log likelihood of each row by the incumbent, less that by the few-row ridge that learnt all other rows
    since the estimated change point. The running sum is largest at the change. It has to rise and then fall clearly; if
    the incumbent is better on all rows, nothing follows.
    """
    total = np.concatenate([[0.0], np.cumsum(gains)])
    best = int(total[: min(most, len(gains) // 2) + 1].argmax())
    return best if min(total[best], total[best] - total[-1]) >= CLEAR else 0
