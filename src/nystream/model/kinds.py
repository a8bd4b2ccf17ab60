"""Infer the kinds of columns from the first rows of a model without a declared schema."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from nystream.data.batch import Batch
from nystream.data.inputs import RawBlock
from nystream.data.reading import Table
from nystream.data.schema import Schema
from nystream.model.first_rows import ROWS, FirstRows
from nystream.model.waiting import WAITS
from nystream.runtime.types import Array

if TYPE_CHECKING:
    from nystream.model.model import Model

__all__ = ["first_schema", "keep_first", "keep_first_one", "review_kinds"]


def first_schema(model: Model, table: Any, target: str | None) -> Schema:
    """Infer the schema from the first row, if the types of the table leave kinds open; else from these types."""
    if not isinstance(table, Table) or not table.named or not table.n:
        return Schema.of(table, target=target).described(task=None)
    open_kinds = [name for name in table.columns if name not in table.kinds and name != target]
    if not open_kinds or "first_" in model.__dict__:
        return Schema.of(table, target=target).described(task=None)
    model.first_ = FirstRows()
    model.first_.fixed_ = {name: kind for name, kind in table.kinds.items() if name != target}
    schema = Schema.of(table[:1], target=target).described(task=None)
    # the first row says too little of a column whose kind is known without it
    schema.looks_ = {name: look for name, look in schema.looks_.items() if name in open_kinds}
    return schema


def review_kinds(model: Model, table: Any) -> None:
    """Change the kinds of columns, and add columns, if the next rows ask for it and kinds are not final."""
    if model.first_ is None or model.schema_ is None or not isinstance(table, Table) or not table.named:
        return
    schema, replayed = model.first_.review(table, model.schema_)
    if replayed:
        model.first_ = copy.copy(model.first_)  # a row that is refused afterwards leaves no trace
        model.first_.replayed_ += replayed
    if schema.columns != model.schema_.columns or schema.formats != model.schema_.formats:
        _relearn(model, schema)
    else:
        model.schema_ = schema


def _relearn(model: Model, schema: Schema) -> None:
    """Become the model that would have had these columns from the start."""
    assert model.first_ is not None
    twin = type(model)(**model.get_params(deep=False))
    twin._open(schema)
    if len(model.first_):
        twin._restore({"n_unlabelled_": 0, "n_misfits_": 0})
        twin.run_scores(*model.first_.replay())
    # errors stay those of the predictions that were made
    kept = ("notes_", "first_", "_reported", "_listeners", "score_", *WAITS)
    model.__dict__.update({**twin.__dict__, **{name: getattr(model, name) for name in kept}})


def keep_first(model: Model, table: Any, parts: list[Any] | None, weights: Array | None) -> None:
    """Keep learnt rows while kinds are not final."""
    if model.first_ is None or model.schema_ is None:
        return
    if isinstance(table, Batch):
        table = Table(table.columns, len(table))
    elif not isinstance(table, Table):  # a matrix of numbers
        X = table[:ROWS]
        X = X.numbers() if isinstance(X, RawBlock) else np.asarray(X)
        table = Table(dict(zip(model.schema_.names, X.T, strict=True)), len(X))
    elif not table.named:
        table = Table(dict(zip(model.schema_.names, table.columns.values(), strict=True)), table.n)
    else:
        known = [name for name in table.columns if name in model.schema_.columns]
        table = Table({name: table.columns[name] for name in known}, table.n)
    model.first_.extend(table, parts, weights)
    if model.first_.is_full:
        model._close_kinds()


def keep_first_one(model: Model, row: Any, y: Any, weight: float) -> None:
    """Keep one learnt row of numbers while kinds are not final."""
    if model.first_ is not None and model.schema_ is not None:
        names = model.schema_.names
        row = {name: row[name] for name in names} if type(row) is dict else dict(zip(names, row.tolist(), strict=True))
        model.first_.add(row, [y], weight)
        if model.first_.is_full:
            model._close_kinds()
