"""`nystream list`: the learners, what they cost and promise; of one of them, its parameters."""

from __future__ import annotations

import inspect
import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nystream.catalogue import Entry, build, find
from nystream.choosing import NOTES, TASKS, defaults, of_task, tasks, traits

__all__ = ["show"]

LEGEND = (
    "Tasks: regression, classification, novelty. Cost: d columns, r features, m stored points, t rows so far, B, l "
    "rows of a sketch, W rows of a window, K outputs. Guarantee: live, a bound that is computed while it runs; else a "
    "theorem of its paper. `nystream list NAME`: parameters."
)


def show(
    name: Annotated[str | None, typer.Argument(help="A learner: what it is, its parameters and defaults.")] = None,
    task: Annotated[str | None, typer.Option(help=f"Only learners for it: {', '.join(TASKS)}.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
) -> None:
    """List the learners by the names that run and race take."""
    entries = [find(name)] if name else of_task(task)
    if name and task and task not in tasks(entries[0]):
        raise ValueError(f"{entries[0].name} is for {' and '.join(tasks(entries[0]))}, not for {task!r}")
    if as_json:
        print(json.dumps({entry.name: _record(entry) for entry in entries}, indent=2))
    elif name:
        _one(entries[0])
    else:
        _all(entries)


def _record(entry: Entry) -> dict[str, Any]:
    note = NOTES[entry.name]
    return {
        "class": entry.cls.__name__,
        "summary": entry.summary,
        "paper": entry.paper,
        "tasks": tasks(entry),
        "cost": note.cost,
        "memory": note.memory,
        "guarantee": note.guarantee,
        "advice": note.advice,
        **traits(entry),
        "parameters": entry.cls._names(),
        "defaults": {key: _written(value) for key, value in defaults(entry).items()},
    }


def _all(entries: list[Entry]) -> None:
    table = Table(header_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("learner", no_wrap=True, style="bold")
    for title in ("tasks", "cost of a row", "guarantee", "take it for"):
        table.add_column(title, no_wrap=True)
    for entry in entries:
        note = NOTES[entry.name]
        letters = " ".join(task[0].upper() if task in tasks(entry) else " " for task in TASKS)
        table.add_row(entry.name, letters, note.cost, note.guarantee.replace(", published", ""), note.advice)
    console = Console(highlight=False)
    console.print(table)
    console.print(f"\n[dim]{LEGEND}[/]")


def _one(entry: Entry) -> None:
    console, note = Console(highlight=False), NOTES[entry.name]
    console.print(f"[bold]{entry.name}[/] ({entry.cls.__name__}): {escape(entry.summary)}")
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    able = [trait for trait, has in traits(entry).items() if has]
    for title, text in (
        ("published", entry.paper),
        ("tasks", ", ".join(tasks(entry))),
        ("cost of a row", note.cost),
        ("memory", note.memory),
        ("guarantee", note.guarantee),
        ("take it for", note.advice),
        ("also", ", ".join(able) or "-"),
    ):
        facts.add_row(title, escape(text))
    console.print(facts)
    console.print("\n[bold]parameters[/] (--set NAME=VALUE)")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    given = build(entry.name).get_params(deep=False)  # what run and race put where a class has no default
    for key, value in defaults(entry).items():
        needed = value is inspect.Parameter.empty
        table.add_row(
            key, escape(repr(given[key] if needed else value)) + (" [dim]here; needed in Python[/]" if needed else "")
        )
    console.print(table)


def _written(value: Any) -> Any:
    """A default as JSON has it: None for one that must be given, text for what is no plain value."""
    if value is inspect.Parameter.empty:
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
