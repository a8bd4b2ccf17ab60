"""The forecaster as a model of river's time series."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from nystream.forecast import Forecaster
from nystream.river.named import RiverForecaster

__all__ = ["KernelForecaster"]


class KernelForecaster(RiverForecaster):
    """`nystream.Forecaster` as a forecaster of river: `learn_one(y, x)` and `forecast(horizon, xs)`.

    Parameters
    ----------
    horizon : int
        The largest number of steps ahead.
    time : str or None
        The feature that holds the time of a row. None: the feature that is a `datetime` in the first row, if there is
        one. All other features are inputs that are known ahead: `forecast` needs them in `xs`.
    season, frequency, resample, holidays
        As in `nystream.Forecaster`.

    Examples
    --------
    >>> from nystream.river import KernelForecaster
    >>> from river import datasets, evaluate, metrics
    >>> score = evaluate.evaluate(datasets.AirlinePassengers(), KernelForecaster(horizon=12), metrics.MAE(), horizon=12)
    >>> len(score.get())
    12
    """

    def __init__(
        self,
        horizon: int = 24,
        time: str | None = None,
        season: Any = None,
        frequency: str | None = None,
        resample: str | None = None,
        holidays: str | None = None,
    ) -> None:
        self.horizon = horizon
        self.time = time
        self.season = season
        self.frequency = frequency
        self.resample = resample
        self.holidays = holidays
        self._forecaster = Forecaster(horizon, season=season, frequency=frequency, resample=resample, holidays=holidays)
        self._time: str | None = time
        self._has_inputs = False

    def learn_one(self, y: float, x: Mapping[Any, Any] | None = None) -> None:
        """Learn the next label. None or nan is a missing label."""
        if not self._forecaster.n_seen:
            self._look_at(x)
        when, inputs = self._parts(x)
        self._forecaster.step(y, inputs, when)

    def forecast(self, horizon: int, xs: Sequence[Mapping[Any, Any]] | None = None) -> list[float]:
        """Return forecasts of the next labels, at most as many as the model's horizon; zeros before the first row."""
        X = self._inputs_ahead(horizon, xs)
        if not self._forecaster.n_seen:
            return [0.0] * horizon
        found: list[float] = self._forecaster.forecast(horizon, X).tolist()
        return found

    def forecast_interval(
        self, horizon: int, coverage: float = 0.9, xs: Sequence[Mapping[Any, Any]] | None = None
    ) -> list[tuple[float, float]]:
        """Return the ends of intervals that cover this share of the next labels; infinite while too few rows have been
        learnt.
        """
        X = self._inputs_ahead(horizon, xs)
        if not self._forecaster.n_seen:
            return [(float("-inf"), float("inf"))] * horizon
        low, high = self._forecaster.forecast_interval(coverage, X)
        return list(zip(low[:horizon].tolist(), high[:horizon].tolist(), strict=True))

    @property
    def forecaster(self) -> Forecaster:
        """The `nystream.Forecaster` inside, with its `explain`, `alarms`, `save` and so on."""
        return self._forecaster

    def _inputs_ahead(self, horizon: int, xs: Sequence[Mapping[Any, Any]] | None) -> Any:
        """Return the inputs of the next rows, or None where rows come without."""
        if not 1 <= horizon <= self.horizon:
            raise ValueError(
                f"horizon must be 1 to {self.horizon}, got {horizon}; KernelForecaster(horizon=...) sets it"
            )
        if not self._has_inputs:
            return None
        if xs is None or len(xs) < horizon:
            raise ValueError(f"rows came with inputs: xs must have the inputs of the next {horizon} rows")
        return [self._parts(x)[1] for x in xs[:horizon]]

    def _look_at(self, x: Mapping[Any, Any] | None) -> None:
        """Tell the time from the inputs in the first row."""
        row = x or {}
        if self.time is None:
            times = [name for name, value in row.items() if isinstance(value, (dt.datetime, dt.date))]
            self._time = times[0] if times else None
        self._has_inputs = any(name != self._time for name in row)

    def _parts(self, x: Mapping[Any, Any] | None) -> tuple[Any, Any]:
        """Return the time and the inputs of a row, each or None."""
        row = x or {}
        if self._time is not None and self._time not in row:
            raise ValueError(f"x has no {self._time!r}, the time of the row")
        when = None if self._time is None else row[self._time]
        inputs = {str(name): value for name, value in row.items() if name != self._time}
        return when, inputs if self._has_inputs else None
