"""Kernels whose blocks and rows are computed by the compiled core."""

from __future__ import annotations

import math
import sys

from nystream._core.kernels import KernelRows
from nystream.kernels.base import Kernel
from nystream.runtime.types import Array

__all__ = ["CompiledKernel", "rate"]


class CompiledKernel(Kernel):
    """Subclasses set `_rows` in their constructor.

    Any C- or F-ordered float or integer arrays are taken. The value of a pair does not depend on the rows that are
    computed with it: `k(X, Y)`, `k(Y, X).T` and `k.row` agree bit for bit.
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
    """The nearest finite number above 0: a rate of 0 or infinity times a distance of infinity or 0 would be NaN."""
    return sys.float_info.max if math.isinf(value) else max(value, sys.float_info.min)
