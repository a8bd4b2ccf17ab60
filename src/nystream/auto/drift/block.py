"""A block of rows in which drift is looked for, and the predictions of several models for its rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from nystream._core.auto import drift as compiled
from nystream._core.auto.drift import spread_of_two
from nystream.auto.drift.detectors import Detection, Evidence
from nystream.auto.drift.inputs import Shift
from nystream.auto.drift.memory import Afforded
from nystream.auto.drift.mixture import LEAST
from nystream.auto.ensemble import Ensemble
from nystream.auto.rows import Learnt, Rows, part_of
from nystream.runtime.types import Array

__all__ = [
    *("LOG_LEAST", "Block", "Course", "Last", "Side", "Surroundings", "concatenate", "fenced", "join", "last_rows"),
    *("learn", "learn_in_blocks", "losses_of", "part_of_side", "spread_of"),
]

LOG_LEAST = math.log(LEAST)
Side: TypeAlias = tuple[Array, Array | None]
"""Predictions (n, K), and for targets the disagreement of the experts."""
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
    """Labels by which detectors measure losses where tails are heavy; None: the labels that were learnt."""


class Surroundings(NamedTuple):
    """What drift handling asks the other parts of `Auto` for."""

    last: Last
    """Returns the last rows, up to the end of the block."""
    afford: Callable[[Ensemble], Afforded | None]
    """Returns the largest candidate that fits beside this incumbent; None if memory does not suffice."""
    names: Callable[[], list[str]]
    """Returns the names of the columns that the experts see."""
    believe: Callable[[int, int], None]
    """Says that the labels of so many last rows belong to another function, and how many of these came after the
    alarm. They are then kept as they came."""


@dataclass
class Course:
    """How far a block has been followed, and the predictions for all its rows if nothing more is decided."""

    since: int
    """Rows before the block."""
    old: Ensemble
    """The incumbent."""
    block: Block
    around: Surroundings
    sides: list[Learnt]
    """Predictions for the block: of the incumbent, of the candidate, and of a recalled model, in this order."""
    shown: Side
    """What is predicted."""
    losses: Array
    """(n, 3) losses of the incumbent, the candidate, and what is predicted."""
    evidence: list[Evidence]
    """Of the detector on losses and of the one on steady experts."""
    row: int = 0
    """Rows that have been followed."""
    watched: int = 0
    """Rows that the detector on steady experts has seen: it runs ahead."""
    sounded: Detection | None = None
    """What it detected at the last of these rows, if that has not been handled yet."""
    shifts: list[Shift] = field(default_factory=list)
    """Input shifts: the last one so far, and those still to come in the block."""

    @classmethod
    def begin(cls, since: int, old: Ensemble, block: Block, around: Surroundings) -> Course:
        """Begin a block that comes after so many rows."""
        n, shown = len(block.admitted), part_of_side(block.learnt, slice(0, None))
        evidence = [Evidence(np.zeros(n), np.zeros(n, dtype=np.int64)) for _ in range(2)]
        return cls(since, old, block, around, [block.learnt], shown, np.zeros((n, 3)), evidence)

    @property
    def n(self) -> int:
        """Rows of the block."""
        return len(self.block.admitted)

    @property
    def t(self) -> int:
        """Rows of the stream that have been followed."""
        return self.since + self.row

    @property
    def end(self) -> int:
        """Rows of the stream up to the end of the block."""
        return self.since + self.n

    def last(self, first: int) -> Rows:
        """Return the rows of the stream from row `first` to the end of the block."""
        return self.around.last(self.end - first)


# -- predictions of several models -------------------------------------------------------------------------------------
def spread_of(P: Array, share: Array, old: Side, candidate: Side) -> Array | None:
    """Return the disagreement of the experts of both models and between the models; `share` (n, G): the incumbent's."""
    (A, a), (B, b) = old, candidate
    if a is None or b is None:
        return None
    return spread_of_two(P, share, A, a, B, b)


def fenced(ensemble: Ensemble, Y: Array) -> Array:
    """Return labels as the ensemble would learn them now: within its outlier bounds."""
    return Y if ensemble.targets_ is None else ensemble.targets_.fenced(Y)


def losses_of(ensemble: Ensemble, P: Array, Y: Array) -> Array:
    """Return (n,) log losses, or squared errors; of several targets the mean in units of their variances."""
    targets = ensemble.targets_
    P, Y = np.ascontiguousarray(P), np.ascontiguousarray(Y)
    return compiled.losses_of(P, Y, None if targets is None else targets.scale_, LOG_LEAST)


def learn(ensemble: Ensemble, rows: Rows, answers: Array | None) -> tuple[Learnt, Array]:
    """Let an ensemble learn rows. Return its predictions, and the labels as they were learnt."""
    Y = ensemble.admitted(rows.Y)
    return ensemble.learn(Rows(rows.X, Y, rows.w), answers), Y


def learn_in_blocks(frozen: Ensemble, rows: Rows, answers: Array | None) -> tuple[Learnt, Array]:
    """Do the same, block by block, for an ensemble that is never refitted."""
    cuts = range(0, len(rows.X), frozen.rows_at_once)
    parts = [slice(i, i + frozen.rows_at_once) for i in cuts]
    found = [learn(frozen, part_of(rows, p), None if answers is None else answers[p]) for p in parts]
    return concatenate([one for one, _ in found]), np.concatenate([Y for _, Y in found])


def concatenate(parts: list[Learnt]) -> Learnt:
    """Return consecutive parts as one."""
    return Learnt(*(_concatenated(some) for some in zip(*parts, strict=True)))  # type: ignore[arg-type]


def _concatenated(parts: tuple[Array | None, ...]) -> Array | None:
    some = [part for part in parts if part is not None]
    return np.concatenate(some) if some else None


def last_rows(side: Learnt, n: int) -> Learnt:
    """Return the last n rows; if there are fewer, rows of 0 come before them."""
    missing = max(0, n - len(side.P))
    found = (None if A is None else np.pad(A[-n:], ((missing, 0), (0, 0))[: A.ndim]) for A in side)
    return Learnt(*found)  # type: ignore[arg-type]


def join(first: Side, then: Side, row: int, end: int | None = None) -> Side:
    """Return the rows of `first` before `row`, followed by `then` and the rows of `first` from `end` on, if given."""
    P, spread = (
        None if A is None or B is None else np.concatenate([A[:row], B, A[len(A) if end is None else end :]])
        for A, B in zip(first, then, strict=True)
    )
    assert P is not None
    return P, spread


def part_of_side(side: Learnt, part: slice) -> Side:
    """Return the predictions for some rows."""
    return side.P[part], None if side.spread is None else side.spread[part]
