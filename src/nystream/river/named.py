"""What the estimators share, and all that is imported from river."""

from __future__ import annotations

import datetime
import os
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from nystream.explain import Importance, Reasons
from nystream.inputs import Unconverted, as_block, as_weights
from nystream.kernels import Kernel
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.model.loading import trained
from nystream.model.tasks import algorithm
from nystream.river.columns import Columns, Features, number_of
from nystream.schema import Schema
from nystream.tables.kinds import LOOK
from nystream.types import Array

try:
    from river.base import AnomalyDetector, MiniBatchClassifier, MiniBatchRegressor
    from river.utils import dataframe as frames
except ImportError as error:
    raise ImportError("nystream.river needs river 0.26 or newer: pip install 'nystream[river]'") from error

__all__ = ["AnomalyDetector", "MiniBatchClassifier", "MiniBatchRegressor", "Named", "columns_for", "frames"]


class Named:
    """What the estimators share: a `nystream.Model`, once there was a row, and from named features to its rows.

    Where the first row has strings or times, rows go to the model as they are: it tells categories, times and text
    apart by that row, and features that appear later are left out. Otherwise all features are numbers, and new ones get
    columns.
    """

    _columns: Columns
    _model: Model | None
    _task: ClassVar[str] = "regression"

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner

    def explain(self) -> str:
        """What the predictions depend on, in a sentence; then what the learner itself can say, a few lines of text."""
        return (self._model or self._made()).explain()

    def importance(self) -> Importance:
        """Shares of the features, by name, in what the predictions depend on: see `nystream.Model.importance`."""
        return (self._model or self._made()).importance()

    def explain_row(self, x: Features, of: Any = None) -> Reasons:
        """What each feature adds to the prediction for one row, by name: see `nystream.Model.explain_row`."""
        if self._model is None:
            raise ValueError("nothing was learnt yet, so there is nothing to explain")
        return self._model.explain_row(self._columns.row(x), self._output(of))

    def _output(self, of: Any) -> Any:
        """A class or a target as the model calls it."""
        return of

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically; for `load`, `nystream.load` and the commands."""
        if self._model is None:
            raise ValueError("nothing was learnt yet, so there is nothing to save")
        self._model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """An estimator that goes on with a model of the same task that was saved here, by a command, or from Python."""
        model = trained(path, cls._task, cls.__name__)
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
        """A model for the features there are now, or for those of the rows of a table."""
        schema = Schema(self._columns.texts()) if rows is None else Schema.of(rows)
        return Model(self.learner, schema.described(task=self._task), **self._settings)

    @property
    def _settings(self) -> dict[str, Any]:
        return {}

    def _learn(self, x: Features, label: Any, w: float) -> None:
        """One row; what is refused leaves no column behind."""
        if w != 1.0:
            self._check_weights(as_weights([w], 1))
        if self._tabular(x):
            rows = [_texts(x)]
            self._started(rows).step(rows[0], label, w)
            return
        row = self._row(x)
        self._started().step(row, label, w)

    def _learn_frame(self, X: Any, labels: Any, w: Any) -> None:
        """The rows of a frame; w is one weight for all, or one for each."""
        n = len(labels)
        if n != len(X):
            raise ValueError(f"y has {n} labels for the {len(X)} rows of X")
        weights = as_weights(np.full(n, w) if np.ndim(w) == 0 and w is not None else w, n)
        self._check_weights(weights)
        if n and self._tabular(X):
            self._started(X).run_scores(X, labels, weights)
        elif n:
            block = self._block(X, learn=True)
            self._started().run_scores(block, labels, weights)

    def _tabular(self, rows: Any) -> bool:
        """Whether rows go to the model as they are: told by the first ones."""
        model = self._model
        if model is not None and model.learner_ is not None and model.schema_ is not None:
            return not model.schema_.numeric
        if self._columns.places:
            return False
        if isinstance(rows, Mapping):
            other = any(isinstance(value, (str, bytes, datetime.date, np.datetime64)) for value in rows.values())
            return other and not Schema.of([_texts(rows)]).numeric
        first = frames.into_frame(rows)[:LOOK]
        return bool(len(first.columns)) and not Schema.of(first.to_native()).numeric

    def _scores(self, x: Features) -> Array:
        """Outputs (1, K) for one row of a model that has learnt something."""
        assert self._model is not None
        return self._model.scores(self._asked(x))

    def _asked(self, x: Features) -> Any:
        """One row as the model is asked about it."""
        return [_texts(x)] if self._tabular(x) else self._columns.row(x)[None]

    def _frame(self, X: Any) -> Any:
        """The rows of a frame as the model is asked about them."""
        return X if self._tabular(X) else self._block(X, learn=False)

    def _check_weights(self, weights: Array | None) -> None:
        if weights is not None and not self._inner.weighted:
            raise ValueError(f"{algorithm(self._inner)} does not take weights; the least-squares learners do")

    def _started(self, rows: Any = None) -> Model:
        """The model, made when it is first needed: for the features there are, or for those of a table."""
        if self._model is None or self._model.learner_ is None:
            self._model = self._made(rows)
        return self._model

    def _row(self, x: Features) -> Array:
        """x as a row to learn from: names never seen before get columns."""
        if x.keys() != self._columns.places.keys() and (new := self._columns.new(x)):
            for name, value in x.items():
                number_of(name, value, self._columns.blank)  # refuse before anything changes
            self._admit(new)
        return self._columns.row(x)

    def _block(self, X: Any, learn: bool) -> Array | Unconverted:
        """The rows of a frame, many of them still to be converted; to learn from, if asked: names never seen before get
        columns."""
        frame = frames.into_frame(X)
        names: list[Hashable] = list(frame.columns)

        def take(rows: Any) -> Array:
            return self._columns.block(_numbers(frame[rows]), names)

        for part in Unconverted((len(frame), len(names)), take).parts() if names else ():
            as_block(_numbers(frame[part]), missing=True, first=part.start)  # refuse before anything changes
        if learn and (new := self._columns.new(names)):
            self._admit(new)
        rows = Unconverted((len(frame), self._columns.width()), take)
        return rows if len(rows.parts()) > 1 else rows.numbers()

    def _admit(self, new: list[Hashable]) -> None:
        """Columns for new names; a column of zeros in all earlier rows must change no kernel value."""
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


def _numbers(frame: Any) -> Array:
    try:
        numbers: Array = frames.to_numpy(frame)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers in every column: {error}; encode strings beforehand") from None
    return numbers


def _texts(x: Features) -> dict[str, Any]:
    """Features by names that are strings, as a model has them."""
    return {str(name): value for name, value in x.items()}


def columns_for(learner: Learner) -> Columns:
    """Columns for a learner: missing features are nan if it takes that, else 0."""
    return Columns(np.nan if learner.missing else 0.0)
