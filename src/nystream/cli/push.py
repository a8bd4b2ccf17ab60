"""`nystream push`: rows of a file or of standard input to a server, in order, with progress."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import typer

from nystream.cli.progress import bar_of
from nystream.cli.rows import NEVER_SPARSE, RowSource, open_rows
from nystream.cli.source import numeric_labels, typed_labels
from nystream.client import Client
from nystream.data.reading import Table
from nystream.data.targets import first_label
from nystream.data.values import numbers_as_written

__all__ = ["push"]

LONGEST = 200
"""Characters of the name of a source."""


def push(
    source: Annotated[str, typer.Argument(metavar="FILE", help="A file of rows, or - for standard input.")],
    url: Annotated[str, typer.Argument(metavar="URL/NAME", help="As in http://127.0.0.1:8470/NAME.")],
    target: Annotated[
        str | None, typer.Option("--target", "-y", help="Target column: a name or a position (default: the last).")
    ] = None,
    token: Annotated[
        str | None, typer.Option(help="Token with the role learn; default: what NYSTREAM_TOKEN holds.")
    ] = None,
    block: Annotated[int, typer.Option(min=1, help="Rows of a request.")] = 256,
    source_name: Annotated[
        str | None,
        typer.Option("--source", help="Name of these rows on the server (default: the name of the file)."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also send rows that were pushed before.")] = False,
    rows: Annotated[int | None, typer.Option(min=1, help="Stop after this many rows.")] = None,
    create: Annotated[bool, typer.Option(help="Create the model if there is none.")] = True,
    predictions: Annotated[bool, typer.Option("--predictions", "-p", help="Print what was predicted for each row.")] = (
        False
    ),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Send a file to a server, which predicts each row and then learns it.

    The server remembers how many rows of the file it has learnt. After a failure the same command goes on there; of a
    file that has grown only the new rows are sent. Standard input needs --source for that.
    """
    place, name = _split(url)
    about = source_name or (None if source == "-" else Path(source).name[-LONGEST:])
    if again or about is None:
        about = f"{(about or 'stdin')[:100]} {uuid4().hex}"
    client = Client(place, token=token or os.environ.get("NYSTREAM_TOKEN"))
    stream = open_rows(source, target=None if target is None else [target], rows=rows, dense=NEVER_SPARSE)
    with client:
        model = client.model(name)
        if create and name not in client.names():
            model.create()
        learnt, mark = model.position(about)
        if learnt:
            print(f"the first {learnt:,} rows of {about!r} were pushed before; going on after them", file=sys.stderr)
        sent, row, began, progress = 0, None, time.perf_counter(), Progress(learnt, mark)
        bar = bar_of(source, stream.total, limit=rows, quiet=quiet)
        for table, labels in _tables(stream, block):
            position, count = progress.rows, len(labels)
            if progress.skips(table, labels, source):
                bar.add(count)
                continue
            answer = model.send(table, labels, step=predictions, source=about, position=position, mark=progress.mark())
            sent += count - max(0, learnt - position)
            row = answer["row"]
            for value in answer.get("predictions", ()) if predictions else ():
                print("" if value is None else value)
            bar.add(count)
        row = model.describe()["champion"]["rows"] if row is None else row
    bar.clear()
    progress.check_end(source)
    if not quiet:
        seconds = time.perf_counter() - began
        print(f"{sent:,} rows in {seconds:.2f} s; {name} has learnt {row:,} rows", file=sys.stderr)


class Progress:
    """A digest of the rows so far, by which a file is known again whose first rows were pushed before."""

    def __init__(self, learnt: int, mark: str) -> None:
        self._learnt, self._mark = learnt, mark
        self._digest = blake2b(digest_size=16)
        self.rows = 0

    def mark(self) -> str:
        """Return the digest of all rows so far."""
        return self._digest.hexdigest()

    def skips(self, table: Any, labels: Any, source: str) -> bool:
        """Take in a block; return whether all its rows were pushed before."""
        columns = table.columns.values() if isinstance(table, Table) else table.values()
        listed = [values.tolist() if hasattr(values, "tolist") else list(values) for values in (*columns, labels)]
        for row in zip(*listed, strict=True):
            self._digest.update(repr(row).encode("utf-8", "surrogatepass"))
            self.rows += 1
            if self.rows == self._learnt and self.mark() != self._mark:
                raise ValueError(
                    f"{source} does not begin with the {self._learnt:,} rows that were pushed under this name before; "
                    "name this file with --source, or send all of it with --again"
                )
        return self.rows <= self._learnt

    def check_end(self, source: str) -> None:
        """Refuse a file that is shorter than what was pushed."""
        if self.rows < self._learnt:
            raise ValueError(
                f"{source} has {self.rows:,} rows, and {self._learnt:,} were pushed under this name before; "
                "name this file with --source, or send all of it with --again"
            )


def _tables(stream: RowSource, block: int) -> Iterator[tuple[Any, Any]]:
    """Yield columns and labels of each block: values as the file has them, labels as numbers if the first are."""
    numeric, labelled = True, False
    for rows, found in stream.blocks(block):
        if not labelled:
            numeric, labelled = numeric_labels(found), first_label(found) is not None
        labels = typed_labels(rows, found, stream.targets, numeric)
        if numeric and isinstance(found, list):
            written = numbers_as_written(found)
            labels = written if all(isinstance(value, int) for value in written) else labels
        if isinstance(rows, Table):
            kept = {name: values for name, values in rows.columns.items() if name not in stream.targets}
            yield Table(kept, len(rows), kinds=rows.kinds), labels
        else:
            names = stream.columns or [str(j) for j in range(rows.shape[1])]
            yield dict(zip(names, rows.T, strict=True)), labels


def _split(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or not parts.path.strip("/"):
        raise ValueError(f"{url!r} is no URL/NAME, such as http://127.0.0.1:8470/power")
    return f"{parts.scheme}://{parts.netloc}", unquote(parts.path.rstrip("/").rpartition("/")[2])
