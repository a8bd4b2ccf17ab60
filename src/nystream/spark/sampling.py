"""A uniform sample of a frame's rows: chosen by partition and position, never by value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import DoubleType, StructField, StructType

from nystream.spark.columns import numbered
from nystream.spark.errors import clear_errors

__all__ = ["draw"]

KEY = "__nystream_key"
"""The column of random numbers that decide which rows are taken."""
SPARE = 6.0
"""Standard deviations beyond the expected number of rows that workers send, so that hardly ever too few come."""


def draw(df: Any, names: list[str], rows: int, count: int, seed: int) -> Any:
    """Return `count` of the `rows` rows of a frame (all, where there are fewer) in a random order, as an Arrow table.

    Every row gets a random number from the seed, its partition and its position there; the rows with the least numbers
    are taken. Equal rows have different numbers. Each partition sends only rows whose number is below a bound that all
    share, so that the driver receives about `count` rows, however many partitions there are. Runs over the same
    partitions draw the same rows.
    """
    bound = min(1.0, (count + SPARE * np.sqrt(count) + SPARE) / max(rows, 1))
    chosen = numbered(df, names)
    schema = StructType([*chosen.schema.fields, StructField(KEY, DoubleType())])
    with clear_errors():
        table = chosen.mapInArrow(_below(bound, seed), schema).toArrow()
    order = np.argsort(table.column(KEY).to_numpy(), kind="stable")[:count]
    return table.drop_columns([KEY]).rename_columns(names).take(pa.array(order))


def _below(bound: float, seed: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function of a partition: its rows whose random number is below the bound."""

    def taken(batches: Iterator[Any]) -> Iterator[Any]:
        rng = np.random.default_rng([seed, TaskContext.get().partitionId()])
        for batch in batches:
            keys = rng.random(batch.num_rows)
            places = np.flatnonzero(keys < bound)
            rows = batch.take(pa.array(places))
            yield pa.RecordBatch.from_arrays([*rows.columns, pa.array(keys[places])], [*batch.schema.names, KEY])

    return taken
