"""Columns written block by block: CSV, JSON lines, Parquet."""

from __future__ import annotations

import csv
import importlib
import json
import sys
from typing import Any

import numpy as np

__all__ = ["FORMATS", "Writer", "writer"]

FORMATS = ("csv", "jsonl", "parquet")


class Writer:
    """Blocks of columns, always of the same names."""

    def write(self, columns: dict[str, Any], n: int) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Finish the file; nothing is written after this."""


class _Csv(Writer):
    def __init__(self, file: Any) -> None:
        self._file = file
        self._writer = csv.writer(file, lineterminator="\n")
        self._begun = False

    def write(self, columns: dict[str, Any], n: int) -> None:
        if not self._begun:
            self._writer.writerow(columns)
            self._begun = True
        self._writer.writerows(zip(*([_cell(v) for v in _plain(values)] for values in columns.values()), strict=True))
        _flush(self._file)


class _Json(Writer):
    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, columns: dict[str, Any], n: int) -> None:
        names = list(columns)
        for row in zip(*(_plain(values) for values in columns.values()), strict=True):
            self._file.write(json.dumps(dict(zip(names, row, strict=True)), default=str) + "\n")
        _flush(self._file)


class _Parquet(Writer):
    def __init__(self, path: str) -> None:
        try:
            self._arrow = importlib.import_module("pyarrow")
            self._parquet = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise ImportError("writing Parquet needs pyarrow: pip install nystream[parquet]") from None
        self._path = path
        self._writer: Any = None

    def write(self, columns: dict[str, Any], n: int) -> None:
        plain = {name: [_as_text(v) for v in _plain(values)] for name, values in columns.items()}
        schema = None if self._writer is None else self._writer.schema
        table = self._arrow.table(plain, schema=schema)
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()


def writer(form: str, file: Any) -> Writer:
    """Return a writer to an open text file, or, for Parquet, to a path."""
    return {"csv": _Csv, "jsonl": _Json, "parquet": _Parquet}[form](file)


def _plain(values: Any) -> list[Any]:
    """Return Python values, with None for nan."""
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [None if isinstance(v, float) and v != v else v for v in listed]


def _as_text(value: Any) -> Any:
    """Return named numbers as text, for cells with one value."""
    return ", ".join(f"{name} {part:+.4g}" for name, part in value.items()) if isinstance(value, dict) else value


def _cell(value: Any) -> Any:
    value = _as_text(value)
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else value


def _flush(file: Any) -> None:
    if file is sys.stdout:
        file.flush()  # the next program may be waiting for it
