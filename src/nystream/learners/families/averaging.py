"""Learners that can also predict with the mean of their hypotheses."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.data.inputs import as_block
from nystream.learners.base import Learner
from nystream.runtime.types import Array

__all__ = ["Averaging"]


class Averaging(Learner):
    """A learner with `averaged`. Subclasses define `_averaged` for clean rows after the first round."""

    average: bool = True
    """Whether the mean is kept; a parameter of learners for which this has a cost."""

    def averaged(self, X: Any) -> Array:
        """Return predictions of the mean of all hypotheses, (1/T) sum_t f_t (online-to-batch conversion).

        f_t is the hypothesis that predicted in round t. Points that a budget removed are missing in the mean too.
        A learner with a parameter `average` needs average=True.
        """
        self._require("averaged")
        X = as_block(X, self.d_ or None)
        return self._outward(self._averaged(X) if self.d_ else np.zeros((len(X), self._width)))

    def _averaged(self, X: Array) -> Array:
        raise NotImplementedError

    def why_not(self, ability: str) -> str | None:
        if ability == "averaged" and not self.average:
            return "it does not keep the mean of its hypotheses; create it with average=True"
        return super().why_not(ability)
