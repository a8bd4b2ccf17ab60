"""A refit under way: each row of the stream does a slice of its work, and sizes alone decide when it is swapped in."""

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
"""Operations of a slice, about 4 ms at 40 operations in a nanosecond; the last piece of a slice may exceed it."""
CAUGHT_UP = 16
"""Missed rows that are learnt with each new row, once everything is fitted."""
LARGER, FEWER = 2.0, 4
"""Factor of the slices when landmarks grow, which is more work; and divisor of CAUGHT_UP, since each row costs more."""


class Missed(NamedTuple):
    """Rows after the beginning of a refit, with their targets and the range of these."""

    X: Array
    T: Array
    w: Array | None
    bounds: tuple[Array, Array]
    known: Array | None = None
    """Targets that become known with each row, where labels come late."""


class Refit:
    """Computes new experts while the ensemble goes on predicting with the old ones.

    It begins after row n with slice 0, and each later row does one more slice; `incremental.py` counts operations from
    sizes alone. If slice s is the last, the new experts have missed s rows. From then on each row lets them learn c of
    the missed rows (CAUGHT_UP, or fewer when landmarks grow), so they have caught up, and can be swapped in, after row
    n + s + ceil(s / (c - 1)); at once if s = 0. The result depends on the rows alone, not on when slices are done. So a
    model's file has the row at which the refit began, and no part of the refit.

    Parameters
    ----------
    work : Task
        Fits the expert set.
    expert_set : ExpertSet
        The new one, complete when the work is done.
    targets : Targets or None
        The scale of its targets, which learns the missed rows too.
    rescaled : tuple or None
        Arguments for `Stack.rescale` after a full refit.
    growing : bool
        Whether it has more landmarks than the old one.
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
        """Slices done."""
        self.level: int | None = None
        """Rows after its beginning at which it can be swapped in, once that is known."""
        self.learnt = 0
        """Missed rows that it has learnt."""

    def build(self, last: float) -> None:
        """Do all slices up to this one."""
        while self.level is None and self.slices <= last:
            done = 0.0
            try:
                while done < self.slice:
                    done += next(self.work)
            except StopIteration:
                self.level = self.slices + -(-self.slices // (self.caught_up - 1))
            self.slices += 1

    def catch_up(self, rows: int, missed: Callable[[int, int], Missed], *, all_of_them: bool = False) -> None:
        """Learn the missed rows that are due so many rows after the beginning, or all of them. `missed(i, j)` returns
        rows i to j - 1 since the beginning.
        """
        if self.level is None:
            return
        slices = rows - (self.slices - 1)
        until = rows if all_of_them or rows >= self.level else min(rows, slices * self.caught_up)
        while self.learnt < until:
            stop = min(until, self.learnt + self.caught_up)
            self.expert_set.run(*missed(self.learnt, stop))
            self.learnt = stop
