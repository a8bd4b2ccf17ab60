"""The engine of a forecaster: members, mixture and intervals of one series with known seasons, row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nystream.forecast.intervals import Intervals
from nystream.forecast.member import Arrival, Member, Origin
from nystream.forecast.mixture import Mixture
from nystream.forecast.recent import Recent
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Engine"]

PRIOR = {"naive": 1.0, "seasonal naive": 16.0, "long seasonal naive": 1.0, "shared kernel": 32.0}
"""Weights at the start, high for seasons of the calendar and for patterns shared by other series, which are likely.
All other members start with no weight (see `PROBATION`), because models fitted to one day or weekend are misled."""
PROBATION = 2
"""Cycles of the shortest season for which a member has forecast before it has any weight."""
NO_SEASON = 6
"""Rows of a cycle where there is no season."""


class Engine(Params):
    """Members that forecast the next H rows of a regular series, their mixture, and intervals around it.

    Parameters
    ----------
    members : sequence of Member
        They are cloned. A member may use the forecasts of members that come before it.
    horizon : int
        H, the steps ahead.
    seasons : sequence of int
        Lengths in rows, the shortest first; none at all are allowed.
    """

    def __init__(self, members: Sequence[Member], horizon: int, seasons: Sequence[int]) -> None:
        self.members = members
        self.horizon = horizon
        self.seasons = seasons

    def start(self) -> None:
        """Begin before the first row."""
        self.members_ = [member.clone() for member in self.members]
        for member in self.members_:
            member.start(self.horizon, tuple(self.seasons))
        names = self._prepare()
        cycle = self.seasons[0] if self.seasons else 1
        self.mixture_ = Mixture()
        probation = PROBATION * (cycle if self.seasons else NO_SEASON)
        self.mixture_.start([PRIOR.get(name, 0.0) for name in names], self.horizon, probation)
        self.intervals_ = Intervals(self.horizon, cycle)
        self.labels_ = Recent(1, cycle)
        self.made_ = np.full((self.horizon, len(names), self.horizon), math.nan)
        self.mixed_ = np.full((self.horizon, self.horizon), math.nan)
        self.errors_ = np.zeros(0)
        self.row_ = -1

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "members_" in state:
            self._prepare()

    def _prepare(self) -> list[str]:
        """Store where each member's forecasts are, and return the names of all of them."""
        names: list[str] = []
        self._places: list[slice] = []
        self._dependent: list[int] = []
        dependent: set[str] = set()
        for member in self.members_:
            self._places.append(slice(len(names), len(names) + len(member.names)))
            names += member.names
            if member.needs_inputs or not dependent.isdisjoint(member.uses):
                self._dependent += range(self._places[-1].start, self._places[-1].stop)
                dependent.update(member.names)
        if len(set(names)) < len(names):
            raise ValueError(f"two members have the same name: {', '.join(names)}")
        self._titles = names
        self._learning = sorted(self.members_, key=lambda member: not member.needs_inputs)  # these may refuse a row
        return names

    @property
    def names(self) -> list[str]:
        """Names of the members' forecasts, in the order of the mixture's weights."""
        return list(self._titles)

    def learn(self, y: float, inputs: Any = None, ahead: Any = None, known: int | None = None) -> float:
        """Learn the label of the next row (nan: missing) and return the forecast of it that was made before.

        inputs are those of this row, and ahead those of the next H rows, of which the first `known` are known by now
        (default: all if there are any). Forecasts that needed inputs which were not known are made up for when their
        label comes with its inputs. Missing rows before the first label are left out.
        """
        if y != y and self.row_ < 0:
            return math.nan
        row = self.row_ + 1
        past, mixed = self._past(row, y, inputs)
        m = len(mixed)
        arrival = self._arrival(row, y, inputs, past)
        for member in self._learning:
            member.learn(arrival)
        if y == y:
            self.mixture_.learn(past[:m], y)
        self.labels_.push(arrival.filled)
        self.errors_ = np.abs(mixed - y)
        self.row_ = row
        made = self.members_ahead(ahead)
        mixed_ahead = self._mixed(made)
        known = (0 if ahead is None else self.horizon) if known is None else known
        if self._dependent and known < self.horizon:
            made[self._dependent, known:] = math.nan
            mixed_ahead[known:] = math.nan
        self.made_[row % self.horizon], self.mixed_[row % self.horizon] = made, mixed_ahead
        self.intervals_.learn(row, y, mixed)
        return float(mixed[0]) if m else math.nan

    def _past(self, row: int, y: float, inputs: Any) -> tuple[Array, Array]:
        """Return the forecasts of a label by members (H, K) and mixture (m,) that were made 1, 2, ... rows ago.

        Members compute now, as they are, the forecasts that lacked inputs.
        """
        m = min(self.horizon, row)
        h = np.arange(m)
        origin = (row - 1 - h) % self.horizon
        past = np.full((self.horizon, len(self._titles)), math.nan)
        past[:m] = self.made_[origin, :, h]
        mixed = self.mixed_[origin, h]
        lacking = np.isnan(mixed)
        if lacking.any():
            arrival = self._arrival(row, y, inputs, past)
            for member, place in zip(self.members_, self._places, strict=True):
                if place.start in self._dependent:
                    past[:m, place][lacking] = member.recall(arrival).T[:m][lacking]  # the next member sees it
            mixed = np.where(lacking, self._mixed(past.T)[:m], mixed)
        return past, mixed

    def _arrival(self, row: int, y: float, inputs: Any, past: Array) -> Arrival:
        filled = y
        if y != y:
            cycle = self.labels_.keep
            filled = float(self.labels_.aged(cycle - 1 if row >= cycle else 0)[0]) if row else 0.0
        return Arrival(row, y, filled, inputs, {name: past[:, k] for k, name in enumerate(self._titles)})

    def check(self, rows: Any) -> None:
        """Refuse rows of inputs that a member cannot read. Changes nothing."""
        for member in self.members_:
            if member.needs_inputs:
                member.check(rows)

    def members_ahead(self, ahead: Any) -> Array:
        """Return the forecasts (K, H) of the next rows by all members. Changes nothing."""
        made: dict[str, Array] = {}
        origin = Origin(self.row_, ahead, made)
        parts = []
        for member in self.members_:
            part = member.forecast(origin)
            made.update(zip(member.names, part, strict=True))
            parts.append(part)
        return np.concatenate(parts)

    def forecast(self, ahead: Any = None) -> Array:
        """Return the forecast (H,) of the next rows; `ahead` are their inputs if unknown before. Changes nothing."""
        return self.mixed_[self.row_ % self.horizon].copy() if ahead is None else self._mixed(self.members_ahead(ahead))

    def _mixed(self, made: Array) -> Array:
        """Return the mixture of forecasts (K, H); the last label where no member has a forecast."""
        mixed = self.mixture_.combine(made)
        return np.where(np.isnan(mixed), self.labels_.aged(0), mixed)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        parts: list[Any] = [*self.members_, self.mixture_, self.intervals_, self.made_, self.mixed_, self.labels_]
        return sum(part.nbytes for part in parts)
