"""Nested Nystrom coordinates: the span of stored atoms as R^m, where one more atom is one more coordinate."""

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
    (z(a), delta) to R. Coordinates that any point had stay as they are; it gains (k(a, x) - z(x).z(a)) / delta.
    That is why R is a Cholesky factor and not an eigen-decomposition: growing the space is appending.

    Cost: O(m d + m^2) a row, blocks as one kernel block and one triangular solve; O(m^2) memory. The coordinates of a
    row do not depend on the rows they are computed with, to the last bit, if the kernel's values do not: where atoms
    are nearly dependent, rounding is amplified, and blocks would tell from rows.

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
        """No atoms yet; points have d columns."""
        self.points_ = Rows(d)
        self._factor = NestedFactor()

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.points_.nbytes + self._factor.nbytes

    @property
    def width(self) -> int:
        """A multiple of 8, more than m: columns of coordinates that come with zeros to spare."""
        return self._factor.width

    def coordinates(self, X: Array, out: Array | None = None) -> Array:
        """z(x) for every row of X, (n, m); written to `out` (C-ordered) if given."""
        if out is None:
            out = np.empty((len(X), self.n))
        return self._factor.forward(self.values(X), out)[0]

    def row(self, x: Array) -> Array:
        """z(x) for one row, (m,)."""
        return self.forward_row(self.values_row(x))[0][: self.n]

    def values(self, X: Array) -> Array:
        """(n, m) kernel values between the rows of X and the atoms."""
        return np.ascontiguousarray(self.kernel(X, self.points), dtype=np.float64) if self.n else np.empty((len(X), 0))

    def values_row(self, x: Array) -> Array:
        """(m,) kernel values between x and the atoms."""
        return np.ascontiguousarray(self.kernel.row(self.points, x), dtype=np.float64) if self.n else np.empty(0)

    def forward(self, values: Array) -> tuple[Array, Array]:
        """From kernel values (n, m): coordinates (n, width), 0 beyond m, and |z|^2 (n,)."""
        return self._factor.forward(values)

    def forward_row(self, values: Array) -> tuple[Array, float]:
        """From the kernel values (m,) of one row: coordinates (width,), and |z|^2; the same bits as `forward`."""
        return self._factor.forward_row(values)

    def coefficients(self, Z: Array) -> Array:
        """R^-T z for every row z (n, m or more): P phi as a combination of the atoms' features, (n, width)."""
        return self._factor.backward(Z)

    def residual(self, X: Array, Z: Array | None = None) -> Array:
        """k(x, x) - |z(x)|^2 >= 0, the squared distance of phi(x) to the span, (n,). Z: the coordinates, if known."""
        if Z is None:
            Z = self.coordinates(X)
        return np.maximum(self.kernel.diag(X) - np.einsum("ij,ij->i", Z, Z), 0.0)

    def append(self, x: Array, z: Array | None = None, share: float = TOLERANCE) -> bool:
        """Make x an atom; z is `row(x)` if known. False, and no change, where phi(x) is in the span already.

        It is so if at most `share` of k(x, x), the squared norm of phi(x), lies outside.
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
        """Append the rows of X in order, skipping those in the span; how many became atoms."""
        return sum(self.append(x) for x in X)

    def embedding(self, other: Nested) -> Array:
        """T (m, m of the other) with orthonormal columns where the other's span is part of this one: z = T z_other.

        T = R^-1 K R_other^-T, K the kernel between the atoms of the two.
        """
        Z = np.ascontiguousarray(self.coordinates(other.points).T)
        return other._factor.forward(Z, np.empty_like(Z))[0]
