"""The rows in which drift is looked for, and the state of following them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from nystream.auto.drift.alarm import Found, Heat
from nystream.auto.drift.inputs import Shift
from nystream.auto.drift.memory import Afforded
from nystream.auto.drift.replay import Side
from nystream.auto.ensemble import Ensemble
from nystream.auto.rows import Learnt, Rows
from nystream.runtime.types import Array

__all__ = ["Block", "Course", "Last", "Surroundings"]

Last: TypeAlias = Callable[[int], Rows]


class Block(NamedTuple):
    """Rows that the incumbent has just learnt, with its predictions and the disagreement of its experts."""

    rows: Rows
    admitted: Array
    """Labels as the incumbent learnt them."""
    answers: Array | None
    learnt: Learnt
    heard: Array | None = None
    """Labels that alarms measure losses by, where tails are long; None: those that were learnt."""


@dataclass
class Course:
    """How far a block has been followed, and the predictions for all of it if nothing is decided in the rest."""

    since: int
    """Rows before the block."""
    old: Ensemble
    sides: list[Learnt]
    """What the incumbent made of the block, then the young one, and last the one of before whose regime is
    back."""
    shown: Side
    losses: Array
    """(n, 3) of the incumbent, the young one, and what is predicted."""
    shifts: list[Shift]
    """Shifts of the inputs: the last one so far, and those to come in the block."""
    heats: list[Heat]
    """How near the alarms on losses and on steady experts are."""
    row: int
    """Rows that were followed."""
    watched: int
    """Rows that the alarm on steady experts has seen."""
    sounded: Found | None = None
    """What it found at the last of them, unless that was answered."""


class Surroundings(NamedTuple):
    """The parts of `Auto` that drift handling reads."""

    last: Last
    """The last rows that are kept, up to the end of the block."""
    afford: Callable[[Ensemble], Afforded | None]
    """The candidate that there can be beside this one; None: memory does not suffice."""
    names: Callable[[], list[str]]
    """Of the columns that the experts see."""
    believe: Callable[[int, int], None]
    """Labels of so many last rows, up to the end of the block, are another function's; of them so many came after the
    alarm. What is kept of them is as they came."""
