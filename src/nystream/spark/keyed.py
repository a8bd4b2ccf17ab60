"""One model for each key of a stream: each row predicted before it is learnt, exactly once through failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import functions as sql
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import DoubleType, LongType, StructField, StructType

from nystream.forecast import SeriesLearner
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.persist import from_bytes, to_bytes
from nystream.runtime.params import at_least, one_of
from nystream.spark.columns import column, is_number, names_of, require, roles
from nystream.spark.errors import MARK, Refusal, one_line
from nystream.spark.jobs import Build, here
from nystream.spark.patterns import named_model, prediction_type
from nystream.spark.refused import OnError, batch_number, find_bad_rows
from nystream.spark.roles import Roles

__all__ = ["STATE", "per_key"]

STATE = "model binary, rows bigint, loss double, refused bigint"
"""What is kept for a key: the model's bytes, the labelled rows, the sum of their losses, and the refused rows."""
METRICS = ("rows", "loss", "total_rows", "total_loss", "model_bytes", "refused", "total_refused")
FORECASTS = ("when", "step", "forecast", "low", "high")
EMITS = ("predictions", "metrics", "forecasts")
STORE = "spark.sql.streaming.stateStore."
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
    """
    refusing = OnError(on_error)
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
    job = Keyed(to_bytes(model), keys, order, found, emit, most_rows, here(), refusing)
    schema = _output(df, model, job)
    columns = list(dict.fromkeys([*keys, *order, *found.all]))
    rows = _with_keys(df.select(*[column(name) for name in columns]), keys, refusing)
    groups = rows.groupBy(*[column(name) for name in keys])
    if not df.isStreaming:
        return groups.applyInPandas(_once(job), schema)
    _use_rocksdb(df.sparkSession)
    found_rows = groups.transformWithStateInPandas(Processor(job), schema, "Append", "None")
    return found_rows.observe("nystream", *_figures(found_rows, found, emit))


@dataclass(frozen=True)
class Keyed:
    """What is done with the rows that a micro-batch has of one key."""

    pattern: bytes
    keys: tuple[str, ...]
    order: tuple[str, ...]
    roles: Roles
    emit: str
    most_rows: int
    build: Build
    on_error: OnError

    def advance(self, key: Any, frames: Any, state: Any) -> tuple[pd.DataFrame, tuple[bytes, int, float, int]]:
        """Return the rows to emit, and the state after them; `state` is None for a key that is new."""
        self.build.check()
        rows, refused = self._ordered(key, frames)
        content = self.pattern if state is None else bytes(state[0])
        model = from_bytes(content, trust=True)
        if state is not None:
            self._check_same(key, model)
        used = [*self.roles.features, *self.roles.targets]
        try:
            scores = model.run_scores(rows[used])
        except (ValueError, TypeError) as error:
            if self.on_error.stops:
                raise Refusal(f"{_where(key)}: {one_line(error)}") from None
            good = self._without_bad(key, rows, content)
            refused, rows = refused + len(rows) - len(good), good
            model = from_bytes(content, trust=True)
            scores = model.run_scores(rows[used])
        losses = _losses(model, scores)
        content, count = to_bytes(model), int(np.count_nonzero(~np.isnan(losses)))
        before, total, left_out = (0, 0.0, 0) if state is None else (int(state[1]), float(state[2]), int(state[3]))
        after = (content, before + count, total + float(np.nansum(losses)), left_out + refused)
        if self.emit == "forecasts":
            return self._forecasts(key, model, rows), after
        if self.emit == "predictions":
            kept = list(dict.fromkeys([*self.keys, *self.order, *self.roles.targets]))
            return rows[kept].assign(prediction=_column(model, scores.P)), after
        mean = float(np.nanmean(losses)) if count else None
        overall = after[2] / after[1] if after[1] else None
        values = dict(zip(METRICS, (count, mean, after[1], overall, len(content), refused, after[3]), strict=True))
        return pd.DataFrame([{**dict(zip(self.keys, key, strict=True)), **values}]), after

    def _forecasts(self, key: Any, model: Model, rows: pd.DataFrame) -> pd.DataFrame:
        """The next rows of the key's series; none where its inputs are not known ahead."""
        learner: Any = model.inner
        forecaster = learner.forecaster_
        X = None
        if forecaster.inputs_ is not None:
            there = np.flatnonzero(rows[self.roles.targets[0]].notna())
            later = rows.iloc[int(there[-1]) + 1 if len(there) else 0 :].head(forecaster.horizon)
            names = [name for name in self.roles.features if name != learner.time_]
            X = later[names].to_dict("records")
        if not forecaster.n_seen or (X is not None and not X):
            return pd.DataFrame(columns=[*self.keys, *FORECASTS])
        made = forecaster.forecast(X=X)
        low, high = forecaster.forecast_interval(0.9, X)
        ahead = forecaster.n_seen + np.arange(len(made))
        times = forecaster.times(ahead)
        found: dict[str, Any] = {name: [value] * len(made) for name, value in zip(self.keys, key, strict=True)}
        found |= {"when": ahead if times is None else times, "step": np.arange(1, len(made) + 1), "forecast": made}
        low, high = (np.where(np.isfinite(end), end, np.nan) for end in (low, high))
        return pd.DataFrame({**found, "low": low, "high": high})

    def _check_same(self, key: Any, model: Model) -> None:
        """Refuse a state that another learner or other columns left in the checkpoint."""
        fresh: Model = from_bytes(self.pattern, trust=True)
        for what, was, now in (
            ("learner", repr(model.learner), repr(fresh.learner)),
            ("columns", _columns(model), _columns(fresh)),
        ):
            if was != now:
                raise Refusal(
                    f"{_where(key)}: the checkpoint's model has the {what} {was}, and {now} is given now; go on with "
                    "what it has, or start anew with a new checkpoint"
                )

    def _without_bad(self, key: Any, rows: pd.DataFrame, content: bytes) -> pd.DataFrame:
        """Return the rows that can be learnt; the others become dead letters."""
        scratch: Model = from_bytes(content, trust=True)
        used = [*self.roles.features, *self.roles.targets]

        def learn(start: int, end: int) -> None:
            scratch.run_scores(rows[used].iloc[start:end].reset_index(drop=True))

        bad = find_bad_rows(len(rows), learn)
        places = [row.place for row in bad]
        self._refuse(key, rows.iloc[places], [row.reason for row in bad])
        return rows.drop(index=rows.index[places]).reset_index(drop=True)

    def _refuse(self, key: Any, rows: pd.DataFrame, reasons: list[str]) -> None:
        shown = rows.astype(object).where(rows.notna(), None).to_dict("records")
        self.on_error.write(shown, reasons, batch=batch_number(), key=[str(part) for part in key])

    def _ordered(self, key: Any, frames: Any) -> tuple[pd.DataFrame, int]:
        """Return the rows in their order, and how many were left out because they have none."""
        parts, count = [], 0
        for frame in frames:
            parts.append(frame)
            count += len(frame)
            if count > self.most_rows:
                raise Refusal(
                    f"key {_shown(key)} has more than {self.most_rows} rows in one micro-batch, which are sorted in "
                    "memory; take fewer rows at a time (maxFilesPerTrigger, maxOffsetsPerTrigger), split the key, or "
                    "raise most_rows"
                )
        rows = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
        unordered = rows[list(self.order)].isna()
        bad = unordered.any(axis=1).to_numpy()
        if bad.any():
            name = unordered.columns[unordered.any(axis=0).to_numpy().argmax()]
            reason = f"column {name!r}, by which rows are ordered, is null"
            if self.on_error.stops:
                raise Refusal(f"{reason} for {_where(key)}")
            self._refuse(key, rows[bad], [reason] * int(bad.sum()))
            rows = rows[~bad].reset_index(drop=True)
        ties = bool(rows.duplicated(list(self.order)).any())
        rest = [name for name in rows.columns if name not in self.order] if ties else []
        return rows.sort_values([*self.order, *rest], kind="stable", ignore_index=True), int(bad.sum())


