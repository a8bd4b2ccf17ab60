"""Vectors of partitions are added up on workers: each worker adds one piece of the vector over all partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sql

from nystream.runtime.types import Array
from nystream.spark.columns import numbered
from nystream.spark.errors import clear_errors
from nystream.spark.jobs import Fold, blas_threads, here, learn_rows
from nystream.spark.merging import check_states
from nystream.spark.tasks import LIMITS, count_cores, task_count

__all__ = ["Summing", "add_up", "cut"]

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


@dataclass(frozen=True)
class Summing(Fold):
    """A fold whose results are vectors that add up."""

    def vectors(self, model: Any) -> Iterator[Array]:
        """Return the result in stretches, one after the other; it is read once, and `model` is not used again."""
        raise NotImplementedError


def add_up(df: Any, fold: Summing, size: int, partitions: int) -> tuple[Array, int]:
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
    rows = numbered(df, fold.roles.all)
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


def _in_pieces(fold: Summing, each: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function of a partition: the vector that `fold` makes of it, cut into pieces of `each` numbers.

    Only one piece is copied at a time: a task needs hardly more memory than its sums.
    """
    build = here()

    def pieces(batches: Iterator[Any]) -> Iterator[Any]:
        found = learn_rows(fold, build, batches)
        row = {"part": found.part, "rows": found.rows, "refusal": found.refusal, "refused": found.refused}
        row |= {"threads": blas_threads()}
        if found.refusal is not None:
            yield pa.RecordBatch.from_pylist([{**row, "piece": 0, "state": b""}], schema=PIECES)
        elif found.model is not None:
            for number, piece in enumerate(cut(fold.vectors(found.model), each)):
                yield pa.RecordBatch.from_pylist([{**row, "piece": number, "state": piece.tobytes()}], schema=PIECES)

    return pieces


def cut(vectors: Iterator[Array], each: int) -> Iterator[Array]:
    """Return pieces of `each` numbers of vectors that follow one another; the last piece may be shorter."""
    begun: list[Array] = []
    for vector in vectors:
        start = 0
        while start < len(vector):
            part = vector[start : start + each - sum(map(len, begun))]
            begun.append(part)
            start += len(part)
            if sum(map(len, begun)) == each:
                yield np.concatenate(begun)
                begun = []
    if begun:
        yield np.concatenate(begun)


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
