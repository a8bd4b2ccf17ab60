"""Feature maps that are coordinates in the span of stored points: `Nystrom` and `KORS`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nystream.data.inputs import as_block
from nystream.dictionary.nested import TOLERANCE, Nested
from nystream.features.base import FeatureMap
from nystream.kernels.base import Kernel
from nystream.runtime.types import Array, Change

__all__ = ["NestedFeatures"]


class NestedFeatures(FeatureMap):
    """Features z(x) = R^-1 (k(a_1, x), ..., k(a_m, x)) with R R' = K_mm, for points a_1..a_m of a subclass.

    A new point appends one coordinate, which is 0 in every row so far. `missed` is the part of k(x, x) outside the
    span, summed over the learnt rows.

    Subclasses define `start`, which sets `nested_`, `missed_` and `d_`; `settled`; `observe`; and `_wants`.
    """

    kernel: Kernel
    nested_: Nested
    missed_: float = 0.0

    def _wants(self, X: Array) -> Any:
        """Return whether `observe` would try to store each row of X (n, d): a mask (n,), or one bool for all."""
        raise NotImplementedError

    @property
    def dim(self) -> int:
        """Points that span the features."""
        return self.nested_.n if self.d_ else 0

    @property
    def points(self) -> Array:
        """The points that span the features, (dim, d)."""
        self._check_started()
        return self.nested_.points

    def _map(self, X: Array, out: Array) -> None:
        self.nested_.coordinates(X, out)

    def row(self, x: Array) -> Array:
        return self.nested_.row(x)

    def residual(self, X: Any) -> Array:
        """Return k(x, x) - |z(x)|^2 of every row (n,), its part outside the features."""
        self._check_started()
        return self.nested_.residual(as_block(X, self.d_))

    def growth(self, X: Array, Z: Array) -> Array | None:
        if self.settled:
            return None
        outside = self.nested_.residual(X, Z)
        return np.where(self._wants(X) & (outside > TOLERANCE * self.kernel.diag(X)), outside, 0.0)

    def _append(self, x: Array) -> Change | None:
        """Store x and append its coordinate. Return None, without a change, if x is in the span."""
        return Change(np.eye(self.dim, self.dim - 1)) if self.nested_.append(x) else None

    @property
    def missed(self) -> float | None:
        return self.missed_

    def note(self, X: Array, Z: Array | None = None, weights: Array | None = None) -> None:
        X = np.atleast_2d(X)
        residual = self.nested_.residual(X, None if Z is None else Z.reshape(len(X), -1))
        if weights is not None:
            residual = weights * residual
        self.missed_ = float(np.cumsum(np.append(self.missed_, residual))[-1])  # row after row, as in single steps

    def unnote(self, X: Array, weights: Array | None = None) -> None:
        residual = self.nested_.residual(X)
        self.missed_ = max(0.0, self.missed_ - float(residual.sum() if weights is None else weights @ residual))

    def unnote_all(self) -> None:
        self.missed_ = 0.0

    def pool(self, other: Self) -> None:
        self.missed_ += other.missed_
