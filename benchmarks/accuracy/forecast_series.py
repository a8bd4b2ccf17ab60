"""The seven known series of the forecast benchmark, each on a regular grid, and how forecasts are scored."""

from __future__ import annotations

import lzma
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DATA = Path(os.environ.get("NYSTREAM_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
ROWS = 17_520
"""Rows that are read of the half-hourly series and of the air in Beijing: one year, and two."""
WEATHER = ["holiday", "workingday", "weathersit", "temp", "atemp", "hum", "windspeed"]


@dataclass(frozen=True)
class Series:
    """Labels y (nan: missing) at the times t, inputs X known ahead or None, H steps ahead, lengths of the seasons."""

    name: str
    t: Any
    y: np.ndarray
    X: np.ndarray | None
    H: int
    seasons: tuple[int, ...]

    @property
    def refit(self) -> int:
        """Rows between refits of peers that are refitted: fewer while the series is short."""
        return 500 if len(self.y) > 2_000 else self.seasons[0]

    def until(self, rows: int) -> Series:
        """The first rows of the series."""
        X = None if self.X is None else self.X[:rows]
        return Series(self.name, self.t[:rows], self.y[:rows], X, self.H, self.seasons)

    def origins(self, spacing: int = 6) -> np.ndarray:
        """Rows that forecasts are scored from: after two of the longest cycles, every `spacing`-th."""
        first = 2 * self.seasons[-1] if self.seasons[-1] > 12 else 36
        return np.arange(first, len(self.y) - 1, spacing if len(self.y) > 500 else 1)

    def truth(self, origins: np.ndarray) -> np.ndarray:
        """Labels (origins, H) of the next rows; nan where there is none."""
        i = origins[:, None] + np.arange(1, self.H + 1)
        return np.where(i < len(self.y), self.y[np.minimum(i, len(self.y) - 1)], np.nan)

    def filled(self) -> np.ndarray:
        """Labels with those one season earlier in place of missing ones."""
        y, s = self.y.copy(), self.seasons[0]
        for i in np.flatnonzero(np.isnan(y)):
            y[i] = y[i - s] if i >= s else (y[i - 1] if i else 0.0)
        return y

    def seasonal_naive(self, origins: np.ndarray) -> np.ndarray:
        """Forecasts (origins, H): the newest label of the target's slot of the shortest season."""
        h, s = np.arange(1, self.H + 1), self.seasons[0]
        return self.filled()[np.maximum(origins[:, None] + h - s * -(-h // s), 0)]


def scores(P: np.ndarray, Y: np.ndarray) -> list[float]:
    """MAE, RMSE, and MAE of three groups of steps: the first eighth, up to the half, and the rest."""
    e, H = np.abs(P - Y), Y.shape[1]
    cuts = [slice(0, max(1, H // 8)), slice(max(1, H // 8), H // 2), slice(H // 2, H)]
    return [float(np.nanmean(e)), float(np.sqrt(np.nanmean(e**2))), *(float(np.nanmean(e[:, c])) for c in cuts)]


def relative(P: np.ndarray, series: Series, origins: np.ndarray) -> list[float]:
    """`scores` over those of the seasonal naive forecast from the same origins."""
    Y = series.truth(origins)
    return [a / b for a, b in zip(scores(P, Y), scores(series.seasonal_naive(origins), Y), strict=True)]


def _on_grid(frame: Any, frequency: str, label: str, inputs: list[str]) -> tuple[Any, np.ndarray, np.ndarray | None]:
    frame = frame[~frame.index.duplicated()].sort_index()
    frame = frame.reindex(pd.date_range(frame.index[0], frame.index[-1], freq=frequency))
    X = frame[inputs].ffill().to_numpy(float) if inputs else None
    return frame.index, frame[label].to_numpy(float), X


def _bike(inputs: list[str]) -> tuple[Any, ...]:
    frame = pd.read_csv(DATA / "bike-sharing" / "hour.csv.xz")
    frame.index = pd.to_datetime(frame.dteday) + pd.to_timedelta(frame.hr, unit="h")
    return (*_on_grid(frame, "h", "cnt", inputs), 24, (24, 168))


def _beijing() -> tuple[Any, ...]:
    frame = pd.read_csv(next((DATA / "beijing-pm25").glob("*.xz")))
    frame.index = pd.to_datetime(frame[["year", "month", "day", "hour"]])
    t, y, _ = _on_grid(frame, "h", "pm2.5", [])
    return t[:ROWS], y[:ROWS], None, 24, (24, 168)


def _demand(column: int, first: int, start: str) -> tuple[Any, ...]:
    with lzma.open(next((DATA / "elec2").glob("*.xz")), "rt") as lines:
        y = np.array([float(line.split(",")[column]) for line in lines if line[:1].isdigit()])
    y = 1000 * y[first : first + ROWS]
    return pd.date_range(start, periods=len(y), freq="30min"), y, None, 48, (48, 336)


def _airline() -> tuple[Any, ...]:
    from river import datasets

    rows = list(datasets.AirlinePassengers())
    return pd.DatetimeIndex([x["month"] for x, _ in rows]), np.array([float(y) for _, y in rows]), None, 12, (12,)


def _water() -> tuple[Any, ...]:
    from river import datasets

    rows = list(datasets.WaterFlow())
    times = pd.DatetimeIndex([x["Time"].replace(tzinfo=None) for x, _ in rows])
    return (*_on_grid(pd.DataFrame({"y": [y for _, y in rows]}, index=times), "h", "y", []), 24, (24, 168))


SERIES = {
    "airline": _airline,
    "water": _water,
    "bike": lambda: _bike([]),
    "bike_weather": lambda: _bike(WEATHER),
    "vic": lambda: _demand(6, 18_000, "1997-05-17"),  # the column is constant before
    "nsw": lambda: _demand(4, 0, "1996-05-07"),
    "beijing": _beijing,
}


def load(name: str) -> Series:
    """A series by name."""
    return Series(name, *SERIES[name]())
