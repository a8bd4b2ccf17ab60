"""Forecaster: the next H values of a series, with intervals, learnt online."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nystream import persist
from nystream.auto.learner import Auto
from nystream.auto.surprise import Alarm, Surprise
from nystream.data.inputs import as_levels
from nystream.forecast.calendar import Calendar, Frequency, instants, is_offset, known_country
from nystream.forecast.defaults import default_members
from nystream.forecast.engine import Engine
from nystream.forecast.explain import decompose, explanation
from nystream.forecast.inputs import Inputs
from nystream.forecast.intervals import LEVELS, MOST_COVERED
from nystream.forecast.member import Member
from nystream.forecast.recent import Recent
from nystream.forecast.score import Score
from nystream.forecast.season import find_seasons
from nystream.forecast.shared import GlobalLearner, Shared
from nystream.forecast.surprises import Surprises
from nystream.forecast.trial import Trial
from nystream.learners.base import Learner
from nystream.model.model import Model
from nystream.runtime.params import Params, at_least, one_of, positive
from nystream.runtime.types import Array

__all__ = ["Forecaster"]

KEPT = 2048
"""Rows that are kept: seasons are looked for in them, and the members learn them again where the seasons change."""
FIRST_LOOK = 32
"""Rows after which seasons are looked for first; then whenever the rows have doubled."""
LONGEST_GAP = 100_000
"""Missing rows between two labels beyond which a timestamp is taken for an error."""
REGRID = 64
"""Rows within which a closer pair of timestamps may still show that the frequency was taken too low."""
CALENDAR_MEMORY, INPUTS_MEMORY = "8MB", "64MB"
"""Memory budgets of the kernel learner without and with inputs: with the calendar alone, the smaller budget gives the
same errors in half the time. The kernel learner runs without drift detection, because trials of a fresh engine react
to drift; this makes it 1.7 times as fast with the same errors."""
ROUNDING = 1e-9
"""A level may be beyond those whose quantiles are kept by this much."""
CHUNK = 512
"""Rows whose calendar is computed at once."""
RISING = (
    "sort the rows and drop those that are there twice, or use resample='mean'; where clocks go back in autumn, give "
    "the times with their time zone"
)
"""What to do about timestamps that do not rise."""
AGGREGATES = ("mean", "sum", "last")


class Forecaster(Params):
    """Forecasts of the next H rows of a regular series, with intervals, from a model that learns row by row.

    The forecast is a mixture of members, weighed for each step ahead by their errors: naive forecasts, exponential
    smoothers with two seasons, a kernel learner on the calendar and on inputs that are known ahead, and ridges that
    correct these by the latest errors. See docs/algorithms/forecaster.md.

    Parameters
    ----------
    horizon : int
        H, the steps ahead.
    season : int, sequence of int, or None
        Lengths of the seasons in rows, at most two; `()` for none. None: from the timestamps and the labels. They are
        looked at again whenever the rows have doubled, see `explain`.
    learner : Learner, Model or None
        Of the kernel member. None: `Auto` without label lags.
    members : sequence of Member or None
        None: those of `nystream.forecast.default_members`.
    frequency : str or None
        Distance of the rows as "30min", "1h", "D", "MS"; None: from the first timestamps.
    resample : "mean", "sum", "last" or None
        For timestamps that are not regular: labels between two times of the grid (full hours for "1h", midnights for
        "D") count as one row, which is learnt when the next begins. Needs `frequency`.
    holidays : str or None
        Country whose public holidays are a column of the calendar ("DE", "US-CA"); needs the package `holidays`.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream import Forecaster
    >>> t = np.arange(24 * 21)
    >>> y = 10 + np.sin(2 * np.pi * t / 24) + 0.1 * np.random.default_rng(0).normal(size=len(t))
    >>> f = Forecaster(24, season=24)
    >>> made = f.run(y)  # (504, 24): after each row, the next 24
    >>> bool(np.abs(f.forecast() - 10 - np.sin(2 * np.pi * (t[-1] + np.arange(1, 25)) / 24)).max() < 0.3)
    True
    >>> low, high = f.forecast_interval(0.9)
    """

    engine_: Engine | None = None
    trial_: Trial | None = None
    """After an alarm: a fresh engine beside this one."""
    calendar_: Calendar | None = None
    inputs_: Inputs | None = None
    notes_: dict[str, Any]
    """What those who hold the forecaster keep with it, in its file too; the forecaster itself does not read it."""

    def __init__(
        self,
        horizon: int,
        *,
        season: int | Sequence[int] | None = None,
        learner: Learner | Model | None = None,
        members: Sequence[Member] | None = None,
        frequency: str | None = None,
        resample: str | None = None,
        holidays: str | None = None,
    ) -> None:
        self.horizon = at_least("horizon", horizon, 1)
        self.season = season
        self._given = None if season is None else _lengths(season)
        if learner is not None and not isinstance(learner, (Learner, Model)):
            raise TypeError(f"learner must be a nystream learner, a Model or None, got {learner!r}")
        self.learner = learner
        if members is not None and not len(members):
            raise ValueError("members must have at least one member, or be None for the default ones")
        self.members = members
        self.frequency = frequency
        self._frequency = None if frequency is None else Frequency.parse(frequency)
        self.resample = resample
        if resample is not None:
            one_of("resample", resample, AGGREGATES)
            if frequency is None:
                raise ValueError(f"resample={resample!r} needs frequency, the distance of the rows, as '1h'")
        self.holidays = None if holidays is None else known_country(holidays)
        self._shared: GlobalLearner | None = None  # of a `KeyedForecaster`
        self._columns: tuple[int, Array] | None = None  # the calendar of the next rows, made anew when needed

    # -- learning --------------------------------------------------------------------------------------------------
    def step(self, y: float, x: Any = None, when: Any = None, ahead: Any = None) -> float:
        """Learn the next label and return the one-step forecast that was made before it; nan before the first row.

        Parameters
        ----------
        y : float
            nan or None: missing.
        x : row of inputs, optional
            Inputs of this row that were known ahead: numbers, or a dict with values of any kind that `Model` takes.
        when : timestamp, optional
            Rows that are missing between the last timestamp and this one are learnt as missing.
        ahead : rows of inputs, optional
            Inputs of the next rows as far as they are known by now. With them, members are scored by the forecasts that
            they made from these inputs; without them, by forecasts computed just before the label arrives.
        """
        time = None if when is None else self._one_time(when)
        x = None if x is None else self._inputs_for(x).row(x)
        rows = None if ahead is None else self._inputs_for(ahead).rows(ahead)
        if rows is not None and self.engine_ is not None:
            self._engine.check(self._joined(None, 0, rows))
        return self._take(_label(y), x, time, rows)

    def run(self, Y: Any, X: Any = None, when: Any = None) -> Array:
        """Return forecasts (n, H): row t has those of the next H rows, made after label t was learnt.

        Equals `step` for each row, with the rows of X that follow it as `ahead`, and `forecast` after it. If a row is
        refused, the call changes nothing.

        Parameters
        ----------
        Y : (n,) labels
        X : rows of inputs, optional
            Of the n rows; those of the rows after them may follow. Forecasts whose inputs are not in X are nan.
        when : n timestamps, optional
        """
        labels = np.asarray(Y, dtype=float)
        if labels.ndim != 1:
            raise ValueError(f"Y must have one dimension, one label for each row; it has shape {labels.shape}")
        n = len(labels)
        if np.isinf(labels).any():
            raise ValueError(f"label {int(np.isinf(labels).argmax())} is infinite")
        times: list[int | None] = [None] * n
        if when is not None:
            found = self._times(when)
            if len(found) != n:
                raise ValueError(f"there are {n} labels and {len(found)} timestamps")
            if self.resample is None and (np.diff(found) <= 0).any():
                i = int((np.diff(found) <= 0).argmax())
                raise ValueError(
                    f"timestamps must rise: {_shown(int(found[i + 1]))} comes after {_shown(int(found[i]))}; {RISING}"
                )
            times = found.tolist()
        X = X[:, None] if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.names is None else X
        rows = None if X is None or not n else self._inputs_for(X).rows(X)
        if rows is not None and not n <= len(rows) <= n + self.horizon:
            raise ValueError(f"X has {len(rows)} rows; {n} are needed, and up to {self.horizon} more that are known")
        out = np.full((n, self.horizon), math.nan)
        before = None if n < 2 or self._are_sure(rows, times) else copy.deepcopy(self)
        try:
            for t in range(n):
                ahead = None if rows is None else rows[t + 1 : t + 1 + self.horizon]
                self._take(float(labels[t]), None if rows is None else rows[t], times[t], ahead)
                out[t] = self._engine.forecast()
        except (ValueError, TypeError):
            if before is not None:
                self._return_to(before)
            raise
        return out

    def _are_sure(self, rows: Any, times: Sequence[int | None]) -> bool:
        """Whether no row of a block can be refused any more."""
        if self.engine_ is None or isinstance(rows, list) or (times[0] is not None) != self.timed_:
            return False
        calendar = self.calendar_
        if times[0] is None:
            return (rows is not None) == (self.inputs_ is not None)
        if calendar is None or calendar.frequency.is_civil or self.rows_ <= REGRID:
            return False
        places, rest = np.divmod(np.array(times) - calendar.first, calendar.micros)
        gaps = np.diff(places, prepend=self.rows_ - 1)
        return not rest.any() and bool((gaps > 0).all()) and bool((gaps <= LONGEST_GAP).all())

    def _return_to(self, before: Forecaster) -> None:
        """Take the state of an earlier copy."""
        for name in self._state():
            del self.__dict__[name]
        self._columns = None
        self._restore(before._state())
        for engine in self._engines():
            _bind(engine, self._shared)

    def _take(self, y: float, x: Any, time: int | None, ahead: Any) -> float:
        """Place the row in time, learn the rows that are missing before it, and learn it."""
        if self.engine_ is None:
            self._begin(x is not None, time)
        if (x is not None) != (self.inputs_ is not None):
            raise ValueError("x must be given with every row or with none")
        if (time is not None) != self.timed_:
            raise ValueError("when must be given with every row or with none")
        if time is None:
            return self._learn(y, x, ahead)
        row = self._place(time)
        if self.resample is not None:
            return self._gather(row, y, x)
        return self._learn_at(row, y, x, ahead)

    def _learn_at(self, row: int, y: float, x: Any, ahead: Any = None) -> float:
        gap = row - self.rows_
        if gap > LONGEST_GAP:
            raise ValueError(
                f"{gap:,} rows are missing before {self._when(row)}; check the timestamp, or begin a new one"
            )
        for _ in range(gap):
            self._learn(math.nan, None if self.inputs_ is None else self.inputs_.missing())
        return self._learn(y, x, ahead)

    def _learn(self, y: float, x: Any, ahead: Any = None) -> float:
        """Learn the next row of the grid."""
        engine = self._engine
        before = self.surprise_.scale(engine)
        answer = math.nan
        for each in self._engines():
            made = self._learn_row(each, self.rows_, y, x, ahead)
            answer = made if each is engine else answer
        self._keep(y, x)
        self.score_.learn(self.rows_, y)
        self.rows_ += 1
        self._try(self.surprise_.learn(y, answer, before))
        if self._given is None and self.rows_ >= FIRST_LOOK and self.rows_ & (self.rows_ - 1) == 0:
            self._revise()
        self.score_.give(self.rows_ - 1, self._engine)
        return answer

    def _engines(self) -> list[Engine]:
        """Return the engine, and during a trial also the fresh one."""
        found = [] if self.engine_ is None else [self.engine_]
        return found if self.trial_ is None else [*found, self.trial_.fresh_]

    def _try(self, alarm: Alarm | None) -> None:
        """Go on with a trial of a fresh engine, or begin one at an alarm, with the rows since the change."""
        assert self.engine_ is not None
        trial = self.trial_
        if trial is not None:
            trial.learn(self.engine_)
            if trial.is_over:
                self.engine_ = trial.fresh_ if trial.is_leading else self.engine_
                self.trial_ = None
        elif alarm is not None:
            self.trial_ = Trial()
            self.trial_.start(self._relearnt(alarm.row - alarm.change), self.seasons_)

    def _keep(self, y: float, x: Any) -> None:
        self.kept_.push(y)
        if self.inputs_ is not None and self.inputs_.is_table:
            self.kept_rows_.append(x)
            del self.kept_rows_[:-KEPT]
        elif self.kept_numbers_ is not None:
            self.kept_numbers_.push(x)

    def _forget_kept(self) -> None:
        """Make room for the rows that are kept: labels, and inputs as numbers or as dicts."""
        self.kept_ = Recent(1, KEPT)
        self.kept_rows_: list[Any] = []
        numbers = self.inputs_ is not None and not self.inputs_.is_table
        self.kept_numbers_ = Recent(self.inputs_.width, KEPT) if numbers and self.inputs_ is not None else None

    def _kept(self) -> tuple[Array, Any]:
        """Return the labels and inputs that are kept, oldest first."""
        labels = self.kept_.last(KEPT)[0].copy()
        if self.kept_numbers_ is not None:
            return labels, self.kept_numbers_.last(KEPT).T.copy()
        return labels, list(self.kept_rows_) if self.inputs_ is not None else [None] * len(labels)

    def _learn_row(self, engine: Engine, row: int, y: float, x: Any, ahead: Any = None) -> float:
        """Learn a row of the grid, with the calendar and the inputs of this row and of the next as far as known."""
        calendar = self._calendar_rows(row, self.horizon + 1)
        if self.inputs_ is None:
            return engine.learn(y) if calendar is None else engine.learn(y, calendar[0], calendar[1:])
        inputs = self._joined(calendar, 0, [x])[0]
        if ahead is None or not len(ahead):
            return engine.learn(y, inputs)
        return engine.learn(y, inputs, self._joined(calendar, 1, self._filled(ahead)), len(ahead))

    # -- beginning anew --------------------------------------------------------------------------------------------
    def _begin(self, has_inputs: bool, time: int | None) -> None:
        self.timed_ = time is not None
        self.rows_ = 0
        self.pending_: list[Any] = []
        self.surprise_ = Surprises()
        self.surprise_.start()
        self.score_ = Score(self.horizon)
        self.notes_ = {}
        self.seasons_ = list(self._given or [])
        self.revised_ = 0
        if not has_inputs:
            self.inputs_ = None
        self._forget_kept()
        if self._frequency is not None and time is not None:
            first = time if self.resample is None else self._frequency.floor(time, self.zone_)
            self._set_calendar(first, self._frequency)
        self.first_time_ = time
        self._restart()

    def _set_calendar(self, first: int, frequency: Frequency) -> None:
        self.calendar_ = Calendar(first, frequency.months, frequency.micros, self.zone_, self.holidays)
        self._columns = None
        if self._given is None:
            self.seasons_ = self.calendar_.frequency.seasons()

    def _revise(self) -> None:
        """Look for seasons in the rows that are kept; learn them again if the seasons are others."""
        candidates = None if self.calendar_ is None else self.calendar_.frequency.seasons()
        found = find_seasons(self.kept_.last(KEPT)[0], candidates)
        if found != self.seasons_:
            self.seasons_, self.revised_ = found, self.rows_
            self._restart()

    def _restart(self) -> None:
        """Begin with fresh members and learn the rows that are kept again."""
        self.trial_ = None
        self.engine_ = self._relearnt(KEPT)

    def _relearnt(self, rows: int) -> Engine:
        """Return a fresh engine that has learnt the last kept rows."""
        has_inputs = self.inputs_ is not None or self.calendar_ is not None or bool(self.seasons_)
        members = self.members
        if members is None:
            members = default_members(self._learner() if has_inputs else None, len(self.seasons_))
        engine = Engine(members, self.horizon, self.seasons_)
        engine.start()
        _bind(engine, self._shared)
        labels, inputs = self._kept()
        self._columns = None
        first = self.rows_ - len(labels)
        for i in range(max(0, len(labels) - rows), len(labels)):
            self._learn_row(engine, first + i, float(labels[i]), inputs[i])
        return engine

    def share(self, learner: GlobalLearner) -> None:
        """Use this learner, which other series share, in place of a kernel learner of its own."""
        self._shared = learner
        for engine in self._engines():
            _bind(engine, learner)

    def lesson(self) -> tuple[Any, float, float] | None:
        """Return inputs, label and ratio of the last row for a shared learner; None where it teaches nothing."""
        if self.engine_ is None:
            return None
        member = next((m for m in self.engine_.members_ if isinstance(m, Shared)), None)
        return None if member is None else member.lesson()

    def _learner(self) -> Any:
        if self._shared is not None:
            return Shared()
        memory = CALENDAR_MEMORY if self.inputs_ is None else INPUTS_MEMORY
        learner = Auto(lags=False, memory=memory, changes=False) if self.learner is None else self.learner
        if self.inputs_ is not None and self.inputs_.is_table and not isinstance(learner, Model):
            return Model(learner)
        return learner

    @property
    def _engine(self) -> Engine:
        """The engine that makes the forecasts."""
        if self.engine_ is None:
            raise ValueError("the forecaster has learnt nothing yet; call step or run first")
        return self.trial_.fresh_ if self.trial_ is not None and self.trial_.is_leading else self.engine_

    # -- time ------------------------------------------------------------------------------------------------------
    def _times(self, when: Any) -> np.ndarray:
        times, zone = instants(when)
        if self.engine_ is None:
            self.zone_ = zone
        elif self.timed_ and zone != self.zone_ and not (is_offset(zone) and is_offset(self.zone_)):
            raise ValueError(
                f"timestamps had the time zone {self.zone_ or 'none'!r} before, and {zone or 'none'!r} now"
            )
        return times

    def _one_time(self, when: Any) -> int:
        times = self._times(when)
        if len(times) != 1:
            raise ValueError(f"step takes one timestamp, got {len(times)}")
        return int(times[0])

    def _place(self, time: int) -> int:
        """Return the row of a timestamp."""
        if self.calendar_ is None:
            if self.rows_ == 0:
                return 0
            assert self.first_time_ is not None
            if time <= self.first_time_:
                raise ValueError(f"timestamps must rise: {_shown(time)} came after {_shown(self.first_time_)}")
            self._set_calendar(self.first_time_, Frequency.between(self.first_time_, time, self.zone_))
            self._restart()
        calendar = self.calendar_
        assert calendar is not None
        row = calendar.cell_of(time) if self.resample is not None else calendar.row_of(time)
        if row is None:
            row = self._finer(time)
        last = self.rows_ - (0 if self.resample is not None else 1)
        last += -1 if self.resample is not None and not self.pending_ else 0
        if row < last or (row == last and self.resample is None):
            raise ValueError(f"timestamps must rise: {_shown(time)} came after {self._when(self.rows_ - 1)}; {RISING}")
        return row

    def _finer(self, time: int) -> int:
        """Take a lower frequency for a timestamp between two rows, if all rows so far fit into it; else refuse."""
        calendar = self.calendar_
        assert calendar is not None
        micros = 0 if calendar.months else math.gcd(calendar.micros, time - calendar.first)
        rows = (time - calendar.first) // micros if micros else 0
        if not micros or self._frequency is not None or self.rows_ > REGRID or rows > 10 * (self.rows_ + 1):
            advice = " Where clocks change, name the time zone, or give dates alone."
            civil = advice if calendar.frequency.is_civil else ""
            raise ValueError(
                f"{_shown(time)} lies between two rows: the series has one row every {calendar.frequency}, from "
                f"{_shown(calendar.first)} on.{civil} For irregular timestamps use "
                "Forecaster(..., frequency='1h', resample='mean') with the distance that you want"
            )
        old, (labels, inputs) = calendar, self._kept()
        self._forget_kept()
        self._set_calendar(old.first, Frequency(0, micros))
        spread = old.micros // micros
        for i, y in enumerate(labels):
            for k in range(spread if i + 1 < len(labels) else 1):
                no_inputs = None if self.inputs_ is None else self.inputs_.missing()
                self._keep(float(y) if k == 0 else math.nan, inputs[i] if k == 0 else no_inputs)
        self.rows_ = self.kept_.count_
        self.score_ = Score(self.horizon)  # its forecasts were for rows of the old grid
        self._restart()
        return (time - old.first) // micros

    def _gather(self, row: int, y: float, x: Any) -> float:
        """Add a label to the cell of its row, after the cells before it are learnt."""
        if self.pending_ and self.pending_[0] < row:
            at, total, count, last, inputs = self.pending_
            value = {"mean": total / count if count else math.nan, "sum": total if count else math.nan, "last": last}
            self.pending_ = []
            self._learn_at(at, value[self.resample or "mean"], inputs)
        known = y == y
        if not self.pending_:
            self.pending_ = [row, y if known else 0.0, int(known), y, x]
        elif known:
            at, total, count, _, _ = self.pending_
            self.pending_ = [at, total + y, count + 1, y, x]
        step = row - self.rows_
        if self.rows_ == 0 or step >= self.horizon:
            return math.nan
        return float(self._asked([x] * (step + 1))[step] if self.inputs_ is not None else self._engine.forecast()[step])

    def step_of(self, when: Any) -> int | None:
        """Count the rows of the forecast before a time: 0 for the next row. None: there is no forecast for it.

        Before the frequency is known, every later time is the next row.
        """
        time = int(instants(when)[0][0])
        if self.calendar_ is None:
            return 0 if self.first_time_ is None or time > self.first_time_ else None
        row = self.calendar_.row_of(time)
        step = -1 if row is None else row - self.rows_
        return step if 0 <= step < self.horizon else None

    def _when(self, row: int) -> str:
        return f"row {row:,}" if self.calendar_ is None else str(self.calendar_.clock(row)).replace("T", " ")[:19]

    # -- inputs ----------------------------------------------------------------------------------------------------
    def _inputs_for(self, X: Any) -> Inputs:
        """Return the form of the inputs, which the first ones define."""
        if self.engine_ is None:
            self.inputs_ = Inputs.of(X)
        if self.inputs_ is None:
            raise ValueError("x must be given with every row or with none")
        return self.inputs_

    def _joined(self, calendar: Array | None, first: int, rows: Any) -> Any:
        """Return inputs together with the columns of the calendar, whose rows before `first` are left out."""
        assert self.inputs_ is not None
        part = None if calendar is None else calendar[first : first + len(rows)]
        return self.inputs_.joined(self._calendar_names, part, rows)

    def _filled(self, rows: Any) -> list[Any]:
        """Extend inputs to H rows by repeating the last one."""
        return [*rows, *[rows[-1]] * (self.horizon - len(rows))]

    @property
    def _calendar_names(self) -> list[str]:
        return [] if self.calendar_ is None else self.calendar_.names()

    def _calendar_rows(self, row: int, n: int) -> Array | None:
        """Return n rows of the calendar's columns from this row on; without timestamps, phases of the seasons."""
        if self.calendar_ is None and (not self.seasons_ or self.inputs_ is not None):
            return None
        first = row - row % CHUNK  # fixed cuts: a column has the same bits wherever a series was saved
        if self._columns is None or self._columns[0] != first:
            rows = np.arange(first, first + CHUNK + self.horizon + 1)
            made = _phases(rows, self.seasons_) if self.calendar_ is None else self.calendar_.columns(rows)
            self._columns = (first, made)
        return self._columns[1][row - first : row - first + n]

    # -- asking ----------------------------------------------------------------------------------------------------
    def forecast(self, steps: int | None = None, X: Any = None) -> Array:
        """Return the forecast (steps,) of the next rows. Changes nothing.

        Parameters
        ----------
        steps : int, optional
            At most the horizon, which is the default.
        X : rows of inputs, optional
            Of the next rows, where labels came with inputs; as many as steps.
        """
        forecast, n = self._ahead(X)
        if steps is not None and at_least("steps", steps, 1) > n:
            what = f"X has {n} rows" if n < self.horizon else f"the horizon is {self.horizon}"
            raise ValueError(f"cannot forecast {steps} steps: {what}")
        return forecast[: n if steps is None else steps]

    def forecast_interval(self, coverage: float = 0.9, X: Any = None) -> tuple[Array, Array]:
        """Return the ends (steps,) of intervals that cover a share of the next labels; infinite in the first rows.
        Pure.

        coverage : at most 0.99, because quantiles are kept of the levels from 0.005 to 0.995.
        """
        positive("coverage", coverage, below=1.0)
        low, high = self._quantiles(np.array([(1 - coverage) / 2, (1 + coverage) / 2]), X)
        return low, high

    def forecast_quantile(self, q: Any, X: Any = None) -> Array:
        """Return the quantiles (steps,) of the next labels at level q (several: a last axis more). Pure.

        q : level or levels, from 0.005 to 0.995.
        """
        found = self._quantiles(as_levels(q), X)
        return found[0] if np.ndim(q) == 0 else found.T

    def _quantiles(self, levels: Array, X: Any) -> Array:
        least, most = LEVELS[[0, -1]]
        if len(levels) and not (least - ROUNDING <= levels.min() and levels.max() <= most + ROUNDING):
            raise ValueError(
                f"quantiles are known of the levels from {least} to {most}, so intervals cover at most "
                f"{MOST_COVERED:.0%}; asked: {', '.join(f'{level:g}' for level in levels)}"
            )
        forecast, _ = self._ahead(X)
        engine = self._engine
        return engine.intervals_.quantiles(engine.row_, forecast, levels)

    def _ahead(self, X: Any) -> tuple[Array, int]:
        engine = self._engine
        if self.inputs_ is None:
            if X is not None:
                raise ValueError(
                    "labels came without inputs x, so X has no use; pass x with every row from the first on"
                )
            return engine.forecast(), self.horizon
        if X is None:
            raise ValueError("labels came with inputs x: pass X, the inputs of the next rows, nan where not known")
        rows = self.inputs_.rows(X)
        if not 0 < len(rows) <= self.horizon:
            raise ValueError(f"X has {len(rows)} rows; 1 to {self.horizon} rows are needed, those of the next steps")
        return self._asked(rows), len(rows)

    def _asked(self, rows: Any) -> Array:
        """Return the forecast for inputs of the next rows."""
        calendar = self._calendar_rows(self.rows_, self.horizon)
        return self._engine.forecast(self._joined(calendar, 0, self._filled(rows)))[: len(rows)]

    # -- what it says of itself --------------------------------------------------------------------------------------
    def surprise(self, y: float | None = None) -> Surprise:
        """Return how rare the last label was under its forecast, or, with y, how rare y would be next. Changes nothing.

        See `nystream.auto.surprise`.
        """
        engine = self._engine
        if y is None:
            return self.surprise_.last()
        if self.inputs_ is not None:
            raise ValueError("labels come with inputs: learn the row with step, then ask surprise()")
        return self.surprise_.of(_label(y), float(engine.forecast()[0]), self.surprise_.scale(engine))

    def alarms(self) -> list[Alarm]:
        """Return runs of surprising rows and rows beyond the record, in order, with a pause after each."""
        return [] if self.engine_ is None else self.surprise_.alarms()

    def score(self) -> dict[str, Array]:
        """Return the errors so far of the given forecasts, by step (H,).

        Keys are "mae", "rmse", "naive", "seasonal naive" and "coverage" of 90% intervals. "naive" and "seasonal naive"
        are the mean absolute errors of these two on the same rows. Forecasts whose inputs were not known ahead are not
        counted; values are nan where none was.
        """
        return (Score(self.horizon) if self.engine_ is None else self.score_).by_step()

    def weights(self) -> dict[str, Array]:
        """Return the weight (H,) of each member at every step."""
        return dict(zip(self._engine.names, self._engine.mixture_.weights_.T.copy(), strict=True))

    @property
    def seasons(self) -> list[int]:
        """Lengths of the seasons in rows, the shortest first."""
        return list(self._given or []) if self.engine_ is None else list(self.seasons_)

    @property
    def n_seen(self) -> int:
        """Rows learnt, missing ones included."""
        return 0 if self.engine_ is None else self.rows_

    def explain(self) -> str:
        """Describe the forecast as text: frequency, seasons, members by step, and parts of the next one."""
        return explanation(self)

    def decompose(self, X: Any = None) -> dict[str, Array]:
        """Return the parts (H,) that sum to the forecast: level, season, calendar, inputs, recent errors. Changes
        nothing.

        See `nystream.forecast.explain.decompose`.
        """
        return decompose(self, X)

    def history(self, rows: int) -> Array:
        """Return the last labels, oldest first, nan where missing; at most 2,048 are kept."""
        return np.zeros(0) if self.engine_ is None else self.kept_.last(rows)[0].copy()

    def times(self, rows: Any) -> np.ndarray | None:
        """Return the times of rows (from 0, the next one is `n_seen`) as clocks show them; None without timestamps."""
        if self.calendar_ is None:
            return None
        return self.calendar_.local(np.asarray(rows)).astype("datetime64[us]")

    def _member_forecast(self, name: str, X: Any, *, blank: bool = False) -> Array:
        """Return the forecast of one member; with `blank`, as if its inputs were missing."""
        engine = self._engine
        if self.inputs_ is None:
            made = engine.made_[engine.row_ % self.horizon]
            return made[engine.names.index(name)].copy()
        rows = self.inputs_.rows(X)
        n = len(rows)
        rows = [self.inputs_.missing()] * n if blank else rows
        calendar = self._calendar_rows(self.rows_, self.horizon)
        made = engine.members_ahead(self._joined(calendar, 0, self._filled(rows)))
        return made[engine.names.index(name), :n]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the forecaster holds."""
        parts: list[Any] = [] if self.engine_ is None else [*self._engines(), self.kept_, self.surprise_, self.score_]
        return sum(part.nbytes for part in parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the forecaster to one file, atomically; `nystream.load` goes on bit for bit."""
        persist.save(self, path)

    def to_bytes(self) -> bytes:
        """Return the forecaster in the format of `save`; `nystream.from_bytes` reads it."""
        return persist.to_bytes(self)


