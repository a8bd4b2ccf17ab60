"""Forecasts of seven known series beside peers: errors relative to the seasonal naive forecast, from the same origins.

    python benchmarks/accuracy/forecast.py ours [series ...]         measure `nystream.Forecaster`
    python benchmarks/accuracy/forecast.py peers [series ...]        measure the peers (needs lightgbm, statsforecast)
    python benchmarks/accuracy/forecast.py first                     weeks 2 and 3 of the half-hourly series, both
    python benchmarks/accuracy/forecast.py changes                   generated series that change
    python benchmarks/accuracy/forecast.py                           print the tables of all that was measured

Figures are kept in benchmarks/results/forecast.json. Peers that are fitted anew at every origin are asked at fewer
origins; the forecaster is then scored from those origins too. `ours` also measures coverage of intervals and the first
rows. Peers use one core.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NIXTLA_NUMBA_RELEASE_GIL"):
    os.environ.setdefault(threads, "1")

import numpy as np
from forecast_peers import PEERS
from forecast_series import SERIES, Series, load, relative

RESULTS = Path(__file__).resolve().parents[1] / "results" / "forecast.json"
TESTS = Path(__file__).resolve().parents[2] / "tests" / "helpers"
OURS = "Forecaster"
PUBLISHED = {"airline": 0.406, "water": 0.634, "bike": 0.588, "bike_weather": 0.483} | {
    "vic": 0.458,
    "nsw": 0.477,
    "beijing": 0.671,
}
"""Errors of the research program that the forecaster began as."""
NO_INPUTS = ("bike_weather",)
"""Series with inputs known ahead, which only LightGBM of the peers takes."""
PAGE = RESULTS.with_suffix(".md")
INTRODUCTION = """# Forecasts beside other libraries

This page compares `nystream.Forecaster` with other libraries on seven known series. The seasonal naive forecast repeats
the last known value of the same place in the season, for example of the same hour one day before. The error of each
method is divided by the error of the seasonal naive forecast from the same origins (an origin is the row after which a
forecast is made). Lower is better; 1 is as good as seasonal naive.

- LightGBM is fitted again every 500 rows (every season for series of at most 2,000 rows).
- The methods of statsforecast (theta, MSTL) are fitted at every origin on the last 2,000 rows.
- The methods of river run with several settings. The table gives the best one, which is only known in hindsight.
- Slow methods forecast from fewer origins.
- `bike_weather` has inputs that are known ahead. Of the other methods, only LightGBM uses such inputs.

