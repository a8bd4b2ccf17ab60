"""Accuracy against time: every method of Table 2 over one pass."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from nystream.reproduce.experiment import Experiment, Setting
from nystream.reproduce.nolana_methods import METHODS, Method
from nystream.reproduce.nolana_tasks import PAPER, SHUFFLES, TASKS, Scale, Task, prefix, read
from nystream.reproduce.outcome import Cell, Line, Outcome, Panel, Table
from nystream.reproduce.protocol import shuffled
from nystream.runtime.types import Array

__all__ = ["FIGURE4", "timed"]

ROWS, FEW = 50_000, 1_000
"""Of a pass; in a quick run."""
STOPS = 25
"""Points of a curve."""


def timed(
    method: Method, task: Task, scale: Scale, values: dict[str, float], X: Array, y: Array
) -> tuple[Array, Array]:
    """Return processor seconds and the figure so far at each stop of a pass."""
    if method.offset:
        X = np.column_stack([X, np.ones(len(X))])
    learner = method.build(task, scale, X.shape[1], values, SHUFFLES[0])
    seconds, figures, parts, spent = [], [], [], 0.0
    for rows in np.array_split(np.arange(len(y)), STOPS):
        part = slice(rows[0], rows[-1] + 1)
        start = time.process_time()
        parts.append(learner.run(X[part], y[part]))
        spent += time.process_time() - start
        seconds.append(spent)
        figures.append(task.figure(_stacked(parts), y[: part.stop]))
    return np.array(seconds), np.array(figures)


def _stacked(parts: list[Array]) -> Array:
    """Concatenate the predictions of the parts; classes that a part did not know get the score -inf."""
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    wide = max(P.shape[1] for P in parts)
    return np.vstack([np.pad(P, ((0, 0), (0, wide - P.shape[1])), constant_values=-np.inf) for P in parts])


def run(setting: Setting) -> Outcome:
    """Draw the curves of every method on every dataset."""
    tables, panels, remarks = [], [], []
    for task in setting.each(TASKS, "data sets"):
        X, y = read(task, setting)
        used = replace(task, rows=min(len(y), FEW if setting.quick else ROWS))
        early, labels, scale = prefix(used, X, y)
        stream = shuffled(X, y, SHUFFLES[0], used.rows)
        rows: list[tuple[Cell, ...]] = []
        lines = []
        for method in setting.each(METHODS, f"{task.name}, methods"):
            choice = method.choose(used, scale, early, labels, quick=setting.quick)
            seconds, figures = timed(method, used, scale, choice.setting, *stream)
            rows.append((method.name, figures[-1], seconds[-1], choice.text()))
            lines.append(Line(method.name, tuple(seconds), tuple(figures)))
        columns = ("method", task.unit, "seconds", "setting, * at an edge")
        tables.append(Table(f"{task.name}: at the end of {used.rows:,} rows", columns, tuple(rows)))
        panels.append(Panel(f"{task.name}: {task.unit} so far", "processor seconds", task.unit, tuple(lines), log="x"))
        remarks.append(_remark(task, tables[-1]))
    return Outcome(tuple(tables), tuple(panels), tuple(remarks))


def _remark(task: Task, table: Table) -> str:
    found = {str(row[0]): (float(row[1] or 0.0), float(row[2] or 0.0)) for row in table.rows}
    best = (min if task.real else max)(found, key=lambda name: found[name][0])
    parts = [
        f"{name} {found[name][0]:.2f} in {found[name][1]:.2f} s" for name in dict.fromkeys((best, "FOGD", "NOLANA"))
    ]
    return f"{task.name}: best is {parts[0]}; {', '.join(parts[1:])}."


FIGURE4 = Experiment(
    "nolana-figure4",
    "Accuracy against time, four data sets.",
    f"{PAPER}, Figure 4",
    "The tasks, methods, memory and grids of Table 2, the first 50,000 rows of shuffle 1 (cpusmall has 8,192, usps "
    "9,298); each method with the best setting on the first fifth of that many rows of shuffle 0. Accuracy or RMSE so "
    "far of predictions made before each label, over processor seconds of learning and predicting. webspam, the "
    "paper's fifth data set, is not at hand. Quick: 1,000 rows, at most 8 settings.",
    run,
    tuple(task.name for task in TASKS),
)
