"""What the estimators share, and all that is imported from river."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from nystream.inputs import as_block, as_weights
from nystream.kernels import Kernel
from nystream.learners.base import Learner
from nystream.river.columns import Columns, Features, number_of
from nystream.types import Array

try:
    from river.base import AnomalyDetector, MiniBatchClassifier, MiniBatchRegressor
    from river.utils import dataframe as frames
except ImportError as error:
    raise ImportError("nystream.river needs river 0.26 or newer: pip install 'nystream[river]'") from error

__all__ = ["AnomalyDetector", "MiniBatchClassifier", "MiniBatchRegressor", "Named", "columns_for", "frames"]


class Named:
    """What the estimators share: from named features to the learner's rows."""

    _columns: Columns
    _model: Any

    @property
    def _pattern(self) -> Learner:
        """The learner that knows which weights and inputs it takes."""
        pattern: Learner = self._model
        return pattern

    def _learn(self, x: Features, label: Any, w: float) -> None:
        """One row; what is refused leaves no column behind."""
        if w != 1.0:
            self._pattern._check_weights(as_weights([w], 1))
        self._model.step(self._row(x), label, w)

    def _learn_frame(self, X: Any, labels: Any, w: Any) -> None:
        """The rows of a frame; w is one weight for all, or one for each."""
        n = len(labels)
        if n != len(X):
            raise ValueError(f"y has {n} labels for the {len(X)} rows of X")
        weights = as_weights(np.full(n, w) if np.ndim(w) == 0 and w is not None else w, n)
        self._pattern._check_weights(weights)
        if n:
            self._model.run(self._block(X, learn=True), labels, weights)

    def _row(self, x: Features) -> Array:
        """x as a row to learn from: names never seen before get columns."""
        if x.keys() != self._columns.places.keys() and (new := self._columns.new(x)):
            for name, value in x.items():
                number_of(name, value, self._columns.blank)  # refuse before anything changes
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
        if names:
            as_block(numbers, missing=True)  # refuse before anything changes
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


def columns_for(learner: Learner) -> Columns:
    """Columns for a learner: missing features are nan if it takes that, else 0."""
    return Columns(np.nan if learner.missing else 0.0)
