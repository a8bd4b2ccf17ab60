"""A linear map of the inputs that is learnt from labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nystream._core.kernels import KernelRows
from nystream.data.inputs import as_examples
from nystream.features.base import FeatureMap
from nystream.kernels.gaussian import Gaussian
from nystream.runtime.deferred import lapack
from nystream.runtime.incremental import CALL, Task, factor_matrix, kernel_matrix, median_cost, run_to_completion
from nystream.runtime.params import at_least, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Seed
from nystream.scaling.distance import median_distance

__all__ = ["FULL", "LearnedMetric"]

FULL = 300
"""Default number of columns up to which M is a full matrix."""
EIGEN = 60.0
"""Operations of an eigenproblem, divided by the cube of its columns."""
_LINEAR = KernelRows("linear")


class LearnedMetric(FeatureMap):
    """A linear map x -> T x learnt from labels by average gradient outer products.

    One round: fit kernel ridge regression f (Gaussian, width the median distance) to rows x_1..x_n and labels Y, then::

        M = sum over rows i and outputs c of grad f_c(x_i) grad f_c(x_i)',  scaled to trace d
        T = (M + reg I)^(1/2)

    Directions in which f does not change shrink. The next round does the same to the rows T x; the result is the
    product of the rounds' maps. T is symmetric in the first round, a full matrix for few columns, diagonal else. Before
    a fit (`start`) and where the labels are constant, T is the identity times (1 + reg)^(1/2).

    With a = (K + lam I)^-1 Y, the gradients of one output at all rows are one product with the kernel matrix,
    grad f(x_i) = sum_j a_j k_ij (x_j - x_i) / sigma^2, so that a round costs n^3/3 + 2 n g d K flops for n rows,
    gradients at g of them and K outputs, and 16 n^2 bytes for a moment.

    Weights count relative to their mean: the ridge of row i is lam / w_i, and its gradients count w_i times.

    Columns must have a common scale (`StandardScale`). Several outputs count by their variances; class labels go in as
    columns of -1/+1.

    Parameters
    ----------
    rounds : int, default 2
    lam : float, default 0.01
        Ridge of the fit, > 0.
    rows : int, default 1000
        Rows used; if there are more, that many are drawn.
    reg : float, default 0.01
        Weight that every direction keeps, > 0, where the average direction has 1.
    gradients : int or None
        Number of rows at which gradients are taken; None: all.
    full : int, default 300
        Columns up to which T is a full matrix; above, it is diagonal.
    seed : int, Generator or None, default 0
        Seed of the drawn rows.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin. Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models. Science 383, 2024 (there with the Laplacian kernel, M inside it).
    Trivedi, Wang, Kpotufe, Shakhnarovich. A consistent estimator of the expected gradient outerproduct. UAI 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.features import LearnedMetric
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> metric = LearnedMetric().fit(X, np.sin(2 * X[:, 0]))
    >>> (np.linalg.norm(metric.matrix, axis=0) > 1).tolist()
    [True, False, False, False]
    """

    map_: Array
    """T, (d, d), or (d,), its diagonal."""

    def __init__(
        self,
        rounds: int = 2,
        *,
        lam: float = 0.01,
        rows: int = 1000,
        reg: float = 0.01,
        gradients: int | None = None,
        full: int = FULL,
        seed: Seed = 0,
    ) -> None:
        self.rounds = at_least("rounds", rounds, 1)
        self.lam = positive("lam", lam)
        self.rows = at_least("rows", rows, 2)
        self.reg = positive("reg", reg)
        self.gradients = None if gradients is None else at_least("gradients", gradients, 1)
        self.full = at_least("full", full, 0)
        self.seed = checked_seed(seed)

    def start(self, d: int) -> None:
        """Start with equal weights for all directions."""
        self.d_ = d
        one = np.sqrt(1.0 + self.reg)
        self.map_ = one * np.eye(d) if d <= self.full else np.full(d, one)

    def fit(self, X: Any, y: Any = None, weights: Any = None) -> Self:
        """Learn T from rows X (n, d) and labels y, (n,) or (n, K), with weights (n,)."""
        return run_to_completion(self.fitting(X, y, weights))

    def fitting(self, X: Any, y: Any = None, weights: Any = None) -> Task[Self]:
        """Do `fit` in pieces."""
        X, Y, w = as_examples(X, y, weights)
        self.start(X.shape[1])
        if len(X) > self.rows:
            chosen = np.sort(generator(self.seed).choice(len(X), self.rows, replace=False))
            X, Y, w = X[chosen], Y[chosen], None if w is None else w[chosen]
        if len(X) < 2:
            return self
        w = None if w is None else w / w.mean()
        Y = Y - np.average(Y, axis=0, weights=w)
        peak = np.abs(Y).max()
        if peak:
            Y /= peak  # M is scaled to trace d: only the columns' relative sizes count
        total = np.ones(X.shape[1])
        for _ in range(self.rounds):
            M = yield from self._products(X, Y, w)
            T = self._root(M)
            X = _applied(X, T)
            yield CALL + (EIGEN * M.size**1.5 + len(X) * M.size if M.ndim == 2 else 0.0)
            total = total * T if total.ndim == 1 else T @ total
        self.map_ = total
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Raise an error: metrics of different rows cannot be added."""
        raise TypeError("LearnedMetric is fitted on one block of rows at a time; call fit(X, y) on the latest rows")

    @staticmethod
    def nbytes_for(d: int, full: int = FULL) -> float:
        """Return the bytes of a metric of d columns; 0 for a diagonal one."""
        return 8.0 * d * d if d <= full else 0.0

    @staticmethod
    def fit_nbytes(rows: int, gradients: int, d: int, outputs: int, full: int = FULL) -> float:
        """Return the temporary bytes of `fit`: the kernel matrix (overwritten by its factor), its rows for the
        gradients, inputs, gradients, and the eigenproblem.
        """
        square = d * d if d <= full else 0
        return 8.0 * (rows * (rows + gradients) + 5 * rows * d + rows * outputs + 9 * square)

    @property
    def dim(self) -> int:
        """The number of columns."""
        return self.d_

    @property
    def matrix(self) -> Array:
        """T, (d, d): transform(X) = X @ matrix.T."""
        return self.map_.copy() if self.map_.ndim == 2 else np.diag(self.map_)

    @property
    def parts(self) -> Array:
        """(d,) weights of single columns in squared distances: the diagonal of T'T."""
        return self.map_**2 if self.map_.ndim == 1 else np.asarray((self.map_**2).sum(axis=0))

    def widen(self, d: int) -> None:
        """Add columns, 0 in every row so far, with the weight of an average direction."""
        new, old, one = d - self.d_, self.map_, np.sqrt(1.0 + self.reg)
        if old.ndim == 1:
            self.map_ = np.r_[old, np.full(new, one)]
        else:
            self.map_ = one * np.eye(d)
            self.map_[: self.d_, : self.d_] = old
        self.d_ = d

    @property
    def linear(self) -> Array:
        """T, (d, d), or its diagonal (d,)."""
        return self.map_

    def _map(self, X: Array, out: Array) -> None:
        out[:] = _applied(X, self.map_)

    def _products(self, X: Array, Y: Array, w: Array | None) -> Task[Array]:
        """Return M of one round, (d, d) or (d,), before scaling."""
        kernel = Gaussian(median_distance(X)).compiled
        yield median_cost(*X.shape)
        K = yield from kernel_matrix(kernel, X, X)
        g = len(X) if self.gradients is None else min(self.gradients, len(X))
        at = slice(None) if g == len(X) else np.linspace(0, len(X) - 1, g).round().astype(np.intp)
        near = K[at].copy()
        K.flat[:: len(X) + 1] += self.lam if w is None else self.lam / w
        if (yield from factor_matrix(K)):
            raise ValueError(f"the kernel matrix lost lam={self.lam!r} in rounding; use a larger lam")
        A = lapack.dpotrs(K.T, Y, lower=0)[0]  # a lower triangle in rows is an upper one in columns, as LAPACK has it
        yield CALL + 2.0 * len(K) ** 2 * Y.shape[1]
        d = X.shape[1]
        M = np.zeros((d, d)) if d <= self.full else np.zeros(d)
        for a in A.T:  # one output at a time: (g, d) numbers, not (g, d, K)
            G = near @ (a[:, None] * X)
            G -= (near @ a)[:, None] * X[at]
            if w is not None:
                G *= np.sqrt(w[at])[:, None]
            M += G.T @ G if d <= self.full else np.einsum("ij,ij->j", G, G)
            yield CALL + 2.0 * g * (len(X) + len(M)) * d
        return M

    def _root(self, M: Array) -> Array:
        """Return (M + reg I)^(1/2) with M scaled to trace d."""
        full = M.ndim == 2
        trace = float(np.trace(M) if full else M.sum())
        if not np.isfinite(trace) or trace <= 0.0:
            M = np.eye(len(M)) if full else np.ones(len(M))
        else:
            M = M * (len(M) / trace)
        if not full:
            return np.sqrt(M + self.reg)
        values, Q = np.linalg.eigh(M)
        return (Q * np.sqrt(np.maximum(values, 0.0) + self.reg)) @ Q.T


def _applied(X: Array, T: Array) -> Array:
    """Return T x for every row, without dgemm, so that a row has the same bits in any block."""
    return _LINEAR.block(X, T) if T.ndim == 2 else X * T
