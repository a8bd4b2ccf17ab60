"""The protocol of members: what each of them is told of a new label, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Arrival", "Member", "Origin"]


@dataclass(frozen=True)
class Arrival:
    """A new label.

    Parameters
    ----------
    row : int
        Its place in the series, from 0.
    y : float
        The label; nan if it is missing.
    filled : float
        The label, or what stands for a missing one: the label one season earlier.
    inputs : row of inputs or None
        The calendar's columns and those that were known ahead, of this row.
    past : dict of name to (H,) array
        Forecasts of this label by name, made 1, 2, ..., H rows ago; nan where none was made.
    """

    row: int
    y: float
    filled: float
    inputs: Any
    past: Mapping[str, Array]

    @property
    def is_missing(self) -> bool:
        return self.y != self.y


@dataclass(frozen=True)
class Origin:
    """A place in the series from which the next rows are forecast.

    Parameters
    ----------
    row : int
        The last row that was learnt.
    inputs : rows of inputs or None
        Of the next H rows; None where they are not known yet.
    made : dict of name to (H,) array
        Forecasts from this origin of the members that come earlier in the list.
    """

    row: int
    inputs: Any
    made: Mapping[str, Array]


class Member(Params):
    """One or several forecasts of the next H rows, which the mixture weighs.

    `start(horizon, seasons)` is called once. For each row `learn` is called with the label, and then `forecast` for the
    next H rows. `forecast` is pure. A member with several settings answers them in one array, a row for each of
    `names`; it may use the forecasts of members that come earlier in the list.
    """

    names: Sequence[str] = ()
    """Names of the forecasts, known after `start`."""
    uses: Sequence[str] = ()
    """Names of forecasts of other members that its own depend on."""
    needs_inputs: bool = False
    """Whether its forecasts depend on the inputs of the rows to come, by itself."""

    def start(self, horizon: int, seasons: tuple[int, ...]) -> None:
        """Allocate for H = `horizon` steps and the lengths of the seasons, the shortest first."""
        raise NotImplementedError

    def learn(self, arrival: Arrival) -> None:
        """Learn from a new label."""
        raise NotImplementedError

    def forecast(self, origin: Origin) -> Array:
        """Return forecasts (len(names), H) from the row that was learnt last. Changes nothing."""
        raise NotImplementedError

    def recall(self, arrival: Arrival) -> Array:
        """Return forecasts (len(names), H) of a label whose inputs arrived with it, before it is learnt. Changes
        nothing.

        Called only for members that depend on inputs, where inputs come with the labels.
        """
        raise NotImplementedError

    def check(self, rows: Any) -> None:
        """Refuse rows of inputs that this member cannot read. Changes nothing."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the member holds."""
        return sum(v.nbytes for v in self.__dict__.values() if hasattr(v, "nbytes"))
