"""Nested Nystrom coordinates: the span of stored atoms as R^m, where one more atom is one more coordinate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream._core.cholesky import Triangle
from nystream.dictionary.rows import Rows
from nystream.kernels.base import Kernel
from nystream.params import Params
from nystream.types import Array

__all__ = ["TOLERANCE", "Nested"]

TOLERANCE = 1e-10
"""An atom whose squared distance to the span is at most this part of k(a, a) lies in it, up to rounding."""


class Nested(Params):
    """Coordinates in the span of atoms a_1..a_m, from R lower triangular with R R' = K_mm (no ridge)::

        z(x) = R^-1 (k(a_1, x), ..., k(a_m, x))          z(x).z(x') = <P phi(x), P phi(x')>

    P projects on the span. A new atom a at squared distance delta^2 = k(a, a) - |z(a)|^2 > 0 appends the row
    (z(a), delta) to R. Coordinates that any point had stay as they are; it gains (k(a, x) - z(x).z(a)) / delta.
    That is why R is a Cholesky factor and not an eigen-decomposition: growing the space is appending.

    Cost: O(m d + m^2) a row, blocks as one kernel block and one triangular solve; O(m^2) memory.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import Nested
    >>> from nystream.kernels import Gaussian
    >>> atoms = Nested(Gaussian(1.0))
    >>> atoms.start(1)
    >>> [atoms.append(np.array([a])) for a in (0.0, 1.0, 0.0)]
    [True, True, False]
    >>> Z = atoms.coordinates(np.array([[0.0], [1.0]]))
    >>> (Z @ Z.T).round(3).tolist()
    [[1.0, 0.607], [0.607, 1.0]]
    """

    points_: Rows
    _factor: Triangle

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def start(self, d: int) -> None:
        """No atoms yet; points have d columns."""
        self.points_ = Rows(d)
        self._factor = Triangle()

    @property
    def n(self) -> int:
        """Atoms, which is also the number of coordinates."""
        return self._factor.n

    @property
    def points(self) -> Array:
        """The atoms, (m, d)."""
        return self.points_.view

    @property
    def matrix(self) -> Array:
        """A copy of R, (m, m)."""
        return self._factor.matrix

    @property
    def nbytes(self) -> int:
        return self.points_.nbytes + self._factor.nbytes

    def coordinates(self, X: Array, out: Array | None = None) -> Array:
        """z(x) for every row of X, (n, m); written to `out` (C-ordered) if given."""
        if not self.n:
            return np.empty((len(X), 0)) if out is None else out
        K = self.kernel(X, self.points)
        if out is None:
            return self._factor.solve(np.ascontiguousarray(K, dtype=np.float64))
        out[:] = K
        return self._factor.solve(out)

    def row(self, x: Array) -> Array:
        """z(x) for one row, (m,)."""
        if not self.n:
            return np.empty(0)
        k = np.ascontiguousarray(self.kernel.row(self.points, x), dtype=np.float64)
        return self._factor.solve(k[None])[0]

    def whiten(self, rows: Array) -> Array:
        """R^-1 k for rows k (n, m) of kernel values between a point and the atoms: its coordinates. In place."""
        return self._factor.solve(rows)

    def coefficients(self, Z: Array) -> Array:
        """R^-T z for every row z (n, m): P phi as a combination of the atoms' features. In place."""
        return self._factor.solve(Z, transposed=True)

    def residual(self, X: Array, Z: Array | None = None) -> Array:
        """k(x, x) - |z(x)|^2 >= 0, the squared distance of phi(x) to the span, (n,). Z: the coordinates, if known."""
        if Z is None:
            Z = self.coordinates(X)
        return np.maximum(self.kernel.diag(X) - np.einsum("ij,ij->i", Z, Z), 0.0)

    def append(self, x: Array, z: Array | None = None) -> bool:
        """Make x an atom; z is `row(x)` if known. False, and no change, where phi(x) is in the span already."""
        if z is None:
            z = self.row(x)
        k = float(self.kernel.diag(x[None])[0])
        squared = k - float(z @ z)
        if not squared > TOLERANCE * k:  # also k = 0, and NaN
            return False
        self._factor.append(z[None], np.array([[math.sqrt(squared)]]))
        self.points_.append(x)
        return True

    def extend(self, X: Array) -> int:
        """Append the rows of X in order, skipping those in the span; how many became atoms."""
        return sum(self.append(x) for x in X)

    def border(self, X: Array, Z: Array, C: Array) -> None:
        """Append all rows of X: Z their coordinates so far, C C' = K(X, X) - Z Z' with C lower triangular."""
        self._factor.append(np.ascontiguousarray(Z), np.ascontiguousarray(C))
        self.points_.extend(X)

    def last_coordinate(self, X: Array, Z: Array) -> Array:
        """What the newest atom adds to rows X whose m - 1 older coordinates are Z: (k(a, x) - z(x).z(a)) / delta."""
        last = self.matrix[-1]
        return (self.kernel.row(X, self.points[-1]) - Z @ last[:-1]) / last[-1]

    def embedding(self, other: Nested) -> Array:
        """T (m, m of the other) with orthonormal columns where the other's span is part of this one: z = T z_other.

        T = R^-1 K R_other^-T, K the kernel between the atoms of the two.
        """
        Z = np.ascontiguousarray(self.coordinates(other.points).T)
        return other._factor.solve(Z)

    def widen(self, d: int) -> None:
        """Points have d columns from now on, the new ones 0 in every atom; kernels of differences or products agree."""
        points = Rows(d)
        points.extend(np.hstack([self.points, np.zeros((self.n, d - self.points_.d))]))
        self.points_ = points

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return {**state, "factor_": self._factor.matrix} if state else state

    def _restore(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "factor_" in state:
            self._factor = Triangle(state.pop("factor_"))
        super()._restore(state)
