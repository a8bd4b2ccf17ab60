"""Learners that are a feature map and gradient descent on its features: K columns of weights, and their mean."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream.learners.families.averaging import Averaging
from nystream.learners.families.feature import BLOCK, FeatureLearner
from nystream.learners.families.loss import LossLearner
from nystream.losses import Loss
from nystream.runtime.types import Array
from nystream.solvers.ogd import OGD

__all__ = ["GradientLearner"]


class GradientLearner(LossLearner, FeatureLearner, Averaging):
    """features + `OGD`. Subclasses store the parameters below, set `_loss` and `_template`, and give `_parts`."""

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    loss: str | Loss
    eta: float
    schedule: str
    lam: float
    dtype: str = "float64"

    solver_: OGD
    _template: OGD

    @property
    def separable(self) -> bool:
        """Whether the map of a clone is the same, because it follows inputs alone, not labels nor chance.

        Then K targets of a loss of one score are learnt as by K clones on the same rows, bit for bit.
        """
        raise NotImplementedError

    def _averaged(self, X: Array) -> Array:
        W = self.solver_.averaged()
        P = np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            P[i : i + BLOCK] = self.features_.transform(X[i : i + BLOCK]) @ W
        return P

    def _descent(self, method: str = "sgd") -> OGD:
        """A fresh solver."""
        parameters: dict[str, Any] = {"eta": self.eta, "schedule": self.schedule, "lam": self.lam}
        return OGD(self.loss, **parameters, method=method, average=self.average, dtype=self.dtype)
