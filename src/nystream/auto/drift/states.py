"""The states of drift handling, and the events that lead from one to the next.

A suspicion or an alarm starts other models beside the incumbent; all are mixed; a test decides which stays.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from nystream.auto.drift.mixture import Mixture
from nystream.auto.ensemble import Ensemble
from nystream.runtime.params import Params

__all__ = ["TRANSITIONS", "Comparing", "Event", "State"]


class State(Enum):
    """Which models predict the next row."""

    STEADY = "the incumbent"
    WARNING = "a mixture of the incumbent, a line and the few-row ridge"
    WARM_START = "the same mixture; meanwhile a candidate learns the rows since the change point"
    COMPARING = "a mixture of these and the candidate; a test decides whether incumbent or candidate stays"


class Event(Enum):
    """Events that lead to another state."""

    SUSPICION = "bets of a detector have won 50"
    ALL_CLEAR = "all bets are lost"
    ALARM = "bets have won 100,000, or the loss confirms an input shift"
    CAUGHT_UP = "the candidate has learnt all rows since the change point"
    CHANGE_POINT_MOVED = "the change point is estimated again and lies at a later row"
    PROMOTED = "the candidate is better: it becomes the incumbent"
    DISCARDED = "the candidate is not better, the next alarm came first, or memory does not suffice"


TRANSITIONS = {
    (State.STEADY, Event.SUSPICION): State.WARNING,
    (State.STEADY, Event.ALARM): State.WARM_START,
    (State.WARNING, Event.SUSPICION): State.WARNING,
    (State.WARNING, Event.ALL_CLEAR): State.STEADY,
    (State.WARNING, Event.ALARM): State.WARM_START,
    (State.WARM_START, Event.CAUGHT_UP): State.COMPARING,
    (State.COMPARING, Event.CHANGE_POINT_MOVED): State.WARM_START,
    (State.COMPARING, Event.PROMOTED): State.STEADY,
    (State.COMPARING, Event.DISCARDED): State.STEADY,
}
"""The state after an event. Other pairs do not happen."""


class Comparing(Params):
    """A candidate that has caught up, mixed with the incumbent.

    Parameters
    ----------
    since : int
        The estimated change point: the row at which the candidate begins.
    born : int
        The row at which it had caught up.
    """

    state: ClassVar[State] = State.COMPARING
    candidate_: Ensemble
    mixture_: Mixture

    def __init__(self, since: int, born: int) -> None:
        self.since = since
        self.born = born

    def start(self, candidate: Ensemble, mixture: Mixture) -> None:
        self.candidate_, self.mixture_ = candidate, mixture

    @property
    def nbytes(self) -> int:
        return self.candidate_.nbytes + self.mixture_.nbytes
