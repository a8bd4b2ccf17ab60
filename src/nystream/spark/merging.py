"""Partial models become one, in the order of the partitions: on the driver, or first by groups on workers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sql

from nystream.persist import from_bytes, to_bytes
from nystream.spark.columns import column
from nystream.spark.errors import clear_errors
from nystream.spark.jobs import STATES, Fold, partial_states

__all__ = ["collected", "merge_states"]

FAN = 8
"""Partial models that one further round merges into one."""
THREADS = (
    "workers may use {} threads of linear algebra each, so that those of one machine wait for each other: start Spark "
    "with spark.executorEnv.OPENBLAS_NUM_THREADS=1 and spark.executorEnv.OMP_NUM_THREADS=1 (in local mode set both in "
    "the environment)"
)


def collected(df: Any, fold: Fold, depth: int | None = None) -> list[tuple[int, int, bytes]]:
    """(partition, rows, state) of all partitions that have rows, in the order of the partitions.

    With `depth`, neighbours are merged by eights on workers, so many times, before the driver sees them: the same
    merges in another tree.
    """
    states = df.select(*[column(name) for name in fold.roles.all]).mapInArrow(partial_states(fold), STATES)
    for _ in range(depth or 0):
        groups = states.withColumn("group", sql.floor(sql.col("part") / FAN)).groupBy("group")
        states = groups.applyInArrow(_merged_group, STATES)
    with clear_errors():
        rows = states.collect()
    rows.sort(key=lambda row: row.part)
    for row in rows:
        if row.refusal is not None:
            raise ValueError(row.refusal)
    threads = {row.threads for row in rows} - {1}
    if threads:
        most = max(threads, key=lambda n: n or 1 << 30)
        warnings.warn(THREADS.format(most or "all"), UserWarning, stacklevel=4)
    return [(row.part, row.rows, bytes(row.state)) for row in rows]


def merge_states(states: list[bytes]) -> Any:
    """One model of partial ones, merged one after the other."""
    model = from_bytes(states[0], trust=True)
    for state in states[1:]:
        model.merge(from_bytes(state, trust=True))
    return model


def _merged_group(table: Any) -> Any:
    """One row for the rows of a group: their merged state, or the first refusal among them."""
    rows = sorted(table.to_pylist(), key=lambda row: row["part"])
    refused = next((row for row in rows if row["refusal"] is not None), None)
    if refused is not None:
        return _table({**refused, "part": rows[0]["part"] // FAN})
    state = rows[0]["state"] if len(rows) == 1 else to_bytes(merge_states([row["state"] for row in rows]))
    total, threads = sum(row["rows"] for row in rows), max(row["threads"] for row in rows)
    return _table({"part": rows[0]["part"] // FAN, "rows": total, "state": state, "refusal": None, "threads": threads})


def _table(row: dict[str, Any]) -> Any:
    return pa.Table.from_pylist([row], schema=pa.schema(list(_fields())))


def _fields() -> Iterator[Any]:
    types = {"int": pa.int32(), "bigint": pa.int64(), "binary": pa.binary(), "string": pa.string()}
    for name, kind in (field.split() for field in STATES.split(", ")):
        yield pa.field(name, types[kind])
