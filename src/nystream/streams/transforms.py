"""The steps of a stream as functions, for streams of any kind and for pairs (X, y)."""

from __future__ import annotations

from typing import Any

from nystream.runtime.types import Seed
from nystream.scaling import FrozenScale
from nystream.streams.base import Stream
from nystream.streams.in_memory import as_stream

__all__ = ["rescale", "shuffle", "skip", "standardize", "take"]


def shuffle(stream: Any, seed: Seed = None, buffer: int | None = None) -> Stream:
    """Return the rows in random order; see `Stream.shuffle`."""
    return as_stream(stream).shuffle(seed, buffer)


def standardize(stream: Any) -> Stream:
    """Return running-standardised features; see `Stream.standardize`."""
    return as_stream(stream).standardize()


def rescale(stream: Any, scale: FrozenScale, rows: int = 1000) -> Stream:
    """Return features scaled by a scaling that is fitted on the first rows and frozen; see `Stream.rescale`."""
    return as_stream(stream).rescale(scale, rows)


def take(stream: Any, n: int) -> Stream:
    """Return the first n rows."""
    return as_stream(stream).take(n)


def skip(stream: Any, n: int) -> Stream:
    """Return all rows except the first n."""
    return as_stream(stream).skip(n)
