"""Before an alarm is sure: while losses are suspicious, what learns from very few rows is mixed in."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nystream.auto.changes.alarm import Heat, RankAlarm
from nystream.auto.changes.mixture import Handover
from nystream.auto.changes.replay import Side
from nystream.params import Params

__all__ = ["Suspicion"]

HINT = math.log(50.0)
"""log of what the bets of an alarm have to have won on average for a suspicion; it ends where none of them has won."""
BACK = 100
"""Rows back that a suspicion begins, at most."""


class Suspicion(Params):
    """Rows before an alarm are dear: the old generation is sure and wrong. Where one becomes likely, a `Handover`
    without a young generation predicts, until the alarm sounds or the bets of all alarms are lost. No decision depends
    on it: alarms go on watching the old generation.
    """

    mixture_: Handover | None

    def __init__(self) -> None:
        self.mixture_ = None

    def end(self) -> None:
        self.mixture_ = None

    def cover(
        self,
        part: slice,
        t0: int,
        heats: list[Heat],
        alarms: list[RankAlarm],
        begin: Callable[[int, int], Handover],
        mixed: Callable[[Handover, slice], Side],
        shown: Side,
    ) -> Side:
        """What is predicted for a part of a block that begins at row t0, in which no young generation lives.

        begin(since, end) is a mixture that has learnt these rows, mixed(mixture, part) what it makes of a part.
        """
        single = part.stop - part.start == 1  # the common round
        if single and self.mixture_ is None and max(heats[0].level[part.start], heats[1].level[part.start]) < HINT:
            return shown
        levels, row = np.maximum(heats[0].level, heats[1].level), part.start
        while row < part.stop:
            if self.mixture_ is None:
                hot = np.flatnonzero(levels[row : part.stop] >= HINT)
                if not len(hot):
                    break
                row += int(hot[0]) + 1
                one = int(heats[1].level[row - 1] > heats[0].level[row - 1])
                left = max(int(heats[one].left[row - 1]), t0 + row - BACK)
                self.mixture_ = begin(alarms[one].put(t0 + row, left), t0 + row)
                self.mixture_.doubt()
            else:
                calm = np.flatnonzero(levels[row : part.stop] <= 0)
                stop = row + int(calm[0]) + 1 if len(calm) else part.stop
                P, spread = mixed(self.mixture_, slice(row, stop))
                shown = shown[0].copy(), None if shown[1] is None else shown[1].copy()
                shown[0][row:stop] = P
                if shown[1] is not None:
                    shown[1][row:stop] = spread
                if len(calm):
                    self.mixture_ = None
                row = stop
        return shown

    @property
    def nbytes(self) -> int:
        return 0 if self.mixture_ is None else self.mixture_.nbytes
