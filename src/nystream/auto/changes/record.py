"""What is known of a change of the stream."""

from __future__ import annotations

from typing import NamedTuple

from nystream.params import Params

__all__ = ["Alarm", "Records"]

ONCE_IN = 500
"""Rows in which an alarm that is only reported is not reported again."""
REMEMBERED = 256
"""Alarms that are remembered, the last ones."""

OUTCOMES = {
    "watched": "a fresh model learns beside the old one",
    "promoted": "the fresh model has replaced the old one",
    "dropped": "the old model did as well and stays",
    "replaced": "the next alarm came first",
    "repeated": "a fresh model was just begun",
    "no credit": "too many fresh models lately, so none was begun",
    "no memory": "memory does not suffice for a fresh model beside the old one",
}
"""What may become of an alarm."""


class Alarm(NamedTuple):
    """A change of the stream as `Auto` noticed it; `str` says it in a line."""

    row: int
    """Rows learnt when the alarm sounded."""
    change: int
    """The row, counted from 0, that the change is put at."""
    cause: str
    """"loss": losses rank higher than before; "experts": those of experts that do not forget do; "inputs": inputs moved
    and losses began to; "gain": losses fell."""
    outcome: str
    """What became of it: a key of `OUTCOMES`."""
    until: int
    """Rows learnt when that was decided."""
    before: float
    """Mean loss before the change, of the rows that were compared with: squared error, or log loss of classes."""
    after: float
    """The same from the change to the alarm."""
    columns: tuple[str, ...]
    """Columns, by name or place, whose distribution is another one since, the most moved first; five at most."""
    regime: int = -1
    """The row at which the model began that was woken, since its regime is back; -1: none was."""

    def __str__(self) -> str:
        verb = "fell" if self.cause == "gain" else "rose"
        what = "loss of experts that do not forget" if self.cause == "experts" else "loss"
        text = f"around row {self.change:,} (noticed at {self.row:,}) the {what} {verb} from {self.before:.4g} to "
        text += f"{self.after:.4g}; {OUTCOMES[self.outcome]}"
        text += f"; a model of before, begun at row {self.regime:,}, was woken" if self.regime >= 0 else ""
        return text + (f"; moved: {', '.join(self.columns)}" if self.columns else "")


class Records(Params):
    """Alarms, and what became of them."""

    rows_: list[tuple[object, ...]]

    def __init__(self) -> None:
        self.rows_ = []

    @property
    def alarms(self) -> list[Alarm]:
        return [Alarm(*row) for row in self.rows_]  # type: ignore[arg-type]

    def add(self, alarm: Alarm) -> None:
        """Unless the same was noted not long ago: losses that stay high sound the alarm again and again."""
        last = self.alarms[-1] if self.rows_ else None
        repeats = last is not None and last.outcome == alarm.outcome and alarm.row - last.row < ONCE_IN
        if alarm.outcome == "watched" or not repeats:
            self.rows_ = [*self.rows_[1 - REMEMBERED :], tuple(alarm)]

    @property
    def watched(self) -> Alarm:
        """The alarm that began the young generation."""
        return self.alarms[self._place]

    @property
    def _place(self) -> int:
        return max(i for i, row in enumerate(self.rows_) if row[3] == "watched")

    def note(self, **news: object) -> None:
        """More about the alarm that began the young generation."""
        k = self._place
        row = tuple(Alarm(*self.rows_[k])._replace(**news))  # type: ignore[arg-type]
        self.rows_ = [*self.rows_[:k], row, *self.rows_[k + 1 :]]
