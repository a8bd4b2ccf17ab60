"""river estimators: dictionaries of named features in, one row at a time or a frame at a time, for any learner."""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from nystream._core.inputs import all_finite
from nystream.inputs import as_block, as_weights
from nystream.kernels import Kernel
from nystream.learners.base import Learner
from nystream.learners.baseline import Baseline
from nystream.learners.classes import ClassLearner, class_learner
from nystream.learners.novelty import checked_novelty, default_novelty, margin
from nystream.types import Array

try:
    from river.base import AnomalyDetector, MiniBatchClassifier, MiniBatchRegressor
    from river.utils import dataframe as frames
except ImportError as error:
    raise ImportError("nystream.river needs river 0.26 or newer: pip install 'nystream[river]'") from error

__all__ = ["KernelClassifier", "KernelNovelty", "KernelRegressor"]

Features = Mapping[Hashable, Any]


class _Columns:
    """Names of features -> columns of the learner, in order of appearance (within a row: by name).

    A feature that is absent, None or NaN counts as 0, and so does, in every earlier row, a feature that appears late.
    """

    def __init__(self) -> None:
        self.places: dict[Hashable, int] = {}

    def width(self, new: int = 0) -> int:
        """Columns of a row once `new` names are added; one column of zeros while there is no name."""
        return max(1, len(self.places) + new)

    def new(self, names: Iterable[Hashable]) -> list[Hashable]:
        """The names without a column, in an order that does not depend on the order given."""
        return sorted((n for n in names if n not in self.places), key=lambda n: (type(n).__name__, str(n)))

    def add(self, names: list[Hashable]) -> None:
        for name in names:
            self.places[name] = len(self.places)

    def row(self, x: Features) -> Array:
        """The numbers of x in their columns; names without a column are left out."""
        if x.keys() == self.places.keys():
            try:
                row = np.frombuffer(array("d", map(x.__getitem__, self.places)))
            except TypeError:
                row = np.array([math.nan])  # a None or a string among them: the loop below tells which
            if len(row) and all_finite(row):
                return row
        row = np.zeros(self.width())
        for name, value in x.items():
            number = _number(name, value)
            if name in self.places:
                row[self.places[name]] = number
        return row

    def block(self, X: Array, names: list[Hashable]) -> Array:
        """The columns of X, which have these names, in their places."""
        block = np.zeros((len(X), self.width()))
        for name, column in zip(names, X.T, strict=True):
            if name in self.places:
                block[:, self.places[name]] = column
        return block


class _Named:
    """What the estimators share: from named features to the learner's rows."""

    _columns: _Columns
    _model: Any

    def _row(self, x: Features) -> Array:
        """x as a row to learn from: names never seen before get columns."""
        if x.keys() != self._columns.places.keys() and (new := self._columns.new(x)):
            for name, value in x.items():
                _number(name, value)  # refuse before anything changes
            self._admit(new)
        return self._columns.row(x)

    def _block(self, X: Any, learn: bool) -> Array:
        """The rows of a frame; to learn from, if asked: names never seen before get columns."""
        frame = frames.into_frame(X)
        names: list[Hashable] = list(frame.columns)
        try:
            numbers = frames.to_numpy(frame)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X must hold numbers in every column: {error}; encode strings beforehand") from None
        numbers = np.where(np.isnan(numbers), 0.0, numbers)
        if names:
            as_block(numbers)  # refuse before anything changes
        if learn and (new := self._columns.new(names)):
            self._admit(new)
        return self._columns.block(numbers, names)

    def _admit(self, new: list[Hashable]) -> None:
        """Columns for new names; a column of zeros in all earlier rows must change no kernel value."""
        if self._columns.places:
            points = np.random.default_rng(0).normal(size=(3, self._columns.width()))
            wide = np.pad(points, ((0, 0), (0, len(new))))
            kernels = [part for part in self._model.get_params().values() if isinstance(part, Kernel)]
            for kernel in kernels:
                if not np.allclose(kernel(points, points), kernel(wide, wide)):
                    raise TypeError(f"{kernel!r} does not ignore columns of zeros; give every feature in the first row")
        self._model.widen(self._columns.width(len(new)))
        self._columns.add(new)


