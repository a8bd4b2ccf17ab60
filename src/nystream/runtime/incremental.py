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
    "allocate_zeros",
    "factor_matrix",
    "first_write_cost",
    "kernel_cost",
    "kernel_matrix",
    "median_cost",
    "panel_width",
    "pivot_matrix",
    "run_to_completion",
]

T = TypeVar("T")

Task: TypeAlias = Generator[float, None, T]
"""A generator that yields the cost of each piece, in multiply-adds of a matrix product. Costs depend on sizes only, so
slices end at the same places on every machine."""

PIECE = 1.2e8
"""Operations in one piece of a factorisation or of a kernel matrix: about 3 ms at 40 operations per nanosecond."""
CALL = 4e5
"""Cost of a few calls of the interpreter, in operations."""
ENTRY, COLUMN, MEDIAN = 50.0, 4.0, 500.0
"""Operations for one kernel value, for each of its columns, and for each distance in a median."""
TOUCHED, HELD = 600.0, 1 << 22
"""Operations for the first write of a number, if the system has to map its memory; and the size (32 MB) up to which the
allocator already holds the memory."""
SAMPLE = 400
"""Largest number of rows in a median distance: see `nystream.scaling.median_distance`."""


def run_to_completion(work: Task[T]) -> T:
    """Run a task to its end and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


def kernel_cost(n: int, m: int, d: int) -> float:
    """Return the cost of (n, m) kernel values of rows with d columns."""
    return n * m * (ENTRY + COLUMN * d)


def median_cost(n: int, d: int) -> float:
    """Return the cost of the median distance of n rows with d columns."""
    return CALL + min(n, SAMPLE) ** 2 * (ENTRY + COLUMN * d + MEDIAN)


def panel_width(dim: int) -> int:
    """Return the number of columns that are factored at a time: all of a small matrix, otherwise a multiple of 8."""
    width = int(PIECE / dim**2)
    return dim if width >= dim else max(8, width // 8 * 8)


def kernel_matrix(kernel: KernelRows, X: Array, Y: Array) -> Task[Array]:
    """Compute (n, m) kernel values in pieces."""
    rows = max(1, int(PIECE / kernel_cost(1, max(1, len(Y)), X.shape[1])))
    if rows >= len(X):
        K = kernel.block(X, Y)
        yield CALL + kernel_cost(len(X), len(Y), X.shape[1])
        return K
    K = np.empty((len(X), len(Y)))
    for i in range(0, len(X), rows):
        K[i : i + rows] = kernel.block(X[i : i + rows], Y)
        yield CALL + kernel_cost(min(rows, len(X) - i), len(Y), X.shape[1])
    return K


def first_write_cost(numbers: int) -> float:
    """Return the cost per number of the first write to an array of this size."""
    return TOUCHED if numbers > HELD else 0.0


def allocate_zeros(dim: int) -> Task[Array]:
    """Allocate zeros (dim, dim). The memory of a large matrix is requested in pieces."""
    each = first_write_cost(dim * dim)
    if not each:
        return np.zeros((dim, dim))
    A, rows = np.empty((dim, dim)), max(1, int(PIECE / (each * dim)))
    for i in range(0, dim, rows):
        A[i : i + rows] = 0.0
        yield CALL + each * min(rows, dim - i) * dim
    return A


def factor_matrix(A: Array) -> Task[int]:
    """Compute the Cholesky factor C of A (dim, dim) = C C' in place. Only the lower triangle of A is read and written.

    Returns 0, or the number (from 1) of the column at which A is not positive definite.
    """
    dim, width = len(A), panel_width(len(A))
    for i in range(0, dim, width):
        stop = min(dim, i + width)
        failed = factor_columns(A, i, stop)
        if failed:
            return failed
        yield CALL + float(stop - i) * (dim - i) ** 2
    return 0


def pivot_matrix(A: Array, least: float) -> Task[npt.NDArray[np.int32]]:
    """Return the columns of A (dim, dim) in the order of a pivoted Cholesky factorisation.

    The factorisation stops when all remaining pivots are at most `least`. The upper triangle of A is overwritten.
    """
    dim, order = len(A), np.arange(len(A), dtype=np.int32)
    width, found = min(64, panel_width(dim)), 0
    for i in range(0, dim, width):
        stop = min(dim, i + width)
        found = pivot_columns(A, order, i, stop, least)
        yield CALL + 2.0 * (stop - i) * (dim - i) ** 2
        if found < stop:
            break
    return order[:found]
