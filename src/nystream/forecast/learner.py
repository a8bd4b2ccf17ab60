"""A forecaster as a learner of rows, so that a `Model`, a server and Spark can hold it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from nystream.data.batch import Batch
from nystream.data.inputs import as_levels
from nystream.forecast.forecaster import LONGEST_GAP, REGRID, Forecaster
from nystream.learners.families.tabular import Opening, TabularLearner
from nystream.runtime.params import at_least, checked_ahead, positive
from nystream.runtime.types import Array

__all__ = ["SeriesLearner"]


class SeriesLearner(TabularLearner):
    """Learns the rows of one series in their order with a `Forecaster`.

    One column holds the time of each row; all others are inputs that are known ahead. The prediction for a row is the
    forecast for its time. It is nan where no forecast was made for that time: more than `horizon` rows after the last
    label, or before it. Without a column of times, every row is the next one. Rows that a call refuses (times that do
    not rise, or lie between two rows) change nothing.

    `forecaster_` is the forecaster, with `forecast`, `forecast_interval`, `explain` and so on.

    Parameters
    ----------
    horizon : int
    time : str or None
        The column of times. None: the only column of that kind, if there is one.
    season, frequency, holidays, learner
        As in `Forecaster`.
    """

    kinds_: Any = None
    time_: str | None = None

    def __init__(
        self,
        horizon: int = 24,
        time: str | None = None,
        season: Any = None,
        frequency: str | None = None,
        holidays: str | None = None,
        learner: Any = None,
    ) -> None:
        self.horizon = at_least("horizon", horizon, 1)
        self.time = time
        self.season = season
        self.frequency = frequency
        self.holidays = holidays
        self.learner = learner
        self._fresh()  # refuses what a forecaster refuses

    def _fresh(self) -> Forecaster:
        return Forecaster(
            self.horizon, season=self.season, frequency=self.frequency, holidays=self.holidays, learner=self.learner
        )

    @property
    def missing(self) -> bool:
        return True

    @property
    def takes_sparse(self) -> bool:
        return False

    @property
    def takes_parts(self) -> bool:
        return False

    @property
    def opening(self) -> Opening:
        return self.kinds_

    @property
    def size(self) -> int:
        """Weights of the members, at every step."""
        return sum(len(shares) for shares in self.forecaster_.weights().values()) if self._is_begun else 0

    @property
    def nbytes(self) -> int:
        return self.forecaster_.nbytes if self.d_ else 0

    @property
    def _is_begun(self) -> bool:
        return bool(self.d_) and self.forecaster_.engine_ is not None

    # -- learning ----------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        kinds = dict(self._first) if isinstance(self._first, dict) else None
        times = [name for name, kind in (kinds or {}).items() if kind == "time"]
        if self.time is not None and self.time not in times:
            raise ValueError(f"time={self.time!r} is no column of times; these are {', '.join(times) or 'none'}")
        if self.time is None and len(times) > 1:
            raise ValueError(f"{', '.join(times)} hold times: say which one is that of the rows with time=")
        self.kinds_, self.time_ = kinds, self.time or (times[0] if times else None)
        self.forecaster_ = self._fresh()

    def _run(self, X: Any, Y: Array, weights: Array | None) -> Array:
        times, rows = self._split(X)
        if times is not None and len(times) > 1 and (np.diff(times) <= np.timedelta64(0)).any():
            i = int((np.diff(times) <= np.timedelta64(0)).argmax())
            raise ValueError(f"times must rise: {times[i + 1]} comes after {times[i]}; sort the rows")
        forecaster = self.forecaster_ if self._are_sure(times) else copy.deepcopy(self.forecaster_)
        P = np.empty((len(Y), 1))
        for i, y in enumerate(Y[:, 0].tolist()):
            when = None if times is None else times[i]
            P[i] = self._ahead(forecaster, when, None if rows is None else rows[i], None)
            forecaster.step(y, None if rows is None else rows[i], when)
        self.forecaster_ = forecaster
        return P

    def _are_sure(self, times: Any) -> bool:
        """Return whether no row can be refused any more; if one can be, a copy of the forecaster learns first."""
        calendar = self.forecaster_.calendar_
        if times is None:
            return self._is_begun
        if calendar is None or calendar.months or self.forecaster_.rows_ <= REGRID or np.isnat(times).any():
            return False
        micros = times.astype("datetime64[us]").astype(np.int64) - calendar.first
        places, rest = np.divmod(micros, calendar.micros)
        gaps = np.diff(np.concatenate([[self.forecaster_.rows_ - 1], places]))
        return not rest.any() and bool((gaps > 0).all()) and bool((gaps <= LONGEST_GAP).all())

    def _split(self, X: Any) -> tuple[Any, Any]:
        """Split rows into times (n,) and inputs, which are dicts, or a matrix of numbers; each may be None."""
        if not isinstance(X, Batch):
            return None, X
        arrays = dict(zip(X.kinds, X.arrays, strict=True))
        times = None if self.time_ is None else _moments(arrays.pop(self.time_))
        if not arrays:
            return times, None
        values = [_plain(array, X.kinds[name]) for name, array in arrays.items()]
        return times, [dict(zip(arrays, row, strict=True)) for row in zip(*values, strict=True)]

    # -- asking ------------------------------------------------------------------------------------------------------
    def _predict(self, X: Any) -> Array:
        return self._answers(X, None)[:, None]

    def _answers(self, X: Any, level: float | None) -> Array:
        """Return the forecast (n,) for each row, or its quantile at a level."""
        times, rows = self._split(X)
        if not self._is_begun:
            return np.zeros(len(X)) if level is None else np.full(len(X), np.nan)
        found = [
            self._ahead(self.forecaster_, None if times is None else times[i], None if rows is None else rows[i], level)
            for i in range(len(X))
        ]
        return np.array(found, dtype=float)

    def _ahead(self, forecaster: Forecaster, when: Any, row: Any, level: float | None) -> float:
        """Return the forecast for the time of one row, or its quantile at a level."""
        if forecaster.engine_ is None:
            return 0.0
        step = 0 if when is None else forecaster.step_of(when)
        if step is None:
            return float("nan")
        X = None if row is None else [row] * (step + 1)
        if level is not None:
            return float(forecaster.forecast_quantile(level, X)[step])
        return float(forecaster.forecast(X=X)[step])

    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        checked_ahead(ahead)
        positive("coverage", coverage, below=1.0)
        rows = self._accepted(X)
        return self._answers(rows, (1 - coverage) / 2), self._answers(rows, (1 + coverage) / 2)

    def predict_quantile(self, X: Any, q: Any, ahead: int | None = None) -> Array:
        checked_ahead(ahead)
        rows = self._accepted(X)
        found = np.array([self._answers(rows, float(level)) for level in as_levels(q)])
        return found[0] if np.ndim(q) == 0 else found.T

    def weights(self) -> dict[str, float]:
        if not self._is_begun:
            return {}
        return {name: float(shares[0]) for name, shares in self.forecaster_.weights().items()}

    def explain(self) -> str:
        return self._fresh().explain() if not self.d_ else self.forecaster_.explain()


def _moments(values: Any) -> Any:
    """Convert times of typed columns to datetime64."""
    array = np.asarray(values)
    return array if array.dtype.kind == "M" else array.astype("datetime64[us]")


def _plain(values: Any, kind: str) -> list[Any]:
    return [None if value != value else value for value in np.asarray(values).tolist()]
