"""Ways to learn class numbers: a multi-class loss, least squares on codes, or one against the rest."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from nystream.compose.class_learner import ClassLearner, Numbers
from nystream.compose.columns import Columns
from nystream.compose.probabilities import Brier, Calibration, Logistic, Platt, Softmax, Temperature
from nystream.learners.base import Learner
from nystream.runtime.threads import WORTH_A_THREAD, checked_threads, run_parallel
from nystream.runtime.types import Array

__all__ = ["ClassLearner", "LeastSquaresCodes", "NativeClasses", "OneVersusRest", "class_learner"]


def class_learner(learner: Learner, threads: int | None = None) -> ClassLearner:
    """Return the way in which this learner learns classes, or raise an error. `threads` is for `OneVersusRest`.

    - a multi-class loss, or a learner with a setting for classes (`for_classes`): `NativeClasses`;
    - least squares with several outputs: codes -1/+1 over one shared factor (`LeastSquaresCodes`);
    - a loss of -1/+1 labels, or a symmetric regression loss, which then regresses the codes: `OneVersusRest`.
    """
    if not isinstance(learner, Learner):
        raise TypeError(f"learner must be a learner, such as FOGD(...), got {learner!r}")
    learner = learner.for_classes()
    loss = learner.objective
    if learner.labels == "none" or (loss is not None and not loss.symmetric):
        reason = "has a loss that favours one sign" if learner.labels != "none" else "learns without labels"
        raise ValueError(
            f"learner={learner!r} {reason} and cannot tell classes apart; use e.g. a hinge or squared loss"
        )
    if learner.labels == "class":
        return NativeClasses(learner)
    if learner.labels == "real" and learner.multi_output and learner.can("add_outputs"):
        return LeastSquaresCodes(learner)
    return OneVersusRest(learner, threads)


class LeastSquaresCodes(ClassLearner):
    """Least squares with one output of -1/+1 codes per class, after a first output whose target is always 1.

    Least squares is linear in its targets. A class that appears late had the code -1 in every round so far, which is
    minus the first output: `add_outputs` computes its output exactly as if the class had been known from the start,
    with sample weights. Costs O(features) more per class and round.
    """

    learner_: Learner

    @property
    def learners(self) -> list[Learner]:
        return [self.learner_] if self.classes_ else []

    def why_not(self, ability: str) -> str | None:
        if ability in ("merge", "unlearn") and not self._calibration().learns:
            return self.learner.why_not(ability)
        return super().why_not(ability)

    def merge(self, other: Self) -> Self:
        """Become the model of both streams, exactly. Class numbers must mean the same in both."""
        self._require("merge")
        if type(other) is not type(self):
            raise ValueError(f"merge needs two learners of classes of one kind; got {self!r} and {other!r}")
        theirs = copy.deepcopy(other)
        mine = copy.deepcopy(self)  # an error must not leave a change
        for part in (mine, theirs):
            part.declare(max(self.classes_, other.classes_))
        mine.learner_.merge(theirs.learner_)
        self._restore(mine._state())
        return self

    def unlearn(self, X: Any, Y: Any, weights: Any = None) -> Self:
        """Remove learnt rows (n, d) with class numbers (n,) or (n, 1), exactly."""
        self._require("unlearn")
        numbers = np.asarray(Y).reshape(-1).astype(np.intp)
        if numbers.size and numbers.max() >= self.classes_:
            raise ValueError(f"unlearn: class {numbers.max()} was never learnt; there are {self.classes_}")
        self.learner_.unlearn(X, self._codes(numbers), weights)
        return self

    def _add(self, classes: int) -> None:
        if not self.classes_:
            self.learner_ = self.learner.clone()
        elif self.learner_.d_:
            combination = np.zeros((1 + self.classes_, classes - self.classes_))
            combination[0] = -1.0
            self.learner_.add_outputs(combination)

    def _run(self, X: Array, classes: Numbers, weights: Array | None) -> Array:
        return self.learner_.run_clean(X, self._codes(classes), weights)[:, 1:]

    def _step(self, x: Array, label: int, weight: float) -> Array:
        codes = np.full(1 + self.classes_, -1.0)
        codes[0] = codes[1 + label] = 1.0
        return self.learner_.step_clean(x, codes, weight)[1:]

    def _codes(self, classes: Numbers) -> Array:
        codes = np.full((len(classes), 1 + self.classes_), -1.0)
        codes[:, 0] = 1.0
        codes[np.arange(len(classes)), 1 + classes] = 1.0
        return codes

    def _gathered(self, ask: Callable[[Learner], Array], signed: bool = True) -> Array:
        return ask(self.learner_)[:, 1:]

    def _calibration(self) -> Calibration:
        return Brier() if self._estimates_mean else Platt()


class OneVersusRest(ClassLearner):
    """A learner of -1/+1 labels: one learner for two classes, else one for each class against the others.

    When a third class appears, class 0 gets a copy of the first learner with the opposite sign: by the symmetry of the
    losses this is the learner that it would have had. The new class starts with an untrained learner, so declare known
    classes beforehand. Classes that begin together share one learner if that gives the same bits (`Columns`): NOGD and
    NOLANA then hold one map for all of them, and so does FOGD with a seed.

    Parameters
    ----------
    learner : Learner
        The learner. It is cloned and never trained itself.
    threads : int, optional
        Number of learners that learn at the same time in `run`; None: see `nystream.runtime.threads`. It does not
        change the results.
    """

    groups_: list[Columns]
    """Learners by their first row, in the order of their classes."""
    signs_: list[float]

    def __init__(self, learner: Learner, threads: int | None = None) -> None:
        super().__init__(learner)
        self.threads = checked_threads(threads)

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
        """Add classes with untrained learners."""
        self.signs_ += [1.0] * new
        while self.groups_ and not self.groups_[-1].started:  # these start together with the new ones
            self.groups_.pop()
        missing = len(self.signs_) - sum(group.width for group in self.groups_)
        if missing:
            self.groups_.append(Columns(self.learner, missing))
            self.groups_[-1].start()

    def _run(self, X: Array, classes: Numbers, weights: Array | None) -> Array:
        if len(self.signs_) == 1:
            codes = np.where(classes == 1, 1.0, -1.0)[:, None]
            return self._both(self.groups_[0].jobs(X, codes, weights)[0]()[:, 0])
        codes = np.where(classes[:, None] == np.arange(self.classes_), 1.0, -1.0) * self.signs_
        jobs = [job for group, part in self._parts for job in group.jobs(X, codes[:, part], weights)]
        return np.hstack(run_parallel(jobs, self.threads if len(X) >= WORTH_A_THREAD else 1)) * self.signs_

    def _step(self, x: Array, label: int, weight: float) -> Array:
        if len(self.signs_) == 1:
            f = float(self.groups_[0].step(x, np.array([1.0 if label == 1 else -1.0]), weight)[0])
            return np.array([-f, f][: self.classes_])
        codes = np.where(np.arange(self.classes_) == label, 1.0, -1.0) * self.signs_
        return np.hstack([g.step(x, codes[part], weight) for g, part in self._parts]) * self.signs_

    def _scores(self, X: Array, ahead: int | None) -> Array:
        return self._assembled([group.predict(X, ahead) for group in self.groups_])

    def _gathered(self, ask: Callable[[Learner], Array], signed: bool = True) -> Array:
        unknown = 0.0 if signed else np.inf  # of classes whose learner has no row yet
        answers = [g.gathered(ask) if g.started else np.full((1, g.width), unknown) for g in self.groups_]
        rows = max(len(answer) for answer in answers)
        return self._assembled([np.broadcast_to(answer, (rows, answer.shape[1])) for answer in answers], signed)

    def _assembled(self, answers: list[Array], signed: bool = True) -> Array:
        """Return (n, K) from the columns of all groups."""
        if len(self.signs_) == 1:
            F = self._both(answers[0][:, 0])
            return F if signed else np.abs(F)
        return np.hstack(answers) * (self.signs_ if signed else 1.0)

    def why_not(self, ability: str) -> str | None:
        if ability == "explain_row":
            return "every class has its own learner"
        return super().why_not(ability)

    @property
    def link(self) -> str | None:
        return "one_vs_rest" if self.learner.link == "logistic" else None

    def _calibration(self) -> Calibration:
        if self._estimates_mean:
            return Brier()
        return Logistic() if self.learner.link == "logistic" else Platt()

    @property
    def _parts(self) -> Iterator[tuple[Columns, slice]]:
        """Yield every group with its classes."""
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
    """A learner with a multi-class loss. A class that appears late starts with the score 0.

    Probabilities are those of the learner, if it has any.
    """

    learner_: Learner

    @property
    def learners(self) -> list[Learner]:
        return [self.learner_] if self.classes_ else []

    @property
    def link(self) -> str | None:
        return self.learner.link

    def _add(self, classes: int) -> None:
        if not self.classes_:
            self.learner_ = self.learner.clone()
        elif self.learner_.d_:  # its own scores for them, whatever they are before such a row comes
            self.learner_.reserve(self.learner_.d_, self.learner.classes or classes)

    def _run(self, X: Array, classes: Numbers, weights: Array | None) -> Array:
        self._reserve(X.shape[1])
        return self._trimmed(self.learner_.run_clean(X, classes[:, None].astype(np.float64), weights))

    def _step(self, x: Array, label: int, weight: float) -> Array:
        self._reserve(len(x))
        return self._trimmed(self.learner_.step_clean(x, np.array([float(label)]), weight)[None])[0]

    def probabilities(self, X: Array, ahead: int | None = None) -> Array:
        if not self.learner.can("probabilities") or not self.started:
            return super().probabilities(X, ahead)
        P = self._trimmed(self.learner_.probabilities(X, ahead))
        return P / P.sum(axis=1, keepdims=True)

    def _gathered(self, ask: Callable[[Learner], Array], signed: bool = True) -> Array:
        return self._trimmed(ask(self.learner_))

    def _calibration(self) -> Calibration:
        return Softmax() if self.learner.can("probabilities") else Temperature()

    def _reserve(self, d: int) -> None:
        """Add outputs for declared classes, which may not occur in the next rows."""
        if self.classes_ > self.learner_.outputs_:
            self.learner_.reserve(d, self.learner.classes or self.classes_)

    def _trimmed(self, F: Array) -> Array:
        """Remove the columns of classes that do not exist yet."""
        missing = self.classes_ - F.shape[1]
        return F[:, : self.classes_] if missing <= 0 else np.hstack([F, np.zeros((len(F), missing))])