def _bind(engine: Engine, learner: GlobalLearner | None) -> None:
    for member in engine.members_:
        if isinstance(member, Shared) and learner is not None:
            member.bind(learner)


def _lengths(season: Any) -> list[int]:
    found = list(season) if isinstance(season, (Sequence, np.ndarray)) and not isinstance(season, str) else [season]
    for length in found:
        at_least("season", length, 2)
    if len(found) > 2 or len(set(found)) < len(found):
        raise ValueError(f"season must be at most two different lengths, got {season!r}")
    return sorted(int(length) for length in found)


def _label(y: Any) -> float:
    if y is None:
        return math.nan
    if isinstance(y, (str, bytes, Mapping)) or np.ndim(y):
        raise ValueError(f"y must be one number, got {y!r}")
    value = float(y)
    if math.isinf(value):
        raise ValueError(f"y must be finite, or nan where it is missing; got {y!r}")
    return value


def _shown(time: int) -> str:
    return str(np.datetime64(time, "us")).replace("T", " ")[:19]


def _phases(rows: np.ndarray, seasons: list[int]) -> Array:
    """Return the phase in each season with two harmonics, as inputs of a series without timestamps."""
    found = []
    for s in seasons:
        part = rows % s / s
        found += [part] + [f(2 * np.pi * k * part) for k in (1, 2) for f in (np.sin, np.cos)]
    return np.column_stack(found)
