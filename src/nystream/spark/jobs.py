"""What a worker does with the rows of a partition, and what it brings back: the bytes of a partial model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from nystream.data.places import BadCell
from nystream.persist import FORMAT, from_bytes, to_bytes
from nystream.runtime.types import Array
from nystream.spark.errors import PYTHON, Refusal, one_line
from nystream.spark.roles import Roles

__all__ = [
    "STATES",
    "Build",
    "Fold",
    "Learnt",
    "Place",
    "bad_cell",
    "blas_threads",
    "here",
    "learn_rows",
    "matrix",
    "partial_states",
    "reader",
    "refuse_nulls",
    "weights_of",
]

Place: TypeAlias = Callable[[int], str]
"""What messages call a row of a batch."""
STATES = "part int, rows bigint, state binary, refusal string, threads int, refused bigint"
"""What comes back from a partition: its number, the rows it learnt, the partial model or why there is none, and the
rows that were left out because they cannot be learnt."""


@dataclass(frozen=True)
class Build:
    """The nystream of a process."""

    version: str
    format: int

    def check(self) -> None:
        """Refuse to work for a driver that has another one."""
        mine = here()
        if mine != self:
            raise Refusal(
                f"a worker has nystream {mine.version} (file format {mine.format}), the driver {self.version} (format "
                f"{self.format}): {PYTHON}"
            )


def here() -> Build:
    """Return the nystream of this process."""
    try:
        return Build(version("nystream"), FORMAT)
    except PackageNotFoundError:  # sources on the path of Python, as with --py-files
        return Build("from sources", FORMAT)


def blas_threads(environment: Any = os.environ) -> int:
    """Return the threads that the linear algebra beneath NumPy may start here; 0: as many as there are cores."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        if environment.get(name, "").isdigit():
            return int(environment[name])
    return 0


@dataclass(frozen=True)
class Fold:
    """A pattern and the columns it learns from: batches of rows in, one partial model out."""

    pattern: bytes
    roles: Roles
    on_error: Any = None
    """An `OnError` that does not stop, or None: the first row that cannot be learnt is an error."""

    def start(self, part: int) -> Any:
        """Return what is to learn the rows of this partition."""
        return from_bytes(self.pattern, trust=True)  # bytes that the driver made for this job

    def learn(self, model: Any, batch: Any, place: Place) -> Any:
        """Learn a batch; the model, which may be another object than before."""
        if hasattr(model, "schema_"):  # a Model; workers import no more than they need
            refuse_nulls(batch, self.roles.targets, place)
            used = batch.select([*self.roles.features, *self.roles.targets])
            try:
                model.run(used, weights=weights_of(batch, self.roles.weight, place))
            except BadCell as error:
                raise bad_cell(error, place, "mend it, or leave the row out") from None
        else:
            X, Y, w = reader(self.roles, missing=model.missing)(batch, place)
            model.run(X, Y, w)
        return model

    def learn_good_rows(self, model: Any, batch: Any, place: Place) -> tuple[Any, int]:
        """Learn the rows of a batch that can be learnt; return the model and the number of rows that cannot."""
        if self.on_error is None:
            return self.learn(model, batch, place), 0
        content = to_bytes(model)
        try:
            return self.learn(model, batch, place), 0
        except (ValueError, TypeError):
            from nystream.spark.refused import batch_number, find_bad_rows

            scratch = [from_bytes(content, trust=True)]

            def learn(start: int, end: int) -> None:
                rows = batch.slice(start, end - start)
                scratch[0] = self.learn(scratch[0], rows, lambda row: place(start + row))

            bad = find_bad_rows(batch.num_rows, learn)
            places = [row.place for row in bad]
            self.on_error.write(batch.take(places).to_pylist(), [row.reason for row in bad], batch=batch_number())
            good = np.setdiff1d(np.arange(batch.num_rows), places)
            model = from_bytes(content, trust=True)
            return (self.learn(model, batch.take(good), place) if len(good) else model), len(bad)

    def finish(self, model: Any) -> bytes:
        return to_bytes(model)

    def merge(self, states: list[bytes], level: int, group: int) -> bytes:
        """Return one state of several, on a worker: those of a group, in round `level`."""
        from nystream.spark.merging import merge_states

        return to_bytes(merge_states(states))


class Learnt(NamedTuple):
    """What a task made of its rows: a model, none where there were no rows, or the refusal of one."""

    part: int
    rows: int
    model: Any
    refusal: str | None
    refused: int
    """Rows that were left out because they cannot be learnt."""


