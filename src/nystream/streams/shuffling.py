"""Random order: of everything, or within a window of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nystream.runtime.types import Array
from nystream.streams.cutting import Block

__all__ = ["permute", "shuffle_in_window"]


def permute(arrays: tuple[Any, Any], rows: int, seed: np.random.SeedSequence) -> Iterator[Block]:
    """Yield the rows of (X, Y) in the order `default_rng(seed).permutation(n)`, `rows` at a time."""
    X, Y = arrays
    order = np.random.default_rng(seed).permutation(len(X))
    for start in range(0, len(X), rows):
        part = order[start : start + rows]
        yield np.ascontiguousarray(X[part], dtype=np.float64), np.ascontiguousarray(Y[part], dtype=np.float64)


def shuffle_in_window(chunks: Iterator[Block], buffer: int, rows: int, seed: np.random.SeedSequence) -> Iterator[Block]:
    """Yield rows in random order within a window: each new row replaces a random one of `buffer` rows."""
    rng = np.random.default_rng(seed)
    parts: list[Block] = []
    count = 0
    for X, Y in chunks:
        room = min(buffer - count, len(X))
        if room:
            parts.append((X[:room], Y[:room]))
            count += room
        if room < len(X):
            parts = [_joined(parts)]
            yield _exchanged(parts[0], (X[room:], Y[room:]), rng)
    if parts:
        yield from _emptied(_joined(parts), rows, rng)


def _exchanged(held: Block, new: Block, rng: np.random.Generator) -> Block:
    """Return the rows that go out when `new` come in one by one; `held` changes in place.

    random() takes one draw of the generator per row, however many are asked for at once (integers() promises no such
    thing), so the sizes of blocks do not matter.
    """
    place = (rng.random(len(new[0])) * len(held[0])).astype(np.intp)
    order = np.argsort(place, kind="stable")
    again = place[order[1:]] == place[order[:-1]]
    later, earlier = order[1:][again], order[:-1][again]  # row `later` pushes out row `earlier` of this same block
    last = order[np.append(~again, True)]
    out = []
    for old, fresh in zip(held, new, strict=True):
        pushed: Array = old[place]
        pushed[later] = fresh[earlier]
        old[place[last]] = fresh[last]
        out.append(pushed)
    return out[0], out[1]


def _emptied(held: Block, rows: int, rng: np.random.Generator) -> Iterator[Block]:
    order = rng.permutation(len(held[0]))
    for start in range(0, len(order), rows):
        part = order[start : start + rows]
        yield held[0][part], held[1][part]


def _joined(parts: list[Block]) -> Block:
    """Join blocks into one that owns its memory, since its rows are going to be replaced."""
    if len(parts) == 1 and parts[0][0].flags.owndata and parts[0][1].flags.owndata:
        return parts[0]
    return np.concatenate([X for X, _ in parts]), np.concatenate([Y for _, Y in parts])
