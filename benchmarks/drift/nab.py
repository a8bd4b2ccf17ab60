"""Part of the Numenta Anomaly Benchmark: what alarms of surprising rows score, beside simple novelty of values.

    python benchmarks/drift/nab.py                 measure all, write benchmarks/results/nab.json, print the table
    python benchmarks/drift/nab.py Forecaster      measure one of novelty, Forecaster, Auto
    python benchmarks/drift/nab.py print           print the table

25 files (data/nab). Each detector gives every row a score that knows earlier rows only. As in the benchmark, one
threshold for all files is chosen in hindsight, on the benchmark's score; a file's first 15 percent, at most 750 rows,
do not count. `alarms` are those of `Forecaster.alarms()`, without any choice. 0 is the score of a detector that says
nothing, 100 that of a perfect one.
"""

from __future__ import annotations

import bisect
import json
import lzma
import math
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

DATA = Path(os.environ.get("NYSTREAM_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")) / "nab"
RESULTS = Path(__file__).resolve().parents[1] / "results" / "nab.json"
PROFILES = {"standard": (0.11, 1.0), "low FP": (0.22, 1.0), "low FN": (0.11, 2.0)}
"""What a false detection and a missed window cost."""
QUIET = 100
"""Rows after a detection in which scores are not looked at, as in `Forecaster.alarms`."""
SCALE_ROWS = 100
"""Rows from which on novelty is measured in units of the spread of the values so far."""


def load() -> dict[str, tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]]:
    """Times, values and windows (first and last row) of each file."""
    found = {}
    for name, windows in json.loads((DATA / "windows.json").read_text()).items():
        path = DATA / f"{name}.xz"
        if path.exists():
            lines = lzma.decompress(path.read_bytes()).decode().split("\n")[1:]
            pairs = [line.split(",") for line in lines if line]
            t = np.array([p[0] for p in pairs], dtype="datetime64[s]")
            ends = [np.array([w[:19] for w in window], dtype="datetime64[s]") for window in windows]
            rows = [(int(np.searchsorted(t, a)), int(np.searchsorted(t, b, side="right")) - 1) for a, b in ends]
            found[name] = (t, np.array([float(p[1]) for p in pairs]), rows)
    return found


# -- detectors: (n,) scores, the higher the rarer ----------------------------------------------------------------------
def novelty(t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The distance of a value to the nearest earlier one, over the spread of the earlier ones (5 to 95 percent)."""
    seen: list[float] = []
    scores = np.zeros(len(y))
    for i, value in enumerate(y.tolist()):
        place = bisect.bisect_left(seen, value)
        near = [abs(value - v) for v in seen[max(place - 1, 0) : place + 1]]
        if i >= SCALE_ROWS:
            spread = seen[int(0.95 * (i - 1))] - seen[int(0.05 * (i - 1))]
            scores[i] = min(near) / (spread or 1.0)
        seen.insert(place, value)
    return scores


def _rarity(once_in: float, beyond: float) -> float:
    """One number from both parts of a surprise."""
    return math.log10(max(once_in, 1.0)) + (math.log2(beyond) if beyond > 1 else 0.0)


def forecaster(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Surprise of each row under the forecast one step ahead; and the rows of the alarms."""
    from nystream import Forecaster

    f = Forecaster(1)
    scores = np.zeros(len(y))
    for i, value in enumerate(y.tolist()):
        f.step(value)
        found = f.surprise()
        scores[i] = _rarity(found.once_in, found.beyond)
    return scores, [alarm.row - 1 for alarm in f.alarms()]


def auto(t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Surprise of each row under the prediction of `Auto` from the hour of the day and its own label lags."""
    from nystream import Auto

    model, scores = Auto(), np.zeros(len(y))
    hours = (t - t.astype("datetime64[D]")).astype(float) / 3600
    for i, value in enumerate(y.tolist()):
        model.step([hours[i]], value)
        found = model.surprise()
        scores[i] = _rarity(found.once_in, found.beyond)
    return scores


# -- the benchmark's score ---------------------------------------------------------------------------------------------
def sigma(y: float) -> float:
    return 2 / (1 + math.exp(5 * y)) - 1


def detections(scores: np.ndarray, threshold: float) -> list[int]:
    """Rows at or above a threshold, with a pause after each."""
    found: list[int] = []
    for i in np.flatnonzero(scores >= threshold).tolist():
        if not found or i - found[-1] >= QUIET:
            found.append(i)
    return found


def file_score(rows: list[int], n: int, windows: list[tuple[int, int]], false: float, missed: float) -> float:
    """Of one file, before it is put on the scale from 0 to 100."""
    probation = min(int(0.15 * n), 750)
    rows = [i for i in rows if i >= probation]
    total = 0.0
    for a, b in windows:
        inside = [i for i in rows if a <= i <= b]
        total += sigma(-(b - inside[0] + 1) / (b - a + 1)) / sigma(-1.0) if inside else -missed
    for i in rows:
        if not any(a <= i <= b for a, b in windows):
            behind = [(i - b) / (b - a + 1) for a, b in windows if b < i]
            total += false * (sigma(min(behind)) if behind else -1.0)
    return total


def scaled(found: dict[str, list[int]], series: dict, profile: str) -> float:
    false, missed = PROFILES[profile]
    windows = sum(len(w) for _, _, w in series.values())
    total = sum(file_score(found[k], len(y), w, false, missed) for k, (_, y, w) in series.items())
    return 100 * (total + missed * windows) / (windows + missed * windows)


def best(scores: dict[str, np.ndarray], series: dict, profile: str) -> float:
    """With the threshold that scores most, of 200."""
    levels = np.unique(np.quantile(np.concatenate(list(scores.values())), 1 - np.geomspace(1e-5, 0.05, 200)))
    return max(scaled({k: detections(s, level) for k, s in scores.items()}, series, profile) for level in levels)


def measure(name: str) -> dict[str, dict[str, float]]:
    """The rows of the table that a detector gives."""
    series, scores, alarms = load(), {}, {}
    for k, (t, y, _) in series.items():
        if name == "Forecaster":
            scores[k], alarms[k] = forecaster(t, y)
        else:
            scores[k] = {"novelty": novelty, "Auto": auto}[name](t, y)
        print(k, len(y), "rows", flush=True)
    title = "novelty of values" if name == "novelty" else f"`{name}.surprise()`"
    table = {title: {p: round(best(scores, series, p), 1) for p in PROFILES}}
    if alarms:
        table["`Forecaster.alarms()`"] = {p: round(scaled(alarms, series, p), 1) for p in PROFILES}
    return table


def show(table: dict[str, dict[str, float]]) -> str:
    lines = ["| detector | " + " | ".join(PROFILES) + " |", "|---" * (1 + len(PROFILES)) + "|"]
    return "\n".join(
        lines + [f"| {k} | " + " | ".join(f"{row[p]:.1f}" for p in PROFILES) + " |" for k, row in table.items()]
    )


if __name__ == "__main__":
    for name in sys.argv[1:] or ("novelty", "Forecaster", "Auto"):
        if name != "print":
            kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            RESULTS.write_text(json.dumps({**kept, **measure(name)}, indent=1) + "\n")
    print(show(json.loads(RESULTS.read_text())))
