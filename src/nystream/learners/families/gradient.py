"""Learners that do gradient descent on the features of a map."""

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
    """A learner made of features and `OGD`.

    Subclasses store the parameters below, set `_loss` and `_template`, and define `_parts`."""

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
        """Whether a clone has the same map, because it depends on inputs only and not on labels or random numbers.

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
        """Return a new solver."""
        parameters: dict[str, Any] = {"eta": self.eta, "schedule": self.schedule, "lam": self.lam}
        return OGD(self.loss, **parameters, method=method, average=self.average, dtype=self.dtype)
