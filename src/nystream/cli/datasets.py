"""`nystream datasets`: the public datasets, their facts, and which files are here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nystream.cli import options as opt
from nystream.datasets import DATASETS, Dataset, cache_folder, check, data_folder, fetch, find, locate

__all__ = ["datasets"]

VERDICTS = {True: "checksum right", False: "ANOTHER CHECKSUM", None: "no checksum known"}


def datasets(
    name: Annotated[str | None, typer.Argument(help="Show all facts of this dataset.")] = None,
    data: opt.Data = None,
    download: Annotated[bool, typer.Option("--fetch", help="Download the missing files of the named dataset.")] = False,
    checked: Annotated[bool, typer.Option("--check", help="Compare the checksums of files that are here.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
) -> None:
    """List the datasets by the names that run and race take as dataset:NAME, with what is here."""
    data_folder(data)  # a folder that does not exist is said before anything else
    chosen = [find(name)] if name is not None else list(DATASETS.values())
    if download:
        if name is None:
            raise ValueError("--fetch downloads one dataset; name it")
        for file in chosen[0].files:
            fetch(chosen[0], file, data)
    verdicts = {d.name: check(d, data) for d in chosen} if checked else {}
    console = Console(highlight=False)
    if as_json:
        print(json.dumps({d.name: _facts(d, data, verdicts.get(d.name)) for d in chosen}, indent=2))
    elif name is not None:
        console.print(_details(chosen[0], data, verdicts.get(name, {})))
    else:
        console.print(_overview(chosen, data))
        folder = data_folder(data)
        console.print(
            f"[dim]folder: {escape(str(folder or 'none, see NYSTREAM_DATA'))}; downloads: {cache_folder()}[/]"
        )
        for dataset in chosen:
            for path, right in verdicts.get(dataset.name, {}).items():
                console.print(f"{path}: {VERDICTS[right]}", markup=False, style="bold red" if right is False else None)
    wrong = [path for answers in verdicts.values() for path, right in answers.items() if right is False]
    if wrong:
        raise ValueError(f"{', '.join(wrong)}: the content has another checksum than expected")


def _overview(chosen: list[Dataset], data: Path | None) -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False)
    for column in ("name", "task", "rows", "columns", "here"):
        table.add_column(column, justify="right" if column in ("rows", "columns") else "left", no_wrap=True)
    table.add_column("licence")  # the one that may take several lines
    for d in chosen:
        here = _here(d, data)
        style = {"yes": "green", "no": "dim"}.get(here, "")
        cells = (d.name, d.task, f"{d.rows:,}", f"{d.columns:,}", f"[{style or 'default'}]{here}[/]", escape(d.licence))
        table.add_row(*cells)
    return table


def _details(dataset: Dataset, data: Path | None, verdicts: dict[str, bool | None]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    facts = _facts(dataset, data, None)
    for key in ("name", "task", "rows", "columns", "licence", "citation", "home", "preparation", "note"):
        value = facts[key]
        if value != "":
            table.add_row(key, escape(f"{value:,}" if isinstance(value, int) else str(value)))
    for file in dataset.files:
        found = locate(file, data)
        where = str(found) if found else f"not here; {file.url or 'no public download is known'}"
        verdict = f" ({VERDICTS[verdicts[file.path]]})" if file.path in verdicts else ""
        table.add_row(file.part if file.rows else "", escape(f"{file.path}: {where}{verdict}"))
    return table


def _facts(dataset: Dataset, data: Path | None, verdicts: dict[str, bool | None] | None) -> dict[str, Any]:
    """Return all that is known, as plain values."""
    files = []
    for file in dataset.files:
        found = locate(file, data)
        about = {"path": file.path, "part": file.part, "rows": file.rows, "sha256": file.sha256, "url": file.url}
        files.append({**about, "here": str(found) if found else None})
        if verdicts is not None:
            files[-1]["right"] = verdicts.get(file.path)
    plain = ("name", "task", "rows", "columns", "licence", "citation", "home", "note")
    facts = {key: getattr(dataset, key) for key in plain}
    return {**facts, "preparation": dataset.preparation.text, "files": files}


def _here(dataset: Dataset, data: Path | None) -> str:
    found = [locate(file, data) is not None for file in dataset.files]
    if all(found):
        return "yes"
    if any(found):
        return "in part"
    return "download" if all(file.url for file in dataset.files) else "no"
