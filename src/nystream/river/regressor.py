"""A river regressor around any learner of numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from nystream.auto.learner import Auto
from nystream.data.inputs import as_block
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.river.columns import Features, number_of
from nystream.river.named import NEXT, MiniBatchRegressor, Named, columns_for, frames

__all__ = ["KernelRegressor"]


class KernelRegressor(Named, MiniBatchRegressor):
    """A river regressor around any nystream learner of numbers.

    Features may appear, vanish and change their order. If a feature is absent, None or NaN, the default learner treats
    it as missing; learners that do not accept missing values count it as 0. In the rows before a feature first appeared
    it counts as 0 for every learner. This is exact for the built-in kernels and their features, because a column of
    zeros changes none of their values. A learner whose number of columns cannot grow raises an error when a new feature
    arrives. The default learner also accepts strings and times, from the first row on or later; `nystream.Model`
    describes how it finds their kinds. A string where a feature is a number counts as one more feature. `learn_many`
    gives the same model as `learn_one` for each row. Both take weights `w` if the learner does (the default and least
    squares do). Several targets are a dict, and so are their predictions.

    Parameters
    ----------
    learner
        The algorithm; it is cloned, never changed. None: `nystream.Auto()`, which needs no parameter.

    Examples
    --------
    >>> from nystream.river import KernelRegressor
    >>> from river import datasets, evaluate, metrics
    >>> score = evaluate.progressive_val_score(datasets.TrumpApproval(), KernelRegressor(), metrics.MAE())
    >>> round(score.get(), 1)
    0.2
    """

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner
        self._model: Model | None = None
        self._columns = columns_for(self._real())
        self._targets: list[Hashable] | None = None

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn one row with target y, a number or a dict of numbers by name, and weight w."""
        self._learn(x, self._numbers(y), w)

    def predict_one(self, x: Features) -> Any:
        """Return the prediction; 0 before the first row. Features never seen in learning are ignored.

        A dict where targets are dicts.
        """
        if self._model is None:
            return 0.0
        p = self._scores(x)[0].tolist()
        return p[0] if self._targets is None else dict(zip(self._targets, p, strict=True))

    def predict_interval_one(self, x: Features, coverage: float = 0.9) -> Any:
        """Return the ends of an interval that should contain this share of future labels, if the learner has intervals,
        as the default has.

        From minus to plus infinity while too few rows have been learnt. A dict of them where targets are dicts.
        """
        if self._model is None:
            if not self._inner.can("predict_interval"):
                self._inner.predict_interval(np.zeros((1, 1)), coverage)  # says why, and who can
            return -math.inf, math.inf
        model = self._model
        ends = self._ask(x, lambda row: model.predict_interval(row, coverage, NEXT))
        low, high = (np.reshape(end, -1).tolist() for end in ends)
        if self._targets is None:
            return low[0], high[0]
        return dict(zip(self._targets, zip(low, high, strict=True), strict=True))

    def predict_quantile_one(self, x: Features, q: float) -> Any:
        """Return the q-quantile of the label, if the learner has quantiles, as the default has.

        Infinite while too few rows have been learnt, nan before the first. A dict where targets are dicts.
        """
        if self._model is None:
            if not self._inner.can("predict_quantile"):
                self._inner.predict_quantile(np.zeros((1, 1)), q)  # says why, and who can
            return math.nan
        model = self._model
        found = np.reshape(self._ask(x, lambda row: model.predict_quantile(row, float(q), NEXT)), -1).tolist()
        return found[0] if self._targets is None else dict(zip(self._targets, found, strict=True))

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame with targets y, exactly as `learn_one` row by row; a frame of several targets."""
        if hasattr(y, "columns"):
            names: list[Hashable] = list(frames.into_frame(y).columns)
            labels = as_block(frames.to_numpy(frames.into_frame(y)), name="y")
            self._targets = self._same(names)
        else:
            labels = as_block(frames.into_series(y).to_numpy()[:, None], name="y")
            self._same(None)
        self._learn_frame(X, labels, w)

    def predict_many(self, X: Any) -> Any:
        """Return predictions for the rows of a frame, as a series (for several targets a frame) of its library."""
        like, model = frames.into_frame(X), self._model
        P = np.zeros((len(like), 1)) if model is None else self._ask_many(X, lambda rows: model.scores(rows, NEXT))
        if self._targets is None:
            return frames.to_native_series(P[:, 0], name=None, like=like)
        return frames.to_native_frame(dict(zip(self._targets, P.T, strict=True)), like=like)

    def _output(self, of: Any) -> Any:
        return self._targets.index(of) if self._targets is not None and of in self._targets else of

    def _real(self) -> Learner:
        if self.learner is not None and not isinstance(self.learner, Learner):
            raise TypeError(f"learner must be a nystream learner or None, got {self.learner!r}")
        pattern = Auto() if self.learner is None else self.learner
        if pattern.labels != "real":
            raise ValueError(f"learner={self.learner!r} learns classes, not real targets; use KernelClassifier")
        return pattern

    def _numbers(self, y: Any) -> Any:
        """Return the target as a float, or those of a dict in their order."""
        if not isinstance(y, Mapping):
            self._same(None)
            return number_of("y", y, missing=None)
        numbers = {name: number_of(f"y[{name!r}]", value, missing=None) for name, value in y.items()}
        names = self._same(list(numbers) if self._targets is None else self._targets, set(numbers))
        self._targets = names
        return [numbers[name] for name in names or ()]

    def _same(self, names: list[Hashable] | None, given: set[Hashable] | None = None) -> list[Hashable] | None:
        """Return the names of the targets; raise an error if they are others than before."""
        known = self._model is not None and self._model.n_seen > 0
        if known and (names != self._targets or (given is not None and given != set(self._targets or ()))):
            shown = "one number" if self._targets is None else ", ".join(map(str, self._targets))
            raise ValueError(f"y is not what it was before: {shown}")
        return names

    def _adopt(self, model: Model) -> None:
        outputs = model.inner.outputs_
        if outputs > 1:
            names = model.schema_.targets if model.schema_ is not None else []
            self._targets = list(names or model.notes_.get("targets") or range(outputs))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically; for `load`, `nystream.load` and the commands."""
        if self._model is not None and self._targets is not None:
            self._model.notes_["targets"] = [str(name) for name in self._targets]
        super().save(path)
