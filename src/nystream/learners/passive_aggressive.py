"""The passive-aggressive family: the smallest update that corrects the present row."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from nystream._core.expansions import Correction
from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.families.correction import UnboundedCorrections, checked_loss
from nystream.learners.families.expansion import checked_dtype
from nystream.losses import EpsilonInsensitive, Hinge, Loss, MulticlassHinge, StructuredHinge, VectorLoss
from nystream.runtime.params import one_of, positive
from nystream.runtime.types import Array

__all__ = ["PassiveAggressive"]

LOSSES = (Hinge, EpsilonInsensitive, MulticlassHinge, StructuredHinge)
RULES = ("exact", "runner_up")


class PassiveAggressive(UnboundedCorrections):
    """PA, PA-I and PA-II: no update if the loss is 0, else the smallest change of f that removes it.

    With l = max(0, 1 - y_t f_t(x_t)) and s = k(x_t, x_t)::

        f_{t+1} = argmin_f |f - f_t|^2 / 2 + penalty = f_t + tau y_t k(x_t, .)
        variant None   l(f) = 0 demanded       tau = l / s
        variant "I"    penalty C l(f)          tau = min(C, l / s)
        variant "II"   penalty C l(f)^2        tau = l / (s + 1/(2C))

    Regression ("epsilon_insensitive"): l = max(0, |y - f| - eps) and sign(y - f) in the place of y. Classes: the
    same minimisation with the multi-class hinge, exactly, or moving only the label and its strongest rival. Variant "I"
    is `ILK` with tau = 0; variant "II" is that with the squared hinge. O(m d) time per round and O(m d) memory for m
    stored points; with `Linear()` there are d weights instead: O(d) time and memory, a linear model without offset
    (append a constant column for one).

    Parameters
    ----------
    kernel : Kernel
    variant : {None, "I", "II"}, default "I"
    C : float, default 1.0
        Weight of the loss; not used by variant None.
    loss : str or Loss, default "hinge"
        "hinge", "epsilon_insensitive", "multiclass_hinge", or a StructuredHinge.
    multiclass : {"exact", "runner_up"}
        The step with classes; "runner_up" is the paper's. They agree for two classes; "exact" is better with more. A
        structured hinge with label similarities has only "runner_up".
    dtype : {"float64", "float32"}
        Type of stored points and of kernel values. Single precision takes half the memory for points and less time.
        Coefficients and predictions are float64, and predictions agree to about five digits.
        With `Linear()` there are no points, and float64 is all there is.

    Deviations from the paper: the "exact" step for classes; weights, which multiply C (with variant None a weight of 0
    skips the round and others change nothing); several targets; `dtype`.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer. Online passive-aggressive algorithms. JMLR 7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian, Linear
    >>> from nystream.learners import PassiveAggressive
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> p = PassiveAggressive(Gaussian(0.5), variant="II").run(X, y)
    >>> bool(np.mean(p[500:] * y[500:] > 0) > 0.9)
    True
    >>> model = PassiveAggressive(Linear(), loss="epsilon_insensitive")
    >>> target = X @ np.array([2.0, -1.0])
    >>> p = model.run(X, target)
    >>> bool(np.abs(p[500:] - target[500:]).max() < 0.2), model.W_.shape
    (True, (1, 2))
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    def __init__(
        self,
        kernel: Kernel,
        *,
        variant: str | None = "I",
        C: float = 1.0,
        loss: str | Loss = "hinge",
        multiclass: str = "exact",
        dtype: str = "float64",
    ) -> None:
        self.kernel = checked_kernel(kernel)
        if variant not in (None, "I", "II"):
            raise ValueError(f"variant must be None (PA), 'I' (PA-I) or 'II' (PA-II); got {variant!r}")
        self.variant = variant
        self.C = positive("C", C)
        self.loss = loss
        self.multiclass = one_of("multiclass", multiclass, RULES)
        self.dtype = checked_dtype(dtype, kernel)
        self._loss = checked_loss(loss, LOSSES)
        self._loss.check_rule(multiclass)

    def _alpha(self, y: Array, p: Array, s: float, weight: float) -> Array:
        rule = {"rule": self.multiclass} if isinstance(self._loss, VectorLoss) else {}
        C = (math.inf if self.variant is None else self.C) * weight if weight else 0.0
        if self.variant != "II" or C == 0:
            return self._proximal(y, p, s, C, **rule)
        slack = 1 / (2 * C)  # C xi^2 has the slope that alpha pays for: s becomes s + 1/(2C)
        if not isinstance(self._loss, VectorLoss):
            return np.asarray(-self._loss.grad(y, p) * self._loss.value(y, p) / (s + slack), dtype=np.float64)
        D, label = self._loss.label_margins, int(y[0])
        excess = (1.0 if D is None else D[label]) + p - p[label]
        excess[label] = -np.inf
        if self.multiclass == "exact":
            return _shared(excess, label, s, slack)
        direction = np.zeros(len(p))
        direction[label], direction[rival := int(excess.argmax())] = 1.0, -1.0
        square = float(direction @ self._scored(direction))
        return max(0.0, float(excess[rival])) / (s * square + slack) * direction if square > 0 else np.zeros(len(p))

    def _correction(self) -> Correction:
        rule, C = "soft" if self.variant == "II" else "capped", math.inf if self.variant is None else self.C
        return Correction(self._loss, rule, self._columns, C, self.multiclass)


def _shared(excess: Array, label: int, s: float, slack: float) -> Array:
    """Return argmin s/2 |alpha|^2 + C L(p + s alpha)^2 for the multi-class hinge L with violations excess_j = a_j s.

    With beta = 1 + slack/s: alpha_j = -max(0, a_j - thr), thr = beta sum_A a / (1 + beta |A|) over the active set A,
    the largest set of the largest a_j that all exceed its threshold; the label's entry is minus the sum of the others.
    """
    a, beta = excess / s, 1 + slack / s
    ranked = np.sort(a)[::-1][:-1]  # the last is the label's own, at minus infinity
    thr = beta * np.cumsum(ranked) / (1 + beta * np.arange(1, len(a)))
    active = np.flatnonzero(ranked > np.maximum(thr, 0.0))
    alpha = np.zeros(len(a))
    if len(active):
        alpha = -np.maximum(0.0, a - thr[active[-1]])
        alpha[label] = -alpha.sum()
    return alpha
