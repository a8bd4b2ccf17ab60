"""Hedging before an alarm: while losses are suspicious, learners that need few rows are mixed in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from nystream.auto.drift.alarm import Heat, RankAlarm
from nystream.auto.drift.mixture import Handover
from nystream.auto.drift.replay import Side
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Hottest", "Suspicion", "hottest_of", "odds"]

HINT = math.log(20.0)
"""log of what the bets of an alarm have to have won on average for a suspicion; it ends where none of them has won."""
ODDS = 0.18
"""That the stream has changed, where a suspicion begins: the earlier it does, the less it may cost."""
BACK = 100
"""Rows back that a suspicion begins, at most."""
LEAST = 50
"""Losses of before, at least, that tell what is rare."""


Hottest: TypeAlias = tuple[list[float], list[int], list[bool]]
"""For each row, of the alarm that is nearer: how near, where its bet left 1, and whether it is the second."""


class Suspicion(Params):
    """Hedges the predictions while a drift alarm is likely but has not sounded.

    In these rows the incumbent is sure and wrong. A `Handover` without a candidate predicts until the alarm sounds or
    the bets of all alarms are lost. It begins anew where a bet that began later becomes a suspicion too, unless the
    few-row ridge has gained weight in the mixture. No decision depends on it: alarms go on watching the incumbent.
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
        hottest: Hottest,
        alarms: list[RankAlarm],
        begin: Callable[[int, int], Handover],
        mixed: Callable[[Handover, slice], Side],
        shown: Side,
    ) -> Side:
        """Return the predictions for a part of a block that begins at row t0, while there is no candidate.

        `hottest` is told of the rows of the part. begin(since, end) is a mixture that has learnt these rows,
        mixed(mixture, part) what it makes of a part.
        """
        levels, left, hotter = hottest
        if self.mixture_ is None and max(levels, default=0.0) < HINT:
            return shown
        row, n = 0, part.stop - part.start
        while row < n:
            hot = (i for i in range(row, n) if levels[i] >= HINT and left[i] > self.left_)
            begins = next(hot, n) + 1
            stop, calm = min(begins, n), False
            if self.mixture_ is not None:
                end = next((i + 1 for i in range(row, stop) if levels[i] <= 0), None)
                stop, calm = (stop, False) if end is None else (end, True)
                some = slice(part.start + row, part.start + stop)
                shown = _put(shown, some, mixed(self.mixture_, some))
            if calm:
                self.end()
            row = stop
            if row == begins and (self.mixture_ is None or self.mixture_.in_vain):
                self.left_, end = left[row - 1], t0 + part.start + row
                first = max(self.left_, end - BACK)
                self.mixture_ = begin(alarms[hotter[row - 1]].put(end, first), end)
        return shown

    @property
    def nbytes(self) -> int:
        return 0 if self.mixture_ is None else self.mixture_.nbytes


def hottest_of(heats: list[Heat], part: slice) -> Hottest:
    levels, others = (heat.level[part].tolist() for heat in heats)
    left, of_others = (heat.left[part].tolist() for heat in heats)
    hotter = [other > level for level, other in zip(levels, others, strict=True)]
    places = range(len(levels))
    return (
        [others[i] if hotter[i] else levels[i] for i in places],
        [of_others[i] if hotter[i] else left[i] for i in places],
        hotter,
    )


def _put(shown: Side, part: slice, new: Side) -> Side:
    """New predictions for some rows."""
    if len(shown[0]) == part.stop - part.start:
        return new
    P, spread = shown[0].copy(), None if shown[1] is None else shown[1].copy()
    P[part] = new[0]
    if spread is not None:
        spread[part] = new[1]
    return P, spread


def odds(losses: Array, new: int) -> float:
    """Return the odds that the stream has changed, given losses of which the last `new` led to a suspicion.

    Ranks do not tell how far beyond all others a loss is: one r times as large as all before it is taken to be r times
    as rare, as it is where losses have just a mean.
    """
    before = losses[: len(losses) - new]
    most = before.max() if len(before) >= LEAST else 0.0
    return ODDS * max(1.0, float(losses[-new:].max() / most)) if most > 0 else ODDS
