"""What a generation of the automatic learner is given, and what it makes of it."""

from __future__ import annotations

from typing import NamedTuple

from nystream.runtime.types import Array

__all__ = ["Answer", "Learnt", "Rows", "part_of", "plain_part_of"]


class Rows(NamedTuple):
    """Rows as the experts see them."""

    X: Array
    """(n, D)"""
    Y: Array
    """(n, K) targets, or (n, 1) numbers of classes."""
    w: Array | None
    """Weights above 0; None: all are 1."""


class Learnt(NamedTuple):
    """What a generation made of rows."""

    P: Array
    """(n, K) predictions."""
    spread: Array | None
    """(n, K) for targets the experts' disagreement."""
    steady: Array
    """(n,) the least squared error, standardised or of codes, of an expert that does not forget."""
    core: Array | None
    """(n, K) for targets the mean of what the experts that do not forget say."""


class Answer(NamedTuple):
    """What a generation says of rows whose labels are not known."""

    P: Array
    spread: Array | None
    core: Array | None


def part_of(rows: Rows, part: slice) -> Rows:
    """Some of the rows."""
    return Rows(rows.X[part], rows.Y[part], None if rows.w is None else rows.w[part])


def plain_part_of(rows: Rows, part: slice) -> Rows:
    """The same, where weights that are all 1 are none."""
    some = part_of(rows, part)
    return some if some.w is None or not bool((some.w == 1.0).all()) else some._replace(w=None)
