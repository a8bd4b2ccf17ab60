"""Stages that predictions pass after the stack: a mixture with the persistence forecast, and recalibration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.mixtures import (
    guarded_classes,
    guarded_targets,
    part_of_class,
    parts_of_targets,
    recalibrated,
)
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["OutputStages", "PersistenceStage", "Recalibration"]

TRUST = 0.1
"""First share of the stack in rows after a change of class; the persistence forecast has the rest."""


class PersistenceStage(Params):
    """Mixes predictions with the last label where labels hardly ever change; elsewhere predictions stay as they are.

    Labels hardly ever change if (mean |step|)^2 < 1/20 mean step^2, for steps from label to label, with means over
    about the last 200 rows. If all changes have one size, that is one change in more than 20 rows; small noise between
    them does not matter. For normal steps, as of a random walk, the ratio is .64. A step is a change if its square is
    more than 9 times the mean square. Right after a change, all learners have just seen the last label fail and trust
    it too little. So these rows have weights of their own.

    Numbers, each target by itself: the prediction is p + s (last - p), with one s for rows after a change and one for
    rows whose last label repeated the one before. s is found by least squares over past rows of the same kind; it is
    between 0 and 1, and 1 before the first such row. Classes: only the three rows after a change are mixed, by log loss
    with a fixed share. The persistence forecast gives the last class its frequency in such rows so far, and the other
    classes the rest in proportion to the prediction. All this is learnt wherever labels change and is forgotten slowly.
    It begins with the persistence forecast; if changes do not last, that costs a mistake or two.

    Parameters
    ----------
    classes : bool
        Whether labels are classes; predictions are then logarithms of probabilities.
    """

    last_: Array
    """(K,) last labels, for classes (1,) the number of the last class; nan before the first row."""
    after_: Array
    """(K,), for classes (1,): 1 if the last step was a change, 0 if the last label repeated the one before, else -1.
    For classes it is 2 and 3 in the second and third row after a change."""
    steps_: Array
    """(2, K) or (2, 1) means of |step| and of step^2; for classes a step is 0 or 1."""
    sums_: Array
    """(2, 2, K) sums for s, over rows after a repeated label and rows after a change. For classes (2, 2): counts of
    rows after a change with the last class and without it; shares of the prediction and the persistence forecast."""
    count_: NDArray[np.int64]
    """(1,) number of steps so far."""

    def __init__(self, classes: bool) -> None:
        self.classes = classes

    def start(self, outputs: int) -> None:
        K = 1 if self.classes else outputs
        self.last_, self.after_, self.steps_ = np.full(K, np.nan), np.full(K, -1.0), np.zeros((2, K))
        self.sums_ = np.array([[0.0, 0.0], [TRUST, 1.0 - TRUST]]) if self.classes else np.zeros((2, 2, K))
        self.count_ = np.zeros(1, dtype=np.int64)

    def predict(self, P: Array) -> Array:
        """Return (n, K) mixed predictions for predictions (n, K). Pure."""
        return self._mix(P, None, None)

    def run(self, P: Array, labels: Array, w: Array | None) -> Array:
        """Return mixed predictions, each made before its label is learnt; labels are (n, K), for classes (n,)."""
        return self._mix(P, np.ascontiguousarray(labels), w)

    def _mix(self, P: Array, labels: Array | None, w: Array | None) -> Array:
        P, parts = np.ascontiguousarray(P), (self.last_, self.after_, self.steps_)
        if self.classes:
            return guarded_classes(P, labels, w, *parts, self.sums_[0], self.sums_[1], self.count_)
        return guarded_targets(P, labels, w, *parts, self.sums_, self.count_)

    def share(self) -> float:
        """Return the share of the last label in the next prediction, between 0 and 1; the mean over targets."""
        if self.classes:
            return part_of_class(self.after_, self.steps_, self.sums_[1])
        return float(parts_of_targets(self.after_, self.steps_, self.sums_).mean())

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in self._state().values())


class Recalibration(Params):
    """Corrects probabilities so that they are as sure as they turn out to be.

    Two maps of the probabilities are learnt row by row; the probabilities and both maps are mixed by log loss. A map
    gives class k a probability in proportion to exp((1 + a/2) log p_k + 2 b p_k). The number a makes all probabilities
    more or less sure. The number b bends them, so that the largest probability may stay below 1, which is right if some
    labels are wrong. Every 10 rows, both are updated by Newton's method on the log loss with a ridge of 1. The two maps
    forget: their sums keep .995 and .9995 of a row's weight per row. Slopes stay above 0, so the order of the classes
    never changes. Nothing depends on the number of classes.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger. On calibration of modern neural networks. ICML 2017 (a alone: temperature).
    Herbster, Warmuth. Tracking the best expert. Machine Learning 32, 1998 (the mixture).
    """

    squares_: Array
    """(2, 4) Hessians of the two maps; sums_ (2, 2): gradients; weights_ (2, 2): a and b."""
    sums_: Array
    weights_: Array
    shares_: Array
    """(3,) shares of the probabilities and of the two maps."""
    marks_: NDArray[np.int64]
    """Rows since the maps were updated."""

    def start(self) -> None:
        self.squares_, self.sums_, self.weights_ = np.zeros((2, 4)), np.zeros((2, 2)), np.zeros((2, 2))
        self.shares_, self.marks_ = np.full(3, 1 / 3), np.zeros(1, dtype=np.int64)

    def predict(self, P: Array) -> Array:
        """Return recalibrated logarithms of probabilities (n, K) for logarithms P (n, K). Pure."""
        return recalibrated(np.ascontiguousarray(P), None, None, *self._parts)

    def run(self, P: Array, labels: Array, w: Array | None) -> Array:
        """Return recalibrated logarithms, each made before its label (n,) is learnt."""
        return recalibrated(np.ascontiguousarray(P), labels, w, *self._parts)

    @property
    def _parts(self) -> tuple[Array, Array, Array, Array, NDArray[np.int64]]:
        return self.squares_, self.sums_, self.weights_, self.shares_, self.marks_

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in self._state().values())


class OutputStages(Params):
    """The stages in order: persistence, if labels are known at once and are inputs; recalibration, for classes.

    Parameters
    ----------
    classes : bool
        Whether labels are classes.
    persistence : bool
        Whether the first stage exists.
    """

    persistence_: PersistenceStage | None
    recalibration_: Recalibration | None

    def __init__(self, classes: bool, persistence: bool) -> None:
        self.classes = classes
        self.persistence = persistence

    def start(self, outputs: int) -> None:
        self.persistence_ = PersistenceStage(self.classes) if self.persistence else None
        self.recalibration_ = Recalibration() if self.classes else None
        if self.persistence_ is not None:
            self.persistence_.start(outputs)
        if self.recalibration_ is not None:
            self.recalibration_.start()

    def predict(self, P: Array) -> Array:
        """Return the final predictions (n, K). Pure."""
        P = P if self.persistence_ is None else self.persistence_.predict(P)
        return P if self.recalibration_ is None else self.recalibration_.predict(P)

    def run(self, P: Array, Y: Array, w: Array | None) -> Array:
        """Return the outputs, each made before its labels (n, K), or (n, 1) numbers of classes, are learnt."""
        labels = np.ascontiguousarray(Y[:, 0]) if self.classes else Y
        P = P if self.persistence_ is None else self.persistence_.run(P, labels, w)
        return P if self.recalibration_ is None else self.recalibration_.run(P, labels, w)

    def last_label_share(self) -> float:
        """Return the share that the persistence stage gives to the last label in the next prediction."""
        return 0.0 if self.persistence_ is None else self.persistence_.share()

    @property
    def nbytes(self) -> int:
        return sum(stage.nbytes for stage in (self.persistence_, self.recalibration_) if stage is not None)
