"""One model of a whole stream, a micro-batch at a time, with a file for each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import functions as sql

from nystream.learners.base import Learner
from nystream.model import Model
from nystream.persist import from_bytes
from nystream.runtime.params import at_least
from nystream.spark.columns import column, roles
from nystream.spark.errors import Refusal, clear_errors, one_line
from nystream.spark.fitting import check_mergeable, check_seeded, fitted_good_rows
from nystream.spark.folders import ModelFolder, claim_folders, has_started, rows_of_batch
from nystream.spark.patterns import named_model
from nystream.spark.progress import LOG, Progress, Run
from nystream.spark.refused import OnError
from nystream.spark.roles import Roles

__all__ = ["fit_stream"]


def fit_stream(
    stream: Any,
    learner: Learner | Model,
    features: Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    *,
    checkpoint: str,
    models: str,
    weight: str | None = None,
    trigger: dict[str, Any] | None = None,
    keep: int | None = 100,
    depth: int | None = None,
    on_error: str = "stop",
    progress: Progress = None,
) -> Any:
    """Start a query that learns a stream into one model; returns it (`pyspark.sql.streaming.StreamingQuery`).

    Every micro-batch is fitted as by `fit` and merged into the model of the batch before it, whose file is named by the
    number of that batch: 000000.nys, 000001.nys, ... After a failure Spark may run a batch again; it then starts from
    the same file, so that each row counts once. The files are models (`nystream.Model`), which know their columns.

    A learner that samples its dictionary chooses it in the first batch with rows, in two passes, and keeps it.

    Parameters
    ----------
    stream : pyspark.sql.DataFrame
        A streaming frame.
    learner, features, target, weight, depth
        As in `fit`. Classes must be declared in the schema: a later batch may bring new ones.
    checkpoint, models : str
        Folders of the query, which belong together. `models` is a folder of the driver's machine or an address that
        pyarrow writes to (s3://, hdfs://, gs://).
    trigger : dict or None
        Of the query, as {"availableNow": True} or {"processingTime": "1 minute"}; None: as fast as it can.
    keep : int or None
        Files that are kept, the last ones, at least 2; None: all.
    on_error : "stop", "skip" or the address of a folder
        What is done with a row that cannot be learnt (a null, an infinite number, a value of another kind). "stop": the
        query fails, and the error names the batch, its files or offsets, column and row. "skip": the row is left out. A
        folder: it is left out and written there with its origin and the reason, as a line of JSON, once even if Spark
        runs the batch again. The log `nystream.spark` has the number of such rows of each batch, and the model's
        `notes_["refused"]` that of all.
    progress : callable or None
        Called with a line after each batch, `print` for example. The log has the same lines. The query's
        `lastProgress["observedMetrics"]["nystream"]` has the rows and the labelled rows of the last batch. If a run of
        MLflow is active, it gets rows, refused rows and seconds of each batch as metrics.

    Raises
    ------
    ValueError
        For folders that do not belong together, and where the learner, the columns or the classes are others than at
        the first start. Files that a killed process left half-written are removed.
    """
    refusing = OnError(on_error)
    if keep is not None:
        at_least("keep", keep, 2)
    if not getattr(stream, "isStreaming", False):
        raise ValueError("fit_stream needs a streaming frame (spark.readStream); for one that does not stream use fit")
    if not isinstance(learner, (Learner, Model)):
        raise TypeError(f"learner must be a nystream learner or Model, got {learner!r}")
    check_mergeable(learner)
    found = roles(stream, learner, features, target, weight)
    pattern = named_model(stream, learner, found)
    check_mergeable(pattern)
    check_seeded(pattern)
    if pattern.task == "classification" and not (pattern.schema and pattern.schema.classes):
        raise ValueError(
            "fit_stream needs to know the classes beforehand, so that all partial models number them alike: give a "
            "Model whose schema declares them (Schema(..., classes=[...]))"
        )
    folder = ModelFolder(str(models))
    numbers = folder.numbers()
    if numbers and not has_started(str(checkpoint)):
        raise ValueError(
            f"models={str(models)!r} has models up to batch {numbers[-1]}, but checkpoint={str(checkpoint)!r} is new; "
            "give the checkpoint that belongs to them, or an empty folder (and merge the last model later)"
        )
    learns: dict[str, Any] = {
        "learner": repr(pattern.learner),
        "features": list(found.features),
        "target": list(found.targets),
    }
    learns |= {"weight": found.weight, "classes": pattern.schema.classes if pattern.schema else None}
    claim_folders(str(checkpoint), str(models), {name: str(value) for name, value in learns.items()})
    left = folder.remove_unfinished() + refusing.remove_unfinished()
    if left:
        LOG.info("fit_stream: %d files that a killed process left half-written were removed", left)
    step = _Step(pattern, found, folder, str(checkpoint), keep, depth, refusing, progress, Run.active())
    counts = (sql.count(sql.lit(1)).alias("rows"), sql.count(column(found.targets[0])).alias("labelled"))
    writer = (
        stream.observe("nystream", *counts).writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(step)
    )
    with clear_errors():
        return (writer if trigger is None else writer.trigger(**trigger)).start()


class _Step:
    """What is done with a micro-batch."""

    def __init__(
        self,
        pattern: Model,
        found: Roles,
        folder: ModelFolder,
        checkpoint: str,
        keep: int | None,
        depth: int | None,
        on_error: OnError,
        progress: Progress,
        run: Run,
    ) -> None:
        self.pattern, self.found, self.folder, self.checkpoint = pattern, found, folder, checkpoint
        self.keep, self.depth, self.run = keep, depth, run
        self.on_error, self.progress = None if on_error.stops else on_error, progress

    def __call__(self, df: Any, batch: int) -> None:
        try:
            self._learn(df, batch)
        except (ValueError, TypeError) as error:
            raise Refusal(f"batch {batch} ({rows_of_batch(self.checkpoint, batch)}): {one_line(error)}") from None

    def _learn(self, df: Any, batch: int) -> None:
        began = time.monotonic()
        model = self._before(batch)
        fresh = self.pattern if model.learner_ is None else model.clone()  # a dictionary that was chosen is a parameter
        on_error = self.on_error
        if on_error is not None:
            on_error = replace(on_error, source=rows_of_batch(self.checkpoint, batch))
        more, refused = fitted_good_rows(df, fresh, self.found, self.depth, on_error)
        before, total = model.n_seen if model.learner_ is not None else 0, refused
        if model.learner_ is not None:
            total += model.notes_.get("refused", 0)
        if more is not None:
            model = more if model.learner_ is None else model.merge(more)
        if model.learner_ is not None and total:
            model.notes_ = {**model.notes_, "refused": total}
        self.folder.write(batch, model)
        if self.keep is not None:
            self.folder.keep(self.keep)
        rows = (model.n_seen if model.learner_ is not None else 0) - before
        seconds = time.monotonic() - began
        line = f"fit_stream, batch {batch}: {rows:,} rows learnt, {refused:,} refused ({seconds:.1f} s)"
        if refused and on_error is not None:
            line += f", {on_error.source}"
        (LOG.warning if refused else LOG.info)(line)
        self.run.log({"fit_stream.rows": rows, "fit_stream.refused": refused, "fit_stream.seconds": seconds}, batch)
        if self.progress is not None:
            self.progress(line)

    def _before(self, batch: int) -> Model:
        if batch == 0:
            return self.pattern.clone()
        content = self.folder.read(batch - 1)
        if content is None:
            raise ValueError(
                f"{self.folder.path} has no model of batch {batch - 1}, on which batch {batch} builds: it was removed "
                "or the folder is another one than before. Put it back, or start anew with an empty folder and a new "
                "checkpoint"
            )
        model: Model = from_bytes(content, trust=True)
        return model
