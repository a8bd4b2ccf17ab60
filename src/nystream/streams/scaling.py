"""Running standardisation of a stream's features."""

from __future__ import annotations

from collections.abc import Iterator

from nystream.scaling import RunningScale
from nystream.streams.cutting import Block

__all__ = ["standardized"]


def standardized(chunks: Iterator[Block]) -> Iterator[Block]:
    """Each row minus the mean and over the deviation of the rows up to and including it."""
    scale: RunningScale | None = None
    for X, Y in chunks:
        if scale is None:
            scale = RunningScale()
            scale.start(X.shape[1])
        yield scale(X), Y
