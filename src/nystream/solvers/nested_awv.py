"""Least squares on features that are appended while it runs."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np

from nystream.runtime.deferred import linalg
from nystream.runtime.types import Array
from nystream.solvers.awv import AWV
from nystream.solvers.meter import SLACK

__all__ = ["NestedAWV"]


class NestedAWV(AWV):
    """`AWV` whose A = L D L' can be bordered: a new feature enters with any products with the past rows.

    `widen`, from `AWV`, appends features that are 0 in all past rows. `border` then says what they really are; with
    c = sum w z z_i, a = lam + sum w z_i^2, t = sum w z_i y over the past rows of a new feature i::

        L_i = (D^-1 L^-1 c)',      d_i = max(a - c' A^-1 c, lam),      q_i = (t - c' A^-1 b) / d_i

    d_i is a Schur complement, at least lam in exact arithmetic: nothing can break down. O(r^2).

    Parameters
    ----------
    lam, vovk, clip
        As in `AWV`.
    """

    def border(self, i: int, products: Array, square: float, targets: Array) -> Array:
        """Set the products (i,) of feature i, 0 in all past rows so far, with the features before it.

        square is a, the ridge included; targets (K,) is t. Returns the decrease (K,) of the best in hindsight.
        """
        L, d = self.factor[:i, :i], self.pivots[:i]
        whitened = linalg.solve_triangular(L, products, lower=True, unit_diagonal=True) if i else products
        row = whitened / d
        pivot = max(square - float(whitened @ row), self.lam)
        self.dinv_[i] = 1 / pivot
        self.q_[i, : self.outputs_] = (targets - whitened @ self._q[:i]) / pivot
        self._set_row(i, row)
        return pivot * self.q_[i, : self.outputs_] ** 2

    def border_alone(self, i: int, square: float, targets: Array) -> None:
        """Do `border` for a feature whose products with earlier ones are all 0, with square >= lam. O(K)."""
        self.dinv_[i] = 1 / square
        self.q_[i, : self.outputs_] = targets / square

    def reveal(self, i: int, products: Array, square: float, targets: Array) -> None:
        """Do `border` and update the meter, because the best in hindsight may use the new feature in past rounds.

        The decrease of the best loss is added to the regret bound: the sum of the rounds' bounds and of these
        decreases telescopes to loss - best.
        """
        gain = self.border(i, products, square, targets)
        gain = np.minimum(gain, self.meter_.best)
        self.meter_.best[:] -= gain
        self.meter_.columns_[SLACK] += gain

    def carried(self, T: Array, dim: int) -> tuple[Self, float]:
        """Return the model on features T z, T (m, n) with |T| <= 1, in `dim` columns, and the lost part of sum w |z|^2.

        A = lam I + T (A - lam I) T' and b = T b are exact: they are the sums over the learnt rows.
        """
        m, n = T.shape
        moments = self.matrix[:n, :n] - self.lam * np.eye(n)
        A = self.lam * np.eye(dim)
        A[:m, :m] += T @ moments @ T.T
        b = np.zeros((dim, self.outputs_))
        b[:m] = T @ self.right_side[:n]
        twin = type(self)(self.lam, vovk=self.vovk, clip=self.clip, average=self.average)
        twin.start(dim, self.outputs_)
        if self.average:
            twin.sum_[:m] = T @ self.sum_[:n]
            twin.rounds_ = self.rounds_
        twin._take(A, b)
        twin.meter_ = copy.deepcopy(self.meter_)
        # best = sum w y^2 - b'A^-1 b, and the labels are the same: the best rises by what b'A^-1 b falls
        fall = np.einsum("ik,ik->k", self.right_side, self.weights) - np.einsum("ik,ik->k", b, twin.weights)
        twin.meter_.best[:] += np.maximum(fall, 0.0)
        twin._bind()
        return twin, max(float(np.trace(moments) - np.vdot(T @ moments, T)), 0.0)

    def _set_row(self, i: int, row: Array) -> None:
        """Set L[i, :i] in the 8 x 8 tiles of the state: column-major, by column block, each from its diagonal down."""
        padded = np.zeros(8 * (i // 8 + 1))
        padded[:i] = row
        start = 0
        for k in range(i // 8 + 1):
            self.tiles_[start + i // 8 - k, :, i % 8] = padded[8 * k : 8 * k + 8]
            start += self._blocks - k
