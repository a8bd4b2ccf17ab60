"""Make docs/images/change.png, the picture of the README, and the figures beside it.

    pip install lightgbm river matplotlib
    python docs/make_picture.py           # about a minute; run it again when the predictions of Auto change

A stream of 6,000 rows whose function changes after row 3,000 (Friedman's function with its columns exchanged). Every
model predicts each row before it learns it. Auto has no option. Of river, seven regressors run with their defaults on
scaled columns, and the one with the least error over the whole stream is drawn. LightGBM with its defaults is fitted
anew every 100 rows: once on all rows so far, and once on the last 1,000, which is a choice that needs to know how
often the function changes.
"""

from __future__ import annotations

import os
import sys
import warnings

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import nystream
from nystream.plot.style import AXIS, INK, LARGE, PALETTE, SMALL, blank, frame

PICTURE = Path(__file__).parent / "images" / "change.png"
FIGURES = PICTURE.with_suffix(".json")
ROWS, CHANGE = 6000, 3000
WINDOW = 200
"""The curves are mean squared errors over so many rows."""
REFIT, RECENT = 100, 1000
"""LightGBM is fitted every so many rows; the second one on so many of the last rows."""
NOISE = 1.0
"""Variance of the noise: the least error that any model can have."""
AUTO, REFITTED, REFITTED_RECENT = "Auto", "LightGBM, all rows so far", "LightGBM, last 1,000 rows"
Answers = Callable[[np.ndarray, np.ndarray], np.ndarray]


def predict_with_auto(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return nystream.Auto().run(X, y)


def predict_with_lightgbm(X: np.ndarray, y: np.ndarray, recent: int | None = None) -> np.ndarray:
    """Refit from scratch every REFIT rows on all rows so far, or on the last `recent`; before that, the mean."""
    import lightgbm

    p = np.zeros(len(y))
    p[1:REFIT] = y[: REFIT - 1].cumsum() / np.arange(1, REFIT)
    for stop in range(REFIT, len(y), REFIT):
        start = 0 if recent is None else max(0, stop - recent)
        model = lightgbm.LGBMRegressor(n_jobs=1, verbose=-1, random_state=0).fit(X[start:stop], y[start:stop])
        p[stop : stop + REFIT] = model.predict(X[stop : stop + REFIT])
    return p


def make_river_models() -> dict[str, Any]:
    """River's regressors, with defaults, on scaled columns."""
    from river import ensemble, forest, linear_model, neighbors, preprocessing, rules, tree

    models = {
        "ARFRegressor": forest.ARFRegressor(seed=0),
        "SRPRegressor": ensemble.SRPRegressor(seed=0),
        "HoeffdingAdaptiveTreeRegressor": tree.HoeffdingAdaptiveTreeRegressor(seed=0),
        "HoeffdingTreeRegressor": tree.HoeffdingTreeRegressor(),
        "AMRules": rules.AMRules(),
        "KNNRegressor": neighbors.KNNRegressor(),
        "LinearRegression": linear_model.LinearRegression(),
    }
    return {name: preprocessing.StandardScaler() | model for name, model in models.items()}


def predict_row_by_row(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    p = np.zeros(len(y))
    for t, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        p[t] = model.predict_one(x) or 0.0
        model.learn_one(x, label)
    return p


def measure(p: np.ndarray, y: np.ndarray, seconds: float) -> dict[str, float]:
    loss = (p - y) ** 2
    return {
        "all rows": round(float(loss.mean()), 2),
        "1,000 rows before the change": round(float(loss[CHANGE - 1000 : CHANGE].mean()), 2),
        "500 rows after the change": round(float(loss[CHANGE : CHANGE + 500].mean()), 2),
        "last 1,000 rows": round(float(loss[-1000:].mean()), 2),
        "processor seconds": round(seconds, 1),
    }


def run_all(X: np.ndarray, y: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, dict[str, float]]]:
    """Return the predictions of the curves by name, and the figures of everybody."""
    answers: list[tuple[str, Answers]] = [
        (AUTO, predict_with_auto),
        (REFITTED, predict_with_lightgbm),
        (REFITTED_RECENT, lambda X, y: predict_with_lightgbm(X, y, RECENT)),
    ]
    river = make_river_models()
    answers += [(f"river {n}", lambda X, y, m=m: predict_row_by_row(m, X, y)) for n, m in river.items()]
    every, figures = {}, {}
    for name, predict in answers:
        start = time.process_time()
        every[name] = predict(X, y)
        figures[name] = measure(every[name], y, time.process_time() - start)
        print(f"{name:38}", *(f"{value:>8}" for value in figures[name].values()), flush=True)
    best = min((name for name in every if name.startswith("river")), key=lambda name: figures[name]["all rows"])
    return {name: every[name] for name in (AUTO, REFITTED, REFITTED_RECENT, best)}, figures


def draw(curves: dict[str, np.ndarray], y: np.ndarray, path: Path) -> None:
    """Draw the error over the last rows along the stream, each curve with its name beside its end."""
    figure = blank(8.6, 3.9)
    axes = figure.add_axes((0.065, 0.13, 0.66, 0.75))
    frame(axes, "rows", "")
    rows = np.arange(WINDOW, len(y) + 1)
    styles = [(PALETTE[1], 2.4), (PALETTE[0], 1.3), (PALETTE[4], 1.3), (PALETTE[2], 1.3)]
    ends: list[tuple[float, str, str]] = []
    for (name, p), (colour, width) in zip(curves.items(), styles, strict=True):
        error = np.convolve((p - y) ** 2, np.full(WINDOW, 1 / WINDOW), mode="valid")
        axes.plot(rows, error, color=colour, linewidth=width, zorder=4 if name == AUTO else 3)
        ends.append((float(error[-1]), name, colour))
    axes.axhline(NOISE, color=AXIS, linewidth=0.9, linestyle=(0, (3, 3)), zorder=1)
    axes.axvline(CHANGE, color=AXIS, linewidth=0.9, zorder=1)
    axes.set_xlim(0, len(y))
    axes.set_ylim(0, 27)
    axes.text(CHANGE - 60, 26, "the function changes here", fontsize=SMALL, color=INK, ha="right", va="top")
    axes.text(60, NOISE - 0.15, "noise: no model can be lower", fontsize=SMALL - 1, color=INK, va="top")
    for height, (_, name, colour) in zip(spread([end for end, *_ in sorted(ends)], 1.6), sorted(ends), strict=True):
        weight = "bold" if name == AUTO else "normal"
        axes.text(len(y) + 70, height, name, fontsize=SMALL + 0.5, color=colour, va="center", weight=weight)
    heading = f"Squared error over the last {WINDOW} rows (lower is better)"
    figure.text(0.015, 0.955, heading, fontsize=LARGE - 0.5, color=INK, va="center")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def spread(heights: Iterable[float], apart: float) -> list[float]:
    """Move heights, which ascend, up until each is so far above the one before."""
    found: list[float] = []
    for height in heights:
        found.append(height if not found else max(height, found[-1] + apart))
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    X, y = nystream.streams.friedman(ROWS, drift="abrupt", at=CHANGE, seed=0)
    try:
        curves, figures = run_all(X, y)
    except ModuleNotFoundError as error:
        sys.exit(f"{error}; pip install lightgbm river matplotlib")
    draw(curves, y, PICTURE)
    FIGURES.write_text(json.dumps({"drawn": list(curves), "squared error": figures}, indent=1) + "\n")
    print(PICTURE)


if __name__ == "__main__":
    main()
