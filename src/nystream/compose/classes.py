"""Class numbers learnt by any learner: by its own loss, by least squares on codes, or one against the rest."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream.compose.columns import Columns
from nystream.compose.probabilities import Brier, Calibration, Logistic, Platt, Softmax, Temperature
from nystream.compose.thresholded import Thresholded
from nystream.learners.base import Learner
from nystream.params import Params
from nystream.types import Array

__all__ = ["ClassLearner", "LeastSquaresCodes", "NativeClasses", "OneVersusRest", "class_learner"]

Numbers = npt.NDArray[np.intp]


def class_learner(learner: Learner) -> ClassLearner:
    """The way in which this learner learns classes; refuses one that cannot.

    - a multi-class loss: by itself (`NativeClasses`), and so a learner that has a setting for classes (`for_classes`);
    - least squares with several outputs: codes -1/+1 over one shared factor (`LeastSquaresCodes`);
    - a loss of -1/+1 labels, or a symmetric regression loss, which then regresses the codes: `OneVersusRest`.
    """
    if hasattr(learner, "for_classes"):
        learner = learner.for_classes()
    loss = _loss_of(learner)
    if learner.labels == "none" or loss == "pinball":
        reason = "learns without labels" if learner.labels == "none" else "has a loss that favours one sign (pinball)"
        raise ValueError(
            f"learner={learner!r} {reason} and cannot tell classes apart; use e.g. a hinge or squared loss"
        )
    if learner.labels == "class":
        return NativeClasses(learner)
    if learner.labels == "real" and learner.multi_output and hasattr(learner, "add_outputs"):
        return LeastSquaresCodes(learner)
    return OneVersusRest(learner)


class ClassLearner(Params):
    """Scores (n, K) for K classes; the class of the largest score is the prediction.

    Classes are numbered in the order in which they are declared or first appear, so that K only grows. Inputs are
    clean, as the facades check them. Subclasses give `_add`, `_run` and `_scores`.

    Parameters
    ----------
    learner : Learner
        The pattern: never trained itself, always cloned.
    """

    classes_: int = 0
    calibration_: Calibration

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    @property
    def learners(self) -> list[Learner]:
        """The trained learners: one, or one for every class, or for every group of classes that can share one."""
        raise NotImplementedError

    def check(self, classes: int) -> None:
        """Refuse a number of classes that the learner has no room for."""
        limit = self.learner.classes
        if limit is not None and classes > limit:
            way_out = "a threshold decides between two" if _shifted(self.learner) else "give it more"
            raise ValueError(f"there are {classes} classes, but the loss of {self.learner!r} has {limit}; {way_out}")

    def declare(self, classes: int) -> None:
        """There are at least this many classes, whether seen or not."""
        if classes > self.classes_:
            self.check(classes)
            if not self.classes_:
                self.calibration_ = _calibration_of(self.learner)
            self._add(classes)
            self.classes_ = classes

    def run(self, X: Array, classes: Numbers, weights: Array | None = None) -> Array:
        """Scores (n, K) made before each class number was read, -inf for a class not yet known then; and learn."""
        known = int(classes.max()) + 1
        self.check(known)
        F = np.full((len(X), max(self.classes_, known)), -np.inf)
        row = 0
        while row < len(X):  # one part, unless a class appears for the first time
            known = self.classes_
            self.declare(int(classes[row]) + 1)
            later = np.flatnonzero(classes[row:] >= self.classes_)
            part = slice(row, row + int(later[0]) if len(later) else len(X))
            w = None if weights is None else weights[part]
            scores = self._run(X[part], classes[part], w)
            if self.calibration_.learns:
                for i, label in enumerate(classes[part].tolist()):
                    self.calibration_.learn(scores[i], label, 1.0 if w is None else float(w[i]))
            F[part, : self.classes_] = scores
            F[row, known:] = -np.inf
            row = part.stop
        return F

    def step(self, x: Array, label: int, weight: float = 1.0) -> None:
        """`run` on one row, without its result."""
        self.declare(label + 1)
        scores = self._step(x, label, weight)
        if self.calibration_.learns:
            self.calibration_.learn(scores, label, weight)

    def scores(self, X: Array) -> Array:
        """(n, K), pure."""
        return self._scores(X) if self.classes_ else np.zeros((len(X), 0))

    def probabilities(self, X: Array) -> Array:
        """(n, K), rows summing to 1, pure; the largest belongs to the class with the largest score."""
        return self.calibration_(self._scores(X)) if self.classes_ else np.zeros((len(X), 0))

    def widen(self, d: int) -> None:
        """From now on rows have d columns; the new ones count as 0 in every row seen so far."""
        for learner in self.learners:
            learner.widen(d)

    def _add(self, classes: int) -> None:
        """Make room for classes self.classes_, ..., classes - 1."""
        raise NotImplementedError

    def _run(self, X: Array, classes: Numbers, weights: Array | None) -> Array:
        raise NotImplementedError

    def _step(self, x: Array, label: int, weight: float) -> Array:
        raise NotImplementedError

    def _scores(self, X: Array) -> Array:
        raise NotImplementedError


class LeastSquaresCodes(ClassLearner):
    """One output of -1/+1 codes per class over one shared factor, and before them one whose target is always 1.

    Least squares is linear in its targets. A class that appears late had the code -1 in every round so far, which is
    minus the first output: `add_outputs` makes its output exactly what it would be had the class been known all along,
    sample weights included. Costs O(features) more per class and round.
    """

    learner_: Any  # a Learner with `add_outputs`

    @property
    def learners(self) -> list[Learner]:
        return [self.learner_] if self.classes_ else []

    def _add(self, classes: int) -> None:
        if not self.classes_:
            self.learner_ = self.learner.clone()
        elif self.learner_.d_:
            combination = np.zeros((1 + self.classes_, classes - self.classes_))
            combination[0] = -1.0
            self.learner_.add_outputs(combination)

    def _run(self, X: Array, classes: Numbers, weights: Array | None) -> Array:
        codes = np.full((len(X), 1 + self.classes_), -1.0)
        codes[:, 0] = 1.0
        codes[np.arange(len(X)), 1 + classes] = 1.0
        return self.learner_.run(X, codes, weights)[:, 1:]

    def _step(self, x: Array, label: int, weight: float) -> Array:
        codes = np.full(1 + self.classes_, -1.0)
        codes[0] = codes[1 + label] = 1.0
        return self.learner_.step(x, codes, weight)[1:]

    def _scores(self, X: Array) -> Array:
        return self.learner_.predict(X)[:, 1:] if self.learner_.d_ else np.zeros((len(X), self.classes_))


class OneVersusRest(ClassLearner):
    """A learner of -1/+1 labels: one learner for two classes, else one for each class against the others.

    When a third class appears, class 0 takes over a copy of the first learner, read and trained with its sign turned:
    by the symmetry of the losses that is the learner it would have had. The new class starts with a learner that has
    learnt nothing: declare classes beforehand where they are known. Classes that begin together share one learner where
    that gives the same bits (`Columns`): NOGD and NOLANA then hold one map for all of them, as FOGD with a seed does.
    """

    groups_: list[Columns]
    """Learners by the row they began with, in the order of their classes."""
    signs_: list[float]

    @property
    def learners(self) -> list[Learner]:
        return [learner for group in self.groups_ for learner in group.learners_] if self.classes_ else []

    def _add(self, classes: int) -> None:
        if not self.classes_:
            self.groups_, self.signs_ = [], []
            self._begin(1)
        if classes <= 2:
            return
        if len(self.signs_) == 1:
            self.signs_.insert(0, -1.0)
            if self.groups_[0].started:
                self.groups_.insert(0, copy.deepcopy(self.groups_[0]))
        self._begin(classes - len(self.signs_))

    def _begin(self, new: int) -> None:
        """More classes, with learners that have learnt nothing."""
        self.signs_ += [1.0] * new
        while self.groups_ and not self.groups_[-1].started:  # these begin together with the new ones
            self.groups_.pop()
        missing = len(self.signs_) - sum(group.width for group in self.groups_)
        if missing:
            self.groups_.append(Columns(self.learner, missing))
            self.groups_[-1].start()

    def _run(self, X: Array, classes: Numbers, weights: Array | None) -> Array:
        if len(self.signs_) == 1:
            codes = np.where(classes == 1, 1.0, -1.0)[:, None]
            return self._both(self.groups_[0].run(X, codes, weights)[:, 0])
        codes = np.where(classes[:, None] == np.arange(self.classes_), 1.0, -1.0) * self.signs_
        return np.hstack([g.run(X, codes[:, part], weights) for g, part in self._parts]) * self.signs_

    def _step(self, x: Array, label: int, weight: float) -> Array:
        if len(self.signs_) == 1:
            f = float(self.groups_[0].step(x, np.array([1.0 if label == 1 else -1.0]), weight)[0])
            return np.array([-f, f][: self.classes_])
        codes = np.where(np.arange(self.classes_) == label, 1.0, -1.0) * self.signs_
        return np.hstack([g.step(x, codes[part], weight) for g, part in self._parts]) * self.signs_

    def _scores(self, X: Array) -> Array:
        if len(self.signs_) == 1:
            return self._both(self.groups_[0].predict(X)[:, 0])
        return np.hstack([g.predict(X) for g in self.groups_]) * self.signs_

    @property
    def _parts(self) -> Iterator[tuple[Columns, slice]]:
        """Every group with its classes."""
        first = 0
        for group in self.groups_:
            yield group, slice(first, first + group.width)
            first += group.width

    def _both(self, f: Array) -> Array:
        F = np.empty((len(f), 2))
        np.negative(f, out=F[:, 0])
        F[:, 1] = f
        return F[:, : self.classes_]


class NativeClasses(ClassLearner):
    """A learner with a multi-class loss. A class that appears late starts with the score 0, as the learner has it.

    A learner with a method `probabilities(X)` of its own gives those.
    """

    learner_: Any  # a Learner, perhaps with `probabilities`

    @property
    def learners(self) -> list[Learner]:
        return [self.learner_] if self.classes_ else []

    def _add(self, classes: int) -> None:
        if not self.classes_:
            self.learner_ = self.learner.clone()

    def _run(self, X: Array, classes: Numbers, weights: Array | None) -> Array:
        self._reserve(X.shape[1])
        return self._trimmed(self.learner_.run(X, classes, weights))

    def _step(self, x: Array, label: int, weight: float) -> Array:
        self._reserve(len(x))
        return self._trimmed(self.learner_.step(x, label, weight)[None])[0]

    def _scores(self, X: Array) -> Array:
        return self._trimmed(self.learner_.predict(X)) if self.learner_.d_ else np.zeros((len(X), self.classes_))

    def probabilities(self, X: Array) -> Array:
        if not hasattr(self.learner, "probabilities") or not self.learners or not self.learner_.d_:
            return super().probabilities(X)
        P = self._trimmed(self.learner_.probabilities(X))
        return P / P.sum(axis=1, keepdims=True)

    def _reserve(self, d: int) -> None:
        """Room for classes that were declared but may not be among the rows to come."""
        if self.classes_ > self.learner_.outputs_:
            self.learner_.reserve(d, self.learner.classes or self.classes_)

    def _trimmed(self, F: Array) -> Array:
        """The learner may have room for more classes than there are."""
        missing = self.classes_ - F.shape[1]
        return F[:, : self.classes_] if missing <= 0 else np.hstack([F, np.zeros((len(F), missing))])


def _loss_of(learner: Learner) -> str:
    """The loss by name; learners without such a parameter have the squared loss, or their own of -1/+1 labels."""
    inner = getattr(learner, "learner", None)  # that of a learner around a learner
    if isinstance(inner, Learner):
        return _loss_of(inner)
    loss: Any = getattr(learner, "loss", "squared" if learner.labels == "real" else "")
    return loss if isinstance(loss, str) else str(loss.name)


def _shifted(learner: Learner) -> bool:
    """Whether the scores have a threshold taken off, so that they are no estimates of anything but a margin."""
    inner = getattr(learner, "learner", None)
    return isinstance(learner, Thresholded) or (isinstance(inner, Learner) and _shifted(inner))


def _calibration_of(learner: Learner) -> Calibration:
    if _shifted(learner):
        return Platt()
    loss = _loss_of(learner)
    if learner.labels == "class":
        return Softmax() if loss == "softmax" or hasattr(learner, "probabilities") else Temperature()
    table: dict[str, type[Calibration]] = {"squared": Brier, "logistic": Logistic}
    return table.get(loss, Platt)()
