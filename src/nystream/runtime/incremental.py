"""Incremental tasks: generators that yield the cost of each piece, so that long work is spread over many rows."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from nystream._core.kernels import KernelRows
from nystream._core.linalg import factor_columns, pivot_columns
from nystream.runtime.types import Array

__all__ = [
    "CALL",
    "PIECE",
    "Task",
    "blank",
    "factoring",
    "kernel_matrix",
    "median",
    "pairs",
    "panel",
    "pivoting",
    "run_to_completion",
    "touched",
]

T = TypeVar("T")

Task: TypeAlias = Generator[float, None, T]
"""Yields the cost of each piece in multiply-adds of a matrix product, or what takes as long. Costs depend on sizes
alone, so the ends of slices do not depend on the machine."""

PIECE = 1.2e8
"""Operations of a piece of a factorisation or a kernel matrix: some 3 ms where a processor does 40 in a nanosecond."""
CALL = 4e5
"""Operations that the interpreter's own time for a few calls counts as."""
ENTRY, COLUMN, MEDIAN = 50.0, 4.0, 500.0
"""Operations for a kernel value, for each of its columns, and for a distance of which the median is sought."""
TOUCHED, HELD = 600.0, 1 << 22
"""Operations for a number of a matrix that is written first, where the system has to hand out its memory: that of one
with fewer numbers than these, 32 MB, the allocator holds."""
SAMPLE = 400
"""Rows whose distances that is, at most: see `nystream.scaling.median_distance`."""


def run_to_completion(work: Task[T]) -> T:
    """Run a task to its end and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


def pairs(n: int, m: int, d: int) -> float:
    """Operations of (n, m) kernel values of rows with d columns."""
    return n * m * (ENTRY + COLUMN * d)


def median(n: int, d: int) -> float:
    """Operations of the median distance of n rows with d columns."""
    return CALL + min(n, SAMPLE) ** 2 * (ENTRY + COLUMN * d + MEDIAN)


def panel(dim: int) -> int:
    """Columns that are factored at a time, of a matrix of this size: all of a small one, else a multiple of 8."""
    width = int(PIECE / dim**2)
    return dim if width >= dim else max(8, width // 8 * 8)


def kernel_matrix(kernel: KernelRows, X: Array, Y: Array) -> Task[Array]:
    """(n, m) kernel values."""
    rows = max(1, int(PIECE / pairs(1, max(1, len(Y)), X.shape[1])))
    if rows >= len(X):
        K = kernel.block(X, Y)
        yield CALL + pairs(len(X), len(Y), X.shape[1])
        return K
    K = np.empty((len(X), len(Y)))
    for i in range(0, len(X), rows):
        K[i : i + rows] = kernel.block(X[i : i + rows], Y)
        yield CALL + pairs(min(rows, len(X) - i), len(Y), X.shape[1])
    return K


def touched(numbers: int) -> float:
    """Operations for each number of an array of so many that is written first."""
    return TOUCHED if numbers > HELD else 0.0


def blank(dim: int) -> Task[Array]:
    """Zeros (dim, dim); the memory of a large matrix is not asked for all at once."""
    each = touched(dim * dim)
    if not each:
        return np.zeros((dim, dim))
    A, rows = np.empty((dim, dim)), max(1, int(PIECE / (each * dim)))
    for i in range(0, dim, rows):
        A[i : i + rows] = 0.0
        yield CALL + each * min(rows, dim - i) * dim
    return A


def factoring(A: Array) -> Task[int]:
    """The Cholesky factor C of A (dim, dim) = C C', in the lower triangle of A, which alone is read.

    Returns 0, or the number (from 1) of the column at which A is not positive definite.
    """
    dim, width = len(A), panel(len(A))
    for i in range(0, dim, width):
        stop = min(dim, i + width)
        failed = factor_columns(A, i, stop)
        if failed:
            return failed
        yield CALL + float(stop - i) * (dim - i) ** 2
    return 0


def pivoting(A: Array, least: float) -> Task[npt.NDArray[np.int32]]:
    """The columns of A (dim, dim), whose upper triangle is used up, in the order of a Cholesky factor with pivoting.

    Columns of which no more than `least` is left beside those before them are not among them.
    """
    dim, order = len(A), np.arange(len(A), dtype=np.int32)
    width, found = min(64, panel(dim)), 0
    for i in range(0, dim, width):
        stop = min(dim, i + width)
        found = pivot_columns(A, order, i, stop, least)
        yield CALL + 2.0 * (stop - i) * (dim - i) ** 2
        if found < stop:
            break
    return order[:found]
