"""A positive definite matrix that only grows, as the factor A = L D L' with a right-hand side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nystream._core.linalg import aligned_zeros, pack_columns, right_side
from nystream.runtime.deferred import linalg
from nystream.runtime.incremental import Task, factor_matrix, first_write_cost, panel_width, run_to_completion
from nystream.runtime.params import Params, affordable, positive
from nystream.runtime.types import Array

__all__ = ["Factored"]

MOVED, READ = 80.0, 40.0
"""Operations for moving a number into its tile, and for reading one from memory."""


class Factored(Params):
    """The state of the second-order solvers: A = lam I + sum w z z' as L D L', and b as q = D^-1 L^-1 b.

    The compiled passes of simd/ldl_kernel.h work on its arrays. Learning a row multiplies every pivot by a number that
    is at least 1, also after rounding. So D >= lam, and A stays positive definite for any rows and ridge. r^2/2 numbers
    for r features.

    Parameters
    ----------
    lam : float, default 1.0
        Ridge, > 0.
    """

    dim_: int
    outputs_: int
    tiles_: Array
    """L in 8 x 8 tiles, the layout of simd/ldl_kernel.h; `factor` is the plain matrix."""
    dinv_: Array
    """1/D, padded to a multiple of 8."""
    q_: Array
    """D^-1 L^-1 b, rows and columns padded to multiples of 8."""

    def __init__(self, lam: float = 1.0) -> None:
        self.lam = positive("lam", lam)

    def start(self, dim: int, outputs: int) -> None:
        """Start with A = lam I in R^dim and b = 0."""
        blocks = -(-dim // 8)
        affordable(
            256 * blocks * (blocks + 1),
            f"the second-order state of {dim} features",
            "use fewer features: a lower degree, a smaller dim; or SketchedONS",
        )
        self.dim_, self.outputs_ = dim, outputs
        self.tiles_ = aligned_zeros(blocks * (blocks + 1) // 2, 8, 8)
        self.dinv_ = aligned_zeros(8 * blocks)
        self.dinv_ += 1 / self.lam
        self.q_ = aligned_zeros(8 * blocks, padded_width(outputs))

    # -- contents --------------------------------------------------------------------------------------------------
    @property
    def weights(self) -> Array:
        """The weights A^-1 b (dim, K). O(dim^2), computed when they are read."""
        solution: Array = linalg.solve_triangular(self.factor, self._q, lower=True, trans="T", unit_diagonal=True)
        return solution

    @property
    def factor(self) -> Array:
        """A copy of L (dim, dim), unit lower triangular."""
        L = np.zeros((8 * self._blocks, 8 * self._blocks))
        for k, tiles in enumerate(self._columns()):
            L[8 * k :, 8 * k : 8 * k + 8] = tiles.transpose(0, 2, 1).reshape(-1, 8)
        np.fill_diagonal(L, 1.0)
        return L[: self.dim_, : self.dim_].copy()

    @property
    def pivots(self) -> Array:
        """The pivots D (dim,)."""
        return 1 / self.dinv_[: self.dim_]

    @property
    def matrix(self) -> Array:
        """The matrix A (dim, dim) = lam I + sum of w z z'."""
        L = self.factor
        product: Array = (L * self.pivots) @ L.T
        return product

    @property
    def right_side(self) -> Array:
        """The right side b (dim, K)."""
        return self.factor @ (self.pivots[:, None] * self._q)

    def part(self, places: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return A (m, m) and b (m, K) of these features only, without forming the whole of A."""
        L = np.zeros((len(places), 8 * self._blocks))
        for k, tiles in enumerate(self._columns()):
            below = places >= 8 * k
            rows = tiles.transpose(0, 2, 1).reshape(-1, 8)
            L[below, 8 * k : 8 * k + 8] = rows[places[below] - 8 * k]
        L[np.arange(len(places)), places] = 1.0
        scaled = L[:, : self.dim_] * self.pivots
        return scaled @ L[:, : self.dim_].T, scaled @ self._q

    @property
    def nbytes(self) -> int:
        return self.tiles_.nbytes + self.dinv_.nbytes + self.q_.nbytes

    # -- changes ----------------------------------------------------------------------------------------------------
    def widen(self, dim: int) -> None:
        """Append features up to `dim`, 0 in every row so far: A gains lam on its diagonal, b zeros. O(dim^2)."""
        if dim == self.dim_:
            return
        columns, old, dinv, q = list(self._columns()), self.dim_, self.dinv_, self.q_
        Factored.start(self, dim, self.outputs_)
        for mine, theirs in zip(self._columns(), columns, strict=False):
            mine[: len(theirs)] = theirs
        self.dinv_[:old] = dinv[:old]
        self.q_[: len(q)] = q

    def carry(self, T: Array) -> None:
        """Follow T (new, dim) with orthonormal columns: A <- T A T' + lam (I - T T'), A^-1 b <- T A^-1 b. O(new^3).

        The new factor is the triangle of a QR factorisation, in which no sum of squares is formed.
        """
        new, old = T.shape
        if np.array_equal(T, np.eye(new, old)):
            self.widen(new)
            return
        roots = np.sqrt(self.pivots)[:, None] * (self.factor.T @ T.T)
        outside = np.sqrt(self.lam) * (np.eye(new) - T @ T.T)
        weights = T @ self.weights
        R: Array = np.linalg.qr(np.vstack([roots, outside]))[1]
        diagonal = np.copysign(np.maximum(np.abs(R.diagonal()), np.sqrt(self.lam)), R.diagonal())
        Factored.start(self, new, self.outputs_)
        L = np.zeros((8 * self._blocks, 8 * self._blocks))
        L[:new, :new] = np.tril((R / diagonal[:, None]).T, -1)
        for k, tiles in enumerate(self._columns()):
            tiles[:] = L[8 * k :, 8 * k : 8 * k + 8].reshape(-1, 8, 8).transpose(0, 2, 1)
        self.dinv_[:new] = diagonal**-2.0
        self._q[:] = (R @ weights) / diagonal[:, None]

    # -- machinery -------------------------------------------------------------------------------------------------
    @property
    def _blocks(self) -> int:
        return len(self.dinv_) // 8

    @property
    def _q(self) -> Array:
        return self.q_[: self.dim_, : self.outputs_]

    def _columns(self) -> Iterator[Array]:
        """Yield the tiles of each column block, from the diagonal down."""
        start = 0
        for k in range(self._blocks):
            stop = start + self._blocks - k
            yield self.tiles_[start:stop]
            start = stop

    def _take(self, A: Array, b: Array, *, overwrite: bool = False) -> None:
        """Replace the state by the factor of A (dim, dim) and b (dim, K). `overwrite`: both may be overwritten."""
        run_to_completion(self._taking(*((A, b) if overwrite else (np.array(A, order="C"), np.array(b, order="C")))))

    def _taking(self, A: Array, b: Array) -> Task[None]:
        """Do `_take` in pieces. A and b, C-ordered, are overwritten. Only the lower triangle of A is read.

        If A is not positive definite, an error is raised and the state is not changed.
        """
        failed = yield from factor_matrix(A)
        if failed:
            raise ValueError(f"A is not positive definite, by rounding, at feature {failed - 1}; use a larger ridge")
        width = panel_width(self.dim_)
        for i in range(0, self.dim_, width):
            pack_columns(A, i, min(self.dim_, i + width), self.tiles_, self.dinv_)
            yield (MOVED + first_write_cost(self.tiles_.size)) * width * (self.dim_ - i)
        right_side(A, b, self.q_)
        yield READ * self.dim_**2 + float(self.dim_**2 * b.shape[1])

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        for name in ("tiles_", "dinv_", "q_"):  # aligned copies, so the caller's memory is not shared
            if name in state:
                fresh = aligned_zeros(*state[name].shape)
                fresh[...] = state[name]
                setattr(self, name, fresh)


def padded_width(outputs: int) -> int:
    """Return the number of columns of q for this number of outputs."""
    return -(-outputs // 8) * 8
