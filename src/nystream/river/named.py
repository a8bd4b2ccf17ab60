"""The base class of the estimators for river. Only this module imports river."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from nystream.data.inputs import RawBlock, as_block, as_weights
from nystream.data.places import BadCell
from nystream.data.schema import Schema
from nystream.data.values import convert
from nystream.explain import Importance, Reasons
from nystream.kernels import Kernel
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.model.loading import load_trained
from nystream.model.tasks import algorithm
from nystream.river.columns import Columns, Features, is_number, number_of
from nystream.runtime.types import Array

try:
    from river.base import AnomalyDetector, MiniBatchClassifier, MiniBatchRegressor
    from river.time_series.base import Forecaster as RiverForecaster
    from river.utils import dataframe as frames
except ImportError as error:
    raise ImportError("nystream.river needs river 0.26 or newer: pip install 'nystream[river]'") from error

__all__ = [
    "NEXT",
    "AnomalyDetector",
    "MiniBatchClassifier",
    "MiniBatchRegressor",
    "Named",
    "RiverForecaster",
    "columns_for",
    "frames",
]

T = TypeVar("T")
MEASURED = ("number", "boolean", "time")
"""Kinds of columns that some values do not fit."""
NEXT = 1
"""`ahead` of all predictions: in a river loop each row is predicted right before its label is learnt."""


class Named:
    """The base class of the estimators: it keeps a `nystream.Model` after the first row, and turns named features into
    rows.

    While all features are numbers, rows go to the model as numbers in their columns, and new features get columns. With
    the first string or time, rows go to the model as they are from then on, if its learner takes tables: the model
    tells categories, times and text apart, and new features of any kind get columns. If a string or a time comes where
    the feature `a` is a number for good, `a` is missing in this row, and the value goes to a column of its own, `a
    (text)` or `a (time)`.
    """

    _columns: Columns
    _model: Model | None
    _by_name: bool = False  # whether rows go to the model as they are
    _task: ClassVar[str] = "regression"

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner

    def explain(self) -> str:
        """Return a sentence about the features that the predictions depend on, then a few lines from the learner."""
        return (self._model or self._made()).explain()

    def importance(self) -> Importance:
        """Return the importance of the features, as shares by name: see `nystream.Model.importance`."""
        return (self._model or self._made()).importance()

    def explain_row(self, x: Features, of: Any = None) -> Reasons:
        """Return the contribution of each feature to the prediction for one row, by name: see
        `nystream.Model.explain_row`.
        """
        if self._model is None:
            raise ValueError("nothing was learnt yet, so there is nothing to explain")
        model, output = self._model, self._output(of)
        return self._ask(x, lambda row: model.explain_row(row, output))

    def _output(self, of: Any) -> Any:
        """Return a class or a target as the model calls it."""
        return of

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically; for `load`, `nystream.load` and the commands."""
        if self._model is None:
            raise ValueError("nothing was learnt yet, so there is nothing to save")
        self._model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return an estimator that continues a saved model of the same task, from an estimator, a command or Python."""
        model = load_trained(path, cls._task, cls.__name__)
        assert model.schema_ is not None
        estimator = cls(model.learner)
        estimator._columns.add(list(model.schema_.names))
        estimator._model = model
        estimator._adopt(model)
        return estimator

    def _adopt(self, model: Model) -> None:
        """Take over what is not in the columns."""

    @property
    def _inner(self) -> Learner:
        """The learner inside: the trained one, or what will be trained."""
        return self._made().inner if self._model is None else self._model.inner

    def _made(self, rows: Any = None) -> Model:
        """Return a model for the features there are now, or for those of the first rows of a table.

        Its kinds are not final where its learner takes other features than numbers too.
        """
        schema = Schema(self._columns.texts()) if rows is None else None
        if self._task == "novelty" or not self._takes_tables:
            schema = (schema or Schema.of(rows)).described(task=self._task)
            return Model(self.learner, schema, **self._settings)
        model = Model(self.learner, **self._settings)
        model.open_for(self._task, rows if schema is None else schema)
        return model

    @property
    def _takes_tables(self) -> bool:
        return self.learner is None or self.learner.takes_tables

    @property
    def _settings(self) -> dict[str, Any]:
        return {}

    def _learn(self, x: Features, label: Any, w: float) -> None:
        """Learn one row; a refused row adds no column."""
        if w != 1.0:
            self._check_weights(as_weights([w], 1))
        if self._tabular(x):
            self._learn_dict(x, label, w)
            return
        row = self._row(x)
        self._started().step(row, label, w)

    def _learn_dict(self, x: Features, label: Any, w: float) -> None:
        """Learn one row as it is, with values that do not fit their columns in columns of their own."""
        x = self._parted(x)
        while True:
            try:
                self._learn_table([self._columns.named(x)], [label], None if w == 1.0 else [w], list(x))
                return
            except BadCell as error:
                x = self._apart(x, error)

    def _apart(self, x: Features, error: BadCell) -> Features:
        """Return x with the value that does not fit its column in another one, or raise the error."""
        name = next((name for name, text in zip(x, self._columns.named(x), strict=True) if text == error.column), None)
        other = _other_column(name, None if name is None else x[name])
        if other is None or other in x or not self._takes_tables:
            raise error
        return {**x, name: None, other: x[name]}

    def _parted(self, x: Features) -> Features:
        """Return x with values that do not fit their columns in other ones, where there are such columns already."""
        for name, value in list(x.items()):
            other = _other_column(name, value)
            if other in self._columns.places and other not in x and not self._fits(name, value):
                x = {**x, name: None, other: value}
        return x

    def _fits(self, name: Hashable, value: Any) -> bool:
        """Return whether a value is of the kind of its column."""
        schema = None if self._model is None else self._model.schema_
        column = self._columns.named({name: value})
        kind = None if schema is None else schema.columns.get(next(iter(column)))
        if kind not in MEASURED:
            return True
        try:
            convert([value], kind, str(name), format=(schema.formats or {}).get(next(iter(column))) if schema else None)
        except BadCell:
            return False
        return True

    def _learn_table(self, rows: Any, labels: Any, weights: Any, names: list[Hashable]) -> None:
        """Learn rows as they are, with columns for new features."""
        model = self._started(rows)
        model.admit(rows)
        model.run_scores(rows, labels, weights)
        self._by_name = True
        self._columns.add([name for name in names if name not in self._columns.places])

    def _learn_frame(self, X: Any, labels: Any, w: Any) -> None:
        """Learn the rows of a frame; w is one weight for all, or one for each."""
        n = len(labels)
        if n != len(X):
            raise ValueError(f"y has {n} labels for the {len(X)} rows of X")
        weights = as_weights(np.full(n, w) if np.ndim(w) == 0 and w is not None else w, n)
        self._check_weights(weights)
        if n and self._tabular(X):
            frame = frames.into_frame(X)
            if not self._are_parted(frame.columns):
                try:
                    self._learn_table(X, labels, weights, list(frame.columns))
                    return
                except BadCell:
                    pass
            for i, x in enumerate(_rows(frame)):
                self._learn_dict(x, labels[i], 1.0 if weights is None else float(weights[i]))
        elif n:
            block = self._block(X, learn=True)
            self._started().run_scores(block, labels, weights)

    def _tabular(self, rows: Any) -> bool:
        """Return whether rows go to the model as they are."""
        if self._by_name:
            return True
        if isinstance(rows, Mapping):
            other = not all(map(is_number, rows.values()))
        else:
            other = not all(map(_is_numeric, frames.into_frame(rows).schema.dtypes()))
        if not other or self._takes_tables:
            return other
        # a learner of numbers: the first rows tell whether it can take them; later, what is no number is refused
        first = [self._columns.named(rows)] if isinstance(rows, Mapping) else rows
        return not self._columns.places and not Schema.of(first).numeric

    def _scores(self, x: Features) -> Array:
        """Return the outputs (1, K) for one row of a model that has learnt something."""
        model = self._model
        assert model is not None
        return self._ask(x, lambda row: model.scores(row, NEXT))

    def _ask(self, x: Features, question: Callable[[Any], T]) -> T:
        """Return the answer to a question about one row; a value that does not fit its column does not count there."""
        x = self._parted(x)
        while True:
            try:
                return question(self._asked(x))
            except BadCell as error:
                x = self._apart(x, error)

    def _ask_many(self, X: Any, question: Callable[[Any], Array]) -> Array:
        """Return the answers to a question about the rows of a frame, exactly as `_ask` for each."""
        frame = frames.into_frame(X)
        if not self._are_parted(frame.columns):
            try:
                return question(self._frame(X))
            except BadCell:
                pass
        return np.concatenate([self._ask(x, question) for x in _rows(frame)])

    def _are_parted(self, names: Iterable[Hashable]) -> bool:
        """Return whether some of these features have a second column, for values that do not fit the first."""
        return any(f"{name} ({kind})" in self._columns.places for name in names for kind in ("text", "time"))

    def _asked(self, x: Features) -> Any:
        """Return one row in the form in which the model is asked about it."""
        if not self._tabular(x):
            return self._columns.row(x)[None]
        known = {name: value for name, value in x.items() if name in self._columns.places}
        return [self._columns.named(known)] if known else [dict.fromkeys(self._columns.texts())]

    def _frame(self, X: Any) -> Any:
        """Return the rows of a frame in the form in which the model is asked about them."""
        if not self._tabular(X):
            return self._block(X, learn=False)
        frame = frames.into_frame(X)
        known = [name for name in frame.columns if name in self._columns.places]
        return frame[known].to_native() if known else [dict.fromkeys(self._columns.texts())] * len(frame)

    def _check_weights(self, weights: Array | None) -> None:
        if weights is not None and not self._inner.weighted:
            raise ValueError(f"{algorithm(self._inner)} does not take weights; the least-squares learners do")

    def _started(self, rows: Any = None) -> Model:
        """Return the model; make it if needed, for the features there are, or for those of a table."""
        if self._model is None or self._model.learner_ is None:
            self._model = self._made(rows)
        return self._model

    def _row(self, x: Features) -> Array:
        """Return x as a row to learn from: names never seen before get columns."""
        if x.keys() != self._columns.places.keys() and (new := self._columns.new(x)):
            for name, value in x.items():
                number_of(name, value, self._columns.blank)  # refuse before anything changes
            self._admit(new)
        return self._columns.row(x)

    def _block(self, X: Any, learn: bool) -> Array | RawBlock:
        """Return the rows of a frame, converted in blocks if many; with `learn`, new names get columns."""
        frame = frames.into_frame(X)
        names: list[Hashable] = list(frame.columns)

        def take(rows: Any) -> Array:
            return self._columns.block(_numbers(frame[rows]), names)

        for part in RawBlock((len(frame), len(names)), take).parts() if names else ():
            as_block(_numbers(frame[part]), missing=True, first=part.start)  # refuse before anything changes
        if learn and (new := self._columns.new(names)):
            self._admit(new)
        rows = RawBlock((len(frame), self._columns.width()), take)
        return rows if len(rows.parts()) > 1 else rows.numbers()

    def _admit(self, new: list[Hashable]) -> None:
        """Add columns for new names; a column of zeros in all earlier rows must change no kernel value."""
        model = self._model
        if model is not None and model.learner_ is not None and model.schema_ is not None:
            if self._columns.places:
                self._check_zeros(len(new))
            old, now = model.schema_.names, self._columns.texts(new)
            model.widen(now[len(old) :])
            model.rename(dict(zip(old, now, strict=False)))
        self._columns.add(new)

    def _check_zeros(self, new: int) -> None:
        points = np.random.default_rng(0).normal(size=(3, self._columns.width()))
        wide = np.pad(points, ((0, 0), (0, new)))
        kernels = [part for part in self._inner.get_params().values() if isinstance(part, Kernel)]
        for kernel in kernels:
            if not np.allclose(kernel(points, points), kernel(wide, wide)):
                raise TypeError(f"{kernel!r} does not ignore columns of zeros; give every feature in the first row")


def _other_column(name: Hashable, value: Any) -> str | None:
    """Return the column for a value that does not fit the column of its feature; None if the value is refused."""
    if not isinstance(value, (str, datetime.date)):
        return None
    return f"{name} (text)" if isinstance(value, str) else f"{name} (time)"


def _rows(frame: Any) -> Iterator[Features]:
    yield from frame.iter_rows(named=True)


def _numbers(frame: Any) -> Array:
    try:
        numbers: Array = frames.to_numpy(frame)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers in every column: {error}; encode strings beforehand") from None
    return numbers


def _is_numeric(dtype: Any) -> bool:
    return bool(dtype.is_numeric()) or str(dtype) == "Boolean"


def columns_for(learner: Learner) -> Columns:
    """Return the columns for a learner: missing features are nan if the learner accepts nan, else 0."""
    return Columns(np.nan if learner.missing else 0.0)
