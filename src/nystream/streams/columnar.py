"""Parquet files, block by block (needs pyarrow)."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from nystream.runtime.params import one_of
from nystream.runtime.types import Array
from nystream.streams.base import Stream
from nystream.streams.columns import Column, Target, choose
from nystream.streams.cutting import Block
from nystream.streams.labels import Labels

__all__ = ["ParquetStream", "parquet"]

_ROWS = 4096  # rows decoded at once


def parquet(
    path: str | os.PathLike[str],
    target: Target = -1,
    *,
    drop: Column | Iterable[Column] = (),
    columns: Iterable[Column] | None = None,
    labels: Iterable[Any] | None = None,
    missing: str = "error",
) -> ParquetStream:
    """Return a Parquet file as a stream. Batches of rows are decoded one after the other, and only the columns in use.

    Needs pyarrow, ``pip install nystream[parquet]``. Parameters as `csv`. A target of text (or of a dictionary type)
    gives classes in order of appearance; features must be numbers or booleans.
    """
    return ParquetStream(path, target, drop=drop, columns=columns, labels=labels, missing=missing)


class ParquetStream(Stream):
    """The rows of a Parquet file; parameters as `csv`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: Target = -1,
        *,
        drop: Column | Iterable[Column] = (),
        columns: Iterable[Column] | None = None,
        labels: Iterable[Any] | None = None,
        missing: str = "error",
    ) -> None:
        one_of("missing", missing, ("error", "nan"))
        self._path = os.fspath(path)
        name = os.path.basename(self._path)
        with self._file() as file:
            kinds = {field.name: _kind(str(field.type)) for field in file.schema_arrow}
            n = file.metadata.num_rows
        names = list(kinds)
        if len(names) != len(set(names)):
            raise ValueError(f"{name} has several columns of one name")
        self._choice = choose(names, target, drop, columns, name)
        self._names = [names[j] for j in self._choice.used]
        self._missing = missing
        for j in self._choice.features:
            if kinds[names[j]] != "number":
                raise ValueError(f"{name}: column {names[j]!r} is {kinds[names[j]]}; drop it or encode it as numbers")
        wanted = {kinds[names[j]] for j in self._choice.targets}
        if wanted - {"number", "text"} or ("text" in wanted and not self._choice.single):
            raise ValueError(f"{name}: targets must be numbers, or one column of classes; got {', '.join(wanted)}")
        if labels is not None and (not self._choice.single or not self._choice.targets):
            raise ValueError("labels needs exactly one target")
        super().__init__(
            name,
            columns=tuple(names[j] for j in self._choice.features),
            n=n,
            labels=Labels(labels) if labels is not None or "text" in wanted else None,
        )

    def _file(self) -> Any:
        module = _pyarrow()
        with open(self._path, "rb"):  # a file that is not there is the operating system's error, not pyarrow's
            pass
        try:
            return module.ParquetFile(self._path)
        except (OSError, ValueError) as error:
            raise ValueError(f"{os.path.basename(self._path)} is not a Parquet file: {error}") from None

    def _chunks(self, rows: int) -> Iterator[Block]:
        start = 0
        with self._file() as file:
            for batch in file.iter_batches(batch_size=max(rows, _ROWS), columns=self._names):
                if batch.num_rows:
                    yield self._block(batch, start)
                    start += batch.num_rows

    def _block(self, batch: Any, start: int) -> Block:
        width = len(self._choice.features)
        X = np.empty((batch.num_rows, width))
        for j, name in enumerate(self._names[:width]):
            X[:, j] = _floats(batch.column(name))
            bad = np.isinf(X[:, j]) if self._missing == "nan" else ~np.isfinite(X[:, j])
            if bad.any():
                row = int(np.argmax(bad))
                raise ValueError(
                    f"{self.name}, row {start + row}: column {name!r} is {X[row, j]}; remove or fill such rows, drop "
                    f'the column, or pass missing="nan" to a learner that takes nan'
                )
        return X, self._targets(batch, start)

    def _targets(self, batch: Any, start: int) -> Array:
        names = self._names[len(self._choice.features) :]
        if not names:
            return np.full(batch.num_rows, np.nan)
        for name in names:
            if batch.column(name).null_count:
                row = batch.column(name).is_null().to_pylist().index(True)
                raise ValueError(f"{self.name}, row {start + row}: target {name!r} is missing; remove the row")
        if self._labels is not None:
            return self._labels.encode(batch.column(names[0]).to_pylist(), self.name, start)
        Y = np.column_stack([_floats(batch.column(name)) for name in names])
        return np.ascontiguousarray(Y[:, 0]) if self._choice.single else Y


def _pyarrow() -> Any:
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow: pip install nystream[parquet]") from None


def _kind(type_name: str) -> str:
    """Return the kind of column that an Arrow type can be."""
    if type_name.startswith(("int", "uint", "float", "double", "halffloat", "bool")):
        return "number"
    if type_name in ("string", "large_string", "string_view") or type_name.startswith("dictionary"):
        return "text"
    return type_name


def _floats(column: Any) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
