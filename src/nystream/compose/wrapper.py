"""The base class of wrappers of one learner. A wrapper has the abilities of its inner learner."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from nystream.data.inputs import as_labels, as_row, as_weights
from nystream.learners.abilities import Abilities
from nystream.learners.base import Learner
from nystream.losses import Loss
from nystream.runtime.types import Array, LabelKind

__all__ = ["Wrapper"]


class Wrapper(Learner):
    """A wrapper of one learner, with the labels, settings and abilities of the inner learner.

    Subclasses have the parameter `learner`, which is cloned at the start and never trained itself. They map the rows
    that come in (`_inward` for predictions; `_run` and `_step`, if learning changes the map) and the predictions that
    go out (`_shown`). `why_not` excludes abilities that are not exact after this mapping.
    """

    learner: Learner
    learner_: Learner

    def _inward(self, X: Array) -> Array:
        """Map rows for predictions of the inner learner, after the first round."""
        return X

    def _shown(self, P: Array) -> Array:
        """Map predictions of the inner learner, of any shape."""
        return P

    # -- settings of the inner learner -------------------------------------------------------------------------------
    @property
    def labels(self) -> LabelKind:
        return self.learner.labels

    @property
    def classes(self) -> int | None:
        return self.learner.classes

    @property
    def multi_output(self) -> bool:
        return self.learner.multi_output

    @property
    def weighted(self) -> bool:
        return self.learner.weighted

    @property
    def missing(self) -> bool:
        return self.learner.missing

    @property
    def objective(self) -> Loss | None:
        return self.learner.objective

    @property
    def link(self) -> str | None:
        return self.learner.link

    @property
    def separable(self) -> bool:
        return self.learner.separable

    @property
    def room(self) -> int | None:
        return self.learner_.room if self.d_ else self.learner.room

    @property
    def level(self) -> float | None:
        return self.learner_.level if self.d_ else self.learner.level

    def for_classes(self) -> Learner:
        return type(self)(**{**self.clone().get_params(deep=False), "learner": self.learner.for_classes()})

    def prepare(self, X: Any, weights: Any = None) -> None:
        if not self.d_:
            learner = self.learner.clone()
            learner.prepare(X, weights)
            self.learner_ = learner

    # -- abilities of the inner learner --------------------------------------------------------------------------------
    @property
    def _inner(self) -> Abilities:
        """The learner that has the abilities."""
        return self.learner_ if self.d_ else self.learner

    @classmethod
    def _declares(cls, ability: str) -> bool:
        return False  # no ability of its own

    def why_not(self, ability: str) -> str | None:
        return self._inner.why_not(ability)

    @property
    def _kind(self) -> str:
        return f"{type(self).__name__}({self.learner._kind})"

    def _asked(self, ability: str, X: Any) -> Array:
        """Return mapped rows, or raise an error if the inner learner lacks the ability."""
        self._require(ability)
        X = self._accepted(X)
        return self._inward(X) if self.d_ else X

    def probabilities(self, X: Any, ahead: int | None = None) -> Array:
        X = self._asked("probabilities", X)
        return self._inner.probabilities(X, ahead)

    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        X = self._asked("predict_interval", X)
        low, high = self._inner.predict_interval(X, coverage, ahead)
        return self._shown(low), self._shown(high)

    def predict_quantile(self, X: Any, q: Any, ahead: int | None = None) -> Array:
        X = self._asked("predict_quantile", X)
        found = self._inner.predict_quantile(X, q, ahead)
        if np.ndim(q) == 0:
            return self._shown(found)
        return np.stack([self._shown(found[..., i]) for i in range(found.shape[-1])], axis=-1)

    def std(self, X: Any) -> Array:
        X = self._asked("std", X)
        return self._inner.std(X)

    def leverage(self, X: Any) -> Array:
        X = self._asked("leverage", X)
        return self._inner.leverage(X)

    def averaged(self, X: Any) -> Array:
        X = self._asked("averaged", X)
        return self._shown(self._inner.averaged(X))

    def regret(self) -> float:
        self._require("regret")
        return self._inner.regret()

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        self._require("regret_bound")
        return self._inner.regret_bound(norm2, changes=changes, against=against)

    def log_det(self) -> float:
        self._require("log_det")
        return self._inner.log_det()

    def effective_dimension(self) -> float:
        self._require("effective_dimension")
        return self._inner.effective_dimension()

    def online_dimension(self) -> float:
        self._require("online_dimension")
        return self._inner.online_dimension()

    def merge(self, other: Self) -> Self:
        self._require("merge")
        if type(other) is not type(self) or self._own_params() != other._own_params():
            raise ValueError(f"merge needs two learners with equal parameters; got {self!r} and {other!r}")
        self.learner.clone().merge(other.learner.clone())  # raises an error if they differ
        if not other.d_:
            return self
        if not self.d_:
            self._restore(copy.deepcopy(other._state()))
            return self
        self._merge_inner(other)
        self.n_seen_ += other.n_seen_
        return self

    def unlearn(self, X: Any, Y: Any, weights: Any = None) -> Self:
        X = self._asked("unlearn", X)
        if not self.d_:
            raise ValueError(f"this {self._kind} has learnt no row yet")
        Y = as_labels(Y, self.labels, len(X), self.classes)
        w = as_weights(weights, len(X))
        self._inner.unlearn(X, Y, w)
        self.n_seen_ -= len(X) if w is None else int(np.count_nonzero(w))
        return self

    def add_outputs(self, combination: Array) -> None:
        self._require("add_outputs")
        if not self.d_:
            raise ValueError(f"this {self._kind} has learnt no row yet")
        self._inner.add_outputs(combination)
        self._gained(combination.shape[1])

    def weights(self) -> dict[str, float]:
        self._require("weights")
        return self._inner.weights()

    def explain(self) -> str:
        self._require("explain")
        return self._inner.explain()

    def importance(self) -> dict[str, float]:
        self._require("importance")
        return self._inner.importance()

    def explain_row(self, row: Any) -> dict[str, float]:
        X = self._asked("explain_row", as_row(row, self.d_ or None, "row", self.missing)[None])
        return self._inner.explain_row(X[0])

    def alarms(self, *, warnings: bool = False) -> list[Any]:
        self._require("alarms")
        return self._inner.alarms(warnings=warnings)

    def _own_params(self) -> dict[str, Any]:
        """Return the parameters that must agree in models that merge, besides those of the inner learners."""
        own = self.get_params(deep=False).items()
        return {name: value for name, value in own if name not in ("learner", "threads")}

    def _merge_inner(self, other: Self) -> None:
        """Merge with another model, after both have learnt."""
        self.learner_.merge(other.learner_)

    # -- rounds --------------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        prepared = "learner_" in self.__dict__
        learner = copy.deepcopy(self.learner_) if prepared else self.learner.clone()
        learner.reserve(d, outputs)
        self.learner_ = learner

    def _grow(self, outputs: int) -> None:
        self.learner_.reserve(self.d_, outputs)

    def _widen(self, d: int) -> None:
        self.learner_.widen(d)

    def _check(self, X: Array, learnt: int) -> None:
        self.learner_._check(self._inward(X), learnt)

    def _predict(self, X: Array) -> Array:
        return self._shown(self.learner_.predict_clean(self._inward(X), 1))

    def _predict_later(self, X: Array) -> Array:
        return self._shown(self.learner_.predict_clean(self._inward(X)))

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        return self._shown(self.learner_.run_clean(X, Y, weights))

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        return self._shown(self.learner_.step_clean(x, y, weight))

    @property
    def size(self) -> int:
        """Number of stored points or features of the inner learner."""
        return self.learner_.size if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return self.learner_.nbytes + self._own_bytes if self.d_ else 0

    @property
    def _own_bytes(self) -> int:
        """Bytes of the arrays that are not the inner learner's."""
        return sum(value.nbytes for value in self._state().values() if isinstance(value, np.ndarray))
