"""The rows in which drift is looked for, and how far they have been followed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from nystream.auto.drift.detectors import Detection, Evidence
from nystream.auto.drift.inputs import Shift
from nystream.auto.drift.memory import Afforded
from nystream.auto.drift.sides import Side, rest_of
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
    """Outputs of the sparse experts."""
    learnt: Learnt
    alarm_labels: Array | None = None
    """Labels by which detectors measure losses, where tails are heavy; None: those that were learnt."""


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


@dataclass
class Course:
    """How far a block has been followed, and the predictions for all of it if nothing is decided in the rest."""

    since: int
    """Rows before the block."""
    old: Ensemble
    """The incumbent."""
    block: Block
    around: Surroundings
    sides: list[Learnt]
    """Predictions for the block: of the incumbent, of the candidate, and last of a recalled model."""
    shown: Side
    losses: Array
    """(n, 3) of the incumbent, the candidate, and what is predicted."""
    evidence: list[Evidence]
    """Of the detectors on losses and on steady experts."""
    row: int = 0
    """Rows that were followed."""
    watched: int = 0
    """Rows that the detector on steady experts has seen."""
    sounded: Detection | None = None
    """What it found at the last of them, unless that was answered."""
    shifts: list[Shift] = field(default_factory=list)
    """Shifts of the inputs: the last one so far, and those to come in the block."""

    @classmethod
    def begin(cls, since: int, old: Ensemble, block: Block, around: Surroundings) -> Course:
        """Begin a block that comes after so many rows."""
        n, shown = len(block.admitted), rest_of(block.learnt, 0)
        evidence = [Evidence(np.zeros(n), np.zeros(n, dtype=np.int64)) for _ in range(2)]
        return cls(since, old, block, around, [block.learnt], shown, np.zeros((n, 3)), evidence)

    @property
    def n(self) -> int:
        """Rows of the block."""
        return len(self.block.admitted)

    @property
    def t(self) -> int:
        """Rows of the stream that were followed."""
        return self.since + self.row

    @property
    def end(self) -> int:
        """Rows of the stream up to the end of the block."""
        return self.since + self.n

    def last(self, first: int) -> Rows:
        """Return the rows of the stream from row `first` to the end of the block."""
        return self.around.last(self.end - first)
