"""Online peers on the same rows: Vowpal Wabbit and river, row by row, defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from river import compose, feature_extraction, linear_model, preprocessing, stats, tree
from vowpalwabbit import Workspace

from mixed.reading import MixedTable

__all__ = ["ONLINE"]


def rows_of(table: MixedTable) -> Iterator[dict[str, Any]]:
    """One dict a row; missing values are left out."""
    arrays = list(table.columns.items())
    for t in range(len(table)):
        yield {name: values[t] for name, values in arrays if not missing(values[t])}


def missing(value: Any) -> bool:
    return value is None or value != value


def moments(table: MixedTable) -> tuple[float, float]:
    """Of the whole stream, which flatters the peers that need labels of unit scale."""
    return (0.0, 1.0) if table.classes else (float(table.y.mean()), float(table.y.std()))


# -- Vowpal Wabbit -----------------------------------------------------------------------------------------------------
def vw(table: MixedTable, options: str = "") -> np.ndarray:
    """A namespace for each column; numbers standardised as they come, hour and weekday of times as categories."""
    if table.classes == 2:
        options += " --loss_function logistic"
    elif table.classes:
        options += f" --oaa {table.classes} --loss_function logistic"
    model = Workspace(f"--quiet {options}")
    shift, scale = moments(table)
    running = {name: [0.0, 0.0, 0.0] for name, kind in table.kinds.items() if kind == "number"}
    said = np.empty(len(table))
    for t, row in enumerate(rows_of(table)):
        y = table.y[t]
        label = (
            f"{(y - shift) / scale:.9g}" if not table.classes else str(int(2 * y - 1 if table.classes == 2 else y + 1))
        )
        example = model.example(f"{label} " + " ".join(vw_columns(table, row, running)))
        model.learn(example)
        said[t] = example.get_prediction()
        model.finish_example(example)
    if table.classes == 2:
        return (said > 0).astype(float)
    return said - 1 if table.classes else shift + scale * said


def vw_columns(table: MixedTable, row: dict[str, Any], running: dict[str, list[float]]) -> Iterator[str]:
    for j, (name, kind) in enumerate(table.kinds.items()):
        space = f"|{chr(97 + j % 26)}{j}"
        if name not in row:
            yield f"{space} missing"
        elif kind == "number":
            n, mean, squares = running[name]
            deviation = np.sqrt(squares / n) if squares > 0 else 1.0
            yield f"{space} v:{(row[name] - mean) / deviation if n else 0.0:.6g}"
            gap = row[name] - mean
            mean += gap / (n + 1)
            running[name] = [n + 1, mean, squares + gap * (row[name] - mean)]
        elif kind == "time":
            when = row[name].astype("datetime64[s]").item()
            yield f"{space} hour{when.hour} day{when.weekday()}"
        elif kind == "category":
            yield f"{space} " + re.sub(r"[\s:|]", "_", row[name])
        else:
            yield f"{space} " + " ".join(re.findall(r"\w+|[^\w\s:|]", row[name].lower()))


def vw_pairs(table: MixedTable) -> np.ndarray:
    """All pairs of namespaces."""
    return vw(table, "-q :: -b 22")


# -- river -------------------------------------------------------------------------------------------------------------
def prepared(table: MixedTable, row: dict[str, Any]) -> dict[str, Any]:
    """Times as hour, weekday and days; text as its length, where a model has no use for words."""
    out = {}
    for name, value in row.items():
        kind = table.kinds[name]
        if kind == "time":
            when = value.astype("datetime64[s]").item()
            out |= {f"{name} hour": str(when.hour), f"{name} weekday": str(when.weekday())}
            out[f"{name} days"] = float(value.astype("datetime64[D]").astype(int))
        elif kind == "text":
            out[f"{name} length"] = float(len(value))
        else:
            out[name] = float(value) if kind == "number" else value
    return out


class TargetMeans:
    """Running mean labels by the level of each category: of the target, or of every class (of two the second)."""

    def __init__(self, table: MixedTable) -> None:
        self.names = [name for name, kind in table.kinds.items() if kind == "category"]
        for name, kind in table.kinds.items():
            self.names += [f"{name} {part}" for part in ("hour", "weekday")] if kind == "time" else []
        self.labels = list(range(table.classes)) if table.classes > 2 else [1] if table.classes else [None]
        self.means = [
            [feature_extraction.TargetAgg(by=[name], how=stats.BayesianMean(0.0, 10)) for name in self.names]
            for _ in self.labels
        ]

    def added(self, x: dict[str, Any]) -> dict[str, Any]:
        """Numbers of the row, and means of its levels."""
        out = {name: value for name, value in x.items() if not isinstance(value, str)}
        for label, group in zip(self.labels, self.means, strict=True):
            for name, mean in zip(self.names, group, strict=True):
                out[f"{name}, {label}"] = next(iter(mean.transform_one(self._full(x)).values()))
        return out

    def learn(self, x: dict[str, Any], y: float) -> None:
        for label, group in zip(self.labels, self.means, strict=True):
            for mean in group:
                mean.learn_one(self._full(x), y if label is None else float(y == label))

    def _full(self, x: dict[str, Any]) -> dict[str, Any]:
        return {name: x.get(name, "") for name in self.names}


def river(table: MixedTable, model: Any, means: TargetMeans | None) -> np.ndarray:
    shift, scale = moments(table)
    said = np.zeros(len(table))
    for t, row in enumerate(rows_of(table)):
        x, y = prepared(table, row), (table.y[t] - shift) / scale
        inputs = x if means is None else means.added(x)
        said[t] = model.predict_one(inputs) or 0.0
        model.learn_one(inputs, int(y) if table.classes else y)
        if means is not None:
            means.learn(x, y)
    return shift + scale * said


def river_linear(table: MixedTable) -> np.ndarray:
    """Target means of categories, then a linear model on scaled columns."""
    if table.classes == 2:
        last = linear_model.LogisticRegression()
    elif table.classes:
        last = linear_model.SoftmaxRegression()
    else:
        last = linear_model.LinearRegression()
    return river(table, compose.Pipeline(preprocessing.StandardScaler(), last), TargetMeans(table))


def river_tree(table: MixedTable) -> np.ndarray:
    """The Hoeffding adaptive tree, categories as they are; of regression mean leaves, the default ones take none."""
    model = (
        tree.HoeffdingAdaptiveTreeClassifier(seed=0)
        if table.classes
        else tree.HoeffdingAdaptiveTreeRegressor(seed=0, leaf_prediction="mean")
    )
    return river(table, model, None)


ONLINE = {
    "VW": vw,
    "VW, pairs": vw_pairs,
    "river, target means + linear": river_linear,
    "river, adaptive tree": river_tree,
}
