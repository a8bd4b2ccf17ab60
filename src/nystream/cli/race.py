"""`nystream race`: many learners, one stream; a bar for each while they run, then a table and a chart."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from nystream.catalogue import Entry, find
from nystream.cli import options as opt
from nystream.cli import pages
from nystream.cli.demo import demo_races
from nystream.cli.model import of_classes
from nystream.cli.source import DATASET, Source, opened
from nystream.evaluate import Comparison, compare
from nystream.learners import Learner
from nystream.types import Array

__all__ = ["race"]

FIELD = "auto,pkawv,pkrr,ons,fogd"
"""Who races when nobody is named: the default, and one of each family that runs in bounded memory."""
TITLES = {"rows_per_second": "rows/s", "bytes": "bytes", "size": "size", "regret": "regret"}


def race(
    source: opt.MaybeSource = None,
    learners: opt.Learners = FIELD,
    target: opt.Target = None,
    columns: opt.Columns = None,
    task: opt.Task = None,
    rows: opt.Rows = None,
    shuffle: opt.Shuffle = None,
    sigma: opt.Sigma = None,
    dim: Annotated[int, typer.Option(min=2, help="Random features of the learners that use them.")] = 400,
    seed: opt.Seed = 0,
    every: opt.Every = 250,
    out: opt.Out = Path("out/race"),
    report: opt.Report = None,
    data: opt.Data = None,
    demo: Annotated[bool, typer.Option("--demo", help="Race on two built-in streams; nothing is downloaded.")] = False,
) -> None:
    """Race learners on one stream, each row predicted before its label is used."""
    console = Console()
    out.mkdir(parents=True, exist_ok=True)  # now, not when the race is over
    pages.check(report)
    if demo:
        for name, stream, rivals in demo_races():
            page = None if report is None else report.with_stem(f"{report.stem}-{name}")
            _race(console, name, Source.of(stream), rivals, None, dim, seed, every, out, page)
        return
    if source is None:
        raise ValueError("name a file, - for standard input, a generator such as friedman, or --demo")
    reading = opt.reading(target, columns)
    rows_of = opened(source, task=task, rows=rows, shuffle=shuffle, standardize=True, data=data, **reading)
    name = Path(source).name.removeprefix(DATASET) or "race"
    _race(console, name, rows_of, learners.split(","), sigma, dim, seed, every, out, report)


def _race(
    console: Console,
    name: str,
    data: Source,
    rivals: list[str],
    sigma: float | None,
    dim: int,
    seed: int,
    every: int,
    out: Path,
    report: Path | None,
) -> None:
    entries = [find(rival.strip()) for rival in rivals]
    twice = [e.name for i, e in enumerate(entries) if e in entries[:i]]
    if twice:
        raise ValueError(f"{twice[0]} is named twice; learners of one name race once")
    width = sigma if sigma is not None else data.width()
    field: dict[str, Learner] = {e.name: _entrant(e, data.task, width, dim, seed) for e in entries}
    without = [name for name, learner in field.items() if not learner.missing]
    if without:
        data.refusal = f"not taken by {', '.join(without)}: fill or remove such rows, or race without"
    metric = "accuracy" if data.task == "classification" else "mse"
    stream = data if data.task == "classification" else _Scaled(data)
    rows = f"{data.total:,} rows" if data.total else "rows as they come"
    console.print(f"\n[bold]{escape(name)}[/]: {data.task}, {rows}, {data.d} columns, kernel width {width:.3g}")
    comparison = _watched(console, stream, field, metric, every, data.total)
    console.print(_table(comparison, metric))
    stem = "".join(c if c.isalnum() else "-" for c in Path(name).stem)
    comparison.save(out / f"{stem}.json")
    chart = _chart(comparison, out / stem, metric, name)
    if report is not None:
        about = {
            "source": data.stream.name,
            "task": data.task,
            "columns": f"{data.d:,}",
            "kernel width": f"{width:.4g}",
        }
        pages.write(comparison, report, f"Race: {name}", {**about, "seed": str(seed), **pages.explained(field)})
        chart = f"{chart}, report: {report}"
    console.print(f"{chart}, readings: {out / f'{stem}.json'}", highlight=False, soft_wrap=True, markup=False)


def _chart(comparison: Comparison, stem: Path, metric: str, title: str) -> str:
    """Draw the chart; what became of it."""
    try:
        plot = importlib.import_module("nystream.plot")
    except ImportError as error:
        return f"no chart: {error}"
    for path in (stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.svg")):
        plot.race_chart(comparison, path, metric=metric, title=title)
    return f"chart: {stem}.png (and .svg)"


def _entrant(entry: Entry, task: str, width: float, dim: int, seed: int) -> Learner:
    """The learner as it starts: squared loss and a wider clip for numbers (targets are scaled), classes wrapped."""
    params: dict[str, Any] = {}
    names = entry.cls._names()
    if task == "regression":
        if "loss" in names:
            params["loss"] = "squared"
        if "clip" in names and entry.example.get_params(deep=False)["clip"] is not None:
            params["clip"] = 3.0
    try:
        learner = entry.build(width, dim=dim, seed=seed, **params)
    except TypeError as error:  # a learner that does not fit the task, such as one of classes only
        raise ValueError(f"{entry.name}: {error}") from error
    return of_classes(learner) if task == "classification" else learner


class _Scaled:
    """Targets minus the mean, over the deviation, of the first rows: an mse of 1 is the mean's own error."""

    def __init__(self, data: Source) -> None:
        Y = data.first[1]
        with np.errstate(over="ignore", invalid="ignore"):
            self._data, self._mean, self._scale = data, Y.mean(axis=0), Y.std(axis=0)
        if not bool(np.isfinite(self._scale).all()):
            raise ValueError(f"the targets of {data.stream.name} are too large for their deviation; divide them first")
        if not bool((self._scale > 0).all()):
            self._scale = 1.0

    def blocks(self, size: int) -> Iterator[tuple[Array, Array]]:
        for X, Y in self._data.blocks(size):
            yield X, (Y - self._mean) / self._scale


def _watched(
    console: Console, stream: Any, field: dict[str, Learner], metric: str, every: int, total: int | None
) -> Comparison:
    """The race itself, with one bar per learner."""
    columns = (
        TextColumn("{task.description:<14}"),
        BarColumn(bar_width=32),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]:>12} rows/s"),
        TextColumn(metric + " {task.fields[error]}"),
    )
    with Progress(*columns, console=console) as progress:
        bars = {name: progress.add_task(name, total=total, speed="-", error="-") for name in field}

        def moved(snapshot: Any) -> None:
            speed = f"{snapshot.n / snapshot.seconds:,.0f}" if snapshot.seconds else "-"
            error = f"{snapshot.values[metric]:.4g}"
            progress.update(bars[snapshot.name], completed=snapshot.n, speed=speed, error=error)

        metrics = pages.metrics([metric], window=4 * every)
        return compare(stream, field, metrics, every=every, block=every, progress=moved)


def _table(comparison: Comparison, metric: str) -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("learner")
    shown = [metric, *TITLES]
    for column in shown:
        table.add_column(TITLES.get(column, column), justify="right")
    best = comparison.best(metric)
    for result in comparison:
        cells = [_cell(result.final[column], column) for column in shown]
        table.add_row(result.name, *cells, style="bold green" if result.name == best else "")
    return table


def _cell(value: float, column: str) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if column in ("size", "bytes", "rows_per_second") else f"{value:.4g}"
