"""An adapter of a model for the evaluation loop, with outputs and labels as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.data.batch import Batch
from nystream.data.places import Place
from nystream.data.reading import Table
from nystream.data.targets import class_names, number_classes, numbers_of, target_columns
from nystream.model import Model
from nystream.model.labels import Scores
from nystream.runtime.types import Array, LabelKind

__all__ = ["Tabled"]


class Tabled:
    """An adapter of a model with the methods that `Trial` needs. Classes are numbered in order of appearance."""

    def __init__(self, model: Model) -> None:
        if model.task is None:
            raise ValueError(
                'a model that is evaluated must know its task; say it, as in Model(task="regression") or '
                'Model(task="classification")'
            )
        self.model = model
        kinds: dict[str | None, LabelKind] = {"classification": "class", "novelty": "none"}
        self.labels: LabelKind = kinds.get(model.task, "real")
        self._classes = model.classes

    def run(self, X: Any, Y: Any = None) -> Array:
        return self.run_scores(X, Y).P

    def run_scores(self, X: Any, Y: Any = None) -> Scores:
        """Return predictions and numeric labels of rows, and learn them."""
        return self.model.run_scores(X, Y)

    def predict(self, X: Any, ahead: int | None = None) -> Array:
        known = self.model.learner_ is not None and (self.model.task != "classification" or self.model.classes)
        return self.model.scores(X, ahead) if known else self._unknown(len(X))

    def step(self, x: Any, y: Any = None) -> None:
        self.model.run_scores(x, y)

    def numbers(self, X: Any, Y: Any) -> Array:
        """Return labels (n, K) as numbers, nan where a label is missing."""
        schema = self.model.schema_ or self.model.schema
        targets = schema.targets if schema is not None else []
        if Y is None:
            return np.full((len(X), max(1, len(targets))), np.nan)
        parts, at = target_columns(Y, len(X)), X.place if isinstance(X, (Table, Batch)) else Place
        if self.labels == "class":
            places = {name: k for k, name in enumerate(self._classes)}
            numbers, _, self._classes = number_classes(class_names(parts[0]), self._classes, places, at)
            return numbers
        return numbers_of(parts, targets or [f"y{k}" if k else "y" for k in range(len(parts))], at)

    def _unknown(self, n: int) -> Array:
        if self.labels == "class":
            return np.full((n, 2), np.nan)
        schema = self.model.schema_ or self.model.schema
        return np.zeros((n, max(1, len(schema.targets)) if schema is not None else 1))

    @property
    def link(self) -> str | None:
        return self.model.link

    @property
    def classes(self) -> int | None:
        return None

    @property
    def n_seen(self) -> int:
        return self.model.n_seen

    def can(self, ability: str) -> bool:
        return self.model.can(ability)

    def probabilities(self, X: Any, ahead: int | None = None) -> Array:
        return self.model.probabilities(X, ahead)

    def predict_quantile(self, X: Any, q: Any, ahead: int | None = None) -> Array:
        return self.model.predict_quantile(X, q, ahead)
