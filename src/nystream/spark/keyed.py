"""One model for each key of a stream: each row predicted before it is learnt, exactly once through failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pandas as pd
from pyspark.sql import functions as sql
from pyspark.sql.types import DoubleType, LongType, StructField, StructType, TimestampType

from nystream.forecast import SeriesLearner
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.persist import to_bytes
from nystream.runtime.params import at_least, one_of
from nystream.spark.columns import column, in_utc, is_number, names_of, refuse_dots, require, roles
from nystream.spark.errors import MARK
from nystream.spark.jobs import here
from nystream.spark.key_models import FORECASTS, METRICS, Keyed, Processor, learnt_once, write_rows_without_key
from nystream.spark.patterns import named_model, prediction_type
from nystream.spark.progress import LOG
from nystream.spark.refused import OnError
from nystream.spark.roles import Roles

__all__ = ["per_key"]

EMITS = ("predictions", "metrics", "forecasts")
STORE = "spark.sql.streaming.stateStore."
EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def per_key(
    df: Any,
    key: str | Sequence[str],
    learner: Learner | Model | None,
    features: Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    *,
    order_by: str | Sequence[str],
    emit: str = "predictions",
    most_rows: int = 1_000_000,
    on_error: str = "stop",
    ttl: str | timedelta | None = None,
) -> Any:
    """Learn one model for each key, in order; any learner will do.

    Of a streaming frame: a streaming frame to be written (append mode), whose checkpoint holds the models. Spark keeps
    them exactly once through failures of workers, executors and the driver, and `load_keys` reads them. Of a frame
    that does not stream: the same from empty models, once.

    The rows that a micro-batch has of a key are sorted by `order_by`, and by all other columns where that ties, so that
    the order in which Spark shuffles them does not matter; from batch to batch the order is that of the source. A row
    without a target is predicted and not learnt.

    The state store is set to RocksDB with changelogs, which Spark's transformWithState needs. The number of state
    partitions is spark.sql.shuffle.partitions at the first start of the query, for good: 2 to 3 times the cores.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    key : str or list of str
        Go on with the same columns: the checkpoint knows the values of the keys, not the names of their columns.
    learner : Learner, Model or None
        The pattern, fresh for every key; None: `Auto`. The state is read and written whole in every batch in which its
        key appears: keep it small.
    features, target
        As in `fit`; a `Model` also takes columns of other kinds than numbers.
    order_by : str or list of str
        Columns that say which of a key's rows comes first.
    emit : "predictions", "metrics" or "forecasts"
        A row for each row, with the key, `order_by`, the target and the column `prediction`, made before the target was
        read; or a row for each key and micro-batch: labelled rows and mean loss (squared, of classes 0 or 1) in it and
        in all, and the bytes of the model. "forecasts" is for a `Model` of a `nystream.forecast.SeriesLearner`: the
        next rows of the key's series after each micro-batch, with ends of 90% intervals; where the series has inputs,
        rows without a target after the last one with a target give them.
    most_rows : int
        Rows of one key in one micro-batch beyond which to refuse: they are sorted in the memory of one worker.
    on_error : "stop", "skip" or the address of a folder
        What is done with a row that cannot be learnt or predicted, has no key, or has no `order_by`. "stop": the query
        fails, and the error names micro-batch, key, column and row. "skip": the row is left out, and nothing is emitted
        for it. A folder, which all workers see: the row is left out and written there with the reason, as a line of
        JSON, once even if Spark runs the batch again. `emit="metrics"` and `load_keys` count the rows of each key that
        were left out; `lastProgress["observedMetrics"]["nystream_keys"]` counts rows without a key.
    ttl : str, timedelta or None
        How long the model of a key is kept after the last micro-batch in which the key had rows, "30 days" for example,
        by the clock of the driver. A key that comes again later begins with an empty model. None: for ever. A later
        start of the query may give another duration, but not one in place of None or None in place of one: Spark then
        refuses the checkpoint. Of streaming frames only. Micro-batches without rows are then
        switched off (spark.sql.streaming.noDataMicroBatches.enabled), since Spark would run them without end.
    """
    refusing = OnError(on_error)
    lifetime = None if ttl is None else _milliseconds(ttl)
    if ttl is not None and not getattr(df, "isStreaming", False):
        raise ValueError("ttl is for streaming frames: of this one all rows are learnt at once")
    one_of("emit", emit, EMITS)
    at_least("most_rows", most_rows, 1)
    keys = names_of(key, "key")
    if order_by is None:
        raise ValueError(
            "order_by is missing: Spark promises no order of the rows of a key; name the column (a time, a number) "
            "that says which comes first"
        )
    order = names_of(order_by, "order_by")
    if learner is not None and not isinstance(learner, (Learner, Model)):
        raise TypeError(f"learner must be a nystream learner, a Model or None, got {learner!r}")
    require(df, [*keys, *order])
    found = roles(df, learner, features, target)
    model = named_model(df, learner, found)
    _check_names(keys, found, emit)
    if emit == "forecasts" and not isinstance(model.learner, SeriesLearner):
        raise ValueError("emit='forecasts' needs a Model of a nystream.forecast.SeriesLearner")
    columns = list(dict.fromkeys([*keys, *order, *found.all]))
    refuse_dots(columns, "per_key")
    job = Keyed(to_bytes(model), keys, order, found, emit, most_rows, here(), refusing)
    schema = _output(df, model, job)
    instants = (field.name for field in schema.fields if isinstance(field.dataType, TimestampType))
    job = replace(job, instants=tuple(name for name in instants if name not in keys))
    rows = df.select(*[column(name) if name in keys else in_utc(df, name) for name in columns])
    rows = _with_keys(rows, keys, refusing)
    groups = rows.groupBy(*[column(name) for name in keys])
    if not df.isStreaming:
        return groups.applyInPandas(learnt_once(job), schema)
    _use_rocksdb(df.sparkSession)
    if lifetime is not None:
        df.sparkSession.conf.set(EMPTY_BATCHES, "false")
    removed = refusing.remove_unfinished()
    if removed:
        LOG.info("per_key: %d files of %s that a killed process left half-written were removed", removed, on_error)
    mode = "None" if lifetime is None else "ProcessingTime"
    found_rows = groups.transformWithStateInPandas(Processor(job, lifetime), schema, "Append", mode)
    return found_rows.observe("nystream", *_figures(found_rows, found, emit))


def _milliseconds(ttl: Any) -> int:
    """Return a duration in milliseconds."""
    try:
        found = pd.Timedelta(ttl)
    except (ValueError, TypeError):
        found = pd.NaT
    if found is pd.NaT or isinstance(ttl, (int, float)) or found < pd.Timedelta(milliseconds=1):
        raise ValueError(f"ttl must be a duration such as '30 days' or a timedelta, got {ttl!r}")
    return int(found / pd.Timedelta(milliseconds=1))


def _with_keys(rows: Any, keys: tuple[str, ...], on_error: OnError) -> Any:
    """Return the rows whose keys are all there; rows without one are an error, left out, or dead letters.

    A null key must never reach the grouping: the rows of a batch whose keys are whole numbers with a null among them
    would all end in one model.
    """
    lacking = sql.lit(False)
    for name in keys:
        lacking = lacking | column(name).isNull()
    names = ", ".join(map(repr, keys))
    reason = f"the key ({names}) of a row is null"
    if on_error.stops:
        remedy = f"{MARK}{reason}; leave such rows out (df.dropna), or say on_error='skip' or a folder for them"
        checked = sql.when(lacking, sql.raise_error(sql.lit(remedy)).cast(rows.schema[keys[0]].dataType))
        return rows.withColumn(keys[0], checked.otherwise(column(keys[0])))
    if rows.isStreaming:
        rows = rows.observe("nystream_keys", sql.count_if(lacking).alias("without_key"))
    if on_error.folder is not None:
        rows = rows.mapInArrow(write_rows_without_key(keys, on_error, reason), rows.schema)
    return rows.where(~lacking)


def _figures(rows: Any, found: Roles, emit: str) -> list[Any]:
    """Return what `lastProgress` says of a batch: rows and mean loss."""
    if emit == "metrics":
        losses = sql.sum(sql.col("rows") * sql.col("loss")) / sql.sum("rows")
        refused = sql.sum("refused").alias("refused")
        return [sql.sum("rows").alias("rows"), sql.count(sql.lit(1)).alias("keys"), losses.alias("loss"), refused]
    figures = [sql.count(sql.lit(1)).alias("rows")]
    if len(found.targets) == 1:
        y, p = column(found.targets[0]), sql.col("prediction")
        number = (
            is_number(rows.schema["prediction"].dataType) and rows.schema["prediction"].dataType.typeName() != "boolean"
        )
        loss = (y - p) * (y - p) if number else (~y.eqNullSafe(p)).cast("double")
        figures.append(sql.avg(sql.when(y.isNotNull(), loss)).alias("loss"))
    return figures


def _check_names(keys: tuple[str, ...], found: Roles, emit: str) -> None:
    if any(name in found.targets for name in keys):
        raise ValueError("the target is among the keys; what is predicted cannot say which model predicts it")
    taken = set(FORECASTS) if emit == "forecasts" else {"prediction"} if emit == "predictions" else set(METRICS)
    clash = next((name for name in (*keys, *found.targets) if name in taken), None)
    if clash is not None:
        raise ValueError(f"column {clash!r} has the name of a column that is emitted; rename it")


def _output(df: Any, model: Model, job: Keyed) -> StructType:
    fields = [df.schema[name] for name in job.keys]
    if job.emit == "forecasts":
        time = getattr(model.learner, "time", None)
        when = LongType() if time is None else df.schema[time].dataType
        ends = [StructField(name, DoubleType()) for name in FORECASTS[2:]]
        return StructType([*fields, StructField("when", when), StructField("step", LongType()), *ends])
    if job.emit == "metrics":
        whole, real = LongType(), DoubleType()
        kinds = (whole, real, whole, real, whole, whole, whole)
        return StructType([*fields, *(StructField(n, kind) for n, kind in zip(METRICS, kinds, strict=True))])
    others = [df.schema[name] for name in dict.fromkeys([*job.order, *job.roles.targets]) if name not in job.keys]
    return StructType([*fields, *others, StructField("prediction", prediction_type(model, df, job.roles.targets))])


def _use_rocksdb(session: Any) -> None:
    if session.conf.get(f"{STORE}providerClass", "") != ROCKSDB:
        session.conf.set(f"{STORE}providerClass", ROCKSDB)
        session.conf.set(f"{STORE}rocksdb.changelogCheckpointing.enabled", "true")
