"""Column scales for the Laplacian kernel, learnt by predicting later rows from earlier rows."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nystream._core.features import absolute_sums
from nystream._core.kernels import KernelRows
from nystream.data.inputs import as_examples
from nystream.features.base import FeatureMap
from nystream.runtime.deferred import lapack
from nystream.runtime.incremental import CALL, Task, factor_matrix, kernel_matrix, median_cost, run_to_completion
from nystream.runtime.params import at_least, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Seed
from nystream.scaling.distance import median_distance

__all__ = ["LearnedScales"]

NARROWER = 1.4
"""The initial width is the median distance divided by this."""
CUTS, REACH = (0.4, 0.9), 0.25
"""Range of splits, as shares of the rows; and the share of all rows after a split that may be held out."""
LEAST = 20
"""Fewest rows from which scales are learnt."""
MOMENTUM, MEMORY, STEADY = 0.8, 0.9, 1e-3
"""Constants of Adam: decay of the mean gradient, decay of the mean square, and the constant added to its root."""
FAR = 5.0
"""Largest change of the logarithm of a scale."""
PARTS = (0.0, 0.5, 1.0)
"""Powers of the learnt change; held-out rows choose one."""
TINY = 1e-12
"""Smallest loss, to avoid division by 0."""
TRIALS, LARGER = 3, 2
"""Number of splits that choose the power, and the factor of their number of rows."""
DIFFERENCE = 12.0
"""Operations for an absolute difference."""
_LAPLACIAN = KernelRows("laplacian", -1.0)


class LearnedScales(FeatureMap):
    """Column scales x -> v x for the kernel exp(-|v x - v x'|_1), learnt from labels.

    Kernel ridge regression is fitted to rows before a cut in the stream and predicts rows after it; the gradient of
    its squared loss there with respect to log v is exact and includes the change of the coefficients::

        f = K_tf a,  a = (K_ff + lam I)^-1 y_f,  r = f - y_t
        dE = 2 r' (dK_tf a - K_tf (K_ff + lam I)^-1 dK_ff a),    dk(x, x') / dlog v_j = -v_j |x_j - x'_j| k(x, x')

    Each of `steps` steps draws another cut and other rows, and moves log v against running means of the gradient
    (Adam, on a scale that falls to 0 over the last half of the steps). Columns that do not help are scaled towards 0.
    At the end, held-out rows choose among v, the initial v (1 over the median distance) and their geometric mean.
    Held-out rows come after the fitted ones, because neighbours in a time series have similar labels.

    O(steps (rows^3 / 3 + rows (rows + held) d)) time, once.

    Columns must have a common scale (`StandardScale`); several outputs count by their variances, class labels go in as
    columns of -1/+1. Weights count relative to their mean, as in `LearnedMetric`. With fewer than 20 rows, and before a
    fit, all scales are equal.

    Parameters
    ----------
    steps : int, default 15
    rows, held : int, default 500 and 300
        Rows fitted and rows held out in a step.
    lam : float, default 0.1
        Ridge, > 0.
    rate : float, default 0.3
        Size of the first steps, in log v.
    seed : int, Generator or None, default 0
        Seed of cuts and rows.

    References
    ----------
    MacKay. Bayesian methods for backpropagation networks. 1994 (automatic relevance determination); Chapelle, Vapnik,
    Bousquet, Mukherjee. Choosing multiple parameters for support vector machines. Machine Learning 46, 2002 (gradients
    of what is held out). Here with the Laplacian kernel, and with rows held out in time.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.features import LearnedScales
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> v = LearnedScales().fit(X, np.sign(X[:, 0])).scales_
    >>> bool(v[0] > 5 * max(v[1], v[2]))
    True
    """

    scales_: Array
    """v, (d,)."""
    loss_: float
    """Mean squared loss of the chosen scales on held-out rows; nan if nothing was learnt."""

    def __init__(
        self,
        steps: int = 15,
        *,
        rows: int = 500,
        held: int = 300,
        lam: float = 0.1,
        rate: float = 0.3,
        seed: Seed = 0,
    ) -> None:
        self.steps = at_least("steps", steps, 0)
        self.rows = at_least("rows", rows, 2)
        self.held = at_least("held", held, 1)
        self.lam = positive("lam", lam)
        self.rate = positive("rate", rate)
        self.seed = checked_seed(seed)

    def start(self, d: int) -> None:
        """Start with equal scales for all columns."""
        self.d_ = d
        self.scales_, self.loss_ = np.ones(d), float("nan")

    def fit(self, X: Any, y: Any = None, weights: Any = None) -> Self:
        """Learn v from rows X (n, d) in their order and labels y, (n,) or (n, K), with weights (n,)."""
        return run_to_completion(self.fitting(X, y, weights))

    def fitting(self, X: Any, y: Any = None, weights: Any = None) -> Task[Self]:
        """Do `fit` in pieces."""
        X, Y, w = as_examples(X, y, weights)
        w = None if w is None else w / w.mean()
        self.start(X.shape[1])
        first = np.full(self.d_, -np.log(median_distance(X, absolute=True) / NARROWER))
        self.scales_ = np.exp(first)
        yield median_cost(*X.shape)
        Y = Y - np.average(Y, axis=0, weights=w) if len(Y) else Y
        if len(X) < LEAST or not Y.any():
            return self
        rows, rng = _Rows(X, Y, w), generator(self.seed)
        learnt = yield from self._descend(rows, first, rng)
        trials = [_split(len(X), LARGER * self.rows, LARGER * self.held, rng) for _ in range(TRIALS)]
        choices = [first + part * (learnt - first) for part in PARTS]
        losses = [0.0 for _ in choices]
        for k, v in enumerate(choices):
            for trial in trials:
                losses[k] += (yield from _held_out(rows, v, self.lam, *trial, moves=False))[0]
        best = int(np.argmin(losses))
        self.scales_, self.loss_ = np.exp(choices[best]), float(losses[best] / TRIALS)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Raise an error: scales of different rows cannot be added."""
        raise TypeError("LearnedScales is fitted on one block of rows at a time; call fit(X, y) on the latest rows")

    def _descend(self, rows: _Rows, first: Array, rng: np.random.Generator) -> Task[Array]:
        v, mean, square = first, np.zeros(self.d_), np.zeros(self.d_)
        for k in range(1, self.steps + 1):
            split = _split(len(rows.X), self.rows, self.held, rng)
            loss, gradient = yield from _held_out(rows, v, self.lam, *split)
            gradient = gradient / max(loss, TINY)
            mean = MOMENTUM * mean + (1 - MOMENTUM) * gradient
            square = MEMORY * square + (1 - MEMORY) * gradient**2
            size = self.rate * min(1.0, 2 * (1 - k / (self.steps + 1)))
            step = mean / (1 - MOMENTUM**k) / (np.sqrt(square / (1 - MEMORY**k)) + STEADY)
            v = np.clip(v - size * step, first - FAR, first + FAR)
        return v

    @property
    def dim(self) -> int:
        """The number of columns."""
        return self.d_

    @property
    def parts(self) -> Array:
        """(d,) weights of single columns in distances: v."""
        return self.scales_

    def widen(self, d: int) -> None:
        """Add columns, 0 in every row so far, with the mean scale of the others."""
        self.scales_ = np.r_[self.scales_, np.full(d - self.d_, self.scales_.mean() if self.d_ else 1.0)]
        self.d_ = d

    @property
    def linear(self) -> Array:
        """The diagonal (d,) of the map."""
        return self.scales_

    def _map(self, X: Array, out: Array) -> None:
        np.multiply(X, self.scales_, out=out)

    @staticmethod
    def fit_nbytes(rows: int, held: int, d: int, outputs: int) -> float:
        """Return the temporary bytes of `fit`: two kernel matrices of the largest split."""
        n, t = LARGER * rows, LARGER * held
        return 8.0 * (2 * n * n + n * t + 2 * (n + t) * (d + outputs))


