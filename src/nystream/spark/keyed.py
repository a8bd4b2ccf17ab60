"""One model for each key of a stream: each row predicted before it is learnt, exactly once through failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import DoubleType, LongType, StructField, StructType

from nystream.forecast import SeriesLearner
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.persist import from_bytes, to_bytes
from nystream.runtime.params import at_least, one_of
from nystream.spark.columns import column, names_of, require, roles
from nystream.spark.errors import Refusal, one_line
from nystream.spark.jobs import Build, here
from nystream.spark.patterns import named_model, prediction_type
from nystream.spark.roles import Roles

__all__ = ["STATE", "per_key"]

STATE = "model binary, rows bigint, loss double"
"""What is kept for a key: the model's bytes, the labelled rows, and the sum of their losses."""
METRICS = ("rows", "loss", "total_rows", "total_loss", "model_bytes")
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
    """
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
    job = Keyed(to_bytes(model), keys, order, found, emit, most_rows, here())
    schema = _output(df, model, job)
    columns = list(dict.fromkeys([*keys, *order, *found.all]))
    groups = df.select(*[column(name) for name in columns]).groupBy(*[column(name) for name in keys])
    if not df.isStreaming:
        return groups.applyInPandas(_once(job), schema)
    _use_rocksdb(df.sparkSession)
    return groups.transformWithStateInPandas(Processor(job), schema, "Append", "None")


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

    def advance(self, key: Any, frames: Any, state: Any) -> tuple[pd.DataFrame, tuple[bytes, int, float]]:
        """Rows to be emitted, and the state after it; `state` is None for a key that is new."""
        self.build.check()
        rows = self._ordered(key, frames)
        model = from_bytes(self.pattern if state is None else bytes(state[0]), trust=True)
        try:
            scores = model.run_scores(rows[[*self.roles.features, *self.roles.targets]])
        except (ValueError, TypeError) as error:
            raise Refusal(f"key {_shown(key)}: {one_line(error)}") from None
        losses = _losses(model, scores)
        content, count = to_bytes(model), int(np.count_nonzero(~np.isnan(losses)))
        before, total = (0, 0.0) if state is None else (int(state[1]), float(state[2]))
        after = (content, before + count, total + float(np.nansum(losses)))
        if self.emit == "forecasts":
            return self._forecasts(key, model, rows), after
        if self.emit == "predictions":
            kept = list(dict.fromkeys([*self.keys, *self.order, *self.roles.targets]))
            return rows[kept].assign(prediction=_column(model, scores.P)), after
        mean = float(np.nanmean(losses)) if count else None
        overall = after[2] / after[1] if after[1] else None
        values = dict(zip(METRICS, (count, mean, after[1], overall, len(content)), strict=True))
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

    def _ordered(self, key: Any, frames: Any) -> pd.DataFrame:
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
        for name in self.order:
            if rows[name].isna().any():
                raise Refusal(f"column {name!r}, by which rows are ordered, is null for key {_shown(key)}")
        ties = bool(rows.duplicated(list(self.order)).any())
        rest = [name for name in rows.columns if name not in self.order] if ties else []
        return rows.sort_values([*self.order, *rest], kind="stable", ignore_index=True)


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
        kinds = (LongType(), DoubleType(), LongType(), DoubleType(), LongType())
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


def _shown(key: Any) -> str:
    return ", ".join(map(repr, key)) if isinstance(key, tuple) else repr(key)


def _use_rocksdb(session: Any) -> None:
    if session.conf.get(f"{STORE}providerClass", "") != ROCKSDB:
        session.conf.set(f"{STORE}providerClass", ROCKSDB)
        session.conf.set(f"{STORE}rocksdb.changelogCheckpointing.enabled", "true")
