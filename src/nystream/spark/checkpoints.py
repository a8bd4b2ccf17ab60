"""The models of a keyed stream out of its checkpoint, without running the query."""

from __future__ import annotations

from typing import Any

from nystream.runtime.params import at_least
from nystream.spark.errors import SPARK_ERRORS, one_line

__all__ = ["load_keys"]


def load_keys(spark: Any, checkpoint: str, *, batch: int | None = None) -> Any:
    """Return a frame with a row for each key of a `per_key` stream: its columns, `model`, `rows`, `loss`, `refused`.

    `model` is bytes that `nystream.from_bytes` reads. `rows` are the labelled rows that it learnt, `loss` is the sum of
    their losses, each made before its label was read, and `refused` are the rows that `on_error` left out. Nothing of
    the query runs, and its checkpoint stays as it is. With a `ttl`, models that expired after the last micro-batch are
    still there.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
    checkpoint : str
        The checkpointLocation of the query.
    batch : int or None
        The state after this micro-batch, while Spark keeps it; None: after the last one that was committed.
    """
    reader = spark.read.format("statestore").option("stateVarName", "model")
    if batch is not None:
        reader = reader.option("batchId", at_least("batch", batch, 0))
    try:
        frame = reader.load(str(checkpoint))
        kept = frame.schema["value"].dataType  # looked up now: a client of Spark Connect asks for nothing before
        return frame.select("key.*", "value.*" if "model" in kept.names else "value.value.*")  # the latter with a ttl
    except SPARK_ERRORS as error:
        raise ValueError(
            f"checkpoint={str(checkpoint)!r} is no checkpoint of a per_key stream that has committed "
            f"{'a micro-batch' if batch is None else f'micro-batch {batch} and still keeps it'}: "
            f"{one_line(error)[:200]}"
        ) from None
