"""What a worker does with the rows of a key: it predicts and learns them in order, and returns the model's new state.

Workers import this module, which imports no learner: a model brings what it needs when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from nystream.persist import from_bytes, to_bytes
from nystream.spark.errors import Refusal, one_line
from nystream.spark.jobs import Build
from nystream.spark.refused import OnError, batch_number, find_bad_rows
from nystream.spark.roles import Roles

if TYPE_CHECKING:
    from nystream.model import Model

__all__ = ["FORECASTS", "METRICS", "STATE", "Keyed", "Processor", "learnt_once", "write_rows_without_key"]

STATE = "model binary, rows bigint, loss double, refused bigint"
"""What is kept for a key: the model's bytes, the labelled rows, the sum of their losses, and the refused rows."""
METRICS = ("rows", "loss", "total_rows", "total_loss", "model_bytes", "refused", "total_refused")
FORECASTS = ("when", "step", "forecast", "low", "high")


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
    instants: tuple[str, ...] = ()
    """Emitted columns that are timestamps of Spark; rows have them in UTC, without a zone."""

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
            return self._in_zone(self._forecasts(key, model, rows)), after
        if self.emit == "predictions":
            kept = list(dict.fromkeys([*self.keys, *self.order, *self.roles.targets]))
            return self._in_zone(rows[kept].assign(prediction=_column(model, scores.P))), after
        mean = float(np.nanmean(losses)) if count else None
        overall = after[2] / after[1] if after[1] else None
        values = dict(zip(METRICS, (count, mean, after[1], overall, len(content), refused, after[3]), strict=True))
        return pd.DataFrame([{**dict(zip(self.keys, key, strict=True)), **values}]), after

    def _in_zone(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with instants in place of times in UTC."""
        return frame.assign(**{name: pd.to_datetime(frame[name], utc=True) for name in self.instants})

    def _forecasts(self, key: Any, model: Model, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the forecast of the next rows of the key's series; none where its inputs are not known ahead."""
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


def learnt_once(job: Keyed) -> Any:
    """Learn all rows of a key, from an empty model."""

    def emitted(key: Any, frame: pd.DataFrame) -> pd.DataFrame:
        return job.advance(key, [frame], None)[0]

    return emitted


class Processor(StatefulProcessor):  # type: ignore[misc]
    """The model of a key as one value of Spark's state."""

    def __init__(self, job: Keyed, lifetime: int | None) -> None:
        self.job, self.lifetime = job, lifetime

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("model", STATE, self.lifetime)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Handle the rows of one key in one micro-batch; the name is Spark's."""
        frame, after = self.job.advance(key, rows, self.state.get() if self.state.exists() else None)
        self.state.update(after)
        yield frame

    def close(self) -> None:
        """Do nothing: nothing is held open."""


def _losses(model: Model, scores: Any) -> Any:
    """Return the (n,) squared losses, of classes 0 or 1; nan where there was no label."""
    if model.task == "classification":
        known = np.where(np.isnan(scores.P), -np.inf, scores.P)
        wrong = (known.argmax(axis=1) != scores.Y[:, 0]) | np.isneginf(known).all(axis=1)
        return np.where(np.isnan(scores.Y[:, 0]), np.nan, wrong)
    P = np.where(np.isnan(scores.P), 0.0, scores.P)
    return ((P - scores.Y) ** 2).sum(axis=1)


def _column(model: Model, P: Any) -> Any:
    """Return predictions as a column of a frame."""
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


def write_rows_without_key(keys: tuple[str, ...], on_error: OnError, reason: str) -> Any:
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
