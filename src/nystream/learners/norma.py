"""NORMA: stochastic gradient descent in the kernel's space, with forgetting and truncation."""

from __future__ import annotations

import math

import numpy as np

from nystream._core.expansions import Rounds
from nystream.dictionary.budget import Budget
from nystream.dictionary.plain import PlainExpansion, admit, expire
from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.families.expansion import ExpansionLearner, checked_dtype
from nystream.losses import LOSSES, Loss, as_loss
from nystream.runtime.params import at_least, one_of, positive
from nystream.runtime.types import Array

__all__ = ["NORMA"]

SCHEDULES = ("constant", "sqrt")


class NORMA(ExpansionLearner):
    """Online gradient descent on l(f(x_t), y_t) + lam/2 |f|^2 in the kernel's function space.

    With eta_t = eta or eta t^(-1/2) and g the derivative of the loss at the prediction f_t(x_t)::

        f_{t+1} = (1 - eta_t lam) f_t - eta_t g k(x_t, .),        b_{t+1} = b_t - eta_t g   (offset, not decayed)

    so that old terms fade geometrically and can be dropped with a known error: in the kernel's norm the
    truncated f errs by at most (1 - eta lam)^budget U X / lam for |l'| <= U, k(x, x) <= X^2, when terms are dropped by
    age. O(m d) time per round and O(m (d + K)) memory for m stored terms, K outputs; m <= budget. Class losses move
    K coefficients per point; real losses take several targets.

    With `nu` the margin rho (hinge, novelty) or the half-width eps of the tube (epsilon_insensitive) is learnt too,
    from 0, such that a fraction nu of the rounds violates it (v = 1)::

        hinge      y f <= rho      rho += eta_t (nu - v)          novelty    f < rho      rho += eta_t (nu - v)
        epsilon_insensitive        |y - f| > eps                  eps = max(0, eps + eta_t (v - nu))

    Parameters
    ----------
    kernel : Kernel
    loss : str or Loss, default "hinge"
        Any loss. Smooth ones need eta l'' k(x, x) < 2 to be stable (squared: eta < 1 for a unit kernel).
    eta : float, default 0.1
        Step size.
    schedule : {"constant", "sqrt"}
        eta_t = eta, or eta t^(-1/2).
    lam : float, default 0.01
        Ridge; eta lam < 1. 0 never forgets.
    budget : int, optional
        Truncation; None keeps every term.
    keep : {"age", "support"}
        "age": a term lives `budget` rounds, also those that stored nothing (the paper, and the bound above).
        "support": the newest `budget` terms are kept, however old.
    offset : bool, default False
        Learn a constant b as well.
    nu : float, optional
        Fraction of violations in (0, 1), for the losses above; their own rho or eps is then not used.
    dtype : {"float64", "float32"}
        Type of stored points and of kernel values. Single precision takes half the memory for points and less time.
        Coefficients and predictions are float64, and predictions agree to about five digits.

    Deviations from the paper: `keep="support"`, K outputs, weights (which multiply the loss) and `dtype` are additions.

    References
    ----------
    Kivinen, Smola, Williamson. Online learning with kernels. IEEE Transactions on Signal Processing 52, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import NORMA
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = NORMA(Gaussian(0.5), eta=0.3, budget=500)
    >>> p = model.run(X, y)
    >>> bool(np.mean(p[1000:] * y[1000:] > 0) > 0.9), model.size <= 500
    (True, True)
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        loss: str | Loss = "hinge",
        eta: float = 0.1,
        schedule: str = "constant",
        lam: float = 0.01,
        budget: int | None = None,
        keep: str = "age",
        offset: bool = False,
        nu: float | None = None,
        dtype: str = "float64",
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.loss = loss
        self.eta = positive("eta", eta)
        self.schedule = one_of("schedule", schedule, SCHEDULES)
        self.lam = positive("lam", lam, zero=True)
        self.budget = None if budget is None else at_least("budget", budget, 1)
        self.keep = one_of("keep", keep, ("age", "support"))
        self.offset = offset
        self.nu = None if nu is None else positive("nu", nu, below=1.0)
        self.dtype = checked_dtype(dtype, kernel)
        self._loss = as_loss(loss)
        if eta * lam >= 1:
            raise ValueError(
                f"eta * lam must be less than 1, got eta={eta!r}, lam={lam!r}; lower one of them or use ILK"
            )
        if nu is not None and self._loss.adaptable is None:
            known = ", ".join(name for name, kind in LOSSES.items() if kind.adaptable)
            raise ValueError(f"nu adapts the margin or tube of {known}; {self._loss.name!r} has none")

    @property
    def multi_output(self) -> bool:
        """False with `nu`, which adapts one level."""
        return self.nu is None

    @property
    def level(self) -> float | None:
        """The adapted margin rho, or half-width eps of the tube; None without `nu`. Inputs with f < rho are novel."""
        if self.nu is None:
            return None
        return float(self.level_[0]) if self.d_ else 0.0

    def _limits(self) -> Budget:
        return Budget(self.budget, "age" if self.keep == "age" else "oldest")

    def _start(self, d: int, outputs: int) -> None:
        if self.nu is not None:
            self.level_ = np.zeros(1)
        if self.offset:
            self.offset_ = np.zeros((2, outputs))  # b, and its sum over the rounds
        super()._start(d, outputs)

    def _round(self, f: PlainExpansion, y: Array, weight: float, t: int) -> Array:
        eta = self.eta / math.sqrt(t) if self.schedule == "sqrt" else self.eta
        b = self.offset_[0].copy() if self.offset else 0.0
        p = self._scored(f.scores(f.k)) + b
        g = weight * (self._gradient(y, p) if self.nu is None else self._adapted(y, p, eta * weight))
        f.decay(1 - eta * self.lam)
        expire(f, self.budget_, t)
        admit(f, self.budget_, -eta * g, t)
        if self.offset:
            self.offset_ += b
            self.offset_[0] = b - eta * g
        return p

    def _adapted(self, y: Array, p: Array, eta: float) -> Array:
        """Return the gradient at the present level, and adapt the level to a share nu of violations."""
        level, nu = float(self.level_[0]), float(self.nu or 0.0)
        if self._loss.adaptable == "tube":
            violated = np.abs(y - p) > level
            self.level_[0] = max(0.0, level + eta * (float(violated[0]) - nu))
            return np.where(violated, np.where(y > p, -1.0, 1.0), 0.0)
        sign = y if self._loss.labels == "sign" else np.ones(1)  # novelty has no labels
        violated = y * p <= level if self._loss.labels == "sign" else p < level
        self.level_[0] = level + eta * (nu - float(violated[0]))
        return np.where(violated, -sign, 0.0)

    def _loop(self) -> Rounds:
        return Rounds(
            self.expansion_.terms,
            self.budget_.eviction,
            self._loss,
            "explicit",
            eta=self.eta,
            sqrt_schedule=self.schedule == "sqrt",
            lam=self.lam,
            offset=self.offset_ if self.offset else None,
            nu=self.nu or 0.0,
            level=self.level_ if self.nu is not None else None,
        )

    def _predict(self, X: Array) -> Array:
        P = super()._predict(X)
        return P + self.offset_[0] if self.offset else P

    def _averaged(self, X: Array) -> Array:
        P = super()._averaged(X)
        return P + self.offset_[1] / max(self.n_seen_, 1) if self.offset else P

    def _grow(self, outputs: int) -> None:
        if self.offset:
            self.offset_ = np.pad(self.offset_, ((0, 0), (0, outputs - self.offset_.shape[1])))
        super()._grow(outputs)
