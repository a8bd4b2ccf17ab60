"""`nystream push`: rows of a file or of standard input to a server, in order, with progress."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import typer

from nystream.cli.progress import bar_of
from nystream.cli.rows import NEVER_SPARSE, RowSource, open_rows
from nystream.cli.source import numeric_labels, typed_labels
from nystream.client import Client
from nystream.data.reading import Table
from nystream.data.targets import first_label
from nystream.data.values import numbers_as_written

__all__ = ["push"]


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
    rows: Annotated[int | None, typer.Option(min=1, help="Stop after this many rows.")] = None,
    create: Annotated[bool, typer.Option(help="Create the model if there is none.")] = True,
    predictions: Annotated[bool, typer.Option("--predictions", "-p", help="Print what was predicted for each row.")] = (
        False
    ),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Send a file to a server, which predicts each row and then learns it."""
    place, name = _split(url)
    client = Client(place, token=token or os.environ.get("NYSTREAM_TOKEN"))
    stream = open_rows(source, target=None if target is None else [target], rows=rows, dense=NEVER_SPARSE)
    with client:
        model = client.model(name)
        if create and name not in client.names():
            model.create()
        sent, row, began = 0, 0, time.perf_counter()
        bar = bar_of(source, stream.total, limit=rows, quiet=quiet)
        for table, labels in _tables(stream, block):
            answer = model.send(table, labels, step=predictions)
            sent += len(labels)
            row = answer["row"]
            if predictions:
                for value in answer["predictions"]:
                    print("" if value is None else value)
            bar.add(len(labels))
    bar.clear()
    if not quiet:
        seconds = time.perf_counter() - began
        print(f"{sent:,} rows in {seconds:.2f} s; {name} has learnt {row:,} rows", file=sys.stderr)


def _tables(stream: RowSource, block: int) -> Iterator[tuple[Any, Any]]:
    """Columns and labels of each block: values as the file has them, labels as numbers where the first ones are."""
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
