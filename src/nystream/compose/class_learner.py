"""What the ways of learning class numbers with a learner have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream.compose.probabilities import Calibration
from nystream.learners.abilities import Abilities
from nystream.learners.base import Learner
from nystream.runtime.params import Params, checked_ahead
from nystream.runtime.types import Array

__all__ = ["ClassLearner", "Numbers"]

Numbers = npt.NDArray[np.intp]


class ClassLearner(Abilities, Params):
    """Scores (n, K) for K classes; the class of the largest score is the prediction.

    Classes are numbered in the order in which they are declared or first appear, so that K only grows. Inputs are
    clean, as the facades check them. The abilities are those of the learners inside: what they say of every output is
    said of every class, and sums (regret, dimensions) are over all of them. Subclasses give `_add`, `_run`, `_step`,
    `_gathered` and `_calibration`.

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

    @property
    def started(self) -> bool:
        """Whether a row was learnt."""
        return any(learner.d_ for learner in self.learners)

    @property
    def link(self) -> str | None:
        """What turns scores into probabilities, where they are log odds."""
        return None

    def check(self, classes: int) -> None:
        """Refuse a number of classes that the learner has no room for."""
        limit = self.learner.classes
        if limit is not None and classes > limit:
            way_out = "it decides between two" if self.learner.labels == "sign" else "give it more"
            raise ValueError(f"there are {classes} classes, but the loss of {self.learner!r} has {limit}; {way_out}")

    def declare(self, classes: int) -> None:
        """There are at least this many classes, whether seen or not."""
        if classes > self.classes_:
            self.check(classes)
            if not self.classes_:
                self.calibration_ = self._calibration()
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

    def step(self, x: Array, label: int, weight: float = 1.0) -> Array:
        """`run` on one row: scores (K,), those of a class not known before included."""
        self.declare(label + 1)
        scores = self._step(x, label, weight)
        if self.calibration_.learns:
            self.calibration_.learn(scores, label, weight)
        return scores

    def scores(self, X: Array, ahead: int | None = None) -> Array:
        """(n, K), pure; `ahead` as in `Learner.predict`."""
        return self._scores(X, ahead) if self.classes_ else np.zeros((len(X), 0))

    def probabilities(self, X: Array, ahead: int | None = None) -> Array:
        """(n, K), rows summing to 1, pure; the largest belongs to the class with the largest score."""
        ahead = checked_ahead(ahead)
        return self.calibration_(self._scores(X, ahead)) if self.classes_ else np.zeros((len(X), 0))

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

    def _scores(self, X: Array, ahead: int | None) -> Array:
        if not self.started:
            return np.zeros((len(X), self.classes_))
        return self._gathered(lambda learner: learner.predict_clean(X, ahead))

    def _gathered(self, ask: Callable[[Learner], Array], signed: bool = True) -> Array:
        """(n, K) from what the learners answer for each of their outputs; `signed`: a score, which has a direction."""
        raise NotImplementedError

    @property
    def _estimates_mean(self) -> bool:
        """Whether scores estimate 2 P(class) - 1."""
        return self.learner.objective is not None and self.learner.objective.estimates_mean

    def _calibration(self) -> Calibration:
        """A fresh map from scores to probabilities."""
        raise NotImplementedError

    @classmethod
    def _declares(cls, ability: str) -> bool:
        return False  # none of its own, but those of the learners inside

    # -- abilities -----------------------------------------------------------------------------------------------------
    def why_not(self, ability: str) -> str | None:
        if ability == "probabilities":
            return None
        if ability in ("merge", "unlearn") and self.learner.can(ability):
            return "what makes probabilities of its scores has followed the order of the rows"
        if ability in ("add_outputs", "predict_quantile"):
            return "its outputs are scores of classes, which come when a class does"
        return self.learner.why_not(ability)

    @property
    def _kind(self) -> str:
        return self.learner._kind

    def std(self, X: Any) -> Array:
        """(n, K) predictive standard deviations of the scores."""
        self._ready("std")
        return self._gathered(lambda learner: learner.std(X), signed=False)

    def leverage(self, X: Any) -> Array:
        """(n,) of the factor that the classes share, or of the learner that has seen all rows."""
        self._ready("leverage")
        return self.learners[0].leverage(X)

    def averaged(self, X: Any) -> Array:
        """(n, K) scores of the mean of all hypotheses so far."""
        self._require("averaged")
        if not self.started:
            return np.zeros((len(X), self.classes_))
        return self._gathered(lambda learner: learner.averaged(X))

    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Ends (n, K) of intervals around the scores that cover this share of the codes -1/+1 to come."""
        self._ready("predict_interval")
        low = self._gathered(lambda learner: learner.predict_interval(X, coverage, ahead)[0])
        high = self._gathered(lambda learner: learner.predict_interval(X, coverage, ahead)[1])
        return np.minimum(low, high), np.maximum(low, high)  # a sign that is turned turns the ends round

    def regret(self) -> float:
        """Over all outputs."""
        self._require("regret")
        return float(sum(learner.regret() for learner in self.learners))

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Over all outputs; norm2, changes and against are those of the comparator of each."""
        self._require("regret_bound")
        bounds = [learner.regret_bound(norm2, changes=changes, against=against) for learner in self.learners]
        return float(sum(bounds))

    def log_det(self) -> float:
        """Over all learners."""
        self._require("log_det")
        return float(sum(learner.log_det() for learner in self.learners))

    def effective_dimension(self) -> float:
        """Over all learners."""
        self._require("effective_dimension")
        return float(sum(learner.effective_dimension() for learner in self.learners))

    def online_dimension(self) -> float:
        """Over all learners."""
        self._require("online_dimension")
        return float(sum(learner.online_dimension() for learner in self.learners))

    def weights(self) -> dict[str, float]:
        """The mean over the learners."""
        self._require("weights")
        return _mean([learner.weights() for learner in self.learners])

    def explain(self) -> str:
        """What every learner says."""
        self._require("explain")
        return "\n".join(learner.explain() for learner in self.learners or [self.learner])

    def importance(self) -> dict[str, float]:
        """The mean over the learners."""
        self._ready("importance")
        if len(self.learners) == 1:
            return self.learners[0].importance()
        return _mean([learner.importance() for learner in self.learners])

    def explain_row(self, row: Any) -> dict[str, float]:
        """Of the one learner that has all classes."""
        self._ready("explain_row")
        return self.learners[0].explain_row(row)

    def alarms(self, *, warnings: bool = False) -> list[Any]:
        """Of the learner that has seen all rows."""
        self._require("alarms")
        return self.learners[0].alarms(warnings=warnings) if self.learners else []

    def _ready(self, ability: str) -> None:
        self._require(ability)
        if not self.started:
            raise ValueError(f"this {self._kind} has seen no example yet")


def _mean(shares: list[dict[str, float]]) -> dict[str, float]:
    return {name: sum(s[name] for s in shares) / len(shares) for name in (shares[0] if shares else {})}
