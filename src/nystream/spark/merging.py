"""Partial models are merged into one in the order of the partitions: by groups on workers, the rest on the driver."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as sql

from nystream.persist import from_bytes
from nystream.spark.columns import numbered
from nystream.spark.errors import clear_errors
from nystream.spark.jobs import STATES, Fold, partial_states
from nystream.spark.tasks import LIMITS, merge_rounds

__all__ = ["State", "check_states", "collected", "merge_states"]

THREADS = (
    "workers may use {} threads of linear algebra each, so that those of one machine wait for each other: start Spark "
    "with spark.executorEnv.OPENBLAS_NUM_THREADS=1 and spark.executorEnv.OMP_NUM_THREADS=1 (in local mode set both in "
    "the environment)"
)


class State(NamedTuple):
    """What came back from a task, or from a group of tasks."""

    part: int
    rows: int
    content: bytes
    """The partial model."""
    refused: int
    """Rows that were left out because they cannot be learnt."""


def collected(df: Any, fold: Fold, depth: int | None = None, nbytes: float = 0.0) -> list[State]:
    """Return what came back from all tasks, or groups of tasks, that had rows, in the order of their numbers.

    In each of `depth` rounds workers merge what came before into at most LIMITS.groups, then into an eighth of these,
    and so on. None: as often as partial models of so many bytes need; the driver's memory then does not grow with the
    number of partitions, and nobody has to know that number.
    """
    states = numbered(df, fold.roles.all).mapInArrow(partial_states(fold), STATES)
    for level in range(merge_rounds(nbytes) if depth is None else depth):
        groups = max(1, LIMITS.groups // LIMITS.fan**level)
        grouped = states.withColumn("group", sql.col("part") % groups).groupBy("group")
        states = grouped.applyInArrow(_merging(fold, level, groups), STATES)
    with clear_errors():
        found = states.toArrow().to_pylist()
    found.sort(key=lambda row: row["part"])
    check_states(found, level=5)
    return [State(row["part"], row["rows"], row["state"], row["refused"]) for row in found]


def check_states(rows: list[dict[str, Any]], level: int) -> None:
    """Raise the first refusal among answers of workers; warn of workers whose linear algebra has several threads."""
    for row in rows:
        if row["refusal"] is not None:
            raise ValueError(row["refusal"])
    threads = {row["threads"] for row in rows} - {1}
    if threads:
        most = max(threads, key=lambda n: n or 1 << 30)
        warnings.warn(THREADS.format(most or "all"), UserWarning, stacklevel=level)


def merge_states(states: list[bytes]) -> Any:
    """Return one model of partial ones, merged one after the other."""
    model = from_bytes(states[0], trust=True)
    for state in states[1:]:
        model.merge(from_bytes(state, trust=True))
    return model


def _merging(fold: Fold, level: int, groups: int) -> Any:
    """Return the function of a group: one row with the merged state of its rows, or the first refusal among them."""

    def merged(table: Any) -> Any:
        rows = sorted(table.to_pylist(), key=lambda row: row["part"])
        group = rows[0]["part"] % groups
        refused = next((row for row in rows if row["refusal"] is not None), None)
        if refused is not None:
            return _table({**refused, "part": group})
        states = [row["state"] for row in rows]
        state = states[0] if len(rows) == 1 else fold.merge(states, level, group)
        total, threads = sum(row["rows"] for row in rows), max(row["threads"] for row in rows)
        bad = sum(row["refused"] for row in rows)
        one = {"part": group, "rows": total, "state": state, "refusal": None, "threads": threads, "refused": bad}
        return _table(one)

    return merged


def _table(row: dict[str, Any]) -> Any:
    return pa.Table.from_pylist([row], schema=pa.schema(list(_fields())))


def _fields() -> Iterator[Any]:
    types = {"int": pa.int32(), "bigint": pa.int64(), "binary": pa.binary(), "string": pa.string()}
    for name, kind in (field.split() for field in STATES.split(", ")):
        yield pa.field(name, types[kind])
