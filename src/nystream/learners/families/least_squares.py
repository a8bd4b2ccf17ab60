"""Diagnostics of least-squares learners: regret, regret bound, dimensions, leverage, standard deviations."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.data.inputs import as_block
from nystream.dictionary.gram_factor import GramFactor
from nystream.learners.base import Learner
from nystream.learners.bounds import AGAINST, BoundTerms
from nystream.losses import Loss, Squared
from nystream.runtime.params import one_of, positive
from nystream.runtime.types import Array
from nystream.solvers.meter import Meter

__all__ = ["LeastSquares"]


class LeastSquares(Learner):
    """Diagnostics of a learner that solves ridge regression exactly in every round.

    A subclass defines `_leverage(X)`. It has a `meter_` (or overrides `_meter`) and a `factor_` over its points (or
    overrides `log_det` and `effective_dimension`). Before the first row the sums are 0, and methods that need features
    raise an error.
    """

    lam: float
    meter_: Meter
    factor_: GramFactor

    @property
    def objective(self) -> Loss | None:
        return Squared()

    def regret(self) -> float:
        """Return the cumulative loss minus that of the best function in hindsight plus lam |f|^2. O(1)."""
        return self._meter.regret() if self.d_ else 0.0

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return an upper bound of `regret` from the data so far; see `nystream.solvers.Meter`. O(1).

        It holds against every function f with the penalty lam |f|^2, so norm2 makes no difference. against="features":
        every function of the learner's own features or dictionary. against="kernel": every function f of the kernel's
        space; then loss - min_f (loss of f + lam |f|^2) cannot exceed it. `bound_terms` has the parts.
        """
        self._unchanging(changes)
        terms = self.bound_terms(0.0, against=against)
        return terms.dimension + terms.excess

    def bound_terms(self, norm2: float, *, against: str = "features") -> BoundTerms:
        """Return the terms of a bound on the loss minus that of any f with |f|^2 <= norm2.

        The terms are lam norm2, `regret_bound()`, and with against="kernel" the advantage of f over its projection on
        the features (see `nystream.learners.bounds`).
        """
        one_of("against", against, AGAINST)
        ridge = positive("norm2", norm2, zero=True) * self.lam
        if not self.d_:
            return BoundTerms(ridge, 0.0, 0.0)
        price = self._projection_price(self._meter.energy) if against == "kernel" else 0.0
        return BoundTerms(ridge, self._meter.regret_bound(), price)

    def _projection_price(self, energy: float) -> float:
        """Return a bound on the advantage of the kernel's space over the features; energy is at least sum y^2."""
        return 0.0

    def log_det(self) -> float:
        """Return log det(I + K/lam) for the Gram matrix K of the examples."""
        return self.factor_.log_det if self.d_ else 0.0

    def effective_dimension(self) -> float:
        """Return tr K (K + lam I)^-1, the number of directions in which the data outweigh the ridge."""
        return self.factor_.effective_dimension if self.d_ else 0.0

    def online_dimension(self) -> float:
        """Return the sum over rounds of s/(1 + s), where s is the weighted leverage when the row arrived."""
        return self._meter.online_dimension if self.d_ else 0.0

    def leverage(self, X: Any) -> Array:
        """Return s = phi(x)' A^-1 phi(x) (n,): large for unusual rows, at most k(x, x)/lam."""
        return self._leverage(self._block(X))

    def std(self, X: Any) -> Array:
        """Return predictive standard deviations sqrt(best/n (1 + s)): (n,), or (n, K) with K > 1 outputs.

        best/n is the estimated noise variance. With Gaussian noise and a fitting kernel,
        about 95 percent of new labels are within two of them.
        """
        s = self._leverage(self._block(X))
        return self._outward(np.sqrt((1 + s)[:, None] * self._meter.variance))

    def _leverage(self, X: Array) -> Array:
        raise NotImplementedError

    @property
    def _meter(self) -> Meter:
        return self.meter_

    def _block(self, X: Any) -> Array:
        if not self.d_:
            raise ValueError(f"this {type(self).__name__} has learnt no row yet")
        return as_block(X, self.d_)
