"""`nystream list`: the learners, what they cost and promise; of one of them, its parameters."""

from __future__ import annotations

import inspect
import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nystream.cli.described import descriptions
from nystream.model.building import build
from nystream.registry import (
    AGAINST_FEATURES,
    AGAINST_KERNEL,
    AGAINST_PARTS,
    TASKS,
    Record,
    find,
    list_learners,
)

__all__ = ["show"]

LEGEND = (
    "Tasks: regression, classification, novelty. Cost: d columns, r features, m stored points, t rows so far, B, l "
    "rows of a sketch, W rows of a window, K outputs. Guarantee: against functions of the features (f), "
    "functions of the kernel (k) or the learners that it combines (l), a bound that is computed while it runs; no "
    "letter, a theorem of its paper. `nystream list NAME`: parameters."
)


def show(
    name: Annotated[str | None, typer.Argument(help="A learner: what it is, its parameters and defaults.")] = None,
    task: Annotated[str | None, typer.Option(help=f"Only learners for it: {', '.join(TASKS)}.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
) -> None:
    """List the learners by the names that run and race take."""
    records = [find(name)] if name else list_learners(task)
    if name and task and task not in records[0].tasks:
        raise ValueError(f"{records[0].name} is for {' and '.join(records[0].tasks)}, not for {task!r}")
    if as_json:
        print(json.dumps({record.name: _describe(record) for record in records}, indent=2))
    elif name:
        _one(records[0])
    else:
        _all(records)


def _describe(record: Record) -> dict[str, Any]:
    return {
        "class": record.cls.__name__,
        "summary": record.summary,
        "paper": record.paper,
        "tasks": record.tasks,
        "cost": record.cost,
        "memory": record.memory,
        "guarantee": record.guarantee,
        "advice": record.advice,
        **record.traits,
        "parameters": list(record.cls._names()),
        "descriptions": {key: text for key, text in descriptions(record.cls).items() if key in record.cls._names()},
        "defaults": {key: _written(value) for key, value in record.defaults.items()},
    }


def _all(records: list[Record]) -> None:
    table = Table(header_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("learner", no_wrap=True, style="bold")
    for title in ("tasks", "cost of a row", "guarantee", "take it for"):
        table.add_column(title, no_wrap=True)
    for record in records:
        letters = " ".join(task[0].upper() if task in record.tasks else " " for task in TASKS)
        table.add_row(record.name, letters, record.cost, _short(record.guarantee), record.advice)
    console = Console(highlight=False)
    console.print(table)
    console.print(f"\n[dim]{LEGEND}[/]")


def _short(guarantee: str) -> str:
    """Return the guarantee in a few letters, which the legend explains."""
    letters = {AGAINST_FEATURES: "regret (f)", AGAINST_KERNEL: "regret (k)", AGAINST_PARTS: "regret (l)"}
    return letters.get(guarantee, guarantee.replace(", published", ""))


def _one(record: Record) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{record.name}[/] ({record.cls.__name__}): {escape(record.summary)}")
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    able = [trait for trait, has in record.traits.items() if has]
    for title, text in (
        ("published", record.paper),
        ("tasks", ", ".join(record.tasks)),
        ("cost of a row", record.cost),
        ("memory", record.memory),
        ("guarantee", record.guarantee),
        ("take it for", record.advice),
        ("also", ", ".join(able) or "-"),
    ):
        facts.add_row(title, escape(text))
    console.print(facts)
    console.print("\n[bold]parameters[/] (--set NAME=VALUE)")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(max_width=40)
    table.add_column()
    told = descriptions(record.cls)
    given = build(record.name).get_params(deep=False)  # what run and race put where a class has no default
    for key, value in record.defaults.items():
        needed = value is inspect.Parameter.empty
        shown = escape(repr(given[key] if needed else value)) + (" [dim]here; needed in Python[/]" if needed else "")
        table.add_row(key, shown, escape(told.get(key, "")))
    console.print(table)


def _written(value: Any) -> Any:
    """Return a default as JSON has it: None for one that must be given, text for what is not a plain value."""
    if value is inspect.Parameter.empty:
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
