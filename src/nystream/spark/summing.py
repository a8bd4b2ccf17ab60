"""Vectors of partitions are added up on workers: each worker adds one piece of the vector over all partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sql

from nystream.runtime.types import Array
from nystream.spark.columns import column
from nystream.spark.errors import clear_errors
from nystream.spark.jobs import Fold, partial_states
from nystream.spark.merging import check_states
from nystream.spark.tasks import LIMITS, count_cores, task_count

__all__ = ["add_up"]

PIECES = pa.schema(
    [
        ("piece", pa.int32()),
        ("part", pa.int32()),
        ("rows", pa.int64()),
        ("state", pa.binary()),
        ("refusal", pa.string()),
        ("threads", pa.int32()),
        ("refused", pa.int64()),
    ]
)
NAMES = "piece int, part int, rows bigint, state binary, refusal string, threads int, refused bigint"
LEAST = 4096
"""Numbers of a piece at least."""


def add_up(df: Any, fold: Fold, size: int, partitions: int) -> tuple[Array, int]:
    """Return the sum of the vectors of `size` numbers that `fold` makes of all partitions, and the rows learnt.

    Each task cuts its vector into pieces; Spark's shuffle brings the pieces of one number to one worker, which adds
    them in the order of the tasks. The driver receives one vector, whatever the number of `partitions` of the frame,
    and no worker holds more than LIMITS.group_bytes of pieces at a time.
    """
    session = df.sparkSession
    tasks = min(partitions, task_count(session, 8.0 * size))
    each = max(LEAST, int(LIMITS.group_bytes / tasks / 8))
    pieces = -(-size // each)
    reducers = min(pieces, 2 * count_cores(session)) + 1
    rows = df.select(*[column(name) for name in fold.roles.all])
    if tasks < partitions:
        rows = rows.coalesce(tasks)
    cut = rows.mapInArrow(_in_pieces(fold, each), NAMES)
    summed = cut.repartition(reducers, sql.col("piece")).groupBy("piece").applyInArrow(_add_pieces, NAMES)
    with clear_errors():
        found = summed.toArrow().to_pylist()
    check_states(found, level=5)
    found.sort(key=lambda row: row["piece"])
    if not found:
        return np.zeros(size), 0
    return np.concatenate([np.frombuffer(row["state"]) for row in found]), int(found[0]["rows"])


def _in_pieces(fold: Fold, each: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function of a partition: what `fold` makes of it, cut into pieces of `each` numbers."""
    states = partial_states(fold)

    def pieces(batches: Iterator[Any]) -> Iterator[Any]:
        for record in states(batches):
            row = record.to_pylist()[0]
            content = b"" if row["state"] is None else row["state"]
            for number, start in enumerate(range(0, max(len(content), 1), 8 * each)):
                piece = {**row, "piece": number, "state": content[start : start + 8 * each]}
                yield pa.RecordBatch.from_pylist([piece], schema=PIECES)

    return pieces


def _add_pieces(table: Any) -> Any:
    """Return one row for all rows of one piece: their sum, or the first refusal."""
    rows = sorted(table.to_pylist(), key=lambda row: row["part"])
    refused = next((row for row in rows if row["refusal"] is not None), None)
    if refused is not None:
        return pa.Table.from_pylist([refused], schema=PIECES)
    total = np.frombuffer(rows[0]["state"]).copy()
    for row in rows[1:]:
        total += np.frombuffer(row["state"])
    count, threads = sum(row["rows"] for row in rows), max(row["threads"] for row in rows)
    one = {**rows[0], "rows": count, "state": total.tobytes(), "threads": threads}
    return pa.Table.from_pylist([one], schema=PIECES)
