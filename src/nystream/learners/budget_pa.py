"""Budget passive-aggressive learning: one minimisation chooses the update and the removed point."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nystream._core.expansions import Correction, Neighbour, Projecting, Simple
from nystream.dictionary.gram_inverse import GramInverse
from nystream.dictionary.plain import RIDGE, PlainExpansion
from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.families.correction import CorrectionLearner, checked_loss
from nystream.learners.families.expansion import Loop, checked_dtype
from nystream.losses import Hinge, Loss, MulticlassHinge, StructuredHinge
from nystream.runtime.params import at_least, one_of, positive
from nystream.runtime.types import Array

__all__ = ["BudgetPA"]

VARIANTS = ("S", "NN", "P")
FLAT = 1e-12
"""Determinant of a Gram matrix with unit diagonal below which two points count as one."""
LOSSES = (Hinge, MulticlassHinge, StructuredHinge)


class BudgetPA(CorrectionLearner):
    """BPA-S, BPA-NN, BPA-P: PA-I in which removing a point is part of the optimisation.

    While there is room, kernel PA-I. When `budget` points are stored and the loss l is positive, one old point r goes
    and f is re-fitted on the new point t and a set V: nothing ("S"), the nearest neighbour of r ("NN"), or all others
    ("P"). Because t is always in the set, the problem separates::

        tau = min(C, l / k(x_t, x_t)),  the same for every r
        r   = argmin alpha_r^2 R_r,     R_r the squared distance of k(x_r, .) to the span of V and t
        coefficients of V and t += alpha_r (projection of k(x_r, .) on them);   that of t += tau y

    S: R_r = k_rr - k_rt^2/k_tt. NN: a 2 x 2 system per point. P: from the inverse Gram matrix, see
    `nystream.dictionary.GramInverse`.
    Time per round O(budget d), in rounds with a loss O(budget d) for S and NN, O(budget (d + budget)) for P; memory
    O(budget d) for S, O(budget (d + budget)) for NN and P.

    Parameters
    ----------
    kernel : Kernel
    budget : int, default 100
        Largest number of stored points.
    C : float, default 1.0
        Weight of the loss.
    variant : {"S", "NN", "P"}
    loss : {"hinge", "multiclass_hinge"} or such a Loss
        With classes the correction moves the label and its strongest rival, and |alpha_r|^2 stands for alpha_r^2
        (alpha_r' M alpha_r with label similarities M).
    dtype : {"float64", "float32"}
        Type of stored points and of kernel values. Single precision takes half the memory for points and less time.
        Coefficients and predictions are float64, and predictions agree to about five digits.
        "NN" and "P", which solve with kernel values between points, need float64.

    Deviations from the paper: classes, weights (which multiply C) and `dtype` are additions; a neighbour is nearest in
    the kernel's space, ties go to the smallest slot.

    References
    ----------
    Wang, Vucetic. Online passive-aggressive algorithms on a budget. AISTATS 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import BudgetPA
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = BudgetPA(Gaussian(0.5), budget=20, variant="P")
    >>> p = model.run(X, y)
    >>> model.size, bool(np.mean(p[1000:] * y[1000:] > 0) > 0.9)
    (20, True)
    """

    weighted: ClassVar[bool] = True

    gram_: Array
    inverse_: GramInverse

    def __init__(
        self,
        kernel: Kernel,
        *,
        budget: int = 100,
        C: float = 1.0,
        variant: str = "S",
        loss: str | Loss = "hinge",
        dtype: str = "float64",
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.budget = at_least("budget", budget, 1)
        self.C = positive("C", C)
        self.variant = one_of("variant", variant, VARIANTS)
        self.loss = loss
        self.dtype = checked_dtype(dtype, kernel)
        self._loss = checked_loss(loss, LOSSES)
        if dtype == "float32" and variant != "S":
            raise ValueError(f"variant={variant!r} needs dtype='float64': it solves with kernel values, unlike 'S'")

    def _start(self, d: int, outputs: int) -> None:
        if self.variant == "NN":
            self.gram_ = np.zeros((self.budget, self.budget))
        elif self.variant == "P":
            self.inverse_ = GramInverse()
        super()._start(d, outputs)

    def _alpha(self, y: Array, p: Array, s: float, weight: float) -> Array:
        rule = {"rule": "runner_up"} if self._loss.multiclass else {}
        return self._proximal(y, p, s, self.C * weight, **rule)

    def _keep(self, f: PlainExpansion, alpha: Array, t: int) -> None:
        if len(f) < self.budget:
            f.append(f.x, alpha, t)
            return
        # one of the stored points goes: the Gram matrix of all of them and, last, the new one
        K = np.block([[f.gram(), f.k[:, None]], [f.k, f.kxx]])
        weights = np.einsum("rk,rk->r", f.a, self._scored(f.a))
        candidates = [self._projection(K, r) for r in range(len(f))]
        r = int(np.argmin([max(w, 0.0) * rest for w, (_, rest) in zip(weights, candidates, strict=True)]))
        shares, a, sums = candidates[r][0], f.a[r].copy(), f.sums[r].copy()
        f.pass_on(r, shares[:-1])
        f.replace(r, f.x, alpha + shares[-1] * a, t)
        f.sums[r] = shares[-1] * sums

    def _projection(self, K: Array, r: int) -> tuple[Array, float]:
        """Return the coefficients of k(x_r, .) on V and the new point, and its squared distance to their span."""
        new, shares, diagonal = len(K) - 1, np.zeros(len(K)), K.diagonal()
        others = np.flatnonzero(np.arange(new) != r)
        V = others if self.variant == "P" else others[:0]
        if self.variant == "NN" and len(others):
            nearest = int(others[np.argmin(diagonal[r] + diagonal[others] - 2 * K[r, others])])
            det = diagonal[nearest] * diagonal[new] - K[nearest, new] ** 2
            if det > FLAT * diagonal[nearest] * diagonal[new]:  # otherwise the two are one point
                V = np.array([nearest])
        basis = np.append(V, new)
        ridge = np.diag(RIDGE * diagonal) if self.variant == "P" else 0.0
        shares[basis] = np.linalg.solve((K + ridge)[np.ix_(basis, basis)], K[basis, r])
        return shares, max(0.0, float((K + ridge)[r, r] - shares @ K[r]))

    def _correction(self) -> Correction:
        return Correction(self._loss, "capped", self.expansion_.outputs, self.C, "runner_up")

    def _loop(self) -> Loop:
        parts = self.expansion_.terms, self._correction(), self.budget
        if self.variant == "NN":
            return Neighbour(*parts, self.gram_)
        return Projecting(*parts, self.inverse_.compiled) if self.variant == "P" else Simple(*parts)

    @property
    def nbytes(self) -> int:
        if not self.d_ or self.variant == "S":
            return super().nbytes
        return super().nbytes + (self.gram_.nbytes if self.variant == "NN" else self.inverse_.nbytes)
