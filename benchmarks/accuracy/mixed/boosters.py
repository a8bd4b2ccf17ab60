"""Boosters refitted on all rows so far: after 100, 250, 500, 1,000, 2,000, ... rows; categories native."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd

from mixed.reading import MixedTable

__all__ = ["BOOSTERS"]

ROUNDS = 300
FIRST = (100, 250, 500)


def refits(n: int) -> Iterator[tuple[int, int]]:
    """Rows that a fit is made of, and the end of those it predicts."""
    cuts = [c for c in (*FIRST, *(1000 * 2**i for i in range(20))) if c < n]
    yield from zip(cuts, [*cuts[1:], n], strict=True)


def frame_of(table: MixedTable) -> tuple[pd.DataFrame, list[str]]:
    """Numbers, times as numbers and two categories, text as its length; and which columns are categories."""
    out: dict[str, Any] = {}
    categories = []
    for name, kind in table.kinds.items():
        values = table.columns[name]
        if kind == "number":
            out[name] = values
        elif kind == "category":
            out[name] = ["" if v is None else v for v in values]
            categories.append(name)
        elif kind == "time":
            when = pd.Series(values)
            out[f"{name} days"] = (when - pd.Timestamp(0)).dt.total_seconds() / 86400
            for part in ("hour", "weekday"):
                out[f"{name} {part}"] = getattr(when.dt, part).astype(str)
                categories.append(f"{name} {part}")
        else:
            out[f"{name} length"] = [float(len(v or "")) for v in values]
    return pd.DataFrame(out), categories


def refitted(table: MixedTable, X: pd.DataFrame, build: Callable[[], Any]) -> np.ndarray:
    said = np.full(len(table), float(table.y[: FIRST[0]].mean()) if not table.classes else 0.0)
    for t in range(min(FIRST[0], len(table))):  # before the first fit: the mean, or the most frequent class so far
        past = table.y[:t]
        said[t] = 0.0 if not t else np.bincount(past.astype(int)).argmax() if table.classes else past.mean()
    for rows, stop in refits(len(table)):
        if table.classes and len(np.unique(table.y[:rows])) < 2:
            said[rows:stop] = table.y[0]
            continue
        y = table.y[:rows].astype(int) if table.classes else table.y[:rows]
        said[rows:stop] = np.asarray(build().fit(X[:rows], y).predict(X[rows:stop]), dtype=float).reshape(-1)
    return said


def light(table: MixedTable) -> np.ndarray:
    X, categories = frame_of(table)
    X = X.astype(dict.fromkeys(categories, "category"))
    kind = lightgbm.LGBMClassifier if table.classes else lightgbm.LGBMRegressor
    return refitted(table, X, lambda: kind(n_estimators=ROUNDS, n_jobs=1, verbose=-1, random_state=0))


def cat(table: MixedTable) -> np.ndarray:
    X, categories = frame_of(table)
    kind = catboost.CatBoostClassifier if table.classes else catboost.CatBoostRegressor
    settings = {
        "iterations": ROUNDS,
        "thread_count": 1,
        "verbose": False,
        "random_seed": 0,
        "allow_writing_files": False,
    }
    return refitted(table, X, lambda: kind(cat_features=categories, **settings))


BOOSTERS = {"LightGBM, refitted": light, "CatBoost, refitted": cat}
