"""Scalings of a stream's features: running, or fitted on its first rows and frozen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nystream.scaling import FrozenScale, RunningScale
from nystream.streams.cutting import Block

__all__ = ["rescale_blocks", "standardize_blocks"]


def standardize_blocks(chunks: Iterator[Block]) -> Iterator[Block]:
    """Yield each row minus the mean and over the deviation of the rows up to and including it."""
    scale: RunningScale | None = None
    for X, Y in chunks:
        if scale is None:
            scale = RunningScale()
            scale.start(X.shape[1])
        yield scale(X), Y


def rescale_blocks(chunks: Iterator[Block], scale: FrozenScale, rows: int) -> Iterator[Block]:
    """Yield all rows, scaled by a scaling that is fitted on the first `rows` of them."""
    waiting: list[Block] = []
    fitted: FrozenScale | None = None
    missing = rows
    for X, Y in chunks:
        if fitted is not None:
            yield fitted(X), Y
            continue
        waiting.append((X, Y))
        missing -= len(X)
        if missing <= 0:
            fitted = _fitted(scale, waiting, rows)
            yield from ((fitted(A), B) for A, B in waiting)
            waiting = []
    if waiting and any(len(X) for X, _ in waiting):
        fitted = _fitted(scale, waiting, rows)
        yield from ((fitted(A), B) for A, B in waiting)


def _fitted(scale: FrozenScale, blocks: list[Block], rows: int) -> FrozenScale:
    return scale.clone().fit(np.vstack([X for X, _ in blocks])[:rows])
