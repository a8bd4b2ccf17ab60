"""Linear least squares on all rows: the expert of the steady stack that knows straight lines from few rows."""

from __future__ import annotations

import numpy as np

from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["LinearMoments"]

LAM = 0.01
"""Ridge, of columns with mean 0 and deviation 1; the linear expert of next rows has the same."""
CLIPPED = 30.0
"""Deviations from the mean beyond which a value counts as that far; that expert clips there, too."""
FEWEST = 10
"""Rows from which on values are clipped: the deviation of fewer tells little."""
LARGEST = 1e100
"""Values beyond count as this, so that their squares are finite."""
PRODUCTS = 1 << 18
"""Products that `predict` holds at once."""


class LinearMoments(Params):
    """Sums of products of columns and targets, and the weights that `solve` has computed from them.

    A missing value counts as the mean of its column, and each column has an indicator of missing values beside it.
    Weights do not depend on the units of the columns. Predictions are those of the last `solve`, 0 before the first.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.auto.linear import LinearMoments
    >>> X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 1000.0] + [0.0, 5e6]
    >>> line = LinearMoments()
    >>> line.start(columns=2, targets=1)
    >>> line.learn(X, 3 * X[:, :1] + 500, None)
    >>> line.solve()
    >>> line.predict(np.array([[2.0, 5e6], [np.nan, 5e6]])).round().tolist()
    [[506.0], [500.0]]
    """

    products_: Array
    """(1 + 2 D, 1 + 2 D) weighted sums of products of inputs: the constant 1, then each column and its indicator."""
    sums_: Array
    """(1 + 2 D, K) weighted sums of products of the inputs and the targets."""
    origin_: Array
    """(D,) the first known value of each column; nan before it is known. Sums stay precise where columns are large."""
    bounds_: Array
    """(3, D) of columns minus their origins: mean, and the values that others are clipped to."""
    weights_: Array
    """(1 + 2 D, K)"""

    def start(self, columns: int, targets: int) -> None:
        inputs = 1 + 2 * columns
        self.products_, self.sums_ = np.zeros((inputs, inputs)), np.zeros((inputs, targets))
        self.origin_, self.weights_ = np.full(columns, np.nan), np.zeros((inputs, targets))
        self.bounds_ = np.array([0.0, -LARGEST, LARGEST])[:, None] * np.ones(columns)

    def predict(self, X: Array) -> Array:
        """Return (n, K). Pure.

        Products are added one after the other, so to the last bit a prediction depends neither on the rows beside it
        nor on columns without weight.
        """
        P, size = np.empty((len(X), self.weights_.shape[1])), max(1, PRODUCTS // self.weights_.size)
        for i in range(0, len(X), size):
            P[i : i + size] = np.cumsum(self._inputs(X[i : i + size])[:, :, None] * self.weights_, axis=1)[:, -1]
        return P

    def learn(self, X: Array, T: Array, w: Array | None) -> None:
        """Add rows and their targets (n, K); predictions change at the next `solve`."""
        for j in np.flatnonzero(np.isnan(self.origin_)).tolist():
            known = X[np.isfinite(X[:, j]), j]
            if len(known):
                self.origin_[j] = np.clip(known[0], -LARGEST, LARGEST)
        Z = self._inputs(X)
        weighted = Z if w is None else Z * w[:, None]
        self.products_ += weighted.T @ Z
        self.sums_ += weighted.T @ T

    def solve(self) -> None:
        """Compute weights and bounds from all rows so far."""
        n = self.products_[0, 0]
        if n <= 0:
            return
        mean = self.products_[0, 1:] / n
        covariance = self.products_[1:, 1:] / n - np.outer(mean, mean)
        deviation = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
        varies = deviation > 1e-6 * np.sqrt(np.maximum(self.products_.diagonal()[1:] / n, 0.0))
        unit = np.where(varies, deviation, np.inf)
        average = self.sums_[0] / n
        slopes = self.sums_[1:] / n - np.outer(mean, average)
        R = covariance / np.outer(unit, unit)
        R[np.diag_indices_from(R)] = 1.0 + LAM / n
        B = np.linalg.solve(R, slopes / unit[:, None]) / unit[:, None]
        self.weights_ = np.vstack([average - mean @ B, B])
        mean, deviation = mean[::2], deviation[::2]
        reach = CLIPPED * deviation if n >= FEWEST else np.full(len(mean), LARGEST)
        self.bounds_ = np.stack([mean, mean - reach, mean + reach])

    def grow(self, targets: int) -> None:
        """Add classes: the code of every label so far was -1 in the new columns."""
        more = targets - self.sums_.shape[1]
        self.sums_ = np.hstack([self.sums_, np.repeat(-self.products_[:, :1], more, axis=1)])
        self.solve()
        if self.weights_.shape[1] < targets:
            self.weights_ = np.zeros_like(self.sums_)

    def widen(self, columns: int) -> None:
        """Add columns, which were missing so far."""
        more, before = columns - len(self.origin_), len(self.products_)
        self.products_ = np.pad(self.products_, ((0, 2 * more), (0, 2 * more)))
        self.sums_ = np.pad(self.sums_, ((0, 2 * more), (0, 0)))
        self.weights_ = np.pad(self.weights_, ((0, 2 * more), (0, 0)))
        missing = np.arange(before + 1, len(self.products_), 2)  # indicators that were 1 so far, as the constant is
        self.products_[missing] = self.products_[0]
        self.products_[:, missing] = self.products_[:, :1]
        self.sums_[missing] = self.sums_[0]
        self.origin_ = np.pad(self.origin_, (0, more), constant_values=np.nan)
        free = np.array([0.0, -LARGEST, LARGEST])[:, None] * np.ones(more)
        self.bounds_ = np.hstack([self.bounds_, free])

    def _inputs(self, X: Array) -> Array:
        """Return (n, 1 + 2 D): the constant, then each column minus its origin, clipped, and its indicator."""
        U = np.clip(X, -LARGEST, LARGEST) - self.origin_
        mean, low, high = self.bounds_
        Z = np.ones((len(X), 1 + 2 * X.shape[1]))
        Z[:, 1::2] = np.where(np.isnan(U), mean, np.clip(U, low, high))
        Z[:, 2::2] = np.isnan(X)
        return Z

    @staticmethod
    def nbytes_for(columns: int, targets: int) -> float:
        inputs = 1 + 2 * columns
        return 8.0 * inputs * (inputs + 2 * targets + 2)

    @property
    def nbytes(self) -> int:
        return sum(A.nbytes for A in (self.products_, self.sums_, self.origin_, self.bounds_, self.weights_))
