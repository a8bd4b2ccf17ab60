"""A model of a whole frame with nothing to tune: what of the automatic learner can be had from sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pyspark.sql import functions as sql

from nystream.auto.pooled import PooledAuto
from nystream.data.schema import Schema
from nystream.model import Model
from nystream.persist import to_bytes
from nystream.runtime.params import at_least, one_of, positive
from nystream.runtime.types import Array
from nystream.spark.columns import column, require, roles
from nystream.spark.errors import clear_errors
from nystream.spark.fitting import classes_of
from nystream.spark.jobs import Fold, Place, matrix, refuse_nulls
from nystream.spark.merging import collected
from nystream.spark.patterns import task_of

__all__ = ["fit_auto"]

PARTS = 1_000_000
"""Parts that rows are divided into by their hash."""


def fit_auto(
    df: Any,
    target: str,
    *,
    features: Sequence[str] | None = None,
    task: str | None = None,
    held: float = 0.1,
    most_held: int = 20_000,
    sample: int = 20_000,
    landmarks: int = 300,
    big: int = 1000,
    rough: int = 1500,
    seed: int = 0,
) -> Model:
    """Learn a frame with nothing to tune: a `nystream.Model` that predicts, saves and goes on learning row by row.

    A sample fixes scales, learnt metrics, widths and landmarks; two passes over all rows give the sums from which
    ridges of seven kinds, one with a rough kernel, and one with more landmarks like the best, are solved for several
    lams; rows that were held back choose lams and learn how the ridges are stacked, and are learnt at last too. See
    `nystream.auto.pooled.PooledAuto`. Which rows are sampled and held back depends on their values and the seed alone:
    other partitions give the same model up to rounding.

    Unlike `nystream.Auto`, the online learner, it knows no order of rows: nothing forgets, no last labels, no windows;
    scales and landmarks come from a sample of the whole instead of the first rows. Nulls in features are missing
    values; columns must be numbers or booleans.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        It is read five times: cache it where reading is slow.
    target : str
    features : list of str or None
        None: all columns but the target.
    task : "regression", "classification" or None
        None: the target tells it, by the rule of `nystream.data.task.choose_task`.
    held, most_held : float, int
        The share of rows that is held back for choices, and rows at most.
    sample : int
        Rows at most that scales, metrics and landmarks are taken from.
    landmarks, big, rough, seed
        Of `PooledAuto`.
    """
    names = [name for name in df.columns if name != target] if features is None else features
    require(df, [target])
    found = roles(df, None, names, target)
    if task is None:
        task = task_of(df, [target])
    one_of("task", task, ("regression", "classification"))
    if task == "regression":
        roles(df, None, names, target, numbers=True)
    positive("held", held, below=1.0)
    rows = _counted(df, target)
    classes = classes_of(df, target) if task == "classification" else None
    if classes is not None and len(classes) < 2:
        raise ValueError(f"column {target!r} has one value only, {classes[0]!r}: there are no classes to tell apart")
    share = min(held, most_held / rows)
    place = sql.pmod(sql.xxhash64(*[column(name) for name in found.all], sql.lit(seed)), sql.lit(PARTS))
    kept, seen = df.where(place < int(share * PARTS)), df.where(place >= int(share * PARTS))
    fold = Sums(b"", found, tuple(classes) if classes is not None else None)
    learner = PooledAuto(task, landmarks=landmarks, big=big, rough=rough, seed=seed)
    learner.design(*fold.gathered(seen, sample, seed), len(classes) if classes is not None else 1)
    X, Y = fold.gathered(kept, 2 * most_held, seed)
    if not len(X):
        raise ValueError(f"the frame has {rows} rows, too few to hold some back; use nystream.Auto on one machine")
    first = fold.totals(seen, learner, list(learner.members_))
    learner.choose(X, Y, first)
    more = fold.totals(seen, learner, learner.waiting)
    learner.conclude(X, Y, {**first, **more}, rows)
    return Model.around(learner, Schema(list(found.features), target, task), classes)


@dataclass(frozen=True)
class Sums(Fold):
    """A pass: rows of a partition in, sums of the members `names` out. `pattern` is a designed `PooledAuto`."""

    classes: tuple[Any, ...] | None = None
    names: tuple[str, ...] = ()

    def start(self, part: int) -> Any:
        return super().start(part), None

    def learn(self, model: Any, batch: Any, place: Place) -> Any:
        learner, total = model
        found = _flat(learner.sums(*self.arrays(batch, place), self.names))
        return learner, found if total is None else total + found

    def finish(self, model: Any) -> bytes:
        content: bytes = model[1].tobytes()
        return content

    def arrays(self, batch: Any, place: Place) -> tuple[Array, Array]:
        """Inputs (n, d) and labels or numbers of classes (n, 1)."""
        X = matrix(batch, self.roles.features, place, missing=True)
        if self.classes is None:
            return X, matrix(batch, self.roles.targets, place)
        refuse_nulls(batch, self.roles.targets, place)
        labels = batch.column(self.roles.targets[0])
        numbers = compute.index_in(labels, pa.array(list(self.classes), labels.type))
        return X, numbers.to_numpy(zero_copy_only=False).astype(np.float64)[:, None]

    def gathered(self, df: Any, most: int, seed: int) -> tuple[Array, Array]:
        """At most so many rows here, chosen and ordered by their hash."""
        at_least("rows", most, 1)
        order = sql.xxhash64(*[column(name) for name in self.roles.all], sql.lit(seed), sql.lit("order"))
        columns = [column(name) for name in self.roles.all]
        with clear_errors():
            table = df.select(*columns, order.alias("__order")).orderBy("__order").limit(most).toArrow()
        batch = table.combine_chunks()
        return self.arrays(batch, "row {} of a sample".format)

    def totals(self, df: Any, learner: PooledAuto, names: list[str]) -> dict[str, tuple[Array, Array]]:
        """Sums over all rows of a frame, added up in the order of the partitions."""
        fold = Sums(to_bytes(learner), self.roles, self.classes, tuple(names))
        total: Any = 0.0
        for _, _, state in collected(df, fold):
            total = total + np.frombuffer(state)
        sums, start = {}, 0
        width = 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)
        for name in names:
            r = len(learner.members_[name].points_) + 1
            G, start = total[start : start + r * r].reshape(r, r), start + r * r
            sums[name] = (G, total[start : start + r * width].reshape(r, width))
            start += r * width
        return sums


def _flat(sums: dict[str, tuple[Array, Array]]) -> Array:
    return np.concatenate([part.ravel() for pair in sums.values() for part in pair])


def _counted(df: Any, target: str) -> int:
    """Rows; refuses a frame without rows or with rows that have no label."""
    with clear_errors():
        all_rows, labelled = df.agg(sql.count(sql.lit(1)), sql.count(column(target))).first()
    if not all_rows:
        raise ValueError("the frame has no rows, so that nothing can be learnt")
    if labelled < all_rows:
        raise ValueError(
            f"column {target!r} is null in {all_rows - labelled} of {all_rows} rows; leave them out "
            f"(df.dropna(subset=[{target!r}]))"
        )
    return int(all_rows)