`python benchmarks/accuracy/forecast.py` writes this page."""
STEPS = (
    "Mean absolute error, first eighth of the steps",
    "Mean absolute error, rest of the first half",
    "Mean absolute error, last half of the steps",
)
PARTS = {
    "first": "Weeks 2 and 3 of half-hourly series: mean absolute error, relative to seasonal naive",
    "naive": "First rows: largest total error so far, relative to the better of naive and seasonal naive",
    "intervals": "Coverage of 90% intervals, also in parts of 500 rows; score relative to the best constant width",
    "changes": "Generated changes: error after the change, relative to a forecaster that starts at the change",
}
WEEK = 336
"""Rows of a week of the half-hourly series."""


def kept() -> dict[str, dict[str, object]]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(part: str, name: str, value: object) -> None:
    """Write one figure; the file is read anew, so that two programs can measure at once."""
    found = kept()
    found.setdefault(part, {}).setdefault(name, {}).update(value)  # type: ignore[attr-defined]
    RESULTS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def measure_peers(names: list[str], only: list[str]) -> None:
    for method, (forecasts, spacing) in PEERS.items():
        for name in names:
            if (name in NO_INPUTS and method != "LightGBM") or (only and method not in only):
                continue
            if method in kept().get("accuracy", {}).get(name, {}):
                continue
            series = load(name)
            origins, start = series.origins(spacing), time.process_time()
            P = forecasts(series, origins)
            ms = 1e3 * (time.process_time() - start) / len(origins)
            figures = [round(v, 4) for v in relative(P, series, origins)]
            keep("accuracy", name, {method: {"spacing": spacing, "relative": figures, "ms": round(ms, 2)}})
            print(name, method, figures, f"{ms:.1f} ms", flush=True)


def measure_first(ours: bool) -> None:
    """Weeks 2 and 3 of the half-hourly series."""
    for name in ("vic", "nsw"):
        series = load(name).until(3 * WEEK + 48)
        for week in (2, 3):
            origins = np.arange((week - 1) * WEEK, week * WEEK, 6)
            methods = [OURS] if ours else ["LightGBM", "MSTL-ARIMA"]
            for method in methods:
                P = run_ours(series)[0][origins] if method == OURS else PEERS[method][0](series, origins)
                figures = [round(v, 4) for v in relative(P, series, origins)]
                keep("first", f"{name} week {week}", {method: figures})
                print(name, "week", week, method, figures, flush=True)


def measure_changes() -> None:
    """The error after a change over that of a forecaster that began there, by day; series are those of the tests."""
    sys.path.insert(0, str(TESTS))
    from changed_series import CASES, DAY, ratios

    days = {"day 1": (0, 1), "day 2": (1, 2), "day 3": (2, 3), "days 4 and 5": (3, 5), "days 6 to 8": (5, 8)}
    for case in CASES:
        found = [ratios(case, seed, [(DAY * a, DAY * b) for a, b in days.values()]) for seed in range(3)]
        means = np.mean(found, axis=0)
        keep("changes", case.replace("_", " "), {day: round(float(v), 2) for day, v in zip(days, means, strict=True)})
        print(case, means.round(2), flush=True)


def run_ours(series: Series) -> tuple[np.ndarray, float]:
    """Forecasts (rows, H) made at every row, and CPU milliseconds a row."""
    from nystream import Forecaster

    forecaster = Forecaster(series.H)
    start = time.process_time()
    P = forecaster.run(series.y, X=series.X, when=series.t)
    return P, 1e3 * (time.process_time() - start) / len(series.y)


def measure_ours(names: list[str]) -> None:
    for name in names:
        series = load(name)
        P, ms = run_ours(series)
        found = {}
        for spacing in sorted({spacing for _, spacing in PEERS.values()}):
            origins = series.origins(spacing)
            found[str(spacing)] = [round(v, 4) for v in relative(P[origins], series, origins)]
        keep("accuracy", name, {OURS: {"relative": found["6"], "by spacing": found, "ms": round(ms, 3)}})
        print(name, found["6"], f"{found['6'][0] / PUBLISHED[name]:.3f} of published, {ms:.2f} ms a row", flush=True)
        keep("naive", name, first_rows(series, P))
        keep("intervals", name, coverage(series, P))
        print("   ", kept()["intervals"][name], flush=True)
        print("   ", kept()["naive"][name], flush=True)


def coverage(series: Series, P: np.ndarray) -> dict[str, float]:
    """Of 90% intervals around the forecasts: coverage of all, and of stretches of 500 rows; and the interval score over
    that of the best intervals of constant width for each step in hindsight."""
    from nystream.forecast.intervals import Intervals

    n, H = P.shape
    intervals, ends, levels = Intervals(H, series.seasons[0]), np.full((2, n, H), np.nan), np.array([0.05, 0.95])
    P = np.where(np.isnan(P), np.nan_to_num(series.filled())[:, None], P)
    for t in range(n):
        h = np.arange(min(H, t))
        intervals.learn(t, float(series.y[t]), P[t - 1 - h, h])
        ends[:, t] = intervals.quantiles(t, P[t], levels)
    rows = np.arange(series.origins()[0], n)
    Y, (low, high) = series.truth(rows), ends[:, rows]
    covered = np.where(np.isnan(Y), np.nan, (low <= Y) & (high >= Y))
    parts = [float(np.nanmean(covered[i : i + 500])) for i in range(0, max(1, len(rows) - 250), 500)]

    def score(low: np.ndarray, high: np.ndarray) -> float:
        return float(np.nanmean(high - low + 20 * np.maximum(low - Y, 0) + 20 * np.maximum(Y - high, 0)))

    constant = np.nanquantile(Y - P[rows], levels, axis=0)
    best = score(P[rows] + constant[0], P[rows] + constant[1])
    found = {"all": np.nanmean(covered), "stretches, mean": np.mean(parts), "least": min(parts), "largest": max(parts)}
    return {k: round(float(v), 3) for k, v in {**found, "score": score(low, high) / best}.items()}


def first_rows(series: Series, P: np.ndarray) -> dict[str, float]:
    """The error so far over that of the better of naive and seasonal naive: its largest value after some rows."""
    rows = np.arange(len(series.y))
    Y, y = series.truth(rows), series.filled()
    naive = np.repeat(y[:, None], series.H, axis=1)
    seasonal = series.seasonal_naive(rows)
    h = np.arange(1, series.H + 1)
    early = rows[:, None] + h - series.seasons[0] * -(-h // series.seasons[0]) < 0
    seasonal = np.where(early, naive, seasonal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sums = [np.nancumsum(np.nansum(np.abs(F - Y), axis=1)) for F in (P, naive, seasonal)]
    ratio = sums[0] / np.maximum(np.minimum(sums[1], sums[2]), 1e-12)
    cuts = [c for c in (1, series.seasons[0], 2 * series.seasons[0], series.seasons[-1]) if c < len(ratio)]
    return {f"largest after row {c}": round(float(ratio[c:].max()), 3) for c in sorted(set(cuts))}


def table(title: str, columns: list[str], rows: dict[str, list[str]]) -> str:
    """A table in Markdown under its title."""
    lines = [f"| series | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    return "\n".join([f"## {title}", "", *lines, *(f"| {k} | {' | '.join(v)} |" for k, v in rows.items() if any(v))])


def page() -> str:
    """All figures that were measured, as a page."""
    found, methods = kept(), [OURS, *PEERS]
    accuracy = {name: found.get("accuracy", {}).get(name, {}) for name in SERIES}
    parts = [INTRODUCTION]
    for place, title in enumerate(("Mean absolute error", "Root mean squared error", *STEPS)):
        rows = {k: [f"{r[m]['relative'][place]:.3f}" if m in r else "" for m in methods] for k, r in accuracy.items()}
        parts.append(table(f"{title}, relative to seasonal naive", methods, rows))
    rows = {k: [f"{r[m]['ms']:.1f}" if m in r else "" for m in methods] for k, r in accuracy.items()}
    parts.append(table("CPU milliseconds per forecast", methods, rows))
    rows = {
        k: [
            f"{r[OURS]['by spacing'][str(r[m]['spacing'])][0] / r[m]['relative'][0]:.3f}" if m in r else ""
            for m in PEERS
        ]
        for k, r in accuracy.items()
        if OURS in r
    }
    parts.append(
        table(
            "Mean absolute error of Forecaster, relative to each other method from the same origins", list(PEERS), rows
        )
    )
    for part, title in PARTS.items():
        entries = found.get(part, {})
        columns = list(dict.fromkeys(column for entry in entries.values() for column in entry))
        rows = {k: [shown(entry[c]) if c in entry else "" for c in columns] for k, entry in entries.items()}
        if rows:
            parts.append(table(title, columns, rows))
    return "\n\n".join(parts) + "\n"


def shown(value: object) -> str:
    """A figure; of several the first, which is the mean absolute error."""
    return f"{value[0] if isinstance(value, list) else value:.3f}"


if __name__ == "__main__":
    what, names = (sys.argv[1:2] or ["tables"])[0], [a for a in sys.argv[2:] if a in SERIES]
    only = [a for a in sys.argv[2:] if a in PEERS]
    if what == "peers":
        measure_first(ours=False) if not names else None
        measure_peers(names or list(SERIES), only)
    elif what == "changes":
        measure_changes()
    elif what == "ours":
        measure_first(ours=True) if not names else None
        measure_ours(names or list(SERIES))
    PAGE.write_text(page())
    print(page())