def learn_rows(fold: Fold, build: Build, batches: Iterator[Any]) -> Learnt:
    """Learn the rows of this task, whose columns are `numbered`.

    A row that is refused is no failure of the task, which would be tried again.
    """
    part, rows, refused = TaskContext.get().partitionId(), 0, 0
    try:
        build.check()
        model = fold.start(part)
        for batch in batches:
            if batch.num_rows:
                batch = batch.rename_columns(fold.roles.all)
                model, bad = fold.learn_good_rows(model, batch, partial(_place, part, rows + refused))
                rows, refused = rows + batch.num_rows - bad, refused + bad
    except (ValueError, TypeError) as error:
        for _ in batches:  # the rest is read, so that Spark can end its side
            pass
        return Learnt(part, 0, None, one_line(error), refused)
    return Learnt(part, rows, model if rows or refused else None, None, refused)


def partial_states(fold: Fold) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a partition's function for mapInArrow: one row with a partial model or a refusal, none without rows."""
    build = here()

    def states(batches: Iterator[Any]) -> Iterator[Any]:
        found = learn_rows(fold, build, batches)
        if found.refusal is not None:
            yield _record(found.part, 0, None, found.refusal, found.refused)
        elif found.model is not None:
            yield _record(found.part, found.rows, fold.finish(found.model), None, found.refused)

    return states


def _place(part: int, before: int, row: int) -> str:
    """Return the name of a batch's row in messages."""
    return f"row {before + row} of partition {part}"


def _record(part: int, rows: int, state: bytes | None, refusal: str | None, refused: int) -> Any:
    values: dict[str, Any] = {
        "part": pa.array([part], pa.int32()),
        "rows": pa.array([rows], pa.int64()),
        "state": pa.array([state], pa.binary()),
        "refusal": pa.array([refusal], pa.string()),
        "threads": pa.array([blas_threads()], pa.int32()),
        "refused": pa.array([refused], pa.int64()),
    }
    return pa.RecordBatch.from_pydict(values)


def reader(roles: Roles, *, missing: bool) -> Callable[[Any, Place], tuple[Array, Any, Array | None]]:
    """Return a function that converts a batch to X (n, d), labels (n,) or (n, K), and weights (n,) or None.

    With `missing`, nulls become nan.
    """

    def arrays(batch: Any, place: Place) -> tuple[Array, Any, Array | None]:
        X = matrix(batch, roles.features, place, missing=missing)
        Y = matrix(batch, roles.targets, place) if roles.targets else None
        return X, Y if Y is None or Y.shape[1] > 1 else Y[:, 0], weights_of(batch, roles.weight, place)

    return arrays


def bad_cell(error: BadCell, place: Place, remedy: str) -> Refusal:
    """Return the refusal of a row with a value of another kind than its column's."""
    value = error.value.item() if isinstance(error.value, np.generic) else error.value
    return Refusal(f"column {error.column!r} is {value!r} at {place(error.row)}, which is no {error.wanted}: {remedy}")


def weights_of(batch: Any, name: str | None, place: Place) -> Array | None:
    """Return the weights (n,) of a batch, None without a column of weights; refuse negative ones."""
    if name is None:
        return None
    w = matrix(batch, [name], place)[:, 0]
    if w.min(initial=0.0) < 0:
        row = int(w.argmin())
        raise Refusal(f"column {name!r} is {w[row]} at {place(row)}; weights are 0 or more")
    return w


def matrix(batch: Any, names: Any, place: Place, *, missing: bool = False) -> Array:
    """Return columns of a batch as (n, d) float64 in C order: the same bits whatever the layout of the batch was."""
    X = np.empty((batch.num_rows, len(names)))
    if not missing:
        refuse_nulls(batch, names, place)
    for j, name in enumerate(names):
        values = batch.column(name)
        X[:, j] = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    bad = np.isinf(X) if missing else ~np.isfinite(X)
    if bad.any():
        row, j = np.argwhere(bad)[0].tolist()
        raise Refusal(
            f"column {names[j]!r} is {X[row, j]} at {place(row)}; a learner needs finite numbers: leave such rows out "
            "or put numbers there"
        )
    return X


def refuse_nulls(batch: Any, names: Any, place: Place) -> None:
    """Refuse a batch in which one of these columns has a null."""
    for name in names:
        values = batch.column(name)
        if values.null_count:
            row = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
            raise Refusal(
                f"column {name!r} is null in {values.null_count} of {batch.num_rows} rows, first at {place(row)}; fill "
                f"them (df.fillna) or leave the rows out (df.dropna(subset=[{name!r}]))"
            )
