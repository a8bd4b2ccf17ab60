"""The learner that users chose, or the automatic one where they chose nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.auto.learner import Auto
from nystream.learners.base import Learner

__all__ = ["batch_order", "chosen"]

SEED = 0
"""Of the order of rows that are given all at once."""


def chosen(learner: Learner | None) -> Learner:
    """A copy of the learner that has learnt nothing; None: `Auto()`."""
    if learner is None:
        return Auto()
    if not isinstance(learner, Learner):
        raise TypeError(f"learner must be a nystream learner or None, got {learner!r}")
    return learner.clone()


def batch_order(learner: Learner, n: int) -> Any:
    """An index of n rows that are given all at once, whose order means nothing.

    `Auto` follows the stream: of rows sorted by label, say, it would believe that the last label comes again. So it
    gets them shuffled, always in the same way. Other learners get them as they are.
    """
    return np.random.default_rng(SEED).permutation(n) if isinstance(learner, Auto) else slice(None)