class _Rows(NamedTuple):
    X: Array
    Y: Array
    w: Array | None


def _split(n: int, rows: int, held: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw rows before a cut and rows soon after it."""
    cut = max(1, int(n * rng.uniform(*CUTS)))
    last = min(n, cut + max(2, int(REACH * n)))
    before = rng.choice(cut, min(rows, cut), replace=False)
    return before, cut + rng.choice(last - cut, min(held, last - cut), replace=False)


def _held_out(
    rows: _Rows, v: Array, lam: float, fitted: NDArray[Any], held: NDArray[Any], *, moves: bool = True
) -> Task[tuple[float, Array]]:
    """Return the mean squared loss on held-out rows with scales exp(v), and its gradient if `moves`."""
    U, H = rows.X[fitted] * np.exp(v), rows.X[held] * np.exp(v)
    Y = rows.Y[fitted]
    mean = Y.mean(axis=0)
    n, t, (d, outputs) = len(U), len(H), (U.shape[1], Y.shape[1])
    K = yield from kernel_matrix(_LAPLACIAN, U, U)
    A = K.copy() if moves else K
    A.flat[:: n + 1] += lam if rows.w is None else lam / rows.w[fitted]
    yield from factor_matrix(A)
    factor = A.T  # a lower triangle in rows is an upper one in columns, as LAPACK has it
    a = lapack.dpotrs(factor, Y - mean, lower=0)[0]
    across = yield from kernel_matrix(_LAPLACIAN, H, U)
    r = across @ a + mean - rows.Y[held]
    share = np.ones(len(r)) if rows.w is None else rows.w[held]
    loss = float(share @ (r * r).sum(axis=1)) / r.size
    yield CALL + n * (2 * n + t) * outputs
    if not moves:
        return loss, np.empty(0)
    r *= share[:, None]
    back = lapack.dpotrs(factor, across.T @ r, lower=0)[0]
    gradient = absolute_sums(across * (r @ a.T), H, U)
    yield CALL + n * (2 * n + 2 * t) * outputs + DIFFERENCE * n * t * d
    gradient -= absolute_sums(K * (back @ a.T), U, U)
    yield CALL + n * n * (outputs + DIFFERENCE * d)
    return loss, -2 / r.size * gradient
