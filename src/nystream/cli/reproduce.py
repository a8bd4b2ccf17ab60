"""`nystream reproduce`: tables and figures of the papers, done again, each as JSON, Markdown and a plot."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from nystream.cli import options as opt
from nystream.datasets import data_folder, locate
from nystream.datasets import find as find_dataset
from nystream.reproduce import EXPERIMENTS, Experiment, Record, Setting, find, perform
from nystream.reproduce.markdown import section

__all__ = ["reproduce"]

Names = Annotated[list[str] | None, typer.Argument(help="Experiments; without any, they are listed.")]
Every = Annotated[bool, typer.Option("--all", help="Every experiment.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer rows, shuffles and settings: a check, not a result.")]
Out = Annotated[Path, typer.Option(help="Folder for NAME.json, NAME.md and NAME.png.")]


def reproduce(
    names: Names = None,
    every: Every = False,
    quick: Quick = False,
    out: Out = Path("out/reproduce"),
    data: opt.Data = None,
    quiet: opt.Quiet = False,
) -> None:
    """Do tables and figures of the papers again, the paper's figures beside ours."""
    if every and names:
        raise ValueError("give names or --all, not both")
    console = Console(highlight=False)
    if not every and not names:
        console.print(_overview())
        return
    chosen = list(EXPERIMENTS.values()) if every else [find(name) for name in names or []]
    draw = importlib.import_module("nystream.reproduce.draw").draw  # needs matplotlib, which the other commands do not
    data_folder(data)  # a folder that does not exist is said before anything is run
    _check_data(chosen, data)
    out.mkdir(parents=True, exist_ok=True)
    for experiment in chosen:
        with _watched(experiment.name, quiet) as watch:
            record = perform(experiment, Setting(quick, data, watch) if watch else Setting(quick, data))
        _write(record, out, draw)
        console.print(section(record), markup=False, soft_wrap=True)
        console.print(f"[dim]wrote {escape(str(out / record.name))}.json, .md and .png[/]")


def _check_data(chosen: list[Experiment], data: Path | None) -> None:
    """What cannot be had is said before hours are spent."""
    for experiment in chosen:
        for name in experiment.datasets:
            missing = [f.path for f in find_dataset(name).files if not f.url and locate(f, data) is None]
            if missing:
                raise ValueError(
                    f"{experiment.name} needs {', '.join(missing)}, which has no public download; put it into the "
                    "folder that --data or NYSTREAM_DATA names"
                )


def _write(record: Record, out: Path, draw: Callable[..., object]) -> None:
    if record.outcome.panels or record.outcome.pictures:
        draw(record.outcome, record.title, out / f"{record.name}.png")
    (out / f"{record.name}.md").write_text(section(record))
    record.save(out / f"{record.name}.json")


def _watched(name: str, quiet: bool) -> AbstractContextManager[_Bars | None]:
    return nullcontext() if quiet else _Bars(name)


class _Bars:
    """One bar per thing that an experiment counts."""

    def __init__(self, name: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
        self._name = name
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> _Bars:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(f"{self._name}: {what}", total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)  # type: ignore[arg-type]


def _overview() -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False)
    for column in ("name", "what", "datasets"):
        table.add_column(column, no_wrap=column == "name")
    for e in EXPERIMENTS.values():
        table.add_row(e.name, escape(e.title), ", ".join(e.datasets))
    return table
