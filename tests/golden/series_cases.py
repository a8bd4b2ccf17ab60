"""Forecasters and bandits: models whose calls are not those of a learner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from case import TABLES, Call, Case, Rows

from nystream import BKB, PKRR, Forecaster, Fourier, Gaussian, KernelUCB
from nystream.forecast import KeyedForecaster
from nystream.forecast.learner import SeriesLearner

X = TABLES["X"]
SEASON = 3
LEARNT = 120
"""Rows of the series before its forecaster is saved."""
ROUNDING = {"tolerance": 1e-6, "reason": "many small regressions in a row: rounding of the first moves the last"}


def _learner() -> PKRR:
    return PKRR(Fourier(Gaussian(1.0), 8, seed=0), lam=0.1)


def forecaster(horizon: int, season: Any = None) -> Forecaster:
    """With a small kernel learner, for a small file."""
    return Forecaster(horizon, season=season, learner=_learner())


def _series(rows: int) -> np.ndarray:
    """A season, a trend and noise, with few digits."""
    rng = np.random.default_rng(11)
    t = np.arange(rows)
    return (5 + 0.01 * t + np.sin(2 * np.pi * t / SEASON) + 0.1 * rng.normal(size=rows)).round(3)


def _hours(rows: int) -> np.ndarray:
    return np.datetime64("2024-03-01T00", "h") + np.arange(rows)


def forecasters() -> Iterator[Case]:
    y = _series(LEARNT)
    TABLES.setdefault("series", _series(LEARNT + 20)[LEARNT:])
    ahead = [Call("forecast", ()), Call("forecast_interval", ()), Call("forecast_quantile", (0.3,)), Call("seasons")]
    calls = [*ahead, Call("run", (Rows("series", 0, 10),)), Call("step", (Rows("series", 10),)), Call("n_seen"), *ahead]
    for name, model, kwargs in (
        ("found", forecaster(2), {}),
        ("none", forecaster(2, []), {}),
        ("short", forecaster(2, SEASON), {"rows": 9}),
        ("holes", forecaster(2, SEASON), {"holes": True}),
    ):
        labels = y[: kwargs.get("rows", LEARNT)].copy()
        if kwargs.get("holes"):
            labels[[5, 40, 41, 42, 100]] = np.nan
        model.run(labels)
        yield Case(f"forecaster-{name}", model, calls, learner="Forecaster", **ROUNDING)

    positive = forecaster(2, SEASON)
    positive.run(np.exp(y - 5).round(3))
    yield Case("forecaster-positive", positive, calls, learner="Forecaster", **ROUNDING)
    changed = forecaster(2, SEASON)
    changed.run(np.concatenate([_series(240), y[:6] + 20]))
    yield Case("forecaster-after-a-change", changed, [*calls, Call("nbytes")], learner="Forecaster", **ROUNDING)

    inputs = np.tile(X, (3, 1))[: LEARNT + 3]
    known = forecaster(2, SEASON)
    known.run(y, inputs[:LEARNT])
    asked = [Call("forecast", (None, Rows("X", 0, 2))), Call("forecast_interval", (0.8, Rows("X", 0, 2)))]
    more = [Call("run", (Rows("series", 0, 10), Rows("X", 0, 10))), *asked]
    yield Case("forecaster-inputs", known, [*asked, *more], learner="Forecaster", **ROUNDING)
    dated = forecaster(2)
    dated.run(y, when=_hours(LEARNT))
    yield Case("forecaster-calendar", dated, [*ahead, Call("n_seen")], learner="Forecaster", **ROUNDING)

    times = _hours(LEARNT + 6).astype("datetime64[s]")
    rows = SeriesLearner(2, time="when", season=SEASON, learner=_learner())
    rows.run({"when": times[:LEARNT]}, y)
    calls = [Call("n_seen"), Call("forecaster_.forecast", ()), Call("forecaster_.forecast_interval", ())]
    yield Case("forecaster-as-a-learner", rows, calls, learner="SeriesLearner", **ROUNDING)

    keyed = KeyedForecaster(2, season=SEASON, learner=_learner())
    for t in range(60):
        for k, site in enumerate(("north", "south")):
            keyed.step(site, float(10 * (k + 1) + y[t]))
    calls = [Call("keys"), Call("forecast", ("south",)), Call("step", ("north", Rows("series", 0))), Call("n_seen")]
    calls += [Call("forecast_interval", ("north", 0.8))]
    yield Case("forecaster-keyed", keyed, calls, learner="KeyedForecaster", **ROUNDING)


def bandits() -> Iterator[Case]:
    y = TABLES["y"]
    made: dict[str, Any] = {
        "kernel-ucb": KernelUCB(Gaussian(0.7)),
        "bkb": BKB(Gaussian(0.7), seed=3),
    }
    for name, bandit in made.items():
        for t in range(16):
            chosen = bandit.choose(X[t : t + 4])
            bandit.learn(X[t + chosen], y[t + chosen])
        arms = Rows("X", 50, 56)
        asked = [Call("predict", (arms,)), Call("width", (arms,)), Call("choose", (arms,)), Call("regret_bound", ())]
        calls = [*asked, Call("learn", (Rows("X", 20), Rows("y", 20))), Call("choose_batch", (arms, 3)), *asked]
        yield Case(f"bandit-{name}", bandit, [*calls, Call("n_seen")])


def cases() -> Iterator[Case]:
    yield from forecasters()
    yield from bandits()
