"""`nystream predict`: a saved model over rows that need no target."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from nystream.cli.rows import NEVER_SPARSE, RowSource, open_rows, width_of
from nystream.data.batch import Batch
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
    probabilities: Annotated[bool, typer.Option(help="Also write the probability of every class.")] = False,
    interval: Annotated[
        float | None,
        typer.Option(help="Also write intervals that cover this share of the labels, as in 0.9."),
    ] = None,
    quantile: Annotated[
        list[str] | None, typer.Option(help="Also write these quantiles of the labels, with commas: 0.1,0.5,0.9.")
    ] = None,
    reasons: Annotated[
        int | None,
        typer.Option(min=1, help="Also write this many columns with the largest contributions to each prediction."),
    ] = None,
    ahead: Annotated[
        int | None,
        typer.Option(help="1: each row is the next one after the last learnt. Without it: rows come later."),
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
    wanted = _Wanted(probabilities, interval, _levels(quantile or []), reasons, ahead)
    wanted.check(model)
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
            for batch, beside in bar.watch(_parsed(cleaner, found, block, kept, schema), lambda pair: len(pair[0])):
                columns = {} if beside is None else dict(beside.columns)
                lines.write(columns | wanted.answers(model, batch, set(kept)), len(batch))
        finally:
            lines.finish()
    for line in cleaner.summary(found.unreadable):
        print(line, file=sys.stderr)


def _parsed(
    cleaner: Cleaner, found: RowSource, size: int, kept: list[str], schema: Schema
) -> Iterator[tuple[Batch, Table | None]]:
    """Read batches; each comes with the columns to keep, as they came."""
    is_first = True
    for rows, _ in found.blocks(size):
        own = _named(rows, found.columns)
        if is_first and isinstance(rows, Table):
            check_columns(schema, rows, found.name)
        is_first = False
        beside = Table({name: own.columns[name] for name in kept}, own.n) if kept else None
        yield from cleaner.clean(rows, beside)


@dataclass(frozen=True)
class _Wanted:
    """What is asked of the model for each row, besides the prediction: one field for each option."""

    probabilities: bool
    interval: float | None
    levels: list[float]
    reasons: int | None
    ahead: int | None

    def check(self, model: Model) -> None:
        """Refuse, before anything is read, what this model cannot tell."""
        if self.ahead not in (None, 1):
            raise ValueError(f"--ahead must be 1 (the next row) or left out (some later row), got {self.ahead}")
        if model.learner_ is None:
            raise ValueError("the model has learnt nothing yet")
        if self.probabilities and model.task != "classification":
            raise ValueError("--probabilities are of classes, and the model predicts numbers; --interval is for those")
        if self.interval is not None:
            positive("--interval", self.interval, below=1.0)
        for option, is_wanted in {"--interval": self.interval is not None, "--quantile": bool(self.levels)}.items():
            if is_wanted and model.task == "classification":
                raise ValueError(
                    f"{option} is for numbers, and the model predicts classes; --probabilities is for those"
                )
        first = np.zeros((1, model.inner.d_))
        if self.probabilities and not model.inner.can("probabilities"):
            model.inner.probabilities(first)  # its error says why not, and which learners can
        if self.interval is not None and not model.inner.can("predict_interval"):
            model.inner.predict_interval(first, self.interval)
        if self.levels and not model.inner.can("predict_quantile"):
            model.inner.predict_quantile(first, self.levels)
        if self.reasons is not None and not model.can("explain_row"):
            raise ValueError(
                "--reasons: the model has kept none of the rows it has learnt, so a row cannot be compared"
            )

    def answers(self, model: Model, batch: Batch, taken: set[str]) -> dict[str, Any]:
        """Return columns of what was predicted; a name that a kept column has gets an ending."""
        schema = model.schema_ or model.schema
        names = schema.targets if schema is not None else []
        answers = model.predict(batch, self.ahead)
        found: dict[str, Any] = {"prediction": answers}
        if answers.ndim == 2:
            names = names if len(names) == answers.shape[1] else [str(k) for k in range(answers.shape[1])]
            found = {f"prediction_{name}": column for name, column in zip(names, answers.T, strict=True)}
        titles = list(found)
        if self.probabilities:
            P = model.probabilities(batch, self.ahead)
            found |= {f"probability_{name}": P[:, k] for k, name in enumerate(model.classes)}
        if self.interval is not None:
            ends = model.predict_interval(batch, self.interval, self.ahead)
            low, high = (end.reshape(len(end), -1) for end in ends)
            for k, title in enumerate(titles):
                found |= {f"{title}_low": low[:, k], f"{title}_high": high[:, k]}
        if self.levels:
            Q = model.predict_quantile(batch, self.levels, self.ahead).reshape(len(answers), -1, len(self.levels))
            for k, title in enumerate(titles):
                found |= {f"{title}_q{q:g}": Q[:, k, i] for i, q in enumerate(self.levels)}
        if self.reasons is not None:
            found["reasons"] = [dict(list(parts.items())[: self.reasons]) for parts in model.explain_rows(batch)]
        return {f"{name}_now" if name in taken else name: values for name, values in found.items()}


def _levels(words: list[str]) -> list[float]:
    """Parse numbers between 0 and 1."""
    try:
        found = [float(part) for word in words for part in word.split(",")]
    except ValueError:
        found = [0.0]
    if not all(0.0 < q < 1.0 for q in found):
        raise ValueError(f"--quantile must be numbers between 0 and 1, as in 0.1,0.5,0.9; got {','.join(words)}")
    return list(dict.fromkeys(found))


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
