"""`nystream race`: many learners, one stream; a bar for each while they run, then a table and a chart."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from nystream import streams
from nystream.cli import options as opt
from nystream.cli import pages
from nystream.cli.cleaning import checked_policy, naming_the_option
from nystream.cli.main import INTERRUPTED
from nystream.cli.rows import DATASET, StreamSource, dense_up_to, open_rows
from nystream.cli.source import ParsedSource, open_source
from nystream.cli.stopping import raise_kept
from nystream.data.batch import Batch
from nystream.data.places import BadCell, BadRow
from nystream.evaluate import Comparison, compare
from nystream.model import Model
from nystream.model.building import build
from nystream.registry import find
from nystream.runtime.blas import single_threaded
from nystream.runtime.processes import processes
from nystream.streams import Stream

__all__ = ["race"]

FIELD = "auto,pkawv,pkrr,ons,fogd"
"""The default learners of a race: Auto, and one of each family with bounded memory."""
DEMO_ROWS = 4000
"""Enough for the orders to settle, few enough for the exact kernel learner to take part."""
TITLES = {
    "of_mean": "of mean",
    "of_last": "of last",
    "rows_per_second": "rows/s",
    "bytes": "bytes",
    "size": "size",
    "regret": "regret",
}


def race(
    source: opt.MaybeSource = None,
    learners: opt.Learners = FIELD,
    target: opt.Target = None,
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    kind: opt.Kinds = None,
    header: opt.Header = None,
    day_first: opt.DayFirst = False,
    task: opt.Task = None,
    on_error: opt.OnError = "stop",
    rows: opt.Rows = None,
    shuffle: opt.Shuffle = None,
    sigma: opt.Sigma = None,
    dim: Annotated[int, typer.Option(min=2, help="Random features of the learners that use them.")] = 400,
    seed: opt.Seed = 0,
    every: opt.Every = 250,
    out: opt.Out = Path("out/race"),
    report: opt.Report = None,
    data: opt.Data = None,
    jobs: opt.Jobs = None,
    demo: Annotated[bool, typer.Option("--demo", help="Race on two built-in streams; nothing is downloaded.")] = False,
) -> None:
    """Race learners on one stream, each row predicted before its label is used.

    Learners may run in parallel processes; rows/s are per second of processor time.
    """
    policy = checked_policy(on_error)
    at_once = processes() if jobs is None else jobs
    console = Console()
    out.mkdir(parents=True, exist_ok=True)  # check before the race
    pages.check(report)
    if demo:
        for name, stream, rivals in _demo_races():
            page = None if report is None else report.with_stem(f"{report.stem}-{name}")
            _race(console, name, open_source(StreamSource(stream)), rivals, None, dim, seed, every, out, page, at_once)
        return
    if source is None:
        raise ValueError("name a file, - for standard input, a generator such as friedman, or --demo")
    only, wide = opt.split_columns(columns)
    narrow = dense_up_to(learners.split(","))
    found = open_rows(
        source, target=target, width=wide, rows=rows, shuffle=shuffle, data=data, dense=narrow, header=header
    )
    only = only if wide is None or not found.numeric else None
    chosen: dict[str, Any] = {"kinds": opt.kinds_of(kind), "drop": drop or (), "columns": only, "day_first": day_first}
    name = Path(source).name.removeprefix(DATASET) or "race"
    with naming_the_option():
        rows_of = open_source(found, task=task, policy=policy, **chosen)
        _race(console, name, rows_of, learners.split(","), sigma, dim, seed, every, out, report, at_once)


def _race(
    console: Console,
    name: str,
    data: ParsedSource,
    rivals: list[str],
    sigma: float | None,
    dim: int,
    seed: int,
    every: int,
    out: Path,
    report: Path | None,
    jobs: int,
) -> None:
    if data.task == "novelty":
        raise ValueError("a race compares errors, and novelty detection has none; use nystream run --task novelty")
    entries = [find(rival.strip()) for rival in rivals]
    twice = [e.name for i, e in enumerate(entries) if e in entries[:i]]
    if twice:
        raise ValueError(f"{twice[0]} is named twice; learners of one name race once")
    width = sigma if sigma is not None else data.width(standardized=True)
    kinds = data.schema.kinds
    learners = {e.name: build(e.name, data.task, sigma=width, dim=dim, seed=seed, kinds=kinds) for e in entries}
    field = {name: Model(learner, data.schema) for name, learner in learners.items()}
    without = [name for name, learner in learners.items() if not learner.missing]
    metric = "accuracy" if data.task == "classification" else "mse"
    _check_scale(data)
    stream = _RaceRows(data, without)
    rows = f"{data.total:,} rows" if data.total else "rows as they come"
    console.print(f"\n[bold]{escape(name)}[/]: {data.task}, {rows}, {data.d} columns, kernel width {width:.3g}")
    if data.reason is not None:
        console.print(f"task: {data.task}, because {data.reason}; --task says otherwise", markup=False, soft_wrap=True)
    comparison = _watched(console, stream, field, metric, every, data.total, jobs)
    console.print(_table(comparison, metric, "rows/s" if min(jobs, len(field)) < 2 else "rows/CPU s"))
    stem = "".join(c if c.isalnum() else "-" for c in Path(name).stem)
    comparison.save(out / f"{stem}.json")
    chart = _chart(comparison, out / stem, metric, name)
    if report is not None:
        about = {
            "source": data.name,
            "task": data.task,
            "columns": f"{data.d:,}",
            "kernel width": f"{width:.4g}",
        }
        best = comparison.best(metric)
        about |= {"seed": str(seed), **pages.explained(field)}
        pages.write(comparison, report, f"Race: {name}", about, pages.importance(best, field[best]) if best else None)
        chart = f"{chart}, report: {report}"
    console.print(f"{chart}, readings: {out / f'{stem}.json'}", highlight=False, soft_wrap=True, markup=False)
    for line in data.cleaner.summary(data.rows.unreadable):
        print(line, file=sys.stderr)
    raise_kept(stream)
    if comparison.interrupted:
        raise typer.Exit(INTERRUPTED)


def _chart(comparison: Comparison, stem: Path, metric: str, title: str) -> str:
    """Draw the chart. Return a line that says where it is, or why there is none."""
    try:
        plot = importlib.import_module("nystream.plot")
    except ImportError as error:
        return f"no chart: {error}"
    for path in (stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.svg")):
        plot.race_chart(comparison, path, metric=metric, title=title)
    return f"chart: {stem}.png (and .svg)"


def _check_scale(data: ParsedSource) -> None:
    """Raise an error for targets whose squared errors would not be finite."""
    if data.task != "regression":
        return
    Y = np.concatenate([np.asarray(labels, dtype=np.float64) for _, labels in data.first])
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = np.nanstd(Y, axis=0) if len(Y) and not np.isnan(Y).all() else np.zeros(1)
    if not bool(np.isfinite(deviation).all()):
        raise ValueError(f"the targets of {data.name} are too large for their deviation; divide them first")


class _RaceRows:
    """The rows of a race. Missing values are an error if one of the learners does not take them.

    A bad cell ends the race and is kept in `failure`: the table of the rows before it is still written.
    """

    def __init__(self, data: ParsedSource, without: list[str]) -> None:
        self._data, self._without = data, without
        self.failure: ValueError | None = None

    def blocks(self, size: int) -> Iterator[tuple[Any, Any]]:
        try:
            yield from self._blocks(size)
        except (BadCell, BadRow) as error:
            self.failure = error

    def _blocks(self, size: int) -> Iterator[tuple[Any, Any]]:
        start = 0
        for batch, labels in self._data.blocks(size):
            self._check(batch, start)
            start += len(batch)
            yield batch.inputs, labels

    def _check(self, batch: Batch, start: int) -> None:
        X = batch.numbers
        if not self._without or not isinstance(X, np.ndarray) or not np.isnan(X).any():
            return
        row, j = np.argwhere(np.isnan(X))[0].tolist()
        place = f"{self._data.name}, row {start + row + 1}" if batch.places is None else batch.place(row)
        raise ValueError(
            f"{place}: column {self._data.schema.names[j]!r} is missing; not taken by {', '.join(self._without)}: fill "
            "or remove such rows, or race without"
        )


def _watched(
    console: Console, stream: Any, field: dict[str, Model], metric: str, every: int, total: int | None, jobs: int
) -> Comparison:
    """Run the race with one bar per learner."""
    columns = (
        TextColumn("{task.description:<14}"),
        BarColumn(bar_width=32),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]:>12} rows/s"),
        TextColumn(metric + " {task.fields[error]}"),
    )
    with single_threaded(), Progress(*columns, console=console) as progress:  # the same bits with any number of jobs
        bars = {name: progress.add_task(name, total=total, speed="-", error="-") for name in field}

        def moved(snapshot: Any) -> None:
            speed = f"{snapshot.n / snapshot.seconds:,.0f}" if snapshot.seconds else "-"
            error = f"{snapshot.values[metric]:.4g}"
            progress.update(bars[snapshot.name], completed=snapshot.n, speed=speed, error=error)

        shares = ["of_mean", "of_last"] if metric == "mse" else []
        metrics = [*pages.metrics([metric], window=4 * every), *shares]
        return compare(stream, field, metrics, every=every, block=every, progress=moved, jobs=jobs)


def _table(comparison: Comparison, metric: str, speed: str) -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("learner")
    shown = [metric, *(title for title in TITLES if title in comparison[comparison.names[0]].final)]
    for column in shown:
        table.add_column({**TITLES, "rows_per_second": speed}.get(column, column), justify="right")
    best = comparison.best(metric)
    for result in comparison:
        cells = [_cell(result.final[column], column) for column in shown]
        table.add_row(result.name, *cells, style="bold green" if result.name == best else "")
    return table


def _cell(value: float, column: str) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if column in ("size", "bytes", "rows_per_second") else f"{value:.4g}"


def _demo_races() -> list[tuple[str, Stream, list[str]]]:
    """Return name, stream and learners of each built-in race; nothing is downloaded."""
    races = [
        (
            "friedman-drift",
            streams.friedman(DEMO_ROWS, drift="abrupt", at=DEMO_ROWS // 2, seed=0).standardize(),
            ["auto", "pkawv", "pkrr", "kernel-ridge", "ons", "fogd"],
        )
    ]
    try:
        datasets = importlib.import_module("sklearn.datasets")
    except ModuleNotFoundError:
        print("nystream: the digits race needs scikit-learn: pip install 'nystream[sklearn]'", file=sys.stderr)
        return races
    X, y = datasets.load_digits(return_X_y=True)
    digits = streams.arrays(X / 16.0, y.astype(float)).shuffle(0)
    return [*races, ("digits", digits, ["auto", "pkrr", "kernel-awv", "fogd"])]
