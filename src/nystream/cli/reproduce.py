"""`nystream reproduce`: tables and figures of the papers, computed again, each as JSON, Markdown and a plot."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from nystream.cli import options as opt
from nystream.datasets import data_folder, locate
from nystream.datasets import find as find_dataset
from nystream.reproduce import EXPERIMENTS, Experiment, Record, Setting, find, perform
from nystream.reproduce.markdown import section
from nystream.runtime.blas import single_threaded
from nystream.runtime.processes import Line, in_processes, processes

__all__ = ["reproduce"]

Names = Annotated[list[str] | None, typer.Argument(help="Experiments; without any, they are listed.")]
Every = Annotated[bool, typer.Option("--all", help="Every experiment.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer rows, shuffles and settings: a check, not a result.")]
Whole = Annotated[bool, typer.Option("--whole", help="Also whole files, where a part is the default: hours.")]
_Watch = Callable[[str, str, int, int], None]
Out = Annotated[Path, typer.Option(help="Folder for NAME.json, NAME.md and NAME.png.")]


def reproduce(
    names: Names = None,
    every: Every = False,
    quick: Quick = False,
    whole: Whole = False,
    out: Out = Path("out/reproduce"),
    data: opt.Data = None,
    quiet: opt.Quiet = False,
    jobs: opt.Jobs = None,
) -> None:
    """Do tables and figures of the papers again, the paper's figures beside ours.

    Experiments may run in parallel processes; their seconds are processor time.
    """
    if every and names:
        raise ValueError("give names or --all, not both")
    if quick and whole:
        raise ValueError("give --quick or --whole, not both")
    console = Console(highlight=False)
    if not every and not names:
        console.print(_overview())
        return
    chosen = list(EXPERIMENTS.values()) if every else [find(name) for name in names or []]
    draw = importlib.import_module("nystream.reproduce.draw").draw  # needs matplotlib, which the other commands do not
    data_folder(data)  # check the folder before anything is run
    _check_data(chosen, data)
    out.mkdir(parents=True, exist_ok=True)
    with _watched(quiet) as watch:
        for record in _performed(chosen, Setting(quick, data, whole), processes() if jobs is None else jobs, watch):
            _write(record, out, draw)
            console.print(section(record), markup=False, soft_wrap=True)
            console.print(f"[dim]wrote {escape(str(out / record.name))}.json, .md and .png[/]")


def _performed(chosen: list[Experiment], setting: Setting, jobs: int, watch: _Watch) -> Iterator[Record]:
    """Yield the records in the order of the experiments."""
    if min(jobs, len(chosen)) < 2:
        for experiment in chosen:
            with single_threaded():  # the same bits with any number of jobs
                yield perform(experiment, replace(setting, progress=partial(watch, experiment.name)))
            watch(experiment.name, "", 0, 0)
        return
    names = [experiment.name for experiment in chosen]
    done: dict[str, Record] = {}
    tasks = {experiment.name: partial(_task, experiment, setting) for experiment in chosen}
    for name, record in in_processes(tasks, jobs, lambda name, told: watch(name, *told)):
        watch(name, "", 0, 0)
        done[name] = record
        while names and names[0] in done:
            yield done.pop(names.pop(0))


def _task(experiment: Experiment, setting: Setting, line: Line) -> Record:
    return perform(experiment, replace(setting, progress=lambda *told: line.tell(told)))


def _check_data(chosen: list[Experiment], data: Path | None) -> None:
    """Raise an error for missing data before the first experiment."""
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


def _watched(quiet: bool) -> AbstractContextManager[_Watch]:
    return nullcontext(lambda name, what, done, total: None) if quiet else _Bars()


class _Bars:
    """One bar per thing that an experiment counts, as long as the experiment lasts."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
        self._tasks: dict[str, dict[str, TaskID]] = {}

    def __enter__(self) -> _Bars:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def __call__(self, name: str, what: str, done: int, total: int) -> None:
        """Show how far a part of the experiment is; without a part, the experiment is over."""
        tasks = self._tasks.setdefault(name, {})
        if not what:
            for bar in self._tasks.pop(name).values():
                self._bars.remove_task(bar)
            return
        if what not in tasks:
            tasks[what] = self._bars.add_task(f"{name}: {what}", total=total)
        self._bars.update(tasks[what], completed=done, total=total)


def _overview() -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False)
    for column in ("name", "what", "datasets"):
        table.add_column(column, no_wrap=column == "name")
    for e in EXPERIMENTS.values():
        table.add_row(e.name, escape(e.title), ", ".join(e.datasets))
    return table
