"""Nested Nystrom coordinates in the span of stored atoms. One more atom appends one more coordinate."""

from __future__ import annotations

import math

import numpy as np

from nystream._core.linalg import NestedFactor
from nystream.dictionary.factored import FactoredPoints
from nystream.dictionary.rows import Rows
from nystream.kernels.base import Kernel
from nystream.runtime.types import Array

__all__ = ["TOLERANCE", "Nested"]

TOLERANCE = 1e-10
"""An atom whose squared distance to the span is at most this part of k(a, a) lies in it, up to rounding."""


class Nested(FactoredPoints[NestedFactor]):
    """Coordinates in the span of atoms a_1..a_m, from R lower triangular with R R' = K_mm (no ridge)::

        z(x) = R^-1 (k(a_1, x), ..., k(a_m, x))          z(x).z(x') = <P phi(x), P phi(x')>

    P projects on the span. A new atom a at squared distance delta^2 = k(a, a) - |z(a)|^2 > 0 appends the row
    (z(a), delta) to R. The coordinates of a point do not change; it gets one more, (k(a, x) - z(x).z(a)) / delta.
    With an eigen-decomposition in place of the Cholesky factor R, all coordinates would change.

    Cost: O(m d + m^2) a row, blocks as one kernel block and one triangular solve; O(m^2) memory. The coordinates of a
    row are the same bits in any block if the kernel's values are. This matters because nearly dependent atoms amplify
    rounding.

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

    _kind = NestedFactor

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def start(self, d: int) -> None:
        """Start without atoms, for points of d columns."""
        self.points_ = Rows(d)
        self._factor = NestedFactor()

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.points_.nbytes + self._factor.nbytes

    @property
    def width(self) -> int:
        """Columns of padded coordinates: a multiple of 8, more than m."""
        return self._factor.width

    def coordinates(self, X: Array, out: Array | None = None) -> Array:
        """Return z(x) for every row of X, (n, m), in `out` (C-ordered) if given."""
        if out is None:
            out = np.empty((len(X), self.n))
        return self._factor.forward(self.values(X), out)[0]

    def row(self, x: Array) -> Array:
        """Return z(x) for one row, (m,)."""
        return self.forward_row(self.values_row(x))[0][: self.n]

    def values(self, X: Array) -> Array:
        """Return the kernel values (n, m) between the rows of X and the atoms."""
        return np.ascontiguousarray(self.kernel(X, self.points), dtype=np.float64) if self.n else np.empty((len(X), 0))

    def values_row(self, x: Array) -> Array:
        """Return the kernel values (m,) between x and the atoms."""
        return np.ascontiguousarray(self.kernel.row(self.points, x), dtype=np.float64) if self.n else np.empty(0)

    def forward(self, values: Array) -> tuple[Array, Array]:
        """Return coordinates (n, width), 0 beyond m, and |z|^2 (n,) for kernel values (n, m)."""
        return self._factor.forward(values)

    def forward_row(self, values: Array) -> tuple[Array, float]:
        """Return coordinates (width,) and |z|^2 for the kernel values (m,) of one row; the same bits as `forward`."""
        return self._factor.forward_row(values)

    def coefficients(self, Z: Array) -> Array:
        """Return R^-T z (n, width) for every row z: P phi as a combination of the atoms' features."""
        return self._factor.backward(Z)

    def residual(self, X: Array, Z: Array | None = None) -> Array:
        """Return k(x, x) - |z(x)|^2 >= 0 (n,), the squared distance to the span. Z: the coordinates, if known."""
        if Z is None:
            Z = self.coordinates(X)
        return np.maximum(self.kernel.diag(X) - np.einsum("ij,ij->i", Z, Z), 0.0)

    def append(self, x: Array, z: Array | None = None, share: float = TOLERANCE) -> bool:
        """Make x an atom; z is `row(x)`, if known. Return False, without a change, if phi(x) is in the span.

        It is in the span if at most `share` of its squared norm k(x, x) lies outside.
        """
        if z is None:
            full, square = self.forward_row(self.values_row(x))
            z = full[: self.n]
        else:
            square = float(z @ z)
        k = float(self.kernel.diag(x[None])[0])
        if not k - square > share * k:  # also k = 0, and NaN
            return False
        self._factor.append(z, math.sqrt(k - square))
        self.points_.append(x)
        return True

    def extend(self, X: Array) -> int:
        """Append the rows of X in order, except those in the span. Return how many became atoms."""
        return sum(self.append(x) for x in X)

    def embedding(self, other: Nested) -> Array:
        """Return T (m, m of the other) with z = T z_other; its columns are orthonormal if this span contains the other.

        T = R^-1 K R_other^-T, K the kernel between the atoms of the two.
        """
        Z = np.ascontiguousarray(self.coordinates(other.points).T)
        return other._factor.forward(Z, np.empty_like(Z))[0]
