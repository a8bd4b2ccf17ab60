"""`nystream verify`, `nystream repair` and `nystream restore`: folders of servers that do not run."""

from __future__ import annotations

import importlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from nystream.cli.serve import load_server

__all__ = ["repair", "restore", "verify"]

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


def restore(
    archive: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="The folder that --archive was given.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for `nystream serve`.")],
    time: Annotated[
        str | None, typer.Option(help="Models as they were then: 2026-11-18T12:00, UTC unless it says otherwise.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="This model alone.")] = None,
    row: Annotated[
        int | None, typer.Option(min=0, help="With --model: the model when it had learnt so many rows.")
    ] = None,
) -> None:
    """Make a folder with the models of an archive as they were at an earlier time, or at the end.

    Requests are restored whole: with --row, up to the last request that ended at or before that row.
    """
    load_server()
    archives = importlib.import_module("nystream.serve.archive")
    at = None
    if time is not None:
        try:
            found = datetime.fromisoformat(time)
        except ValueError:
            raise ValueError(f"--time {time!r}: write it as 2026-11-18T12:00") from None
        at = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    count = archives.restore(archive, folder, archives.Moment(at, row), model, print)
    print(f"{folder}: {count} models restored; serve it with `nystream serve {folder}`")
    if not count:
        raise typer.Exit(2)
