"""Regret bounds of kernel online Newton steps, term by term, from what the learner recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream._core.linalg import Triangle
from nystream.data.inputs import as_labels
from nystream.dictionary.rows import Rows
from nystream.kernels.base import Kernel
from nystream.learners.bounds import AGAINST, BoundTerms
from nystream.learners.families.loss import LossLearner
from nystream.losses.label_bound import LabelBound
from nystream.losses.steps import NewtonSteps
from nystream.runtime.params import one_of
from nystream.runtime.types import Array

__all__ = ["NewtonBounds", "a_priori_dimension", "effective_dimension", "leverages", "sharp_terms"]

OUTSIDE, GRAD, PREDICTION, GAIN, LEVERAGE, ROUND, WIDTH = range(7)
"""Columns of `record_`, which has one row per stored point. The compiled rounds use this order."""


class NewtonBounds(LabelBound, LossLearner):
    """Regret and regret bounds of kernel online Newton steps, from their records and their factor."""

    kernel: Kernel
    lam: float
    clip: float
    points_: Rows
    record_: Rows
    total_loss_: float
    _factor: Triangle
    _steps: NewtonSteps

    def regret_against(self, values: Any, Y: Any) -> float:
        """Return the cumulative loss minus that of a comparator with predictions `values` (n_seen,) for labels Y."""
        f = self._comparator(values)
        y = as_labels(Y, self.labels, len(f))[:, 0]
        return (self.total_loss_ if self.d_ else 0.0) - float(np.sum(self._loss.value(y, f)))

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return a bound on the regret against every f with |f|^2 <= norm2 and |f(x_t)| <= clip; see `bound_terms`.

        f may be any function of the kernel's space, so that `against` makes no difference. Infinite once a real label
        of a curved loss was beyond clip.
        """
        one_of("against", against, AGAINST)
        return self.bound_terms(self._norm2(norm2, changes)).total

    def bound_terms(self, norm2: float, values: Any = None) -> BoundTerms:
        """Return the terms of the sharp bound::

            1/2 [ lam norm2 + sum g' A_t^-1 g + sum (z_t eta_t - sigma) (g'(w_t - f))^2 ]

        z_t is 1 (in sketches: whether the round entered). `values` (n_seen,), the comparator's predictions, make the
        last sum exact; without them each of its terms is replaced by a bound that holds for every f.
        """
        f = None if values is None else self._comparator(values)
        if f is not None and np.abs(f).max(initial=0.0) > self.clip * (1 + 1e-9):
            raise ValueError(
                f"the bound holds against functions within [-clip, clip] = +-{self.clip!r}; scale values down"
            )
        record = self._record
        terms = sharp_terms(
            *(record[:, i] for i in (GRAD, PREDICTION, GAIN, LEVERAGE)),
            lam=self.lam,
            clip=self.clip,
            sigma=self._steps.sigma,
            norm2=norm2,
            f=None if f is None else f[record[:, ROUND].astype(int) - 1],
        )
        return terms._replace(excess=math.inf) if self.void_ else terms

    def published_bound(self, norm2: float, a_priori: bool = False) -> BoundTerms:
        """Return the bound of Theorem 1 of the paper: lam norm2 + d_onl/eta_T + 4 clip^2 L^2 sum_t (eta_t - sigma).

        d_onl is `online_dimension`; `a_priori` replaces it by d_eff(r) (1 + log(1 + kappa^2 T/r)), r = lam/(eta_1 L^2),
        of the raw kernel, which depends on the points alone; O(n^3).
        """
        if not self.n_seen_:
            return BoundTerms(self.lam * norm2, 0.0, 0.0)
        eta, L = self._steps.at(np.arange(1, self.n_seen_ + 1)), self._loss.lipschitz(self.clip)
        dimension = self.online_dimension()
        if a_priori:
            dimension = a_priori_dimension(self.kernel, self._gradients()[0], self.lam / (eta[0] * L * L), self.n_seen_)
        excess = 4 * (self.clip * L) ** 2 * float(np.maximum(eta - self._steps.sigma, 0.0).sum())
        excess = math.inf if self.void_ else excess
        return BoundTerms(self.lam * norm2, dimension / float(eta[-1]), excess)

    @property
    def pivots(self) -> Array:
        """Squares of the diagonal of L, one for each gradient in the metric: each at least lam."""
        return self._factor.diagonal**2 if self.d_ else np.zeros(0)

    def log_det(self) -> float:
        """log det(A_t / lam) = log det(I + D K D/lam), D the scales l' sqrt(eta)."""
        return float(2 * np.log(self._factor.diagonal / math.sqrt(self.lam)).sum()) if self.d_ else 0.0

    def online_dimension(self) -> float:
        """Return the sum over rounds of d^2 s/(1 + d^2 s), the leverage of the scaled point when it arrived."""
        record = self._record
        s = record[:, GAIN] * record[:, GRAD] ** 2 * record[:, LEVERAGE]
        return float((s / (1 + s)).sum())

    def effective_dimension(self) -> float:
        """Return tr D K D (D K D + lam I)^-1, the effective dimension of the gradients at this ridge. O(n^3)."""
        if not self.d_:
            return 0.0
        inverse = self._factor.solve(np.eye(self._factor.n))
        return float(self._factor.n - self.lam * np.vdot(inverse, inverse))

    @property
    def _record(self) -> Array:
        return self.record_.view if self.d_ else np.zeros((0, WIDTH))

    def _gradients(self) -> tuple[Array, Array, Array]:
        """Return points, derivatives and step sizes of all rounds with a gradient."""
        record = self._record
        live = record[:, GRAD] != 0
        points = self.points_.view[live] if self.d_ else np.zeros((0, 1))
        return points, record[live, GRAD], self._steps.at(record[live, ROUND])

    def _comparator(self, values: Any) -> Array:
        f = as_labels(values, "real", self.n_seen_, name="values")
        if f.shape[1] != 1:
            raise ValueError(f"values must be one number for each of the {self.n_seen_} rounds, got shape {f.shape}")
        return f[:, 0]


