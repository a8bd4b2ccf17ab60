"""This package: the automatic learner with no option, and four of the registry with the command line's defaults."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import softmax

from nystream import Auto, Classifier, Standardized
from nystream.learners import Forgetting, Learner
from nystream.model.building import build
from peers.method import Answers, Method, Task

__all__ = ["Ours", "automatic", "from_catalogue", "linear_ridge"]


class Ours(Method):
    """A learner whose scores are logarithms of probabilities, up to a constant, if `probabilities` is true."""

    block = 256  # larger ones are no faster, and copies of wide rows take memory

    def __init__(self, task: Task, model: Learner, *, probabilities: bool = False) -> None:
        self.task = task
        self.model = model
        self.probabilities = probabilities
        self.most = 0

    def learn(self, prepared: tuple[np.ndarray, np.ndarray]) -> Answers:
        said = self.model.run(*prepared)
        self.most = max(self.most, self.model.nbytes)
        if self.task.regression:
            return said, None
        if not self.probabilities:
            return said.argmax(axis=1), None
        P = np.zeros((len(said), self.task.classes))
        P[:, : said.shape[1]] = softmax(said, axis=1)  # the others have not appeared yet
        return P.argmax(axis=1), P

    def saved_bytes(self) -> int:
        """`nbytes` at its largest: all arrays of the model, which is what is saved."""
        return self.most


def automatic(task: Task) -> Ours:
    """`Auto()`, which scales inputs and targets itself."""
    model = Ours(task, Auto() if task.regression else Auto().for_classes(), probabilities=True)
    model.centred = False
    return model


def from_catalogue(task: Task, name: str, loss: str | None = None) -> Ours:
    """As `nystream run --learner NAME` builds it, on standardised columns; loss: that of classes."""
    options = {} if loss is None else {"loss": "squared" if task.regression else loss}
    learner = build(name, settings=options, sigma=math.sqrt(1 / (2 * task.gamma)))
    return _standardized(task, learner, probabilities=loss == "softmax")


def linear_ridge(task: Task) -> Ours:
    """Affine least squares that forgets nothing."""
    return _standardized(task, Forgetting(decay=1.0, lam=1.0))


def _standardized(task: Task, learner: Learner, *, probabilities: bool = False) -> Ours:
    model = Standardized(learner if task.regression else Classifier(learner))
    return Ours(task, model, probabilities=probabilities)
