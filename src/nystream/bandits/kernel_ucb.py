"""KernelUCB: upper confidence bounds of exact kernel ridge regression."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.bandits.base import Bandit
from nystream.kernels.base import Kernel
from nystream.learners.kernel_awv import KernelRidge
from nystream.runtime.types import Array

__all__ = ["KernelUCB"]


class KernelUCB(Bandit):
    """Kernel bandit with exact confidence bounds; also known as GP-UCB.

    With A = lam I + sum of phi(x_s) phi(x_s)' over the arms pulled, in the kernel's space, and f the ridge solution::

        upper bound of x = f(x) + beta width(x),        width(x)^2 = phi(x)' A^-1 phi(x)
        beta = noise sqrt(log det(A/lam) + 2 log(1/delta)) + sqrt(lam) norm

    With probability 1 - delta all mean rewards are within beta width of f in all rounds (beta="theory"), so that regret
    is at most the sum of 2 beta width over the rounds, which `regret_bound` knows live. It is of order
    d_eff sqrt(n). Cost of `learn` O(t^2) and of `choose` O(t^2) for every arm after t rounds, O(t^2) memory: for more
    than a few thousand rounds use `BKB`.

    Parameters
    ----------
    kernel : Kernel
        The mean reward is a function of its space.
    lam : float, default 1.0
        Ridge, > 0; the variance of the noise is a good value.
    beta : float or "theory", default "theory"
        How far above the mean an arm is valued. Constants of 0.5 to 2 often do better than the theory, without its
        guarantee.
    norm : float, default 1.0
        Bound on the norm of the mean reward, for "theory"; about its largest absolute value, or more if it is rough.
    noise : float, default 0.1
        Bound on the (sub-Gaussian) standard deviation of rewards around their mean, for "theory".
    delta : float, default 0.05
        Probability with which the theory may fail.

    Deviations from the papers: the radius has the live log-determinant of self-normalised bounds (Abbasi-Yadkori 2011)
    in place of the bound by the effective dimension.

    References
    ----------
    Valko, Korda, Munos, Flaounas, Cristianini. Finite-time analysis of kernelised contextual bandits. UAI 2013.
    Srinivas, Krause, Kakade, Seeger. Gaussian process optimization in the bandit setting. ICML 2010.
    Abbasi-Yadkori, Pal, Szepesvari. Improved algorithms for linear stochastic bandits. NeurIPS 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream import Gaussian, KernelUCB
    >>> rng, arms = np.random.default_rng(0), np.linspace(0, 1, 50)[:, None]
    >>> bandit = KernelUCB(Gaussian(0.2), lam=0.01, noise=0.1)
    >>> for _ in range(60):
    ...     arm = arms[bandit.choose(arms)]
    ...     bandit.learn(arm, np.exp(-20 * (arm[0] - 0.7) ** 2) + 0.1 * rng.normal())
    >>> bool(abs(arms[np.argmax(bandit.predict(arms)), 0] - 0.7) < 0.05)
    True
    """

    ridge_: KernelRidge

    def __init__(
        self,
        kernel: Kernel,
        *,
        lam: float = 1.0,
        beta: Any = "theory",
        norm: float = 1.0,
        noise: float = 0.1,
        delta: float = 0.05,
    ) -> None:
        self.kernel, self.lam, self.beta = kernel, lam, beta
        self.norm, self.noise, self.delta = norm, noise, delta
        self._check()

    def _start(self, d: int) -> None:
        self.ridge_ = KernelRidge(self.kernel, lam=self.lam)
        self.ridge_.reserve(d, 1)

    def _ask(self, X: Array) -> tuple[Array, Array]:
        T = self.ridge_.factor_.whiten(X)
        return T @ self.ridge_.e_.view[:, 0], np.maximum(self.ridge_.factor_.leverage(X, T), 0.0)

    def _learn(self, x: Array, reward: float, square: float) -> None:
        self.ridge_.step_clean(x, np.array([reward]))

    def _radius(self) -> float:
        return self.noise * math.sqrt(self.ridge_.log_det() + 2 * math.log(1 / self.delta)) + self._bias

    @property
    def size(self) -> int:
        """Stored arms, one for each round."""
        return self.ridge_.size if self.d_ else 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the bandit holds."""
        return self.ridge_.nbytes if self.d_ else 0
