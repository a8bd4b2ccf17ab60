"""Nystrom features: coordinates in the span of landmark points, for any kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream.data.inputs import as_block
from nystream.dictionary.nested import Nested
from nystream.features.base import refuse_large
from nystream.features.nested import NestedFeatures
from nystream.kernels.base import Kernel, checked_kernel
from nystream.runtime.params import at_least
from nystream.runtime.types import Array, Change

__all__ = ["Nystrom"]


class Nystrom(NestedFeatures):
    """z(x) with z(x).z(x') = <P phi(x), P phi(x')>, P the projection on the span of landmarks a_1..a_m::

        R R' = K_mm        z(x) = R^-1 (k(a_1, x), ..., k(a_m, x))

    |z(x)|^2 <= k(x, x), with equality on the landmarks: there the features reproduce the kernel exactly. R is a
    Cholesky factor that grows by rows, so the features of m landmarks are the first m features of more. Landmarks
    that depend on earlier ones (duplicates) are skipped: `dim` may be below the number given.
    O(m d + m^2) a row, O(m d + m^2) memory.

    Parameters
    ----------
    kernel : Kernel
        Any kernel, including your own.
    landmarks : array (m, d) or int
        The points; or the number of landmarks to take from the stream: the first rows that are independent of earlier
        ones. While landmarks are collected, `observe` returns for each new one a `Change` that appends a coordinate
        (the identity with a row of zeros below it), which a solver follows exactly. A row is transformed with the
        landmarks so far, including itself. `fit` takes the first rows of X.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.features import Nystrom
    >>> from nystream.kernels import Gaussian
    >>> X = np.array([[0.0], [0.0], [1.0], [2.0]])
    >>> Z = Nystrom(Gaussian(1.0), landmarks=3).fit_transform(X)
    >>> Z.shape
    (4, 3)
    >>> bool(np.allclose(Z @ Z.T, Gaussian(1.0)(X, X)))
    True

    References
    ----------
    Williams, Seeger. Using the Nystrom Method to Speed Up Kernel Machines. NIPS 2000. (There with an
    eigen-decomposition of K_mm; the features here are those up to a rotation.)
    """

    bounded: ClassVar[bool] = False  # polynomial kernels are not bounded, and your own kernel may not be

    def __init__(self, kernel: Kernel, landmarks: Any) -> None:
        self.kernel = kernel
        self.landmarks = landmarks
        checked_kernel(kernel)
        if self._fixed is None:
            at_least("landmarks", landmarks, 1)

    @property
    def _fixed(self) -> Array | None:
        """The given landmarks, or None if they are taken from the stream."""
        return as_block(self.landmarks, name="landmarks") if np.ndim(self.landmarks) else None

    def start(self, d: int) -> None:
        points = self._fixed
        if points is not None and points.shape[1] != d:
            raise ValueError(f"landmarks have {points.shape[1]} columns, but the rows have {d}")
        nested = Nested(self.kernel)
        nested.start(d)
        if points is not None and not nested.extend(points):
            raise ValueError("no landmark can be used: k(a, a) is 0 for all of them")
        self.nested_ = nested
        self.missed_ = 0.0
        self.d_ = d

    @property
    def settled(self) -> bool:
        """Whether the map will never move again."""
        return self.dim == self.landmarks if isinstance(self.landmarks, (int, np.integer)) else True

    @property
    def nbytes(self) -> int:
        return self.nested_.nbytes if self.d_ else 0

    def check(self, X: Array) -> None:
        refuse_large(self.kernel.diag(X), "k(x, x)", "scale the inputs, or correct the kernel")

    def _wants(self, X: Array) -> Any:
        return True

    def observe(self, x: Array) -> Change | None:
        """Take x as a landmark while some are wanted and x is independent of them."""
        return None if self.settled else self._append(x)

    def widen(self, d: int) -> None:
        self.nested_.widen(d)
        self.d_ = d
