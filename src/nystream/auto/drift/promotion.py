"""The promotion test: which of incumbent and candidate stays, by their losses since the candidate began."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from nystream.runtime.types import Array

__all__ = ["CHECK", "LOOK_BACK", "advantage", "of_use", "verdict"]

CHECK = 100
"""The test runs when the candidate's age is a multiple of this."""
LOOK_BACK = 1000
"""Rows whose losses are compared, at most."""
BATCH = 50
"""Rows whose mean loss counts as one observation, because successive losses are correlated."""
LEARNING = 200
"""The candidate's first rows do not count: so many, or half of its rows if that is less."""
SURE = 3.0
"""One model is better from so many standard errors on."""
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
    if age >= GROWN and z >= SURE and b <= AS_GOOD * c and gain > WORTH * a:
        return "promoted"
    if age >= LIMIT:
        return "promoted" if z > 1 else "discarded"
    useless = z <= -SURE and c > AS_GOOD * a if age < SETTLED else z < SURE and c > BETTER * a
    return "discarded" if age >= GROWN and useless else None


def of_use(alone: Array, mixed: Array, age: int) -> bool:
    """Return whether the mixture with a recalled model is still better than the incumbent, of this age, alone."""
    n = min(GROWN, age)
    return age < LIMIT and bool(np.mean(alone[-n:]) > AS_GOOD * np.mean(mixed[-n:]))
