"""A growing Cholesky factor of a regularised Gram matrix, for leverage scores and solves."""

from __future__ import annotations

import math

import numpy as np

from nystream._core.inputs import all_finite
from nystream._core.landmarks import WhitenedRow
from nystream._core.linalg import Triangle, floored_cholesky
from nystream.dictionary.factored import FactoredPoints
from nystream.dictionary.rows import Rows
from nystream.kernels.base import Kernel
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["GramFactor"]

BLOCK = 64
"""Rows that `extend` appends by one triangular solve."""
HEAVIEST = 1e12
"""Largest s^2 k(x, x) of a row, in units of the ridge. Beyond it rounding would dominate L."""


class GramFactor(FactoredPoints[Triangle]):
    """L L' = S K S + ridge I over stored points x_i with scales s_i, psi_i = s_i phi_i.

    A query x gives l = L^-1 (s_i k(x_i, x))_i and, without forming an inverse,
    phi' (sum psi psi' + ridge I)^-1 phi = (k(x, x) - l.l) / ridge. Appending s phi borders L with the row
    (s l, sqrt(ridge (1 + s^2 leverage))): the pivot is at least sqrt(ridge), so duplicates are harmless.
    O(m^2) time and memory for m points; blocks of rows run as one triangular solve with many right-hand sides.

    Parameters
    ----------
    kernel : Kernel
    ridge : float
        The multiple of the identity, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import GramFactor
    >>> from nystream.kernels import Gaussian
    >>> factor = GramFactor(Gaussian(1.0), ridge=0.5)
    >>> factor.start(1)
    >>> factor.extend(np.array([[0.0], [0.0], [1.0]]), scale=np.ones(3))  # duplicates are harmless
    >>> factor.leverage(np.array([[0.0], [9.0]])).round(3).tolist()
    [0.376, 2.0]
    """

    _kind = Triangle

    def __init__(self, kernel: Kernel, ridge: float) -> None:
        self.kernel = kernel
        self.ridge = positive("ridge", ridge)

    def start(self, d: int) -> None:
        """Start without points, for rows of d columns."""
        self.points_ = Rows(d)
        self.scale_ = Rows(1)
        self.trace_ = 0.0  # sum s_i^2 k(x_i, x_i): gives the floor of the leverage
        self._factor = Triangle()

    @property
    def scale(self) -> Array:
        """(n,) the scales s_i of the points."""
        return self.scale_.view[:, 0]

    @property
    def pivots(self) -> Array:
        """(n,) squares of the diagonal of L, each at least the ridge."""
        return self._factor.diagonal**2

    @property
    def log_det(self) -> float:
        """log det(I + S K S / ridge)."""
        return float(2 * np.log(self._factor.diagonal).sum() - self.n * np.log(self.ridge))

    @property
    def own_leverage(self) -> Array:
        """(n,) diagonal of S K S (S K S + ridge I)^-1, 1 - ridge |L^-1 e_i|^2; O(n^3), computed when asked for."""
        inverse = self._factor.solve(np.eye(self.n))
        return np.maximum(1 - self.ridge * np.einsum("ij,ij->i", inverse, inverse), 0.0)

    @property
    def effective_dimension(self) -> float:
        """tr S K S (S K S + ridge I)^-1; O(n^3), computed when asked for."""
        return float(self.own_leverage.sum())

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.points_.nbytes + self.scale_.nbytes + self._factor.nbytes

    def whiten(self, X: Array) -> Array:
        """Return l = L^-1 (s_i k(x_i, x)) for every row x, (n, m)."""
        return self.whiten_values(self.kernel(X, self.points) if self.n else np.zeros((len(X), 0)))

    def whiten_values(self, K: Array) -> Array:
        """Do `whiten` for given kernel values K = (k(x, x_i)), (n, m)."""
        return self._factor.solve(np.ascontiguousarray(K * self.scale))

    def solve_transposed(self, rows: Array) -> Array:
        """Compute L^-T l for every row l, in place."""
        return self._factor.solve(rows, transposed=True)

    def leverage(self, X: Array, T: Array | None = None) -> Array:
        """Return phi' (sum psi psi' + ridge I)^-1 phi of every row, at least its provable lower bound."""
        if T is None:
            T = self.whiten(X)
        k = self.kernel.diag(X)
        s = (k - np.einsum("ij,ij->i", T, T)) / self.ridge
        # |sum psi psi'| <= trace bounds it from below; this undoes the cancellation in k - l.l
        return np.maximum(s, k / (self.ridge + self.trace_))

    def bounded(self, scale: Array, k: Array) -> Array:
        """Limit the scales (n,) of rows with k(x, x) = k, so that s^2 k is at most 1e12 times the ridge.

        The matrix, scaled to a unit diagonal, is then at least 1e-12, for which its factor is stable.
        """
        most = np.sqrt(HEAVIEST * self.ridge / np.maximum(k, 1e-200))
        return np.clip(scale, -most, most)

    def border(self, X: Array, T: Array, scale: Array) -> Array:
        """Append the rows of X with their scales; T is `whiten(X)`. Returns C, the new diagonal block of L."""
        K = self.kernel(X, X)
        if K.shape != (len(X), len(X)):
            raise ValueError(f"{self.kernel!r} gives values of shape {K.shape} for {len(X)} and {len(X)} rows")
        T = scale[:, None] * T
        C = np.ascontiguousarray(scale[:, None] * K * scale - T @ T.T)
        C.flat[:: len(C) + 1] += self.ridge
        floored_cholesky(C, self.ridge)
        if not all_finite(C):
            raise ValueError(
                f"{self.kernel!r} gives values that no positive definite kernel has: nan, infinite, or |k(x, y)|^2 "
                "above k(x, x) k(y, y)"
            )
        self._factor.border(np.ascontiguousarray(T), C)
        self.points_.extend(X)
        self.scale_.extend(scale[:, None])
        self.trace_ += float(scale**2 @ K.diagonal())
        return C

    def enter(self, x: Array, scale: float, own: float, row: WhitenedRow) -> None:
        """Append the row that `row` has just whitened, with k(x, x) = own and a `bounded` scale."""
        most = math.sqrt(HEAVIEST * self.ridge / max(own, 1e-200))
        scale = min(max(scale, -most), most)
        row.enter(scale, own, self.ridge)
        self.points_.append(x)
        self.scale_.append(scale)
        self.trace_ += scale * scale * own
        row.hold_row(self.points, self.scale_.view)

    def extend(self, X: Array, scale: Array) -> None:
        """Append many rows, block by block."""
        for i in range(0, len(X), BLOCK):
            part = X[i : i + BLOCK]
            self.border(part, self.whiten(part), scale[i : i + BLOCK])

    def mark(self) -> tuple[int, float]:
        """Return what `rewind` needs to forget the points that are appended from now on."""
        return self.n, self.trace_

    def rewind(self, mark: tuple[int, float]) -> None:
        """Go back to the state of `mark`, bit for bit."""
        n, self.trace_ = mark
        self._factor.truncate(n)
        self.points_.truncate(n)
        self.scale_.truncate(n)