def _once(job: Keyed) -> Any:
    """All rows of a key, from an empty model."""

    def emitted(key: Any, frame: pd.DataFrame) -> pd.DataFrame:
        return job.advance(key, [frame], None)[0]

    return emitted


class Processor(StatefulProcessor):  # type: ignore[misc]
    """The model of a key as one value of Spark's state."""

    def __init__(self, job: Keyed) -> None:
        self.job = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("model", STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Spark's name: the rows of one key in one micro-batch."""
        frame, after = self.job.advance(key, rows, self.state.get() if self.state.exists() else None)
        self.state.update(after)
        yield frame

    def close(self) -> None:
        """Nothing is held open."""


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
        rows = rows.mapInArrow(_letters(keys, on_error, reason), rows.schema)
    return rows.where(~lacking)


def _letters(keys: tuple[str, ...], on_error: OnError, reason: str) -> Any:
    """Return a function that writes rows without a key to the folder, and passes on the others."""

    def passed(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            lacking = np.zeros(batch.num_rows, dtype=bool)
            for name in keys:
                lacking |= batch.column(name).is_null().to_numpy(zero_copy_only=False)
            if lacking.any():
                bad = batch.take(np.flatnonzero(lacking)).to_pylist()
                on_error.write(bad, [reason] * len(bad), batch=batch_number(), key=None)
                batch = batch.take(np.flatnonzero(~lacking))
            yield batch

    return passed


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


def _losses(model: Model, scores: Any) -> Any:
    """(n,) squared losses, of classes 0 or 1; nan where there was no label."""
    if model.task == "classification":
        known = np.where(np.isnan(scores.P), -np.inf, scores.P)
        wrong = (known.argmax(axis=1) != scores.Y[:, 0]) | np.isneginf(known).all(axis=1)
        return np.where(np.isnan(scores.Y[:, 0]), np.nan, wrong)
    P = np.where(np.isnan(scores.P), 0.0, scores.P)
    return ((P - scores.Y) ** 2).sum(axis=1)


def _column(model: Model, P: Any) -> Any:
    """Predictions as a column of a frame."""
    if model.learner_ is None:
        return np.full(len(P), None, dtype=object) if model.task == "classification" else np.zeros(len(P))
    found = model.answers(P)
    return list(found) if found.ndim == 2 else found


def _columns(model: Model) -> str:
    schema = model.schema
    return "unknown" if schema is None else f"{', '.join(schema.names)} -> {', '.join(schema.targets)}"


def _where(key: Any) -> str:
    """Return the key, and the micro-batch whose files or offsets the checkpoint names."""
    batch = batch_number()
    place = "" if batch is None else f"micro-batch {batch} (its rows: offsets/{batch} of the checkpoint), "
    return f"{place}key {_shown(key)}"


def _shown(key: Any) -> str:
    return ", ".join(map(repr, key)) if isinstance(key, tuple) else repr(key)


def _use_rocksdb(session: Any) -> None:
    if session.conf.get(f"{STORE}providerClass", "") != ROCKSDB:
        session.conf.set(f"{STORE}providerClass", ROCKSDB)
        session.conf.set(f"{STORE}rocksdb.changelogCheckpointing.enabled", "true")
