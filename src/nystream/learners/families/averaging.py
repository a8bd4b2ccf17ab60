"""Learners that can also answer with the mean of their hypotheses."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.data.inputs import as_block
from nystream.learners.base import Learner
from nystream.runtime.types import Array

__all__ = ["Averaging"]


class Averaging(Learner):
    """A learner with `averaged`; subclasses give `_averaged` on clean rows, called once there was an example."""

    average: bool = True
    """Whether the mean is kept; a parameter where keeping it costs something."""

    def averaged(self, X: Any) -> Array:
        """Predictions of the mean of all hypotheses so far, (1/T) sum_t f_t (online-to-batch conversion). Pure.

        f_t is the hypothesis that made the prediction of round t. What a budget has dropped is gone from the mean too.
        A learner with a parameter `average` needs average=True.
        """
        self._require("averaged")
        X = as_block(X, self.d_ or None)
        return self._outward(self._averaged(X) if self.d_ else np.zeros((len(X), self._width)))

    def _averaged(self, X: Array) -> Array:
        raise NotImplementedError

    def why_not(self, ability: str) -> str | None:
        if ability == "averaged" and not self.average:
            return "it keeps no mean of its hypotheses; construct it with average=True"
        return super().why_not(ability)
