"""Base of kernels whose values are computed by the compiled core."""

from __future__ import annotations

import math
import sys

from nystream._core.kernels import KernelRows
from nystream.kernels.base import Kernel
from nystream.runtime.types import Array

__all__ = ["CompiledKernel", "rate"]


class CompiledKernel(Kernel):
    """A kernel whose values the compiled core computes. Subclasses set `_rows` in their constructor.

    Arrays may be C- or F-ordered, of floats or integers. The value of a pair does not depend on the other rows of the
    call: `k(X, Y)`, `k(Y, X).T` and `k.row` agree bit for bit.
    """

    _rows: KernelRows

    def __call__(self, X: Array, Y: Array) -> Array:
        return self._rows.block(X, Y)

    def row(self, X: Array, x: Array) -> Array:
        return self._rows.row(X, x)

    def diag(self, X: Array) -> Array:
        return self._rows.diag(X)

    @property
    def compiled(self) -> KernelRows:
        return self._rows


def rate(value: float) -> float:
    """Return the nearest finite number above 0: 0 times an infinite distance would be NaN."""
    return sys.float_info.max if math.isinf(value) else max(value, sys.float_info.min)
