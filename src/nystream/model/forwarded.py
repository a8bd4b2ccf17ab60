"""The learner's abilities, asked with rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.learners.abilities import ABILITIES
from nystream.learners.base import Learner
from nystream.types import Array

__all__ = ["Forwarded"]

OWN = frozenset(ABILITIES) - {"add_outputs"}
"""Abilities that a model hands on; outputs are added by its classes."""


class Forwarded:
    """What a model hands on to its learner: rows become the learner's inputs, classes come in the model's order.

    A learner without the ability refuses it, in words that name learners that have it (`Unable`).
    """

    # -- what a model gives ------------------------------------------------------------------------------------------
    @property
    def inner(self) -> Learner:
        """The learner inside."""
        raise NotImplementedError

    @property
    def classes(self) -> list[Any]:
        """Names of the classes so far."""
        raise NotImplementedError

    def inputs(self, rows: Any) -> Array:
        """The numbers (n, d) that the learner gets for rows now."""
        raise NotImplementedError

    # -- abilities of rows -------------------------------------------------------------------------------------------
    def probabilities(self, rows: Any) -> Array:
        """(n, K) probabilities of the classes in the order of `classes`, rows summing to 1."""
        P = self.inner.probabilities(self.inputs(rows))
        k = len(self.classes)  # the learner may have room for more, or declared ones may not have reached it
        P = P[:, :k] if P.shape[1] >= k else np.hstack([P, np.zeros((len(P), k - P.shape[1]))])
        total = P.sum(axis=1, keepdims=True)
        return np.where(total > 0, P / np.where(total > 0, total, 1.0), 1 / max(k, 1))

    def predict_interval(self, rows: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Ends, shaped as predictions, of intervals that cover this share of the labels to come."""
        return self.inner.predict_interval(self.inputs(rows), coverage)

    def predict_quantile(self, rows: Any, q: float) -> Array:
        """What a share q of the labels of such rows are below, shaped as predictions."""
        return self.inner.predict_quantile(self.inputs(rows), q)

    def std(self, rows: Any) -> Array:
        """Predictive standard deviations, shaped as predictions."""
        return self.inner.std(self.inputs(rows))

    def leverage(self, rows: Any) -> Array:
        """(n,) large where nothing like the row was seen."""
        return self.inner.leverage(self.inputs(rows))

    def averaged(self, rows: Any) -> Array:
        """Outputs of the mean of all hypotheses so far: (n,), or (n, K) for several."""
        return self.inner.averaged(self.inputs(rows))

    def explain_row(self, row: Any) -> dict[str, float]:
        """What each column contributes to the prediction for one row, by name."""
        return self.inner.explain_row(self.inputs([row] if isinstance(row, dict) else row)[0])

    # -- abilities of what was learnt --------------------------------------------------------------------------------
    def regret(self) -> float:
        """Cumulative loss minus that of the best in hindsight."""
        return self.inner.regret()

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0) -> float:
        """What the regret cannot exceed."""
        return self.inner.regret_bound(norm2, changes=changes)

    def log_det(self) -> float:
        """log det(A / lam) of the matrix that the learner keeps."""
        return self.inner.log_det()

    def effective_dimension(self) -> float:
        """How many directions the data really has at this ridge."""
        return self.inner.effective_dimension()

    def online_dimension(self) -> float:
        """Sum over rounds of s/(1 + s), s the leverage of the row when it arrived."""
        return self.inner.online_dimension()

    def weights(self) -> dict[str, float]:
        """Shares of the parts, experts say, in the next prediction, by name; they sum to 1."""
        return self.inner.weights()

    def explain(self) -> str:
        """What carries the predictions now, and why: a few lines of text."""
        return self.inner.explain()

    def importance(self) -> dict[str, float]:
        """Shares of the columns in what the predictions depend on, by name; they sum to 1."""
        return self.inner.importance()

    def alarms(self) -> list[Any]:
        """The changes of the stream that were noticed, in order."""
        return self.inner.alarms()

    # -- asking ------------------------------------------------------------------------------------------------------
    @property
    def link(self) -> str | None:
        """What makes probabilities of scores, where these are log odds: see `nystream.learners.links`."""
        return self.inner.link

    def can(self, ability: str) -> bool:
        """Whether the learner, for this task and with its parameters, has the ability of that name."""
        return self.inner.can(ability) and ability in OWN

    @property
    def abilities(self) -> frozenset[str]:
        """The names of all abilities that this model has."""
        return self.inner.abilities & OWN
