"""river: adaptive random forest, Hoeffding adaptive tree, nearest neighbours; row by row, defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import forest, neighbors, preprocessing, tree

from peers.method import Answers, Method, Task, uniform

__all__ = ["River", "adaptive_forest", "adaptive_tree", "nearest_neighbours"]


class River(Method):
    """A model of river; rows are dictionaries when they come."""

    block = 10
    centred = False  # mean leaves and means of neighbours do not care

    def __init__(self, task: Task, model: Any) -> None:
        self.task = task
        self.model = model

    def prepare(self, X: np.ndarray, y: np.ndarray) -> Any:
        labels = y.tolist() if self.task.regression else y.astype(int).tolist()
        return [dict(enumerate(row)) for row in X.tolist()], labels

    def learn(self, prepared: Any) -> Answers:
        rows, labels = prepared
        if self.task.regression:
            return np.array([self._value(x, label) for x, label in zip(rows, labels, strict=True)]), None
        p, P = np.zeros(len(rows)), uniform(len(rows), self.task.classes)
        for t, (x, label) in enumerate(zip(rows, labels, strict=True)):
            said = self.model.predict_proba_one(x)
            self.model.learn_one(x, label)
            if said:
                p[t] = max(said, key=said.get)  # river's own `predict_one`
                if total := sum(said.values()):
                    P[t] = [said.get(k, 0.0) / total for k in range(self.task.classes)]
        return p, P

    def _value(self, x: dict[int, float], label: float) -> float:
        said = self.model.predict_one(x)
        self.model.learn_one(x, label)
        return 0.0 if said is None else said


def adaptive_forest(task: Task) -> River:
    """Regression: on scaled columns with mean leaves, because the default leaves overflow."""
    if task.regression:
        model = preprocessing.StandardScaler() | forest.ARFRegressor(seed=0, leaf_prediction="mean")
    else:
        model = forest.ARFClassifier(seed=0)
    return River(task, model)


def adaptive_tree(task: Task) -> River:
    """Regression: as the forest."""
    if task.regression:
        regressor = tree.HoeffdingAdaptiveTreeRegressor(seed=0, leaf_prediction="mean")
        return River(task, preprocessing.StandardScaler() | regressor)
    return River(task, tree.HoeffdingAdaptiveTreeClassifier(seed=0))


def nearest_neighbours(task: Task) -> River:
    """On scaled columns."""
    neighbours = neighbors.KNNRegressor() if task.regression else neighbors.KNNClassifier()
    return River(task, preprocessing.StandardScaler() | neighbours)
