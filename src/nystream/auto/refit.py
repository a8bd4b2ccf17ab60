"""A refit under way: computed a slice with every row, and swapped in at a row that sizes alone decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nystream.auto.expert_set import ExpertSet
from nystream.auto.targets import Targets
from nystream.runtime.incremental import Task
from nystream.runtime.types import Array

__all__ = ["Missed", "Refit"]

SLICE = 1.6e8
"""Operations of a slice: some 4 ms where a processor does 40 in a nanosecond; its last piece may go beyond."""
CAUGHT_UP = 16
"""Rows that are learnt in a slice, once everything is fitted."""
LARGER, FEWER = 2.0, 4
"""Slices of a growth are so many times larger, since there is more to build, and learn so many times fewer rows, since
each costs more."""


class Missed(NamedTuple):
    """Rows as the refit learns them: targets and their range."""

    X: Array
    T: Array
    w: Array | None
    bounds: tuple[Array, Array]
    known: Array | None = None
    """Targets that become known with each row, where labels come late."""


class Refit:
    """Computes new experts beside an ensemble that goes on predicting.

    It begins after row n with a first slice, and each row after it brings one more; where those end tells sizes alone
    (`incremental.py`). Say that slice s was the last. Then every row brings c of the rows after n, CAUGHT_UP or, of a
    growth, fewer, so that it is level, and can be taken up, after row n + s + ceil(s / (c - 1)): for s = 0 at once. It
    depends on the rows up to n, and on those after it one by one: not on when slices are done, in blocks or after a
    file was read. So it is no part of a model's state: the row at which it began is.

    Parameters
    ----------
    work : Task
        That fits the expert_set.
    expert_set : ExpertSet
        With what it has to be when the work is done.
    targets : Targets or None
        On the scale that the expert set knows; it follows the rows that were missed.
    rescaled : tuple or None
        Of a rebuild of targets: what `Stack.rescale` has to know.
    growing : bool
        Whether the expert set has more landmarks than the one that it takes the place of.
    """

    def __init__(
        self,
        work: Task[None],
        expert_set: ExpertSet,
        targets: Targets | None,
        rescaled: tuple[Array, NDArray[np.intp]] | None,
        *,
        growing: bool = False,
    ) -> None:
        self.work, self.expert_set, self.targets, self.rescaled = work, expert_set, targets, rescaled
        self.slice, self.caught_up = (LARGER * SLICE, CAUGHT_UP // FEWER) if growing else (SLICE, CAUGHT_UP)
        self.slices = 0
        """That were done."""
        self.level: int | None = None
        """Rows after it began at which it can be taken up, once that is known."""
        self.learnt = 0
        """Rows since it began."""

    def build(self, last: float) -> None:
        """Do the slices up to this number, from 0."""
        while self.level is None and self.slices <= last:
            done = 0.0
            try:
                while done < self.slice:
                    done += next(self.work)
            except StopIteration:
                self.level = self.slices + -(-self.slices // (self.caught_up - 1))
            self.slices += 1

    def catch_up(self, rows: int, missed: Callable[[int, int], Missed], *, all_of_them: bool = False) -> None:
        """Learn the rows that are due after so many rows, or all of them; `missed(i, j)`: rows i to j - 1 since the
        beginning.
        """
        if self.level is None:
            return
        slices = rows - (self.slices - 1)
        until = rows if all_of_them or rows >= self.level else min(rows, slices * self.caught_up)
        while self.learnt < until:
            stop = min(until, self.learnt + self.caught_up)
            self.expert_set.run(*missed(self.learnt, stop))
            self.learnt = stop
