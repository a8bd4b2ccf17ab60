"""`nystream list`: the learners, what they are, where they were published."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nystream.catalogue import CATALOGUE

__all__ = ["show"]


def show(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
) -> None:
    """List the learners by the names that run and race take."""
    if as_json:
        rows = {
            e.name: {"class": e.cls.__name__, "summary": e.summary, "paper": e.paper, "parameters": e.cls._names()}
            for e in CATALOGUE.values()
        }
        print(json.dumps(rows, indent=2))
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for entry in CATALOGUE.values():
        table.add_row(entry.name, f"{escape(entry.summary)} [dim]{escape(entry.paper)}[/]")
    Console(highlight=False).print(table)
