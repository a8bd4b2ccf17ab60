"""The learner's abilities, asked with rows of a table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nystream.learners.base import Learner
from nystream.types import Array

__all__ = ["Forwarded"]


class Forwarded:
    """What a model hands on to its learner: rows become the learner's inputs, classes come in the model's order."""

    learner_: Learner | None

    # -- what a model gives --------------------------------------------------------------------------------------------
    @property
    def _pattern(self) -> Learner:
        raise NotImplementedError

    def inputs(self, rows: Any) -> Array:
        raise NotImplementedError

    @property
    def classes(self) -> list[Any]:
        raise NotImplementedError

    # -- abilities of rows ---------------------------------------------------------------------------------------------
    def probabilities(self, rows: Any) -> Array:
        """(n, K) probabilities of the classes in the order of `classes`, rows summing to 1."""
        P = self._trained("probabilities").probabilities(self.inputs(rows))  # type: ignore[attr-defined]
        k = len(self.classes)
        P = P[:, :k] if P.shape[1] >= k else np.hstack([P, np.zeros((len(P), k - P.shape[1]))])
        total = P.sum(axis=1, keepdims=True)
        return np.where(total > 0, P / np.where(total > 0, total, 1.0), 1 / max(k, 1))

    def predict_interval(self, rows: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Ends, shaped as predictions, of intervals that cover this share of the labels to come."""
        return self._trained("predict_interval").predict_interval(self.inputs(rows), coverage)  # type: ignore

    def predict_quantile(self, rows: Any, q: float) -> Array:
        """What a share q of the labels are below."""
        return self._trained("predict_quantile").predict_quantile(self.inputs(rows), q)  # type: ignore

    def std(self, rows: Any) -> Array:
        """Predictive standard deviations."""
        return self._trained("std").std(self.inputs(rows))  # type: ignore

    def leverage(self, rows: Any) -> Array:
        """(n,) large where nothing like the row was seen."""
        return self._trained("leverage").leverage(self.inputs(rows))  # type: ignore

    def averaged(self, rows: Any) -> Array:
        """Predictions of the mean of all hypotheses so far."""
        return self._trained("averaged").averaged(self.inputs(rows))  # type: ignore

    # -- abilities of what was learnt ----------------------------------------------------------------------------------
    def regret(self) -> float:
        """Cumulative loss minus that of the best in hindsight."""
        return float(self._trained("regret").regret())  # type: ignore

    def weights(self) -> dict[str, float]:
        """Shares of the parts in the next prediction, by name."""
        return self._trained("weights").weights()  # type: ignore

    def explain(self) -> str:
        """What carries the predictions now, in words."""
        return str(self._trained("explain").explain())  # type: ignore

    def can(self, ability: str) -> bool:
        """Whether the learner has the ability of that name."""
        return hasattr(self.learner_ or self._pattern, ability)

    def _trained(self, ability: str) -> Learner:
        if self.learner_ is None:
            raise ValueError(f"{ability} needs a learnt row; this model has seen no label yet")
        return self.learner_
