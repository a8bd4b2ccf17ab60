"""Cut an iterator of blocks: equal sizes, a beginning, an end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from nystream.runtime.types import Array

__all__ = ["Block", "after", "first", "recut"]

Block: TypeAlias = tuple[Array, Array]


def recut(chunks: Iterator[Block], size: int) -> Iterator[Block]:
    """Yield blocks of exactly `size` rows and a rest. Rows are copied only if a block spans two source blocks."""
    held: list[Block] = []
    missing = size
    for X, Y in chunks:
        start = 0
        if held and len(X) >= missing:
            held.append((X[:missing], Y[:missing]))
            yield _joined(held)
            held, start, missing = [], missing, size
        if not held:
            while len(X) - start >= size:
                yield X[start : start + size], Y[start : start + size]
                start += size
        if start < len(X):
            held.append((X[start:], Y[start:]))
            missing -= len(X) - start
    if held:
        yield _joined(held)


def first(chunks: Iterator[Block], n: int) -> Iterator[Block]:
    """Yield the first n rows, without reading more of the source."""
    while n > 0:
        block = next(chunks, None)
        if block is None:
            return
        X, Y = block
        yield X[:n], Y[:n]
        n -= len(X)


def after(chunks: Iterator[Block], n: int) -> Iterator[Block]:
    """Yield all rows except the first n."""
    for X, Y in chunks:
        if n < len(X):
            yield X[n:], Y[n:]
        n = max(n - len(X), 0)


def _joined(parts: list[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([X for X, _ in parts]), np.concatenate([Y for _, Y in parts])
