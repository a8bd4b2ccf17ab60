"""`nystream list`: the learners, what they are, where they were published."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from nystream.learners import CATALOGUE

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
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("name", "class", "what it is", "published"):
        table.add_column(title, overflow="fold", no_wrap=title in ("name", "class"))
    for entry in CATALOGUE.values():
        table.add_row(entry.name, entry.cls.__name__, entry.summary, entry.paper)
    Console().print(table)
