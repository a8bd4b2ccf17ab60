"""Peers of the forecast benchmark: each gives forecasts (origins, H) of a series, with labels up to the origin only.

LightGBM is refitted every 500 rows on all rows so far, with the step as an input. The methods of statsforecast are
fitted at every origin on the last 2,000 rows. Those of river learn every row; of several settings (SNARIMAX three,
Holt-Winters 4 to 16) the best in hindsight counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from forecast_series import Series, scores

BOOSTING = {"n_estimators": 200, "learning_rate": 0.06, "num_leaves": 31, "min_child_samples": 20, "n_jobs": 1}
WINDOW = 2_000
"""Rows that statsforecast is fitted on."""


def calendar(t: Any) -> np.ndarray:
    """Hour, weekday and time of the year, as numbers and as harmonics, as far as they vary."""
    step, columns = (t[1] - t[0]).total_seconds(), []
    waves = (np.sin, np.cos)
    if step < 86_400 * 0.9:
        hour = t.hour + t.minute / 60
        columns += [hour] + [f(2 * np.pi * k * hour / 24) for k in (1, 2) for f in waves]
    if step < 86_400 * 6:
        week = t.dayofweek + (t.hour + t.minute / 60) / 24
        columns += [t.dayofweek, t.dayofweek >= 5] + [f(2 * np.pi * week / 7) for f in waves]
    year = t.dayofyear / 365.25
    columns += [f(2 * np.pi * year) for f in waves]
    if step > 86_400 * 27:
        columns += [t.month] + [f(4 * np.pi * year) for f in waves]
    return np.column_stack([np.asarray(c, float) for c in columns])


def _boosting_inputs(series: Series, X: np.ndarray, target: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Rows for the targets, h steps after their origins; labels up to the origin only."""
    y, s = series.y, series.seasons[0]
    origin = target - h

    def label(i: np.ndarray) -> np.ndarray:
        return np.where(i >= 0, y[np.maximum(i, 0)], np.nan)

    sums = np.concatenate([[0], np.nancumsum(y)])
    known = np.concatenate([[0], np.cumsum(~np.isnan(y))])
    low, high = np.maximum(origin - s + 1, 0), np.maximum(origin + 1, 0)
    with np.errstate(all="ignore"):
        mean = (sums[high] - sums[low]) / (known[high] - known[low])
    columns = [h, label(origin), label(origin - 1), label(origin - 2), mean, label(origin - s)]
    columns += [label(target - p * -(-h // p)) for p in series.seasons]
    columns += [label(target - s * (-(-h // s) + 1))]
    return np.column_stack([X[target], *columns])


def lightgbm(series: Series, origins: np.ndarray) -> np.ndarray:
    import warnings

    import lightgbm

    warnings.filterwarnings("ignore", message="X does not have valid feature names")

    X = calendar(series.t) if series.X is None else np.column_stack([calendar(series.t), series.X])
    P, rng, next_fit = np.full((len(origins), series.H), np.nan), np.random.default_rng(0), -1
    every = series.refit
    for i, t in enumerate(origins):
        if t >= next_fit:
            rows = np.flatnonzero(~np.isnan(series.y[: t + 1]))
            rows = np.repeat(rows[rows > 0], 3)
            h = rng.integers(1, series.H + 1, len(rows))
            model = lightgbm.LGBMRegressor(**BOOSTING, verbose=-1)
            model.fit(_boosting_inputs(series, X, rows, h), series.y[rows])
            next_fit = t + every
        h = np.arange(1, min(series.H, len(series.y) - 1 - t) + 1)
        P[i, : len(h)] = model.booster_.predict(_boosting_inputs(series, X, t + h, h))
    return P


def _statsforecast(make: Callable[[list[int]], Any]) -> Callable[[Series, np.ndarray], np.ndarray]:
    def forecasts(series: Series, origins: np.ndarray) -> np.ndarray:
        y, out = series.filled(), []
        for t in origins:
            part = y[max(0, t + 1 - WINDOW) : t + 1]
            seasons = [s for s in series.seasons if len(part) >= 2 * s]
            out.append(make(seasons).forecast(y=part, h=series.H)["mean"])
        return np.array(out)

    return forecasts


def _mstl(trend: str) -> Callable[[list[int]], Any]:
    def make(seasons: list[int]) -> Any:
        from statsforecast import models

        inner = models.AutoARIMA() if trend == "arima" else models.AutoETS(model="ZZN")
        return models.MSTL(season_length=seasons, trend_forecaster=inner)

    return make


def _theta(seasons: list[int]) -> Any:
    from statsforecast import models

    return models.Theta(season_length=seasons[0])


def _river(settings: Callable[[Series], Iterator[Any]]) -> Callable[[Series, np.ndarray], np.ndarray]:
    def forecasts(series: Series, origins: np.ndarray) -> np.ndarray:
        """Of the settings, the one with the lowest error in hindsight."""
        y, wanted, found = series.filled(), set(origins.tolist()), []
        for model in settings(series):
            P = []
            for t, label in enumerate(y):
                model.learn_one(label)
                if t in wanted:
                    try:
                        made = np.asarray(model.forecast(horizon=series.H), float)
                    except (OverflowError, ValueError, ZeroDivisionError, IndexError):
                        made = np.full(series.H, np.nan)
                    P.append(np.where(np.isfinite(made), np.clip(made, -1e12, 1e12), label))
            found.append(np.array(P))
        Y = series.truth(origins)
        return min(found, key=lambda P: scores(P, Y)[0])

    return forecasts


def _holt_winters(series: Series) -> Iterator[Any]:
    from river import time_series

    positive = bool((series.filled() > 0).all())
    for season in series.seasons:
        for alpha, beta, gamma in ((0.3, 0.01, 0.3), (0.1, 0.01, 0.1), (0.05, 0.001, 0.2), (0.3, 0.1, 0.6)):
            for multiplicative in (False, True) if positive else (False,):
                yield time_series.HoltWinters(alpha, beta, gamma, season, multiplicative)


def _snarimax(series: Series) -> Iterator[Any]:
    from river import time_series

    m = series.seasons[0]
    for p, d, q, sp, sd, sq in ((2, 0, 0, 1, 1, 0), (3, 0, 1, 2, 0, 1), (1, 1, 0, 1, 0, 0)):
        yield time_series.SNARIMAX(p=p, d=d, q=q, m=m, sp=sp, sd=sd, sq=sq)


PEERS: dict[str, tuple[Callable[[Series, np.ndarray], np.ndarray], int]] = {
    "LightGBM": (lightgbm, 6),
    "theta": (_statsforecast(_theta), 30),
    "Holt-Winters (river)": (_river(_holt_winters), 6),
    "SNARIMAX (river)": (_river(_snarimax), 30),
    "MSTL-ARIMA": (_statsforecast(_mstl("arima")), 66),
    "MSTL-ETS": (_statsforecast(_mstl("ets")), 66),
}
"""Name -> method, and the spacing of its origins:
the slow ones are asked at fewer origins, in all phases of day and week alike."""
