"""Before an alarm is sure: while losses are suspicious, what learns from very few rows is mixed in."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nystream.auto.changes.alarm import Heat, RankAlarm
from nystream.auto.changes.mixture import Handover
from nystream.auto.changes.replay import Side
from nystream.params import Params
from nystream.types import Array

__all__ = ["Suspicion", "odds"]

HINT = math.log(20.0)
"""log of what the bets of an alarm have to have won on average for a suspicion; it ends where none of them has won."""
ODDS = 0.18
"""That the stream has changed, where a suspicion begins: the earlier it does, the less it may cost."""
BACK = 100
"""Rows back that a suspicion begins, at most."""
LEAST = 50
"""Losses of before, at least, that tell what is rare."""


class Suspicion(Params):
    """Rows before an alarm are dear: the old generation is sure and wrong. Where one becomes likely, a `Handover`
    without a young generation predicts, until the alarm sounds or the bets of all alarms are lost. It begins anew where
    a bet that left 1 later becomes a suspicion too, unless the novice has gained in the mixture: what was suspected
    before has proved wrong then, and rows of before the change would be all that the novice knows. No decision depends
    on it: alarms go on watching the old generation.
    """

    mixture_: Handover | None
    left_: int = -1
    """The row at which the bet that led to it left 1; -1: there is no suspicion."""

    def __init__(self) -> None:
        self.end()

    def end(self) -> None:
        self.mixture_, self.left_ = None, -1

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
        hotter = (heats[1].level > heats[0].level).astype(np.intp)
        left = np.where(hotter, heats[1].left, heats[0].left)
        while row < part.stop:
            rest = slice(row, part.stop)
            hot = np.flatnonzero((levels[rest] >= HINT) & (left[rest] > self.left_))
            begins = row + int(hot[0]) + 1 if len(hot) else part.stop + 1
            stop = min(begins, part.stop)
            if self.mixture_ is not None:
                calm = np.flatnonzero(levels[row:stop] <= 0)
                stop = row + int(calm[0]) + 1 if len(calm) else stop
                P, spread = mixed(self.mixture_, slice(row, stop))
                shown = shown[0].copy(), None if shown[1] is None else shown[1].copy()
                shown[0][row:stop] = P
                if shown[1] is not None:
                    shown[1][row:stop] = spread
                if len(calm):
                    self.end()
            row = stop
            if row == begins and (self.mixture_ is None or self.mixture_.in_vain):
                self.left_ = int(left[row - 1])
                first = max(self.left_, t0 + row - BACK)
                self.mixture_ = begin(alarms[hotter[row - 1]].put(t0 + row, first), t0 + row)
        return shown

    @property
    def nbytes(self) -> int:
        return 0 if self.mixture_ is None else self.mixture_.nbytes


def odds(losses: Array, new: int) -> float:
    """That the stream has changed, given losses of which the last `new` led to a suspicion.

    Ranks do not tell how far beyond all others a loss is: one r times as large as all before it is taken to be r times
    as rare, as it is where losses have just a mean.
    """
    before = losses[: len(losses) - new]
    most = before.max() if len(before) >= LEAST else 0.0
    return ODDS * max(1.0, float(losses[-new:].max() / most)) if most > 0 else ODDS
