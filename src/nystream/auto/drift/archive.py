"""Archived models: copies of past incumbents, kept small, and the test whether the regime of one of them is back."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from nystream.auto.drift.block import concatenate, learn_in_blocks
from nystream.auto.drift.detectors import LIMITS
from nystream.auto.drift.history import KNOWN, USUAL
from nystream.auto.ensemble import Ensemble
from nystream.auto.expert_set import ExpertSet
from nystream.auto.experts import Expert, Innovation
from nystream.auto.rows import Learnt, Rows, part_of
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["EVERY", "Archive", "Regime", "thin"]

EVERY = 400
"""The incumbent is copied every so many rows of the stream, once it has learnt twice as many."""
COPIES, RETIRED = 2, 2
"""Copies of the incumbent, and archived models of regimes that ended, at most."""
FEWEST = 3
"""Rows since the change that the test whether a regime is back needs."""
AGAINST = 3.0
"""What bets against it may have won on those rows, at most; those against the incumbent have won 1e5 there."""
BETTER = 0.5
"""Its own loss on them is at most this part of the incumbent's."""


class Regime(Params):
    """A copy of an ensemble that can predict but not learn; see `frozen`."""

    ensemble_: Ensemble
    row_: int
    """Rows that the stream had when it was copied."""
    begun_: int
    """The row at which the ensemble began."""
    usual_: Array
    """Its losses before the change that ended its regime, sorted; empty before that."""

    def __init__(self) -> None:
        self.usual_ = np.empty(0)

    def start(self, ensemble: Ensemble, row: int, begun: int) -> None:
        """Keep a `frozen` copy of an ensemble."""
        self.ensemble_, self.row_, self.begun_ = copy.deepcopy(ensemble), row, begun

    def is_back(self, own: Array, old: Array) -> bool:
        """Return whether the losses since a change, its own and the incumbent's, show that its regime is back."""
        n = len(self.usual_)
        if len(own) < FEWEST or n < KNOWN or own.sum() > BETTER * old.sum():
            return False
        above = n - np.searchsorted(self.usual_, own, side="left")
        p, e = (above + 0.5) / (n + 1), np.array(LIMITS.rises)
        won = len(own) * np.log(e) + (e - 1) * np.log(p).sum()
        return bool(np.exp(np.minimum(won, 60.0)).mean() < AGAINST)

    @property
    def nbytes(self) -> int:
        return self.ensemble_.nbytes + self.usual_.nbytes


class Archive(Params):
    """Keeps the last copies of the incumbent, taken every EVERY rows, and the models of regimes that ended.

    A change is noticed some rows later, and by then the incumbent has learnt rows of the new regime. So a copy from
    before the change point is archived when an incumbent is replaced.

    Parameters
    ----------
    room : int
        Bytes that all of them may take. If it is small, fewer are kept, or none.
    """

    copies_: list[Regime]
    leaving_: Regime | None
    """The copy of the incumbent that is archived if the candidate is promoted; None while there is no candidate."""
    retired_: list[Regime]
    """Archived models. The one whose regime ended last, or that was recalled last, comes last."""
    recalled_: Regime | None
    """A copy of the archived model whose regime is back; its experts that forget go on learning."""

    def __init__(self, room: int) -> None:
        self.room = at_least("room", room, 0)

    def start(self) -> None:
        self.copies_, self.retired_ = [], []
        self.leaving_ = self.recalled_ = None

    def copy(self, old: Ensemble, row: int, begun: int) -> None:
        """Take a copy at a multiple of EVERY rows, while there is no candidate."""
        if row - begun < 2 * EVERY:
            return
        small = frozen(old)
        self.copies_ = self.copies_[1 - COPIES :]
        self._make_room(small.nbytes)
        if self.nbytes + small.nbytes <= self.room:
            regime = Regime()
            regime.start(small, row, begun)
            self.copies_ = [*self.copies_, regime]

    def begin_candidate(self, since: int, usual: Array) -> None:
        """Note that a candidate begins at row `since`; `usual` are the incumbent's last losses before it."""
        before = [one for one in self.copies_ if one.row_ <= since]
        self.leaving_ = before[-1] if before else None
        if self.leaving_ is not None:
            self.leaving_.usual_ = np.sort(usual[-USUAL:])
        self.copies_ = []

    def end_candidate(self, *, left: bool) -> None:
        """Note which ensemble goes on: the candidate, if the old regime was `left`, or else the incumbent."""
        if self.leaving_ is not None and left:
            self.retired_ = [*self.retired_, self.leaving_][-RETIRED:]
        elif self.leaving_ is not None:
            self.copies_ = [self.leaving_]
        self.leaving_ = None

    def recall(
        self, rows: Rows, answers: Array | None, old: Array, losses: Callable[[Ensemble, Array, Array], Array]
    ) -> tuple[int, Learnt] | None:
        """Recall the last archived model whose regime is back. Return the row at which it began, and its predictions
        for these rows, which begin at the change point. `old`: losses of the incumbent on the first of these rows.
        """
        n = len(old)
        for k in reversed(range(len(self.retired_))):
            one = copy.deepcopy(self.retired_[k])
            predictions, Y = learn_in_blocks(
                one.ensemble_, part_of(rows, slice(0, n)), None if answers is None else answers[:n]
            )
            if not one.is_back(losses(one.ensemble_, predictions.P, Y), old):
                continue
            self.retired_ = [*self.retired_[:k], *self.retired_[k + 1 :], self.retired_[k]]
            self.recalled_ = one
            if n == len(rows.X):
                return one.begun_, predictions
            late = None if answers is None else answers[n:]
            rest, _ = learn_in_blocks(one.ensemble_, part_of(rows, slice(n, None)), late)
            return one.begun_, concatenate([predictions, rest])
        return None

    def widen(self, d: int) -> None:
        """Add columns."""
        for one in self._all():
            one.ensemble_.widen(d)

    def _all(self) -> list[Regime]:
        some = (self.leaving_, self.recalled_)
        return [*self.retired_, *(one for one in some if one is not None), *self.copies_]

    def _make_room(self, more: int) -> None:
        """Discard models until so many bytes more fit: archived ones before the copies, the oldest first."""
        while self.nbytes + more > self.room and self.retired_:
            self.retired_ = self.retired_[1:]
        while self.nbytes + more > self.room and self.copies_:
            self.copies_ = self.copies_[1:]

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in self._all())


def frozen(ensemble: Ensemble) -> Ensemble:
    """Return a copy with the same predictions. It shares arrays, without the large ones that only learning needs."""
    small = copy.copy(ensemble)
    small.expert_set_ = _frozen(ensemble.expert_set_)
    small.begun_, small.growing_, small._refit = 0, False, None
    return small


def _frozen(expert_set: ExpertSet) -> ExpertSet:
    small = copy.copy(expert_set)
    small.experts_ = {name: thin(expert) for name, expert in expert_set.experts_.items()}
    small.others_ = {}
    return small


def thin(expert: Expert) -> Expert:
    """Return a copy of an expert with the same predictions. It shares arrays and cannot learn."""
    small = copy.copy(expert)
    if isinstance(small, Innovation) and small.kernel_ is not None:
        small.kernel_ = copy.copy(small.kernel_)
    small.freeze()
    return small
