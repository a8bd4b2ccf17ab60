"""DualSGD: a budget of points, and random features for the points that were removed."""

from __future__ import annotations

import numpy as np

from nystream._core.expansions import Correction, DualPegasos
from nystream.dictionary.budget import Budget
from nystream.dictionary.plain import PlainExpansion
from nystream.features.fourier import Fourier
from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.bsgd import start_offset
from nystream.learners.families.expansion import ExpansionLearner, Loop, checked_dtype
from nystream.losses import Loss, as_loss
from nystream.runtime.params import at_least, positive
from nystream.runtime.seeds import checked_seed
from nystream.runtime.types import Array, Seed

__all__ = ["DualSGD"]

BLOCK = 512
"""Rows whose features are computed together in `predict`."""


class DualSGD(ExpansionLearner):
    """Dual space gradient descent: f(x) = sum_i alpha_i k(x_i, x) + w'z(x), z random Fourier features.

    The step of `BSGD` on both parts, with eta_t = 1/(lam (t0 + t))::

        alpha *= 1 - 1/(t0 + t);  w *= 1 - 1/(t0 + t)
        if l' != 0:  if `budget` points are stored: the `evict` smallest |alpha_i| go, w += alpha_i z(x_i)
                     store x_t with -eta_t l'

    Removed points are approximated by `dim` random features. Before the first removal this is BSGD.
    O((budget + dim) d) time per round, and memory; K times dim and budget for K outputs.

    Parameters
    ----------
    kernel : Kernel
        A shift-invariant kernel, e.g. `Gaussian(sigma)`.
    budget : int, default 100
        Largest number of stored points.
    dim : int, default 200
        Number of random features, two per direction.
    loss : str or Loss, default "hinge"
        Any loss; real losses take several targets.
    lam : float, default 1e-4
        Ridge.
    evict : int, default 10
        Number of points that are moved out together, at most `budget`.
    t0 : float, optional
        Start offset, as in `BSGD`.
    seed : int, Generator or None
        Seed of the directions.
    dtype : {"float64", "float32"}
        Type of stored points and of kernel values; features and their weights are float64.

    Deviations from the paper: rounds without a gradient store nothing (the published code stores zero coefficients);
    t0, K outputs, weights and `dtype` are additions.

    References
    ----------
    Le, Nguyen, Nguyen, Phung. Dual space gradient descent for online learning. NIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import DualSGD
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = DualSGD(Gaussian(0.5), budget=30, lam=1e-3, seed=0)
    >>> p = model.run(X, y)
    >>> model.size <= 30, bool(np.mean(p[1000:] * y[1000:] > 0) > 0.9)
    (True, True)
    """

    features_: Fourier
    W_: Array
    past_: Array

    def __init__(
        self,
        kernel: Kernel,
        *,
        budget: int = 100,
        dim: int = 200,
        loss: str | Loss = "hinge",
        lam: float = 1e-4,
        evict: int = 10,
        t0: float | None = None,
        seed: Seed = None,
        dtype: str = "float64",
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.budget = at_least("budget", budget, 1)
        self.dim = dim
        self.loss = loss
        self.lam = positive("lam", lam)
        self.evict = at_least("evict", evict, 1)
        self.t0 = None if t0 is None else positive("t0", t0, zero=True)
        self.seed = checked_seed(seed)
        self.dtype = checked_dtype(dtype, kernel)
        self._loss = as_loss(loss)
        Fourier(kernel, dim, seed=seed)  # checks that the kernel has random features and dim is even
        if evict > budget:
            raise ValueError(f"evict={evict!r} points cannot leave a budget of {budget!r}; choose evict <= budget")

    def _limits(self) -> Budget:
        return Budget(self.budget)

    def _start(self, d: int, outputs: int) -> None:
        self.features_ = Fourier(self.kernel, self.dim, seed=self.seed)
        self.features_.start(d)
        self.W_, self.past_ = np.zeros((outputs, self.dim)), np.zeros((outputs, self.dim))
        super()._start(d, outputs)

    def _round(self, f: PlainExpansion, y: Array, weight: float, t: int) -> Array:
        self.past_ += f.scale * self.W_  # W is in units of the scale, as the coefficients are
        p = self._scored(f.scores(f.k) + f.scale * self.W_ @ self.features_.row(f.x))
        eta = 1 / (self.lam * (start_offset(self.t0, self._loss, self.lam) + t))
        alpha = -eta * weight * self._gradient(y, p)
        f.scale = eta
        if alpha.any() and f.kxx > 0:
            if len(f) >= self.budget:
                self._evict(f)
            f.append(f.x, alpha, t)
        return p

    def _evict(self, f: PlainExpansion) -> None:
        """Move the smallest terms, the oldest of equals, to the weights of their features."""
        gone = np.lexsort((f.birth, np.abs(f.a).max(axis=1)))[: self.evict]
        Z = self.features_.transform(f.points[gone])
        self.W_ += f.a[gone].T @ Z
        self.past_ += f.sums[gone].T @ Z
        for i in sorted(gone.tolist(), reverse=True):
            f.remove(i)

    def _loop(self) -> Loop:
        return DualPegasos(
            self.expansion_.terms,
            self.budget_.eviction,
            Correction(self._loss, "gradient", self.expansion_.outputs),
            self.lam,
            start_offset(self.t0, self._loss, self.lam),
            features=self.features_,
            budget=self.budget,
            evict=self.evict,
            W=self.W_,
            past=self.past_,
        )

    def _predict(self, X: Array) -> Array:
        return self._scored(self.expansion_.predict(X) + self._featured(X, self.expansion_.scale * self.W_))

    def _averaged(self, X: Array) -> Array:
        W = (self.W_ * self.expansion_.cum + self.past_) / max(self.expansion_.rounds, 1)
        return self._scored(self.expansion_.averaged(X) + self._featured(X, W))

    def _featured(self, X: Array, W: Array) -> Array:
        """Return W z(x) of every row, (n, K)."""
        P = np.empty((len(X), len(W)))
        for i in range(0, len(X), BLOCK):
            P[i : i + BLOCK] = self.features_.transform(X[i : i + BLOCK]) @ W.T
        return P

    def _grow(self, outputs: int) -> None:
        rows = ((0, outputs - len(self.W_)), (0, 0))
        self.W_, self.past_ = np.pad(self.W_, rows), np.pad(self.past_, rows)
        super()._grow(outputs)

    def _widen(self, d: int) -> None:
        self.features_.widen(d)
        super()._widen(d)

    @property
    def nbytes(self) -> int:
        extra = self.features_.nbytes + self.W_.nbytes + self.past_.nbytes if self.d_ else 0
        return super().nbytes + extra
