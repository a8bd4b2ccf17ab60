"""What the comparison asks of a method: learn a block of rows, having predicted every one of them first."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Answers", "Method", "Task", "uniform"]

Answers = tuple[np.ndarray, np.ndarray | None]
"""Labels or values (n,), and probabilities (n, K) from those who give them."""


@dataclass(frozen=True)
class Task:
    """The stream: columns, classes (0: regression), and its first 1,000 rows, for maps that are fitted on a sample."""

    d: int
    classes: int
    sample: np.ndarray

    @property
    def regression(self) -> bool:
        return self.classes == 0

    @property
    def gamma(self) -> float:
        """Of the Gaussian kernel exp(-gamma |x - x'|^2) on standardised columns, for everybody who has one."""
        return 1 / self.d


class Method:
    """One contestant on one stream.

    `block` is the number of rows it gets at a time: its own way of working, or small enough to stop in time. Targets
    of regression are given minus the mean of all labels before, unless `centred` is False.
    """

    block: int = 1000
    centred: bool = True
    model: Any

    def prepare(self, X: np.ndarray, y: np.ndarray) -> Any:
        """The rows in the form its users have them in; not timed."""
        return X, y

    def learn(self, prepared: Any) -> Answers:
        """Predict each row, then learn it (or, working in blocks, all of them); timed."""
        raise NotImplementedError

    def saved_bytes(self) -> int:
        """What the model takes when it is saved."""
        return len(pickle.dumps(self.model))


def uniform(n: int, classes: int) -> np.ndarray:
    """What is said before anything was learnt."""
    return np.full((n, classes), 1 / classes)
