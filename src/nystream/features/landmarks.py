"""Kernel values at landmarks as features: Nystrom without whitening, for solvers that use `penalty`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream.data.inputs import as_block
from nystream.features.base import FeatureMap, refuse_large
from nystream.kernels.base import Kernel, checked_kernel
from nystream.runtime.incremental import Task, kernel_matrix, pivot_matrix, run_to_completion
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["Landmarks"]


class Landmarks(FeatureMap):
    """z(x) = (k(a_1, x), ..., k(a_m, x)): functions f = sum_j w_j k(a_j, .) in their own coordinates.

    They are the functions of `Nystrom` features of the same landmarks, and |f|^2 = w' K_mm w, which is `penalty`. A
    solver with this penalty (`PKRR`, `PKAWV`) gives the same model as on `Nystrom`, without the triangular solve of
    O(m^2) for every row. A solver with the penalty |w|^2 gives another model. O(m d) a row, m d numbers of memory;
    O(m^3) once, at the start, to choose landmarks that are independent (a Cholesky factor with pivoting).

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    landmarks : array (m, d)
        The candidate points.
    tol : float, default 1e-10
        Points within this squared distance, times the largest k(a, a), of the span of those chosen before are left
        out: they would make K_mm singular. `dim` may thus be far below m if there are few columns or repeated rows.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream import PKRR
    >>> from nystream.features import Landmarks, Nystrom
    >>> from nystream.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> one = PKRR(Landmarks(Gaussian(1.0), X[:20]), lam=0.1).run(X, X[:, 0])
    >>> two = PKRR(Nystrom(Gaussian(1.0), X[:20]), lam=0.1).run(X, X[:, 0])
    >>> bool(np.allclose(one, two, atol=1e-6))
    True
    """

    bounded: ClassVar[bool] = False  # polynomial kernels are not bounded, and your own kernel may not be

    points_: Array

    def __init__(self, kernel: Kernel, landmarks: Any, *, tol: float = 1e-10) -> None:
        self.kernel = kernel
        self.landmarks = landmarks
        self.tol = positive("tol", tol, below=1.0)
        checked_kernel(kernel)
        as_block(landmarks, name="landmarks")

    def start(self, d: int) -> None:
        run_to_completion(self.starting(d))

    def starting(self, d: int) -> Task[None]:
        """Do `start` in pieces."""
        points = as_block(self.landmarks, name="landmarks")
        if points.shape[1] != d:
            raise ValueError(f"landmarks have {points.shape[1]} columns, but the rows have {d}")
        if self.kernel.compiled is not None:
            K = yield from kernel_matrix(self.kernel.compiled, points, points)
        else:
            K = np.array(self.kernel(points, points), dtype=np.float64, order="C")  # a copy, which is overwritten
        largest = float(K.diagonal().max())
        order = yield from pivot_matrix(K, self.tol * largest)
        if not largest > 0.0 or not len(order):
            raise ValueError("no landmark can be used: k(a, a) is 0 for all of them")
        self.points_ = points[order]  # in the order of the factor, where every pivot is above the tolerance
        self.d_ = d

    @property
    def dim(self) -> int:
        """Landmarks in use."""
        return len(self.points_) if self.d_ else 0

    @property
    def penalty(self) -> Array:
        """The matrix K_mm (dim, dim) of the landmarks in use, computed when it is read."""
        return np.asarray(self.kernel(self.points_, self.points_), dtype=np.float64)

    def check(self, X: Array) -> None:
        refuse_large(self.kernel.diag(X), "k(x, x)", "scale the inputs, or correct the kernel")

    def _map(self, X: Array, out: Array) -> None:
        out[:] = self.kernel(X, self.points_)

    def row(self, x: Array) -> Array:
        return np.ascontiguousarray(self.kernel.row(self.points_, x), dtype=np.float64)

    def widen(self, d: int) -> None:
        """Add columns that are 0 in every landmark. Kernels of differences or products do not change."""
        self.points_ = np.hstack([self.points_, np.zeros((len(self.points_), d - self.d_))])
        self.d_ = d
