"""The base class of the ways to learn class numbers with a learner."""

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
    """A learner of class numbers with scores (n, K). The prediction is the class of the largest score.

    Classes are numbered in the order in which they are declared or first appear, so that K only grows. Inputs are
    clean. The abilities are those of the inner learners: results per output become results per class, and regret and
    dimensions are summed. Subclasses define `_add`, `_run`, `_step`, `_gathered` and `_calibration`.

    Parameters
    ----------
    learner : Learner
        The learner. It is cloned and never trained itself.
    """

    classes_: int = 0
    calibration_: Calibration

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    @property
    def learners(self) -> list[Learner]:
        """The trained learners: one, or one for every class or group of classes."""
        raise NotImplementedError

    @property
    def started(self) -> bool:
        """Whether a row was learnt."""
        return any(learner.d_ for learner in self.learners)

    @property
    def link(self) -> str | None:
        """The name of the function from scores to probabilities, if scores are log odds."""
        return None

    def check(self, classes: int) -> None:
        """Raise an error for more classes than the learner supports."""
        limit = self.learner.classes
        if limit is not None and classes > limit:
            way_out = "it decides between two" if self.learner.labels == "sign" else "give it more"
            raise ValueError(f"there are {classes} classes, but the loss of {self.learner!r} has {limit}; {way_out}")

    def declare(self, classes: int) -> None:
        """Add classes, so that there are at least this many."""
        if classes > self.classes_:
            self.check(classes)
            if not self.classes_:
                self.calibration_ = self._calibration()
            self._add(classes)
            self.classes_ = classes

    def run(self, X: Array, classes: Numbers, weights: Array | None = None) -> Array:
        """Learn a block and return the scores (n, K) made before each class number; -inf for a class not yet known."""
        known = int(classes.max()) + 1
        self.check(known)
        F = np.full((len(X), max(self.classes_, known)), -np.inf)
        row = 0
        while row < len(X):  # one part, unless a new class appears
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
        """Do `run` for one row. Return the scores (K,), including those of a new class."""
        self.declare(label + 1)
        scores = self._step(x, label, weight)
        if self.calibration_.learns:
            self.calibration_.learn(scores, label, weight)
        return scores

    def scores(self, X: Array, ahead: int | None = None) -> Array:
        """Return scores (n, K) without learning; `ahead` as in `Learner.predict`."""
        return self._scores(X, ahead) if self.classes_ else np.zeros((len(X), 0))

    def probabilities(self, X: Array, ahead: int | None = None) -> Array:
        """Return probabilities (n, K). The class with the largest score has the largest one."""
        ahead = checked_ahead(ahead)
        return self.calibration_(self._scores(X, ahead)) if self.classes_ else np.zeros((len(X), 0))

    def widen(self, d: int) -> None:
        """Add columns up to d. They count as 0 in every row so far."""
        for learner in self.learners:
            learner.widen(d)

    def _add(self, classes: int) -> None:
        """Add outputs for classes self.classes_, ..., classes - 1."""
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
        """Collect results (n, K) of the learners' outputs; `signed` results are scores, which have a direction."""
        raise NotImplementedError

    @property
    def _estimates_mean(self) -> bool:
        """Whether scores estimate 2 P(class) - 1."""
        return self.learner.objective is not None and self.learner.objective.estimates_mean

    def _calibration(self) -> Calibration:
        """Return a new map from scores to probabilities."""
        raise NotImplementedError

    @classmethod
    def _declares(cls, ability: str) -> bool:
        return False  # no ability of its own, but those of the learners inside

    # -- abilities -----------------------------------------------------------------------------------------------------
    def why_not(self, ability: str) -> str | None:
        if ability == "probabilities":
            return None
        if ability in ("merge", "unlearn") and self.learner.can(ability):
            return "its calibration depends on the order of the rows"
        if ability in ("add_outputs", "predict_quantile"):
            return "its outputs are scores of classes, which are added with new classes"
        return self.learner.why_not(ability)

    @property
    def _kind(self) -> str:
        return self.learner._kind

    def std(self, X: Any) -> Array:
        """Return predictive standard deviations (n, K) of the scores."""
        self._ready("std")
        return self._gathered(lambda learner: learner.std(X), signed=False)

    def leverage(self, X: Any) -> Array:
        """Return the leverage (n,) of the shared factor, or of the learner that has learnt all rows."""
        self._ready("leverage")
        return self.learners[0].leverage(X)

    def averaged(self, X: Any) -> Array:
        """Return scores (n, K) of the mean of all hypotheses."""
        self._require("averaged")
        if not self.started:
            return np.zeros((len(X), self.classes_))
        return self._gathered(lambda learner: learner.averaged(X))

    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Return the ends (n, K) of intervals of the scores that cover this share of future codes -1/+1."""
        self._ready("predict_interval")
        low = self._gathered(lambda learner: learner.predict_interval(X, coverage, ahead)[0])
        high = self._gathered(lambda learner: learner.predict_interval(X, coverage, ahead)[1])
        return np.minimum(low, high), np.maximum(low, high)  # a changed sign swaps the ends

    def regret(self) -> float:
        """Return the sum over all outputs."""
        self._require("regret")
        return float(sum(learner.regret() for learner in self.learners))

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return the sum over all outputs; norm2, changes and against are for each comparator."""
        self._require("regret_bound")
        bounds = [learner.regret_bound(norm2, changes=changes, against=against) for learner in self.learners]
        return float(sum(bounds))

    def log_det(self) -> float:
        """Return the sum over all learners."""
        self._require("log_det")
        return float(sum(learner.log_det() for learner in self.learners))

    def effective_dimension(self) -> float:
        """Return the sum over all learners."""
        self._require("effective_dimension")
        return float(sum(learner.effective_dimension() for learner in self.learners))

    def online_dimension(self) -> float:
        """Return the sum over all learners."""
        self._require("online_dimension")
        return float(sum(learner.online_dimension() for learner in self.learners))

    def weights(self) -> dict[str, float]:
        """Return the mean over the learners."""
        self._require("weights")
        return _mean([learner.weights() for learner in self.learners])

    def explain(self) -> str:
        """Return the explanations of all learners."""
        self._require("explain")
        return "\n".join(learner.explain() for learner in self.learners or [self.learner])

    def importance(self) -> dict[str, float]:
        """Return the mean over the learners."""
        self._ready("importance")
        if len(self.learners) == 1:
            return self.learners[0].importance()
        return _mean([learner.importance() for learner in self.learners])

    def explain_row(self, row: Any) -> dict[str, float]:
        """Return the explanation of the learner that has all classes."""
        self._ready("explain_row")
        return self.learners[0].explain_row(row)

    def alarms(self, *, warnings: bool = False) -> list[Any]:
        """Return the alarms of the learner that has learnt all rows."""
        self._require("alarms")
        return self.learners[0].alarms(warnings=warnings) if self.learners else []

    def _ready(self, ability: str) -> None:
        self._require(ability)
        if not self.started:
            raise ValueError(f"this {self._kind} has learnt no row yet")


def _mean(shares: list[dict[str, float]]) -> dict[str, float]:
    return {name: sum(s[name] for s in shares) / len(shares) for name in (shares[0] if shares else {})}
