"""`nystream verify` and `nystream repair`: the folder of a server that does not run."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Annotated

import typer

from nystream.cli.serve import load_server

__all__ = ["repair", "verify"]

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `nystream serve` was given.")]


def verify(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> None:
    """Check the folder of a server: the log, its WAL, every row, every snapshot.

    Nothing is changed.

    Exit code 0: everything is whole. Exit code 2: something is damaged, and every line says what.
    """
    load_server()
    report = importlib.import_module("nystream.serve.verify").verify(folder)
    if as_json:
        found = {"good": report.is_good, "findings": report.findings, "quarantined": report.quarantined}
        print(json.dumps({**found, "models": report.models, "events": report.events, "snapshots": report.snapshots}))
    else:
        for finding in report.findings:
            print(f"damaged: {finding}")
        for name, reason in report.quarantined.items():
            print(f"model {name!r} would not be served: {reason}")
        counts = f"{report.models} models, {report.events} events, {report.snapshots} snapshots"
        print(f"{folder}: {counts}: {'all whole' if report.is_good else 'damaged; see `nystream repair`'}")
    if not report.is_good:
        raise typer.Exit(2)


def repair(
    folder: Folder,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm everything; for scripts.")] = False,
) -> None:
    """Bring quarantined models back, giving up only what a person confirms.

    Files that are given up are kept in DIR/lost.

    Take a copy of the folder first. Exit code 0: every model is served again. Exit code 2: some are not.
    """
    load_server()

    def confirm(question: str) -> bool:
        return yes or typer.confirm(question)

    left = importlib.import_module("nystream.serve.repair").repair(folder, confirm, print)
    print(f"{folder}: {f'{left} models stay quarantined' if left else 'every model can be served'}")
    if left:
        raise typer.Exit(2)
