"""Columns of vectors or arrays as the columns of numbers that learners read."""

from __future__ import annotations

from typing import Any

from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as sql
from pyspark.sql.types import ArrayType

from nystream.spark.columns import column, is_number
from nystream.spark.errors import MARK, clear_errors

__all__ = ["as_array", "count_entries", "is_vector", "unfold"]


def is_vector(kind: Any) -> bool:
    """Return whether values of this type are vectors of pyspark.ml or arrays of numbers."""
    return isinstance(kind, VectorUDT) or (isinstance(kind, ArrayType) and is_number(kind.elementType))


def as_array(df: Any, name: str, size: int) -> Any:
    """Return a column of vectors or arrays as one of arrays of float64, each of `size` entries; others are an error."""
    kind = df.schema[name].dataType
    values = column(name)
    if isinstance(kind, VectorUDT):
        values = sql.when(values.isNotNull(), vector_to_array(values))  # of a null it is an error of Java
    else:
        values = values.cast("array<double>")
    found = sql.coalesce(sql.size(values).cast("string"), sql.lit("no"))
    message = sql.concat(
        sql.lit(f"{MARK}featuresCol={name!r} has "),
        found,
        sql.lit(f" entries in a row, {size} are expected: vectors have one size and are not null"),
    )
    return sql.when(sql.size(values) == size, values).otherwise(sql.raise_error(message).cast("array<double>"))


def count_entries(df: Any, name: str) -> int:
    """Return the entries of a column's vectors: what its metadata say (VectorAssembler's do), else of its first row."""
    known = df.schema[name].metadata.get("ml_attr", {}).get("num_attrs")
    if known is not None:
        return int(known)
    values = column(name)
    values = vector_to_array(values) if isinstance(df.schema[name].dataType, VectorUDT) else values
    with clear_errors():
        row = df.where(column(name).isNotNull()).select(sql.size(values)).first()
    if row is None:
        raise ValueError(f"column {name!r} has no vectors: the frame has no rows, or all are null")
    if not row[0]:
        raise ValueError(f"the vectors of column {name!r} have no entries")
    return int(row[0])


def unfold(df: Any, name: str, size: int) -> list[Any]:
    """Return columns of float64, one for each entry of a column's vectors, named `name[0]`, `name[1]` and so on."""
    values = as_array(df, name, size)
    return [sql.get(values, sql.lit(i)).alias(f"{name}[{i}]") for i in range(size)]
