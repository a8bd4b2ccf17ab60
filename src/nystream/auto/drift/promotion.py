"""The promotion test: which of incumbent and candidate stays, by their losses since the candidate began."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from nystream.runtime.types import Array

__all__ = ["CHECK", "LOOK_BACK", "advantage", "is_better", "verdict"]

CHECK = 100
"""The test runs when the candidate's age is a multiple of this."""
LOOK_BACK = 1000
"""Rows whose losses are compared, at most."""
BATCH = 50
"""Rows whose mean loss counts as one observation, because successive losses are correlated."""
LEARNING = 200
"""The candidate's first rows do not count: so many, or half of its rows if that is less."""
PROMOTED_FROM, DISCARDED_FROM = 3.0, 3.0
"""Standard errors by which the losses have to differ to promote the candidate, and to discard it."""
GROWN, SETTLED, LIMIT = 500, 1000, 3200
"""Ages of the candidate: nothing is decided before the first; from the second the mixture has to gain; at the third one
model has to go."""
WORTH = 0.03
"""Part of the incumbent's loss that the candidate has to save."""
AS_GOOD, BETTER = 1.01, 0.99
"""To go on alone, the candidate's loss over the mixture's is at most the first. To go on, the mixture's loss over the
incumbent's is at most the second."""


def _rows(age: int) -> int:
    """Return the number of last rows that are compared."""
    return min(LOOK_BACK, age - min(age // 2, LEARNING))


def advantage(incumbent: Array, candidate: Array, age: int) -> tuple[float, float]:
    """Return the z score and the mean of the incumbent's losses minus the candidate's over the last rows."""
    n = min(_rows(age), len(incumbent))
    n -= n % BATCH
    if n < 2 * BATCH:
        return 0.0, 0.0
    means = (incumbent[-n:] - candidate[-n:]).reshape(-1, BATCH).mean(axis=1)
    return float(means.mean() / (means.std(ddof=1) + 1e-300) * math.sqrt(len(means))), float(means.mean())


def verdict(
    incumbent: Array, candidate: Array, mixed: Array, age: int, both: int
) -> Literal["promoted", "discarded"] | None:
    """Decide which model stays, by the losses of the last rows. At most the last `both` rows were mixed."""
    z, gain = advantage(incumbent, candidate, age)
    n = min(_rows(age), both, len(incumbent))
    a, b, c = (float(np.mean(losses[-n:])) for losses in (incumbent, candidate, mixed))
    if age >= GROWN and z >= PROMOTED_FROM and b <= AS_GOOD * c and gain > WORTH * a:
        return "promoted"
    if age >= LIMIT:
        return "promoted" if z > 1 else "discarded"
    if age < GROWN:
        return None
    if age < SETTLED:
        return "discarded" if z <= -DISCARDED_FROM and c > AS_GOOD * a else None
    return "discarded" if z < DISCARDED_FROM and c > BETTER * a else None


def is_better(incumbent: Array, candidate: Array, age: int) -> bool:
    """Return whether the candidate is promoted when an alarm ends the comparison before the test decides."""
    return advantage(incumbent, candidate, age)[0] >= PROMOTED_FROM
