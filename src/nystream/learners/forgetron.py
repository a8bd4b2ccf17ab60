"""The Forgetron: a perceptron that shrinks and removes its oldest mistake."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream._core.expansions import Forgetting
from nystream.dictionary.plain import PlainExpansion, oldest
from nystream.kernels.base import Kernel, Normalized, checked_kernel
from nystream.kernels.gaussian import Gaussian
from nystream.kernels.laplacian import Laplacian
from nystream.kernels.matern import Matern
from nystream.learners.families.correction import CorrectionLearner
from nystream.learners.families.expansion import Loop, checked_dtype
from nystream.losses import Hinge
from nystream.runtime.params import at_least
from nystream.runtime.types import Array

__all__ = ["Forgetron"]

ALLOWANCE = 15 / 32
"""Allowed damage per mistake."""
UNIT = (Gaussian, Laplacian, Matern, Normalized)
"""Kernels with k(x, x) <= 1 for every x."""


class Forgetron(CorrectionLearner):
    """The self-tuned Forgetron: a budget perceptron with a mistake bound.

    A mistake (y f <= 0) is stored with coefficient y. When that makes more than `budget` points, all coefficients are
    multiplied by phi and the oldest point is dropped. With s = |alpha_old|, mu = sign(alpha_old) f(x_old), f with the
    new term, Q the damage so far and M the number of mistakes::

        phi = the largest number in (0, 1] with  Q + (s phi)^2 + 2 s phi (1 - phi mu) <= 15/32 M
        Q <- that left side

    O(budget d) time per round and O(budget d) memory. Guarantee, for k(x, x) <= 1: such a phi exists in every round, so
    the damage of forgetting is at most 15/32 of the mistakes; the paper's mistake bound rests on that.

    Parameters
    ----------
    kernel : Kernel
        With k(x, x) <= 1, which is checked; `Normalized(kernel)` makes any kernel so.
    budget : int, default 100
        Largest number of stored points.
    dtype : {"float64", "float32"}
        Type of stored points and of kernel values. Single precision takes half the memory for points and less time.
        Coefficients and predictions are float64, and predictions agree to about five digits.

    Attributes
    ----------
    ledger_ : (3,), Q, M and the last phi.

    Deviations from the paper: the root of the quadratic is taken in a form that is right for either sign of its leading
    coefficient, so that phi <= 1 always; `dtype` is an addition.

    References
    ----------
    Dekel, Shalev-Shwartz, Singer. The Forgetron: a kernel-based perceptron on a budget. SIAM Journal on Computing 37,
    2008.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import Forgetron
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = Forgetron(Gaussian(0.5), budget=20)
    >>> p = model.run(X, y)
    >>> model.size, bool(np.mean(p[1000:] * y[1000:] > 0) > 0.8)
    (20, True)
    """

    ledger_: Array

    def __init__(self, kernel: Kernel, *, budget: int = 100, dtype: str = "float64") -> None:
        self.kernel = checked_kernel(kernel)
        self.budget = at_least("budget", budget, 1)
        self.dtype = checked_dtype(dtype, kernel)
        self._loss = Hinge()

    def _start(self, d: int, outputs: int) -> None:
        self.ledger_ = np.array([0.0, 0.0, 1.0])
        super()._start(d, outputs)

    def _keep(self, f: PlainExpansion, alpha: Array, t: int) -> None:
        Q, M, _ = self.ledger_
        M, phi = M + 1, 1.0
        if len(f) < self.budget:
            f.append(f.x, alpha, t)
            self.ledger_[1] = M
            return
        old = oldest(f)
        a = float(f.coef[old, 0])
        s, mu = abs(a), math.copysign(1.0, a) * float(f.scores(f.gram()[old])[0] + alpha[0] * f.k[old])
        # Q + (s^2 - 2 s mu) phi^2 + 2 s phi = 15/32 M: a form of the root for either sign of the first factor
        quadratic, linear, constant = s * s - 2 * s * mu, 2 * s, Q - ALLOWANCE * M
        if quadratic + linear + constant > 0:
            phi = -2 * constant / (linear + math.sqrt(max(0.0, linear**2 - 4 * quadratic * constant)))
            phi = min(max(phi, 0.0), 1.0)
        self.ledger_[:] = Q + (s * phi) ** 2 + 2 * s * phi * (1 - phi * mu), M, phi
        f.decay(phi)
        f.replace(old, f.x, phi * alpha, t)

    def _loop(self) -> Loop:
        return Forgetting(self.expansion_.terms, self._correction(), self.budget, self.ledger_)

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        self._check_kernel(x[None])
        return super()._step(x, y, weight)

    def _step_one(self, x: Any, y: Any) -> float | None:
        return super()._step_one(x, y) if isinstance(self.kernel, UNIT) else None

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        self._check_kernel(X)
        return super()._run(X, Y, weights)

    def _check_kernel(self, X: Array) -> None:
        """Check the whole block before any of it is learnt."""
        if isinstance(self.kernel, UNIT):
            return
        largest = float(self.kernel.diag(X).max())
        if largest > 1 + 1e-9:
            raise ValueError(
                f"Forgetron needs k(x, x) <= 1, but {self.kernel!r} has {largest:g}; use Normalized({self.kernel!r})"
            )

    @property
    def nbytes(self) -> int:
        return super().nbytes + (self.ledger_.nbytes if self.d_ else 0)
