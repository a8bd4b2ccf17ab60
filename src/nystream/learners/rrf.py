"""RRF: gradient descent on random features with learnt column scales."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from nystream._core.features import FourierFeatures
from nystream._core.linear import Rescaled
from nystream.features.demands import gaussian_of
from nystream.features.fourier import even_dim
from nystream.kernels.base import Kernel
from nystream.learners.families.averaging import Averaging
from nystream.learners.families.loss import LossLearner
from nystream.losses import Loss, as_loss
from nystream.runtime.params import positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Seed

__all__ = ["RRF"]

RATIO = 30.0
"""Default of eta / eta_scale, for hinge losses and other targets of unit scale."""
LIMIT = 300.0
"""|log-scale| is kept within this: exp stays finite, and far from 0."""
BLOCK = 512
"""Rows whose features are in memory at once during a prediction."""


class RRF(LossLearner, Averaging):
    """Gradient descent on random Fourier features with one learnt scale per input column.

    E is a fixed D x d matrix of normals; the directions are its rows with column n scaled by exp(a_n), from
    a_n = log(1/sigma), the Gaussian kernel. With u = E (e^a x), D = dim / 2 and g = l'(y, p)::

        z = (cos u, sin u) / sqrt(D)        p = w'z,  w = (w_cos, w_sin)
        dw   = g z + lam w
        da_n = g x_n e^{a_n} / sqrt(D) sum_j E_jn (w_sin,j cos u_j - w_cos,j sin u_j)
        w -= eta dw,        a_n -= eta_scale clip(da_n, -1, 1)

    both gradients at the old w and a; for K outputs da is the sum of theirs. Scales of irrelevant columns
    shrink, scales of relevant columns grow. With label similarities M the weights of the K outputs move by M g in the
    place of g. O(dim (d + K)) time per round and memory; nothing grows with t. If labels do not depend on the
    inputs, scales may become very large; sines and cosines of angles beyond a million are several times as slow.

    Parameters
    ----------
    kernel : Kernel
        A Gaussian, or a number times one: the start.
    dim : int, default 200
        Number of features, even: a cosine and a sine for each direction.
    loss : str or Loss, default "hinge"
        Any loss.
    eta : float, default 0.3
        Step size of the weights; eta lam < 1.
    eta_scale : float, optional
        Step size of the log-scales; None is eta / 30, for targets of unit scale. For targets of size Y divide by Y^2.
        0 is FOGD.
    lam : float, default 0.0
        Ridge on the weights.
    average : bool, default False
        Keep the mean of w over the rounds, for `averaged`, which uses it with the present scales: the mean of the
        hypotheses would need the features of every round. With eta_scale = 0 both are the same.
    seed : int, Generator or None
        Seed of the normals.

    Deviations from the paper: log-scales stay within [-300, 300].

    References
    ----------
    Nguyen, Le, Bui, Phung. Large-scale Online Kernel Learning with Random Feature Reparameterization. IJCAI 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import FOGD, RRF
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(4000, 10))
    >>> y = np.sign(X[:, 0] * X[:, 1])  # the other eight columns are noise
    >>> right = {}
    >>> for model in (FOGD(Gaussian(1.0), seed=0), RRF(Gaussian(1.0), eta_scale=0.1, seed=0)):
    ...     right[type(model).__name__] = np.mean(model.run(X, y)[2000:] * y[2000:] > 0)
    >>> bool(right["RRF"] > right["FOGD"] + 0.1), sorted(model.scales.argsort()[-2:].tolist())
    (True, [0, 1])
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    E_: Array
    """(d, D): column j is the direction j before it is scaled."""
    a_: Array
    W_: Array
    """(K, dim)."""
    total_: Array
    """(K, dim): the sum of the weights that predicted; only with `average`."""
    _rounds: Rescaled

    def __init__(
        self,
        kernel: Kernel,
        *,
        dim: int = 200,
        loss: str | Loss = "hinge",
        eta: float = 0.3,
        eta_scale: float | None = None,
        lam: float = 0.0,
        average: bool = False,
        seed: Seed = None,
    ) -> None:
        gaussian_of(kernel, "RRF", "use FOGD for other shift-invariant kernels")
        self.kernel = kernel
        self.dim = even_dim(dim)
        self.loss = loss
        self.eta = positive("eta", eta)
        self.eta_scale = None if eta_scale is None else positive("eta_scale", eta_scale, zero=True)
        self.lam = positive("lam", lam, zero=True)
        self.average = average
        self.seed = checked_seed(seed)
        self._loss = as_loss(loss)
        if eta * lam >= 1:
            raise ValueError(f"eta * lam must be less than 1, got eta={eta!r}, lam={lam!r}; lower one of them")

    @property
    def scales(self) -> Array:
        """exp(a), (d,): the inverse width of the kernel along each column."""
        return np.exp(self.a_)

    @property
    def size(self) -> int:
        """Number of features (0 before the first example)."""
        return self.dim if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self.E_, self.a_, *self._weights)) if self.d_ else 0

    def _start(self, d: int, outputs: int) -> None:
        self.rng_ = generator(self.seed)
        self.E_ = np.ascontiguousarray(self.rng_.standard_normal((self.dim // 2, d)).T)
        self.a_ = np.full(d, self._first)
        self.W_ = np.zeros((outputs, self.dim))
        if self.average:
            self.total_ = np.zeros((outputs, self.dim))
        self._bind()

    @property
    def _first(self) -> float:
        return -math.log(gaussian_of(self.kernel, "RRF", "")[0].sigma)

    @property
    def _gain(self) -> float:
        """The factor sqrt(k(x, x) / D) of a feature."""
        return math.sqrt(gaussian_of(self.kernel, "RRF", "")[1] / (self.dim // 2))

    @property
    def _weights(self) -> list[Array]:
        """The arrays of shape (K, dim)."""
        return [self.W_, self.total_] if self.average else [self.W_]

    def _averaged(self, X: Array) -> Array:
        return self._scores(X, self.total_ / max(self.n_seen_, 1))

    def _predict(self, X: Array) -> Array:
        return self._scores(X, self.W_)

    def _scores(self, X: Array, W: Array) -> Array:
        """Return W z(x) of every row, (n, K)."""
        features, P = FourierFeatures(self.E_ * self.scales[:, None], self._gain), np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            Z = np.empty((len(X[i : i + BLOCK]), self.dim))
            features.map(X[i : i + BLOCK], Z)
            P[i : i + BLOCK] = Z @ W.T
        return P

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        return self._rounds.step(x, y, weight, self.n_seen_ + 1)

    def _step_one(self, x: Any, y: Any) -> float | None:
        return self._rounds.one_row(x, y, self.n_seen_ + 1)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        return self._rounds.run(X, Y, weights, self.n_seen_ + 1)

    def _grow(self, outputs: int) -> None:
        rows = ((0, outputs - len(self.W_)), (0, 0))
        self.W_ = np.pad(self.W_, rows)
        if self.average:
            self.total_ = np.pad(self.total_, rows)
        self._bind()

    def _widen(self, d: int) -> None:
        """Add columns with new normals and the initial scale. Zeros in them change no feature."""
        new = self.rng_.standard_normal((self.dim // 2, d - self.d_)).T
        self.E_ = np.ascontiguousarray(np.vstack([self.E_, new]))
        self.a_ = np.append(self.a_, np.full(d - self.d_, self._first))
        self._bind()

    def _bind(self) -> None:
        rate = self.eta / RATIO if self.eta_scale is None else self.eta_scale
        total = self.total_ if self.average else None
        self._rounds = Rescaled(
            self._loss, self.E_, self.a_, self.W_, total, self._gain, self.eta, float(rate), self.lam, LIMIT
        )

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "W_" in state:
            self._bind()
