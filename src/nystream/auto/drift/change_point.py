"""Estimates the change point again from the rows learnt after it: a candidate that began too early begins again."""

from __future__ import annotations

import numpy as np

from nystream.runtime.types import Array

__all__ = ["LOOKS", "first_of_new"]

LOOKS = (15, 20, 25, 30, 40, 50, 70, 100, 140, 200)
"""Ages of a candidate at which one looks again."""
CLEAR = 1.5
"""log of how much likelier the rows before must be by the incumbent, and those after by what was learnt since."""


def first_of_new(gains: Array, most: int) -> int:
    """Return how many rows at the beginning, at most so many, still belong to the time before the change; 0 where
    that is not clear.

    gains (n,): log likelihood of each row by the incumbent less that by what learnt all other rows since the
    change. Their sum is largest where the change was. It has to rise and to fall clearly: where the incumbent is
    the better one all along, nothing is known.
    """
    total = np.concatenate([[0.0], np.cumsum(gains)])
    best = int(total[: min(most, len(gains) // 2) + 1].argmax())
    return best if min(total[best], total[best] - total[-1]) >= CLEAR else 0
