"""Labels that hardly ever change: what was predicted and the last label, mixed, so that neither is far ahead."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.mixtures import guarded_classes, guarded_targets, part_of_class, parts_of_targets
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Guard"]

TRUST = 0.1
"""Share of what was predicted, in rows after a change of class, to begin with; the rest is no change."""


class Guard(Params):
    """Predictions and the last label become one prediction where labels hardly ever change; elsewhere nothing happens.

    Labels hardly ever change where (mean |step|)^2 < 1/20 mean step^2, steps from label to label, means of all so far
    or of about the last 200: where all changes have one size, that is one change in more than 20 rows, and noise beside
    them that is small enough does not matter. For normal steps, as of a random walk, it is .64. A step is a change if
    its square is over 9 times the mean square. In the row after a change everything that learns has just seen the last
    label fail, and doubts it; so those rows are counted apart.

    Numbers, every target by itself: p + s (last - p) in rows after a change and, with another s, in rows whose last
    label was the one before; s between 0 and 1 by least squares over past rows of its kind, 1 before the first.
    Classes: the three rows after a change alone, by a mixture with shares by log loss of what was said and of no
    change, for which the last class comes as often as in such rows so far, the others in proportion to what was said.
    Both are learnt wherever labels change, forget slowly, and begin with no change: where changes do not last that
    costs a mistake or two.

    Parameters
    ----------
    classes : bool
        Whether labels are classes; predictions are logarithms of probabilities then.
    """

    last_: Array
    """(K,) the last labels, of classes (1,) its number; nan before the first row."""
    after_: Array
    """(K,) or (1,): 1 where the last step was a change, 0 where the last label was the one before, else -1; of classes
    2 and 3 where no step came after that change."""
    steps_: Array
    """(2, K) or (2, 1) means of sizes and of squares of steps; of classes they are 0 or 1."""
    sums_: Array
    """(2, 2, K) sums of s, of rows after no step and after a change; of classes (2, 2): rows after a change with the
    last class and without, shares of what was said and of no change."""
    count_: NDArray[np.int64]
    """(1,) steps so far."""

    def __init__(self, classes: bool) -> None:
        self.classes = classes

    def start(self, outputs: int) -> None:
        K = 1 if self.classes else outputs
        self.last_, self.after_, self.steps_ = np.full(K, np.nan), np.full(K, -1.0), np.zeros((2, K))
        self.sums_ = np.array([[0.0, 0.0], [TRUST, 1.0 - TRUST]]) if self.classes else np.zeros((2, 2, K))
        self.count_ = np.zeros(1, dtype=np.int64)

    def predict(self, P: Array) -> Array:
        """(n, K) for predictions (n, K). Pure."""
        return self._guarded(P, None, None)

    def run(self, P: Array, labels: Array, w: Array | None) -> Array:
        """The same, each row before its label is learnt; labels are (n, K), of classes (n,)."""
        return self._guarded(P, np.ascontiguousarray(labels), w)

    def _guarded(self, P: Array, labels: Array | None, w: Array | None) -> Array:
        P, parts = np.ascontiguousarray(P), (self.last_, self.after_, self.steps_)
        if self.classes:
            return guarded_classes(P, labels, w, *parts, self.sums_[0], self.sums_[1], self.count_)
        return guarded_targets(P, labels, w, *parts, self.sums_, self.count_)

    def carried(self) -> float:
        """How much of the next prediction the last label carries, between 0 and 1; the mean over targets."""
        if self.classes:
            return part_of_class(self.after_, self.steps_, self.sums_[1])
        return float(parts_of_targets(self.after_, self.steps_, self.sums_).mean())

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in self._state().values())
