"""Warm start: a candidate learns the rows since the change point, a few with every new row."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from nystream.auto.drift.block import Last, fenced, losses_of
from nystream.auto.drift.history import History, Past
from nystream.auto.drift.mixture import Inputs, Mixture
from nystream.auto.drift.states import State
from nystream.auto.ensemble import Ensemble
from nystream.auto.refit import CAUGHT_UP
from nystream.auto.rows import Learnt, Rows, part_of
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Known", "WarmStart"]


class Known(NamedTuple):
    """The stored rows of the stream."""

    last: Last
    """Returns the last rows up to row `end`."""
    end: int
    history: History
    old: Ensemble
    """The incumbent."""

    def rows(self, begin: int, end: int) -> Rows:
        """Return rows `begin` to `end` - 1."""
        return part_of(self.last(self.end - begin), slice(0, end - begin))


class WarmStart(Params):
    """Spreads the learning of past rows over new ones.

    If a change is noticed late, learning all rows since the change point, with the refits among them, is too much work
    for one row. So each row from the alarm on does a slice of the work: CAUGHT_UP rows, or fewer if a refit begins,
    continues or is swapped in. The mixture learns the same rows. Slices depend on sizes and row counts alone. At the
    end, candidate and mixture are as if they had lived since the change point.

    Parameters
    ----------
    since : int
        The row at which the candidate begins.
    asked : int
        Rows that had been learnt when the alarm was raised.
    latest : int
        The row at which the candidate must have caught up: all missing rows are then learnt at once.
    """

    state: ClassVar[State] = State.WARM_START
    ensemble_: Ensemble
    mixture_: Mixture
    """The mixture without the candidate, which predicts during the warm start."""
    next_: Mixture
    """The mixture with the candidate, which predicts after the warm start."""
    admitted_: Past
    """Labels since the alarm, as the incumbent learnt them."""
    back_: Past | None
    """Predictions of a recalled model, if there is one."""
    mixed_: int
    """The row from which on the mixture learns."""
    learnt_: int
    """The next row that the candidate learns."""
    seen_: int
    """Rows of the stream whose slices have been done."""

    def __init__(self, since: int, asked: int, latest: int) -> None:
        self.since = since
        self.asked = asked
        self.latest = latest

    def start(
        self, ensemble: Ensemble, mixture: Mixture, following: Mixture, mixed: int, admitted: Past, back: Past | None
    ) -> None:
        """Begin with a candidate, and the mixture that contains it, before their first row."""
        self.ensemble_, self.mixture_, self.next_, self.mixed_ = ensemble, mixture, following, mixed
        self.admitted_, self.back_ = admitted, back
        self.learnt_, self.seen_ = self.since, self.asked - 1

    def catch_up(self, until: int, known: Known) -> bool:
        """Do the slices of rows up to `until`. Return whether the warm start is over; it then ended at row `seen_`."""
        while self.seen_ < until:
            self.seen_ += 1
            self._slice(known, self.seen_ >= self.latest)
            if self.learnt_ == self.seen_:
                return True
        return False

    def finish(self, known: Known) -> None:
        """Learn all missing rows now."""
        self._slice(known, True)

    def _slice(self, known: Known, whole: bool) -> None:
        done, more = 0, True
        while self.learnt_ < self.seen_ and more:
            row = self.learnt_
            rows = self.seen_ - row
            if not whole:
                rows = 1 if self.ensemble_.begun_ else min(rows, CAUGHT_UP - done)
            side, labels, events = self.learn(rows, known)
            done += len(labels)
            known.history.put_candidate(row, side, losses_of(known.old, side.P, labels))
            self._mix(row, side, known)
            more = whole or not (events or done == CAUGHT_UP)

    def learn(self, most: int, known: Known) -> tuple[Learnt, Array, bool]:
        """Let the ensemble learn its next rows, at most so many. Return its predictions, the labels as it learnt them,
        and whether a refit was part of the work.
        """
        candidate, row = self.ensemble_, self.learnt_
        n = candidate.ahead(min(most, candidate.rows_at_once), lambda k: known.rows(row - k, row))
        X, Y, w = known.rows(row, row + n)
        Y = candidate.admitted(Y)
        side = candidate.learn(Rows(X, Y, w), known.history.answers(row, row + n, candidate.stack_.more_))
        self.learnt_ = end = row + n
        underway = candidate.begun_ > 0
        events = candidate.attend(lambda k: known.rows(end - k, end))
        return side, Y, events or underway

    def _mix(self, row: int, side: Learnt, known: Known) -> None:
        """Let the mixture learn these rows, with the labels as the incumbent learnt them."""
        first, end = max(row, self.mixed_), row + len(side.P)
        if end <= first:
            return
        X, Y, w = known.rows(first, end)
        before = np.arange(first, end) < self.asked  # the alarm
        Y = np.where(before[:, None], fenced(known.old, Y), self.admitted_.get(first, end))
        own, core = known.history.predictions(first, end)
        back = None if self.back_ is None else self.back_.get(first, end)
        self.next_.run(Inputs(X, own, core, side.P[first - row :], back), Y, w)

    @property
    def nbytes(self) -> int:
        back = 0 if self.back_ is None else self.back_.nbytes
        return self.ensemble_.nbytes + self.mixture_.nbytes + self.next_.nbytes + self.admitted_.nbytes + back
