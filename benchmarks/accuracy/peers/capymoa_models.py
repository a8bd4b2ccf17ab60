"""CapyMOA: the adaptive random forest of MOA (Java), row by row, defaults."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from peers.method import Answers, Method, Task, uniform

__all__ = ["Moa", "moa_forest"]

JVM = "-XX:+UseSerialGC -Xmx2g -Xss10M"
"""Arguments of Java: one thread collects garbage, as all methods use one thread."""


class Moa(Method):
    """The forest of MOA; rows are instances of MOA when they come.

    CapyMOA is imported here and not at the top, because the import starts Java, which does not survive a fork.
    """

    block = 10
    centred = False

    def __init__(self, task: Task) -> None:
        os.environ.setdefault("CAPYMOA_JVM_ARGS", JVM)
        from capymoa.classifier import AdaptiveRandomForestClassifier
        from capymoa.regressor import AdaptiveRandomForestRegressor
        from capymoa.stream import Schema

        self.task = task
        columns = [f"x{j}" for j in range(task.d)]
        classes = {} if task.regression else {"y": [str(k) for k in range(task.classes)]}
        self.schema = Schema.from_custom(features=[*columns, "y"], target="y", categories=classes)
        forest = AdaptiveRandomForestRegressor if task.regression else AdaptiveRandomForestClassifier
        self.model = forest(schema=self.schema, random_seed=0)

    def prepare(self, X: np.ndarray, y: np.ndarray) -> list[Any]:
        from capymoa.core import LabeledInstance, RegressionInstance

        if self.task.regression:
            return [RegressionInstance.from_array(self.schema, x, float(v)) for x, v in zip(X, y, strict=True)]
        return [LabeledInstance.from_array(self.schema, x, int(v)) for x, v in zip(X, y, strict=True)]

    def learn(self, prepared: list[Any]) -> Answers:
        if self.task.regression:
            return np.array([self._value(instance) for instance in prepared]), None
        P = uniform(len(prepared), self.task.classes)
        for t, instance in enumerate(prepared):
            said = self.model.predict_proba(instance)
            self.model.train(instance)
            if said is not None and (total := float(np.sum(said))) > 0:
                P[t] = 0.0
                P[t, : len(said)] = np.asarray(said) / total
        return P.argmax(axis=1).astype(float), P

    def _value(self, instance: Any) -> float:
        said = self.model.predict(instance)
        self.model.train(instance)
        return 0.0 if said is None else float(said)

    def saved_bytes(self) -> int:
        """Of MOA's own file, which is Java's serialisation."""
        from moa.core import SerializeUtils

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.moa"
            from java.io import File

            SerializeUtils.writeToFile(File(str(path)), self.model.moa_learner)
            return path.stat().st_size


def moa_forest(task: Task) -> Moa:
    return Moa(task)
