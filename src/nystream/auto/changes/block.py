"""What changes of a stream are looked for in."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from nystream.auto.changes.memory import Afforded
from nystream.auto.generation import Generation, Learnt, Rows
from nystream.types import Array

__all__ = ["Block", "Last", "Surroundings"]

Last: TypeAlias = Callable[[int], Rows]


class Block(NamedTuple):
    """Rows that the old generation has just learnt, with what it predicted and how far its experts disagreed."""

    rows: Rows
    admitted: Array
    """Labels as the old generation learnt them."""
    answers: Array | None
    learnt: Learnt


class Surroundings(NamedTuple):
    """What lies with the learner around it."""

    last: Last
    """The last rows that are kept, up to the end of the block."""
    afford: Callable[[Generation], Afforded | None]
    """The young generation that there can be beside this one; None: memory does not suffice."""
    names: Callable[[], list[str]]
    """Of the columns that the experts see."""
