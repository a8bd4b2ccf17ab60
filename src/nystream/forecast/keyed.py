"""Several series side by side: one forecaster for each key, and one kernel learner that all of them share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nystream import persist
from nystream.data.reading import read
from nystream.forecast.forecaster import Forecaster
from nystream.forecast.shared import GlobalLearner
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["KeyedForecaster"]


class KeyedForecaster(Params):
    """One `Forecaster` for each key, with a shared kernel learner (a global model) that helps short series.

    The shared learner learns the labels of all series, each in units of its own level and deviation, from the calendar
    and the inputs that are known ahead. It stands in each forecaster in place of a kernel learner of its own: a series
    that has only begun has the daily and weekly shape of the others from its first labels on, and the mixture turns to
    the members of the series itself as they get better.

    Series need timestamps, or seasons that are given: these are what they share. A key is text or a whole number.

    Parameters
    ----------
    horizon, season, frequency, resample, holidays
        As in `Forecaster`, for every key.
    learner : Learner, Model or None
        The shared one. None: `Auto` without label lags.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.forecast import KeyedForecaster
    >>> shape = np.sin(np.arange(240) * np.pi / 12)
    >>> f = KeyedForecaster(6, season=24)
    >>> for t in range(200):
    ...     for k, site in enumerate(["north", "south"]):
    ...         _ = f.step(site, 10 * (k + 1) + shape[t])
    >>> f.keys, bool(abs(f.forecast("south") - 20 - shape[200:206]).max() < 0.3)
    (['north', 'south'], True)
    """

    def __init__(
        self,
        horizon: int,
        *,
        season: int | Sequence[int] | None = None,
        learner: Any = None,
        frequency: str | None = None,
        resample: str | None = None,
        holidays: str | None = None,
    ) -> None:
        self.horizon = at_least("horizon", horizon, 1)
        self.season = season
        self.learner = learner
        self.frequency = frequency
        self.resample = resample
        self.holidays = holidays
        self._fresh()  # refuses what a forecaster refuses
        self.shared_ = GlobalLearner(learner)
        self.forecasters_: list[Forecaster] = []
        self.keys_: list[Any] = []
        self._places: dict[Any, int] = {}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._places = {key: i for i, key in enumerate(self.keys_)}
        for forecaster in self.forecasters_:
            forecaster.share(self.shared_)

    def _fresh(self) -> Forecaster:
        return Forecaster(
            self.horizon,
            season=self.season,
            frequency=self.frequency,
            resample=self.resample,
            holidays=self.holidays,
        )

    # -- learning ----------------------------------------------------------------------------------------------------
    def step(self, key: Any, y: float, x: Any = None, when: Any = None, ahead: Any = None) -> float:
        """Learn the next label of one series and return the one-step forecast made before it; nan at its first row.

        Parameters as in `Forecaster.step`.
        """
        place = self._places.get(_key(key))
        if place is None:
            if when is None and self.season is None:
                raise ValueError("series that share a learner need timestamps (when), or season=")
            forecaster = self._fresh()
            forecaster.share(self.shared_)
            answer = forecaster.step(y, x, when, ahead)
            self._places[_key(key)] = len(self.keys_)
            self.keys_.append(_key(key))
            self.forecasters_.append(forecaster)
        else:
            forecaster = self.forecasters_[place]
            answer = forecaster.step(y, x, when, ahead)
        lesson = forecaster.lesson()
        if lesson is not None:
            self.shared_.learn(*lesson)
        return answer

    def run(self, table: Any, target: str, key: str, time: str | None = None, known: Iterable[str] = ()) -> Array:
        """Return one-step forecasts (n,) for the rows of a table in their order, each made before its label was learnt.

        Parameters
        ----------
        table : frame, Arrow table or dicts
            Rows of all series; those of each in the order of time.
        target, key, time : names of columns
        known : names of columns
            Inputs that are known ahead.
        """
        found, names = read(table), list(known)
        for name in (target, key, *([] if time is None else [time]), *names):
            if name not in found.columns:
                raise ValueError(f"the table has no column {name!r}; it has {', '.join(found.columns)}")
        labels = [np.nan if value is None else float(value) for value in found.columns[target]]
        P = np.empty(found.n)
        for i, label in enumerate(labels):
            x = {name: found.columns[name][i] for name in names} if names else None
            when = None if time is None else found.columns[time][i]
            P[i] = self.step(found.columns[key][i], label, x, when)
        return P

    # -- asking ------------------------------------------------------------------------------------------------------
    @property
    def keys(self) -> list[Any]:
        """The keys, in the order in which they came."""
        return list(self.keys_)

    def __getitem__(self, key: Any) -> Forecaster:
        """Return the forecaster of a key, to ask it; only `step` of the whole learns labels."""
        place = self._places.get(_key(key))
        if place is None:
            raise KeyError(f"no row of the series {key!r} was learnt")
        return self.forecasters_[place]

    def forecast(self, key: Any, steps: int | None = None, X: Any = None) -> Array:
        """Return the forecast (steps,) of the next rows of one series. Changes nothing."""
        return self[key].forecast(steps, X)

    def forecast_interval(self, key: Any, coverage: float = 0.9, X: Any = None) -> tuple[Array, Array]:
        """Return the ends (steps,) of intervals that cover a share of the next labels of a series. Changes nothing."""
        return self[key].forecast_interval(coverage, X)

    @property
    def n_seen(self) -> int:
        """Rows learnt, of all series, missing ones included."""
        return sum(forecaster.n_seen for forecaster in self.forecasters_)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.shared_.nbytes + sum(forecaster.nbytes for forecaster in self.forecasters_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all series to one file, atomically; `nystream.load` goes on bit for bit."""
        persist.save(self, path)

    def to_bytes(self) -> bytes:
        """Return all series in the format of `save`; `nystream.from_bytes` reads it."""
        return persist.to_bytes(self)


def _key(key: Any) -> Any:
    """Convert a key to a type that files can hold."""
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, bool) or not isinstance(key, (str, int)):
        raise ValueError(f"a key is text or a whole number, got {key!r}")
    return key