class KernelRegressor(_Named, MiniBatchRegressor):
    """Any nystream learner of real targets as a river regressor.

    Features may appear, vanish and change their order: one that is absent, None or NaN counts as 0, also in all rows
    before it first appeared. For the built-in kernels and the features made from them a column of zeros changes no
    value, so this is exact; a learner whose width cannot grow says so when a new feature arrives.
    `learn_many` equals `learn_one` over its rows. Both take weights `w` where the learner does (least squares).

    Parameters
    ----------
    learner
        The algorithm; it is cloned, never changed. None: `nystream.learners.baseline.Baseline()`, which needs no
        parameter.

    Examples
    --------
    >>> from nystream.river import KernelRegressor
    >>> from river import datasets, evaluate, metrics
    >>> score = evaluate.progressive_val_score(datasets.TrumpApproval(), KernelRegressor(), metrics.MAE())
    >>> round(score.get(), 1)
    0.5
    """

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner
        self._model: Learner = _fresh(learner)
        if self._model.labels != "real":
            raise ValueError(f"learner={learner!r} learns classes, not real targets; use KernelClassifier")
        self._columns = _Columns()

    def learn_one(self, x: Features, y: float, w: float = 1.0) -> None:
        """Learn one row with target y and weight w."""
        target = _number("y", y, missing=None)
        if w != 1.0:
            self._model._check_weights(as_weights([w], 1))  # refuse before a new feature gets a column
        self._model.step(self._row(x), target, w)

    def predict_one(self, x: Features) -> float:
        """The prediction; features never seen in learning are ignored. 0 before the first row."""
        return float(self._model.predict(self._columns.row(x)[None])[0])

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame with targets y, exactly as `learn_one` row by row."""
        targets = as_block(frames.into_series(y).to_numpy()[:, None], name="y")
        if len(targets) != len(X):
            raise ValueError(f"y has {len(targets)} targets for the {len(X)} rows of X")
        weights = _weights(w, len(targets))
        self._model._check_weights(weights)
        self._model.run(self._block(X, learn=True), targets, weights)

    def predict_many(self, X: Any) -> Any:
        """Predictions for the rows of a frame, as a series of the same library."""
        P = self._model.predict(self._block(X, learn=False))
        return frames.to_native_series(P, name=None, like=frames.into_frame(X))


class KernelClassifier(_Named, MiniBatchClassifier):
    """Any nystream learner as a river classifier, for any number of classes.

    Labels may be anything hashable and new ones may appear at any time: exact for least squares, from scratch for the
    other losses. How classes reach the learner and how scores become probabilities: `nystream.learners.classes` and
    `nystream.learners.probabilities`. Features and weights as in `KernelRegressor`.

    Parameters
    ----------
    learner
        The algorithm; it is cloned, never changed. None: `nystream.learners.baseline.Baseline()`, which needs no
        parameter.

    Examples
    --------
    >>> from nystream.river import KernelClassifier
    >>> from river import datasets, evaluate, metrics
    >>> score = evaluate.progressive_val_score(datasets.Phishing(), KernelClassifier(), metrics.Accuracy())
    >>> round(score.get(), 2)
    0.9
    """

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner
        self._model: ClassLearner = class_learner(_fresh(learner))
        self._columns = _Columns()
        self._labels: dict[Hashable, int] = {}

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Features, y: Hashable, w: float = 1.0) -> None:
        """Learn one row with label y and weight w."""
        numbers = self._numbers([y])
        if w != 1.0:
            self._model.learner._check_weights(as_weights([w], 1))  # refuse before a new feature gets a column
        self._model.step(self._row(x), numbers[y], w)
        self._labels = numbers

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Probability of every label seen so far; empty before the first."""
        P = self._model.probabilities(self._columns.row(x)[None])[0]
        return dict(zip(self._labels, P.tolist(), strict=True))

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """The label with the largest score; None before the first row."""
        if not self._labels:
            return None
        best = int(self._model.scores(self._columns.row(x)[None])[0].argmax())
        return list(self._labels)[best]

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame with labels y, exactly as `learn_one` row by row."""
        labels = frames.into_series(y).to_list()
        numbers = self._numbers(labels)
        weights = _weights(w, len(labels))
        if len(labels) != len(X):
            raise ValueError(f"y has {len(labels)} labels for the {len(X)} rows of X")
        self._model.learner._check_weights(weights)
        if labels:
            self._model.run(self._block(X, learn=True), np.array([numbers[label] for label in labels]), weights)
            self._labels = numbers

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities as a frame of the same library, one column per label."""
        P = self._model.probabilities(self._block(X, learn=False))
        return frames.to_native_frame(dict(zip(self._labels, P.T, strict=True)), like=frames.into_frame(X))

    def predict_many(self, X: Any) -> Any:
        """Labels as a series of the same library."""
        F = self._model.scores(self._block(X, learn=False))
        labels = list(self._labels)
        chosen = [labels[i] for i in F.argmax(axis=1)] if labels else [None] * len(F)
        return frames.to_native_series(chosen, name=None, like=frames.into_frame(X))

    def _numbers(self, labels: list[Hashable]) -> dict[Hashable, int]:
        """Numbers of the labels known, those given included; unchanged if there is no new one."""
        if all(label in self._labels for label in labels):
            return self._labels
        if any(label is None or label != label for label in labels):
            raise ValueError("y has a missing label (None or NaN)")
        numbers = dict(self._labels)
        for label in labels:
            numbers.setdefault(label, len(numbers))
        self._model.check(len(numbers))
        return numbers


