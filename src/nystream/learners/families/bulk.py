"""Least-squares learners that can also learn a file at once, without a prediction for each row."""

from __future__ import annotations

from typing import Any, Self

from nystream.data.inputs import as_block, as_labels, as_weights
from nystream.learners.base import Learner
from nystream.runtime.types import Array

__all__ = ["BulkLearning"]

BULK = 2048
"""Rows whose products are added by one call of BLAS."""


class BulkLearning(Learner):
    """A learner with `fit_bulk`; subclasses give `_learn_bulk` on clean rows with weights above 0."""

    def fit_bulk(self, X: Any, Y: Any, weights: Any = None) -> Self:
        """Learn rows at once: the model that one pass of `run` over them would give, up to rounding.

        For a warm start from a file; then go on with `step` and `run`. It needs half of the operations of a pass, and
        between half and all of its time, depending on BLAS. No row is predicted before it is learnt, so
        these rows make no regret: `regret` counts them with what they add to the loss of the best function in
        hindsight, and `regret_bound` holds for that. `averaged` is of the rounds of `step` and `run` alone.

        All rows or none. X (n, d) must fit in memory.
        """
        X = as_block(X, self.d_ or None)
        Y = as_labels(Y, self.labels, len(X), self.classes)
        w = as_weights(weights, len(X))
        if w is not None and not w.all():  # rows of weight 0 leave no trace
            X, Y, w = X[w > 0], Y[w > 0], w[w > 0]
        if not len(X):
            return self
        fresh = None if self.d_ else dict(self.__dict__)
        try:
            self._prepare(X.shape[1], Y)
            self._check(X, len(X))
            self._learn_bulk(X, Y, w)
        except BaseException:
            self._unstart(fresh)
            raise
        self.n_seen_ += len(X)
        return self

    def _learn_bulk(self, X: Array, Y: Array, weights: Array | None) -> None:
        raise NotImplementedError
