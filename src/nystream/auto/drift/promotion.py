"""The promotion test: which of incumbent and candidate stays, by their losses since the candidate began."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from nystream.runtime.types import Array

__all__ = ["CHECK", "LOOK_BACK", "advantage", "of_use", "verdict"]

CHECK = 100
"""A verdict is sought at these rows of the young one's age."""
LOOK_BACK = 1000
"""Rows that are compared, at most."""
BATCH = 50
"""Rows whose mean counts as one observation: losses of neighbours are alike."""
LEARNING = 200
"""Rows of the young one's beginning that are not counted, at most; half of its rows while it is younger."""
SURE = 3.0
"""Standard errors from which on one is better."""
GROWN, SETTLED, LIMIT = 500, 1000, 3200
"""Ages of the young one: before, nothing is decided; from then on the mixture has to gain; one of them has to go."""
WORTH = 0.03
"""Of the old one's loss, what the young one has to gain."""
AS_GOOD, BETTER = 1.01, 0.99
"""The young one's loss over the mixture's, at most, to go on alone; the mixture's over the old one's to go on."""


def _rows(age: int) -> int:
    """The last rows, which are compared."""
    return min(LOOK_BACK, age - min(age // 2, LEARNING))


def advantage(old: Array, young: Array, age: int) -> tuple[float, float]:
    """Return the z score of the incumbent's losses minus the candidate's over the last rows, and their mean
    difference.
    """
    n = min(_rows(age), len(old))
    n -= n % BATCH
    if n < 2 * BATCH:
        return 0.0, 0.0
    means = (old[-n:] - young[-n:]).reshape(-1, BATCH).mean(axis=1)
    return float(means.mean() / (means.std(ddof=1) + 1e-300) * math.sqrt(len(means))), float(means.mean())


def verdict(old: Array, young: Array, mixed: Array, age: int, both: int) -> Literal["promoted", "discarded"] | None:
    """Decide which model stays, from the losses of the last rows, up to LOOK_BACK; of the mixture only the last
    `both` count.
    """
    z, gain = advantage(old, young, age)
    n = min(_rows(age), both, len(old))
    a, b, c = (float(np.mean(losses[-n:])) for losses in (old, young, mixed))
    if age >= GROWN and z >= SURE and b <= AS_GOOD * c and gain > WORTH * a:
        return "promoted"
    if age >= LIMIT:
        return "promoted" if z > 1 else "discarded"
    useless = z <= -SURE and c > AS_GOOD * a if age < SETTLED else z < SURE and c > BETTER * a
    return "discarded" if age >= GROWN and useless else None


def of_use(alone: Array, mixed: Array, age: int) -> bool:
    """Return whether a mixture with a model that no longer learns is still better than the learning one alone; `age`
    is that one's.
    """
    n = min(GROWN, age)
    return age < LIMIT and bool(np.mean(alone[-n:]) > AS_GOOD * np.mean(mixed[-n:]))
