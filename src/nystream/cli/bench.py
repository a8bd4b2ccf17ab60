"""`nystream bench`: how fast every learner is on this machine, as a multiple of one product X @ w."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from nystream.learners import Learner
from nystream.model.building import build
from nystream.registry import LEARNERS, find

__all__ = ["bench"]

COLUMNS = 22
"""Columns of the generated rows: a typical small table."""
ROWS = 1500
"""Small enough for the learners whose cost grows with every row."""


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of `nystream list`; all of them if none is given.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Best of so many runs.")] = 3,
) -> None:
    """Measure rows per second, a whole stream and one row at a time.

    Machines differ and are shared: read the ratios. The unit is the product X @ w over the same rows, the cost of
    a linear model's predictions alone.
    """
    entries = [find(name) for name in names] if names else list(LEARNERS.values())
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)) / np.sqrt(COLUMNS)
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    w = rng.normal(size=COLUMNS)
    unit = _best(lambda: X @ w, 20 * repeats) / ROWS
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("learner")
    for title in ("stream rows/s", "one by one rows/s", "stream / (X @ w)", "one by one / stream", "size"):
        table.add_column(title, justify="right")
    for entry in entries:
        learner = build(entry.name, dim=200)
        Y = _labels(learner, f)
        stream, steps, size = _times(learner, X, Y, repeats)
        table.add_row(
            entry.name,
            f"{ROWS / stream:,.0f}",
            f"{ROWS / steps:,.0f}",
            f"{stream / ROWS / unit:,.0f}",
            f"{steps / stream:.1f}",
            f"{size}",
        )
    Console().print(table)


def _times(learner: Learner, X: Any, Y: Any, repeats: int) -> tuple[float, float, int]:
    def stream() -> Learner:
        fresh = learner.clone()
        fresh.run(X, Y)
        return fresh

    def steps() -> None:
        fresh = learner.clone()
        step, labels = fresh.step, Y.tolist()
        for x, y in zip(X, labels, strict=True):
            step(x, y)

    return _best(stream, repeats), _best(steps, repeats), stream().size


def _labels(learner: Learner, f: Any) -> Any:
    if learner.labels == "sign":
        return np.where(f >= 0, 1.0, -1.0)
    return np.digitize(f, [-0.3, 0.3]).astype(float) if learner.labels == "class" else np.clip(f, -1, 1)


def _best(work: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)
