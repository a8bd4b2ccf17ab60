"""scikit-learn: stochastic gradient descent on 1,000 approximate kernel features, in blocks of 100 rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler

from nystream.scaling import RunningScale
from peers.method import Answers, Method, Task, uniform

__all__ = ["KernelSGD", "nystroem_sgd", "sampler_sgd"]

FEATURES = 1000


class KernelSGD(Method):
    """Standardised as the rows go; the map is fitted on the first 1,000 rows beforehand, which is in its favour."""

    block = 100

    def __init__(self, task: Task, features: Any) -> None:
        self.task = task
        self.scale = RunningScale()
        self.scale.start(task.d)
        features.fit(StandardScaler().fit_transform(task.sample))
        solver = SGDRegressor(random_state=0) if task.regression else SGDClassifier(loss="log_loss", random_state=0)
        self.model = (features, solver)
        self.learnt = False

    def learn(self, prepared: tuple[np.ndarray, np.ndarray]) -> Answers:
        X, y = prepared
        features, solver = self.model
        Z = features.transform(self.scale(X))
        if self.task.regression:
            said = solver.predict(Z) if self.learnt else np.zeros(len(Z))
            solver.partial_fit(Z, y)
            self.learnt = True
            return said, None
        P = solver.predict_proba(Z) if self.learnt else uniform(len(Z), self.task.classes)
        solver.partial_fit(Z, y, classes=None if self.learnt else np.arange(self.task.classes))
        self.learnt = True
        return P.argmax(axis=1), P


def nystroem_sgd(task: Task) -> KernelSGD:
    return KernelSGD(task, Nystroem(gamma=task.gamma, n_components=FEATURES, random_state=0))


def sampler_sgd(task: Task) -> KernelSGD:
    return KernelSGD(task, RBFSampler(gamma=task.gamma, n_components=FEATURES, random_state=0))
