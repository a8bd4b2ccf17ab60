"""One model of a whole frame with nothing to tune, made of sums that workers add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pyspark.sql import functions as sql

from nystream.auto.pooled import PooledAuto, Sums
from nystream.compose.encoded import Encoded
from nystream.data.batch import Batch
from nystream.data.encoding import Encoder
from nystream.data.places import BadCell
from nystream.data.schema import Schema
from nystream.learners.translator import Translator
from nystream.model import Model
from nystream.persist import from_bytes, to_bytes
from nystream.runtime.params import at_least, one_of, positive
from nystream.runtime.types import Array
from nystream.spark.columns import column, is_number, named_roles, one_name, refuse_stream, require
from nystream.spark.errors import Refusal, clear_errors
from nystream.spark.fitting import classes_of
from nystream.spark.jobs import Place, bad_cell, matrix, refuse_nulls, weights_of
from nystream.spark.patterns import task_of
from nystream.spark.progress import Progress, Stages
from nystream.spark.roles import Roles
from nystream.spark.sampling import draw
from nystream.spark.sizes import landmark_counts
from nystream.spark.summing import Summing, add_up

__all__ = ["Pass", "fit_auto", "unflat"]

IN_SAMPLE: Place = "row {} of the sample".format
"""What messages call a row that the driver has drawn."""
PART = "__nystream_part"
SAMPLE_BYTES = 2**28
"""Bytes of rows that are drawn for the driver at most: with very many columns, fewer rows."""


def fit_auto(
    df: Any,
    target: str,
    *,
    features: Sequence[str] | None = None,
    task: str | None = None,
    weight: str | None = None,
    validation: str | None = None,
    held: float = 0.1,
    most_held: int = 20_000,
    sample: int = 20_000,
    landmarks: int = 300,
    big: int | None = None,
    rough: int | None = None,
    task_memory: float = 256e6,
    seed: int = 0,
    progress: Progress = None,
) -> Model:
    """Learn a frame with nothing to tune: a `nystream.Model` that predicts, saves and goes on learning row by row.

    A random sample fixes scales, learnt metrics, widths and landmarks. Two passes over all rows give the sums from
    which ridges are solved: six with Gaussian kernels, one with a Laplacian kernel, and a large one like the best of
    the six. Rows that are held back choose the penalties and learn how the ridges are stacked; their sums are
    subtracted for these choices. The final ridges have learnt every row. See `nystream.auto.pooled.PooledAuto`.

    Rows are sampled and held back by partition and position, never by value: runs over the same partitions give the
    same model up to rounding, other partitions give another sample. Spark may group partial sums differently from run
    to run where there are more partitions than tasks. The sums are added up on the workers, and the driver receives one
    vector, whatever the number of partitions.

    Unlike `nystream.Auto`, the online learner, it knows no order of rows: nothing forgets, no last labels, no windows.
    Nulls in features are missing values. Columns that are not numbers (strings, times) are encoded as everywhere in
    nystream; the mean labels of their levels come from the sample. Large integers and decimals become float64.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        It is read four times: cache it where reading is slow. Rows that change from pass to pass are refused by their
        count.
    target : str
    features : list of str or None
        None: all columns but the target, the weight and `validation`.
    task : "regression", "classification" or None
        None: the target tells it, by the rule of `nystream.data.task.choose_task`.
    weight : str or None
        A column of weights >= 0.
    validation : str or None
        A boolean column: rows in which it is true make the choices and are not learnt; then `held` does not count.
    held, most_held : float, int
        The share of rows that is held back for choices, and rows at most.
    sample : int
        Rows at most that scales, metrics and landmarks are taken from.
    landmarks : int
        Of each of the six first ridges.
    big, rough : int or None
        Landmarks of the large ridge and of the one with a Laplacian kernel; None: as many as the rows are worth and
        `task_memory` allows, see `nystream.spark.sizes`.
    task_memory : float
        Bytes that the sums of a task may take.
    seed : int
    progress : callable or None
        Called with a line after each stage, `print` for example. The log `nystream.spark` has the same lines. If a run
        of MLflow is active, it gets rows, landmarks, the error of the held-back rows and seconds as metrics.
    """
    require(df, [one_name(target, "target")])
    refuse_stream(df, "fit_auto", "fit_stream, or per_key with nystream.Auto")
    if features is None:
        features = [name for name in df.columns if name not in (target, weight, validation)]
        require(df, features)
    found = _roles(df, features, target, weight, validation)
    stages = Stages(df.sparkSession, "fit_auto", 5, progress)
    positive("held", held, below=1.0)
    positive("task_memory", task_memory)
    for name, value, least in (
        *(("most_held", most_held, 1), ("sample", sample, 1), ("landmarks", landmarks, 1)),
        *(("big", big, 0), ("rough", rough, 0), ("seed", seed, 0)),
    ):
        if value is not None:
            at_least(name, value, least)
    with stages.stage("count") as notes:
        task = one_of("task", task or task_of(df, [target]), ("regression", "classification"))
        if task == "regression" and not is_number(df.schema[target].dataType):
            kind = df.schema[target].dataType.simpleString()
            raise ValueError(
                f"column {target!r}, a target, is {kind}, not a number; cast it, or say task='classification'"
            )
        rows, apart, partitions = _count(df, target, validation)
        classes = classes_of(df, target) if task == "classification" else None
        if classes is not None and len(classes) < 2:
            raise ValueError(
                f"column {target!r} has one value only, {classes[0]!r}: there are no classes to tell apart"
            )
        notes.append(f"{rows:,} rows to learn in {partitions:,} partitions")
    fold = Pass(b"", found, classes=None if classes is None else tuple(classes))
    outputs = 1 if classes is None else len(classes)
    learnt = df if validation is None else df.where(~column(validation))
    with stages.stage("sample") as notes:
        most = max(2, int(SAMPLE_BYTES / 8 / len(found.all)))
        kept = min(most_held, most // 2, max(1, int(held * rows))) if validation is None else 0
        table = draw(learnt, found.all, rows, min(kept + sample, most), seed)
        held_rows, design_rows = table.slice(0, kept), table.slice(kept)
        held_rows, design_rows = (_with_weight(fold, part) for part in (held_rows, design_rows))
        if validation is not None:
            held_rows = draw(df.where(column(validation)), found.all, apart, min(most_held, most), seed)
        if design_rows.num_rows < 2 or not held_rows.num_rows:
            raise ValueError(f"the frame has {rows} rows, too few to hold some back; use nystream.Auto on one machine")
        notes.append(f"{design_rows.num_rows:,} rows to design, {held_rows.num_rows:,} held back")
    with stages.stage("design") as notes:
        big, rough = landmark_counts(rows, len(found.features), outputs, task_memory, big, rough)
        learner = PooledAuto(task, landmarks=landmarks, big=big, rough=rough, seed=seed)
        whole, fold = _prepared(learner, fold, design_rows, outputs)
        learner.design(*fold.read(whole, design_rows)[:2], outputs)
        X, Y, w = fold.read(whole, held_rows)
        notes.append(f"{len(learner.members_)} ridges with up to {max(landmarks, big, rough):,} landmarks")
    sizes = {"landmarks": landmarks, "landmarks of the large ridge": big, "landmarks of the Laplacian ridge": rough}
    stages.log({"rows": rows, "partitions": partitions, "held-back rows": held_rows.num_rows, **sizes})
    included = validation is None
    with stages.stage("first pass"):
        first = fold.totals(learnt, whole, learner, list(learner.members_), rows, partitions)
        learner.choose(X, Y, first, w, included=included)
    with stages.stage("second pass") as notes:
        more = {}
        if learner.waiting:
            more = fold.totals(learnt, whole, learner, learner.waiting, rows, partitions)
        learner.conclude(X, Y, {**first, **more}, rows, w, included=included)
        if task == "regression":
            error = float(np.sqrt(np.mean(learner.residuals_**2)))
            notes.append(f"RMSE of held-back rows {error:.4g}")
            stages.log({"held-back RMSE": error})
    if isinstance(whole, Encoded):
        whole.n_seen_ = rows
    schema = fold.schema_of(whole)
    return Model.around(whole, schema.described(target=target, task=task), classes)


@dataclass(frozen=True)
class Pass(Summing):
    """A pass: rows of a partition in, sums of the members `names` out as one vector.

    `pattern` is a designed `PooledAuto`, or an `Encoded` around it; `schema` is the schema of the latter.
    """

    classes: tuple[Any, ...] | None = None
    names: tuple[str, ...] = ()
    schema: bytes | None = None

    def start(self, part: int) -> Any:
        return super().start(part), None

    def learn(self, model: Any, batch: Any, place: Place) -> Any:
        whole, total = model
        learner: Any = whole.learner_ if isinstance(whole, Encoded) else whole
        X, Y, w = self.read(whole, batch, place)
        return whole, learner.sums(X, Y, self.names, w, total)

    def vectors(self, model: Any) -> Iterator[Array]:
        for G, b in model[1].values():
            yield _packed(G)
            yield b.ravel()

    def read(self, whole: Any, batch: Any, place: Place = IN_SAMPLE) -> tuple[Array, Array, Array | None]:
        """Return the learner's inputs (n, d), labels or numbers of classes (n, 1), and weights (n,) or None."""
        batch = batch.combine_chunks() if isinstance(batch, pa.Table) else batch
        if isinstance(whole, Encoded):
            X = whole.translator_.predict(self.columns(batch, place)).dense
        else:
            X = matrix(batch, self.roles.features, place, missing=True)
        return X, self.labels(batch, place), weights_of(batch, self.roles.weight, place)

    def labels(self, batch: Any, place: Place) -> Array:
        """Return labels, or numbers of classes, (n, 1)."""
        if self.classes is None:
            return matrix(batch, self.roles.targets, place)
        refuse_nulls(batch, self.roles.targets, place)
        labels = batch.column(self.roles.targets[0])
        numbers = compute.index_in(labels, pa.array(list(self.classes), labels.type))
        if numbers.null_count:
            row = int(np.argmax(numbers.is_null().to_numpy(zero_copy_only=False)))
            raise Refusal(
                f"column {self.roles.targets[0]!r} is {labels[row].as_py()!r} at {place(row)}, a class that was not "
                "there at first: cache the frame (df.cache()), or write it to a table first"
            )
        return numbers.to_numpy(zero_copy_only=False).astype(np.float64)[:, None]

    def columns(self, batch: Any, place: Place) -> Batch:
        """Return the typed columns of a batch of Arrow."""
        assert self.schema is not None
        schema: Schema = from_bytes(self.schema, trust=True)
        try:
            found, n, _ = schema.columns_of(batch.select(schema.names))
        except BadCell as error:
            kind = schema.columns[error.column]
            remedy = f"the sample has {kind}s there alone; put a null there, or leave the column out"
            raise bad_cell(error, place, remedy) from None
        return Batch(found, {name: schema.columns[name] for name in schema.names}, n)

    def schema_of(self, whole: Any) -> Schema:
        if isinstance(whole, Encoded):
            assert self.schema is not None
            return from_bytes(self.schema, trust=True)
        return Schema(list(self.roles.features))

    def totals(
        self, df: Any, whole: Any, learner: PooledAuto, names: list[str], rows: int, partitions: int
    ) -> dict[str, Sums]:
        """Return the sums of these members over all rows of a frame."""
        shapes = learner.shapes(names)
        fold = replace(self, pattern=to_bytes(whole), names=tuple(names))
        total, count = add_up(df, fold, sum(r * (r + 1) // 2 + r * k for r, k in shapes.values()), partitions)
        if count != rows:
            raise ValueError(
                f"the frame had {rows:,} rows at first and {count:,} in a later pass: cache it (df.cache()), or write "
                "it to a table first"
            )
        return unflat(total, shapes)


def _roles(df: Any, features: Any, target: str, weight: str | None, validation: str | None) -> Roles:
    """Return the columns by role; features may be of any kind that nystream encodes."""
    found = named_roles(df, features, target, weight, validation)
    if weight is not None and not is_number(df.schema[weight].dataType):
        kind = df.schema[weight].dataType.simpleString()
        raise ValueError(f"column {weight!r}, the weight, is {kind}, not a number; cast it")
    for name in found.features:
        kind = df.schema[name].dataType
        if not is_number(kind) and kind.typeName() not in ("string", "timestamp", "timestamp_ntz", "date"):
            raise ValueError(
                f"column {name!r}, a feature, is {kind.simpleString()}: features are numbers, booleans, strings, dates "
                "and times; unfold it into columns, or leave it out"
            )
    return found


def _prepared(learner: PooledAuto, fold: Pass, table: Any, outputs: int) -> tuple[Any, Pass]:
    """Return what encodes and learns rows, and the pass that uses it: the learner alone where all are numbers."""
    types = {field.name: field.type for field in table.schema}
    if all(_is_plain(types[name]) for name in fold.roles.features):
        return learner, fold
    schema = Schema.of(table.select(list(fold.roles.features)))
    fold = replace(fold, schema=to_bytes(schema))
    kinds = {name: schema.columns[name] for name in schema.names}
    whole = Encoded(learner.clone(), kinds)
    translator = Translator(fold.classes is not None, experts=False, encoder=Encoder(fill=False))
    translator.start(kinds, outputs)
    batch = table.combine_chunks()
    weights = weights_of(batch, fold.roles.weight, IN_SAMPLE)
    translator.run(fold.columns(batch, IN_SAMPLE), fold.labels(batch, IN_SAMPLE), weights)
    whole.translator_, whole.learner_ = translator, learner
    whole.d_, whole.outputs_ = len(kinds), outputs
    return whole, fold


def _with_weight(fold: Pass, table: Any) -> Any:
    """Return the rows of the sample whose weight is not 0: the others leave no trace."""
    weights = weights_of(table, fold.roles.weight, IN_SAMPLE)
    return table if weights is None else table.filter(pa.array(weights != 0))


def _is_plain(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def _packed(G: Array) -> Array:
    """Return the lower triangle of a matrix row by row, in the memory of the matrix, which is then no more."""
    flat, start = G.reshape(-1), 0
    for i in range(len(G)):
        flat[start : start + i + 1] = G[i, : i + 1]  # never behind what is still to be read
        start += i + 1
    return flat[:start]


def unflat(total: Array, shapes: dict[str, tuple[int, int]]) -> dict[str, Sums]:
    """Return the sums of members of one vector; `shapes` are what `PooledAuto.shapes` says."""
    sums, start = {}, 0
    for name, (r, width) in shapes.items():
        G, size = np.zeros((r, r)), r * (r + 1) // 2
        for i in range(r):
            G[i, : i + 1] = total[start + i * (i + 1) // 2 : start + (i + 1) * (i + 2) // 2]
        sums[name] = (G, total[start + size : start + size + r * width].reshape(r, width))
        start += size + r * width
    return sums


def _count(df: Any, target: str, validation: str | None) -> tuple[int, int, int]:
    """Return the rows to learn, those for validation, and the partitions up to the last one that has rows.

    Refuse a frame without rows, or with rows without label.
    """
    is_apart = sql.lit(False) if validation is None else column(validation)
    if validation is not None and df.schema[validation].dataType.typeName() != "boolean":
        raise ValueError(f"column {validation!r}, which marks rows for validation, must be boolean")
    unmarked = sql.count_if(is_apart.isNull())
    label = column(target)
    if df.schema[target].dataType.typeName() in ("double", "float"):
        label = sql.when(~sql.isnan(label), label)  # a class that is nan would be one of its own
    with clear_errors():
        counts = (sql.count(sql.lit(1)), sql.count(label), sql.count_if(is_apart), unmarked)
        everything = df.withColumn(PART, sql.spark_partition_id()).agg(*counts, sql.max(PART))
        all_rows, labelled, apart, null, last = everything.first()
    if not all_rows:
        raise ValueError("the frame has no rows, so that nothing can be learnt")
    if labelled < all_rows:
        raise ValueError(
            f"column {target!r} is null or nan in {all_rows - labelled} of {all_rows} rows; leave them out "
            f"(df.dropna(subset=[{target!r}]))"
        )
    if null:
        raise ValueError(f"column {validation!r}, which marks rows for validation, is null in {null} rows")
    if validation is not None and not apart:
        raise ValueError(f"column {validation!r} is true in no row: there is nothing to validate by")
    if apart == all_rows:
        raise ValueError(f"column {validation!r} is true in every row: there is nothing to learn")
    return int(all_rows - apart), int(apart), int(last) + 1