def sharp_terms(
    grad: Array,
    p: Array,
    gain: Array,
    s: Array,
    *,
    lam: float,
    clip: float,
    sigma: float,
    norm2: float,
    f: Array | None,
) -> BoundTerms:
    """1/2 [ lam |w|^2 + sum g' A_t^-1 g + sum (z_t eta_t - sigma) (g'(w_t - w))^2 ] over the rounds with a gradient.

    g' A_t^-1 g = dl^2 s/den with den = 1 + z eta dl^2 s; g'(w_t - w) = dl (p_t - f(x_t)) for the comparator's values
    f, and at most |dl| (|p_t| + clip) if they are not known; a negative term then counts as 0.
    """
    gradients = grad**2 * s / (1 + gain * grad**2 * s)
    excess = np.maximum(gain - sigma, 0.0) * (grad * (np.abs(p) + clip)) ** 2
    if f is not None:
        excess = (gain - sigma) * (grad * (p - f)) ** 2
    return BoundTerms(0.5 * lam * norm2, 0.5 * float(gradients.sum()), 0.5 * float(excess.sum()))


def effective_dimension(kernel: Kernel, X: Array, ridge: float) -> float:
    """tr K (K + ridge I)^-1 of the rows of X, O(n^3)."""
    if not len(X):
        return 0.0
    values = np.maximum(np.linalg.eigvalsh(kernel(X, X)), 0.0)
    return float((values / (values + ridge)).sum())


def leverages(kernel: Kernel, X: Array, scale: Array, ridge: float) -> Array:
    """(n,) online leverages s/(1 + s) of psi = scale phi, each given the rows before it; O(n^3)."""
    if not len(X):
        return np.zeros(0)
    M = scale[:, None] * kernel(X, X) * scale
    M.flat[:: len(M) + 1] += ridge
    pivots = np.linalg.cholesky(M).diagonal()
    return np.asarray(1 - ridge / pivots**2)  # a squared pivot is ridge (1 + s)


def a_priori_dimension(kernel: Kernel, X: Array, ridge: float, rounds: int) -> float:
    """Return d_eff (1 + log(1 + kappa^2 T/ridge)), a bound on the online dimension of these rows."""
    top = float(kernel.diag(X).max(initial=0.0))
    return effective_dimension(kernel, X, ridge) * (1 + math.log1p(top * rounds / ridge))