class KernelNovelty(_Named, AnomalyDetector):
    """Any nystream learner with the novelty loss as a river anomaly detector.

    The score is margin - f(x): positive where the learner does not yet know inputs like x, and at most the margin.
    The margin is 1 (the rho of the loss), or what `NORMA` adapts it to, given a share `nu` of rows that may violate it.
    Features may appear and vanish as in `KernelRegressor`. `learn_many` equals `learn_one` over its rows.

    Parameters
    ----------
    learner
        The algorithm, such as `SILK(Gaussian(1.0), loss="novelty")`; it is cloned, never changed. None:
        `nystream.learners.novelty.default_novelty`, for as many features as the first row has.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.river import KernelNovelty
    >>> model = KernelNovelty()
    >>> for u, v in np.random.default_rng(0).normal(size=(500, 2)).tolist():
    ...     model.learn_one({"u": u, "v": v})
    >>> model.score_one({"u": 5.0, "v": 5.0}) > 0.9 > model.score_one({"u": 0.1, "v": 0.0})
    True
    """

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner
        self._model: Learner | None = None if learner is None else checked_novelty(learner).clone()
        self._columns = _Columns()

    def learn_one(self, x: Features) -> None:
        """Learn one row."""
        row = self._row(x)
        self._started().step(row)

    def score_one(self, x: Features) -> float:
        """High for a novelty; features never seen in learning are ignored. The margin itself before the first row."""
        row = self._columns.row(x)
        model = self._model if self._model is not None else default_novelty(1)
        return margin(model) - float(model.predict(row[None])[0])

    def learn_many(self, X: Any) -> None:
        """Learn the rows of a frame, exactly as `learn_one` row by row."""
        block = self._block(X, learn=True)
        self._started().run(block)

    def score_many(self, X: Any) -> Any:
        """Scores for the rows of a frame, as a series of the same library."""
        block = self._block(X, learn=False)
        model = self._model if self._model is not None else default_novelty(1)
        return frames.to_native_series(margin(model) - model.predict(block), name=None, like=frames.into_frame(X))

    def _started(self) -> Learner:
        """The learner; the default one is made for the features there are when it is first needed."""
        if self._model is None:
            self._model = default_novelty(self._columns.width())
        return self._model

    def _admit(self, new: list[Hashable]) -> None:
        if self._model is None:
            self._columns.add(new)
        else:
            super()._admit(new)


def _fresh(learner: Learner | None) -> Learner:
    if learner is None:
        return Baseline()
    if not isinstance(learner, Learner):
        raise TypeError(f"learner must be a nystream learner or None, got {learner!r}")
    return learner.clone()


def _weights(w: Any, n: int) -> Array | None:
    """One weight for all rows, or one for each."""
    return as_weights(np.full(n, w) if np.ndim(w) == 0 and w is not None else w, n)


def _number(name: Hashable, value: Any, missing: float | None = 0.0) -> float:
    """A finite number, or what a missing value counts as; strings and infinities are refused by name."""
    if value is None or value != value:
        if missing is None:
            raise ValueError(f"{name} is missing ({value!r})")
        return missing
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise ValueError(f"{name!r} must be a number, got {value!r}; encode it first, e.g. with river's OneHotEncoder")
    number = float(value)
    if math.isinf(number):
        raise ValueError(f"{name!r} is {value!r}; numbers must be finite")
    return number
