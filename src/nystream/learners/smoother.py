"""KernelSmoother: the weighted mean label of the nearest recent rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream._core.auto.experts import NEIGHBOURS, smooth, smooth_one
from nystream._core.linalg import aligned_zeros
from nystream.learners.base import Learner
from nystream.losses import Loss, Squared
from nystream.runtime.params import at_least, one_of
from nystream.runtime.types import DTYPES, Array

__all__ = ["KernelSmoother"]


class KernelSmoother(Learner):
    """A smoother that predicts the weighted mean label of the nearest rows in a window.

    Of the last W rows, the k nearest to x at squared distances d_1 <= ... <= d_k with labels y_1..y_k::

        p(x) = sum_i v_i y_i / sum_i v_i        v_i = w_i exp(-d_i / mean(d_1, ..., d_k))

    w_i the rows' sample weights. The kernel's width is thus that of the neighbourhood, and there is nothing to tune.
    Of rows at equal distance the later ones count. Before the first row p = 0; while there are fewer than k rows, all
    of them count. A row of weight 0 is predicted and not kept.

    It follows drift at the pace of its window, with boundaries of any shape. Alone it is a good learner only for few,
    well-scaled columns (`LearnedMetric`).
    O(W d) time a row, W (d + K) numbers of memory.

    Parameters
    ----------
    window : int, default 1000
        W >= 1.
    neighbours : int, default 5
        k, from 1 to 64.
    dtype : {"float64", "float32"}
        Type of the rows in the window and of distances. Single precision takes half the memory for
        rows and less time; labels and predictions are float64, and predictions agree to some five digits unless
        rounding makes another row a neighbour.

    References
    ----------
    Nadaraya 1964; Watson 1964. Zelnik-Manor, Perona. Self-tuning spectral clustering. NIPS 2004 (local widths).

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(1000, seed=0)
    >>> p = nystream.learners.KernelSmoother(window=500).run(X, y)
    >>> bool(((p - y) ** 2)[500:].mean() < 0.5 * y.var())
    True
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    points_: Array
    """The window as a ring (W, d); the next row goes to slot `kept_ % W`."""
    targets_: Array
    """Labels and, in the last column, weights, (W, K + 1)."""
    kept_: int
    """Number of rows that were stored so far."""

    def __init__(self, window: int = 1000, *, neighbours: int = 5, dtype: str = "float64") -> None:
        self.window = at_least("window", window, 1)
        self.neighbours = at_least("neighbours", neighbours, 1)
        self.dtype = one_of("dtype", dtype, DTYPES)
        if neighbours > NEIGHBOURS:
            raise ValueError(f"neighbours must be at most {NEIGHBOURS}, got {neighbours}; a ridge learner sees further")

    @property
    def objective(self) -> Loss | None:
        return Squared()

    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are combinations (K, new) of those of the present outputs. Exact."""
        labels, weights = self.targets_[:, :-1], self.targets_[:, -1:]
        self.targets_ = np.hstack([labels, labels @ combination, weights])
        self._gained(combination.shape[1])

    @property
    def size(self) -> int:
        """Number of rows in the window."""
        return min(self.kept_, self.window) if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return self.points_.nbytes + self.targets_.nbytes if self.d_ else 0

    def _start(self, d: int, outputs: int) -> None:
        self.points_ = aligned_zeros(self.window, d, dtype=self.dtype)
        self.targets_ = np.zeros((self.window, outputs + 1))
        self.kept_ = 0

    def _predict(self, X: Array) -> Array:
        return smooth(self.points_, self.targets_, self.kept_, self.neighbours, X)[0]

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P, self.kept_ = smooth(self.points_, self.targets_, self.kept_, self.neighbours, X, Y, weights)
        return P

    def _step_one(self, x: Any, y: Any) -> float | None:
        p = smooth_one(self.points_, self.targets_, self.kept_, self.neighbours, x, y)
        if p is not None:
            self.kept_ += 1
        return p

    def _widen(self, d: int) -> None:
        points = aligned_zeros(self.window, d, dtype=self.dtype)
        points[:, : self.d_] = self.points_
        self.points_ = points
