"""`nystream predict`: a saved model over rows that need no target."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from nystream import persist
from nystream.cli import options as opt
from nystream.cli.answers import FORMATS, writer
from nystream.cli.cleaning import Cleaner, check_columns, checked_policy, naming_the_option
from nystream.cli.progress import bar_of
from nystream.cli.resuming import read
from nystream.cli.rows import NEVER_SPARSE, Block, Rows, open_rows, width_of
from nystream.data.reading import Table
from nystream.data.schema import Schema
from nystream.model import Model
from nystream.runtime.params import one_of, positive

__all__ = ["form_of", "open_answers", "predict"]


def predict(
    source: opt.Source,
    initial: Annotated[Path, typer.Option("--initial", "-i", help="The saved model.")],
    out: Annotated[str, typer.Option("--out", "-o", help="Write here; - is standard output.")] = "-",
    form: Annotated[
        str | None, typer.Option("--format", help="csv, jsonl or parquet; else by the ending of --out, or csv.")
    ] = None,
    probabilities: Annotated[bool, typer.Option(help="The probability of every class too.")] = False,
    interval: Annotated[
        float | None, typer.Option(help="Ends of intervals that cover this share of the labels too, as in 0.9.")
    ] = None,
    quantile: Annotated[
        list[str] | None, typer.Option(help="What these shares of the labels are below too, with commas: 0.1,0.5,0.9.")
    ] = None,
    reasons: Annotated[
        int | None,
        typer.Option(min=1, help="So many columns that add most to each prediction too, with what they add."),
    ] = None,
    ahead: Annotated[
        int | None,
        typer.Option(help="1: each row is the next one after the last learnt. Without it: rows come some time later."),
    ] = None,
    keep: Annotated[list[str] | None, typer.Option("--keep", help="Columns to write as they are, with commas.")] = None,
    header: opt.Header = None,
    rows: opt.Rows = None,
    block: opt.Block = 1024,
    on_error: opt.OnError = "stop",
    data: opt.Data = None,
) -> None:
    """Predict rows with a saved model, learning nothing. A target among the columns is not used."""
    policy = checked_policy(on_error)
    model = read(initial)
    levels = _levels(quantile or [])
    if ahead not in (None, 1):
        raise ValueError(f"--ahead must be 1 (the next row) or left out (some later row), got {ahead}")
    _check(model, probabilities, interval, levels)
    if reasons is not None and not model.can("explain_row"):
        raise ValueError(
            "--reasons: the model has kept none of the rows it has learnt, so a row has no others beside it"
        )
    chosen = form or form_of(out)
    wide = width_of(model)
    dense = NEVER_SPARSE if wide is None else wide - 1
    found = open_rows(source, wanted=False, rows=rows, data=data, width=wide, dense=dense, header=header, model=model)
    kept = _kept(keep or [], found.columns, found.name)
    if policy != "stop":
        found.skip_unreadable()
    schema = model.schema_
    assert schema is not None  # the model has learnt something
    cleaner = Cleaner(schema, schema.targets, numeric=False, policy=policy, name=found.name)
    with naming_the_option(), open_answers(out, chosen) as file:
        lines = writer(chosen, file)
        bar = bar_of(source, found.total, limit=rows, quiet=out == "-" and sys.stdout.isatty())
        try:
            for part in bar.watch(_cleaned(cleaner, found, block, kept, schema), lambda part: len(part.rows)):
                columns = {} if part.labels is None else dict(part.labels.columns)
                columns |= _answers(model, part.rows, probabilities, interval, levels, reasons, set(kept), ahead)
                lines.write(columns, len(part.rows))
        finally:
            lines.finish()
    for line in cleaner.summary(found.unreadable):
        print(line, file=sys.stderr)


def _cleaned(cleaner: Cleaner, found: Rows, size: int, kept: list[str], schema: Schema) -> Iterator[Block]:
    """Rows with typed columns; the columns to keep, as they came, are where labels would be."""
    is_first = True
    for piece in found.blocks(size):
        own = _named(piece.rows, found.columns)
        if is_first and isinstance(piece.rows, Table) and own.named:
            check_columns(schema, list(own.columns), found.name)
        is_first = False
        beside = Table({name: own.columns[name] for name in kept}, own.n) if kept else None
        yield from cleaner.clean(Block(piece.rows, beside))


def _answers(
    model: Model,
    rows: Any,
    probabilities: bool,
    interval: float | None,
    levels: list[float],
    reasons: int | None,
    taken: set[str],
    ahead: int | None,
) -> dict[str, Any]:
    """Columns of what was predicted; a name that a kept column has gets an ending."""
    schema = model.schema_ or model.schema
    names = schema.targets if schema is not None else []
    answers = model.predict(rows, ahead)
    found: dict[str, Any] = {"prediction": answers}
    if answers.ndim == 2:
        names = names if len(names) == answers.shape[1] else [str(k) for k in range(answers.shape[1])]
        found = {f"prediction_{name}": column for name, column in zip(names, answers.T, strict=True)}
    titles = list(found)
    if probabilities:
        P = model.probabilities(rows, ahead)
        found |= {f"probability_{name}": P[:, k] for k, name in enumerate(model.classes)}
    if interval is not None:
        low, high = (ends.reshape(len(ends), -1) for ends in model.predict_interval(rows, interval, ahead))
        for k, title in enumerate(titles):
            found |= {f"{title}_low": low[:, k], f"{title}_high": high[:, k]}
    if levels:
        Q = model.predict_quantile(rows, levels, ahead).reshape(len(answers), -1, len(levels))
        for k, title in enumerate(titles):
            found |= {f"{title}_q{q:g}": Q[:, k, i] for i, q in enumerate(levels)}
    if reasons is not None:
        found["reasons"] = [dict(list(parts.items())[:reasons]) for parts in model.explain_rows(rows)]
    return {f"{name}_now" if name in taken else name: values for name, values in found.items()}


def _levels(words: list[str]) -> list[float]:
    """Numbers between 0 and 1."""
    try:
        found = [float(part) for word in words for part in word.split(",")]
    except ValueError:
        found = [0.0]
    if not all(0.0 < q < 1.0 for q in found):
        raise ValueError(f"--quantile must be numbers between 0 and 1, as in 0.1,0.5,0.9; got {','.join(words)}")
    return list(dict.fromkeys(found))


def _check(model: Model, probabilities: bool, interval: float | None, levels: list[float]) -> None:
    """Refuse, before anything is read, what this model cannot say."""
    if model.learner_ is None:
        raise ValueError("the model has learnt nothing yet")
    if probabilities and model.task != "classification":
        raise ValueError("--probabilities are of classes, and the model predicts numbers; --interval is for those")
    if interval is not None:
        positive("--interval", interval, below=1.0)
    for option, wanted in {"--interval": interval is not None, "--quantile": bool(levels)}.items():
        if wanted and model.task == "classification":
            raise ValueError(f"{option} is for numbers, and the model predicts classes; --probabilities is for those")
    first = np.zeros((1, model.inner.d_))
    if probabilities and not model.inner.can("probabilities"):
        model.inner.probabilities(first)  # says why not, and who can
    if interval is not None and not model.inner.can("predict_interval"):
        model.inner.predict_interval(first, interval)
    if levels and not model.inner.can("predict_quantile"):
        model.inner.predict_quantile(first, levels)


def _kept(words: list[str], columns: list[str], source: str) -> list[str]:
    names = [name for word in words for name in ([word] if word in columns else word.split(","))]
    for name in names:
        if name not in columns:
            raise ValueError(f"{source} has no column {name!r} to keep; it has {', '.join(columns) or 'no names'}")
    return names


def _named(rows: Any, columns: list[str]) -> Table:
    if isinstance(rows, Table):
        return rows
    return Table({name: rows[:, j] for j, name in enumerate(columns)}, len(rows))


def form_of(out: str) -> str:
    ending = Path(out).suffix.lower().lstrip(".")
    return {"": "csv", "txt": "csv", "json": "jsonl", "ndjson": "jsonl", "pq": "parquet"}.get(ending, ending)


@contextmanager
def open_answers(out: str, form: str) -> Iterator[Any]:
    one_of("--format", form, FORMATS)
    if out == "-":
        if form == "parquet":
            raise ValueError("Parquet is written to a file; name one with --out")
        yield sys.stdout
        return
    persist.check_target(out)
    if form == "parquet":
        yield out
        return
    with open(out, "w", encoding="utf-8", newline="") as file:
        yield file
