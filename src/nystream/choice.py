"""The learner that users chose, or the automatic one where they chose nothing; and what it can do beside predicting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nystream.auto.learner import Auto
from nystream.learners.base import Learner

__all__ = ["able", "batch_order", "chosen"]

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


def able(learner: Learner, method: str, what: str) -> Callable[..., Any]:
    """A method that not every learner has, or a ValueError that says which one does."""
    found: Callable[..., Any] | None = getattr(learner, method, None)
    if found is None:
        raise ValueError(f"{type(learner).__name__} has no {what}; the default learner, nystream.Auto, has")
    return found
