"""A wrapper that learns classes with any learner."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nystream.compose.classes import ClassLearner, class_learner
from nystream.compose.wrapper import Wrapper
from nystream.learners.base import Learner
from nystream.runtime.threads import checked_threads
from nystream.runtime.types import Array, LabelKind

__all__ = ["Classifier"]


class Classifier(Wrapper):
    """A classifier of class numbers 0, 1, 2, ... with a learner of any kind and one score per class.

    A least-squares learner learns -1/+1 codes of all classes over one shared factor, and a class that appears late is
    exact. A learner with a loss of -1/+1 labels learns each class against the rest. A multi-class loss learns all
    classes itself. Every learner gets probabilities. Other abilities of the inner learner apply to the scores of all
    classes, see `nystream.compose.class_learner`.

    Parameters
    ----------
    learner : Learner
        The learner. It is cloned and never trained itself.
    threads : int, optional
        If every class has its own learner: how many of them learn at the same time in `run`; None:
        NYSTREAM_THREADS, or all cores of the process (1 in a worker of joblib, Spark or pytest-xdist). It changes no
        bit.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.checkerboard(600, seed=0)
    >>> model = nystream.Classifier(nystream.KernelRidge(nystream.Gaussian(0.2), lam=0.1))
    >>> scores = model.run(X, (y + 1) / 2)
    >>> scores.shape
    (600, 2)
    >>> bool((scores.argmax(axis=1) == (y + 1) / 2)[300:].mean() > 0.8)
    True
    """

    inner_: ClassLearner

    def __init__(self, learner: Learner, *, threads: int | None = None) -> None:
        self.learner = learner
        self.threads = checked_threads(threads)
        self._blank = class_learner(learner, threads)  # raises an error for a learner that cannot learn classes
        self._blank.declare(self._width)  # predictions before the first row

    @property
    def labels(self) -> LabelKind:
        return "class"

    @property
    def multi_output(self) -> bool:
        return False

    @property
    def link(self) -> str | None:
        return self._blank.link

    @property
    def separable(self) -> bool:
        return False

    @property
    def room(self) -> int | None:
        rooms = [learner.room for learner in self._inner.learners]
        return min((room for room in rooms if room is not None), default=None)

    @property
    def level(self) -> float | None:
        return None

    def for_classes(self) -> Learner:
        return self.clone()

    def prepare(self, X: Any, weights: Any = None) -> None:
        """Do nothing, because learners of later classes could not be prepared."""

    @property
    def _inner(self) -> ClassLearner:
        return self.inner_ if self.d_ else self._blank

    @classmethod
    def _declares(cls, ability: str) -> bool:
        return ability == "probabilities"

    def _merge_inner(self, other: Self) -> None:
        self.inner_.merge(other.inner_)
        self.outputs_ = self.inner_.classes_

    def _start(self, d: int, outputs: int) -> None:
        self.inner_ = class_learner(self.learner, self.threads)
        self.inner_.declare(outputs)

    def _grow(self, outputs: int) -> None:
        self.inner_.declare(outputs)

    def _widen(self, d: int) -> None:
        self.inner_.widen(d)

    def _check(self, X: Array, learnt: int) -> None:
        for learner in self.inner_.learners:
            if learner.d_:
                learner._check(X, learnt)

    def _predict(self, X: Array) -> Array:
        return self.inner_.scores(X, 1)

    def _predict_later(self, X: Array) -> Array:
        return self.inner_.scores(X)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        return self.inner_.run(X, Y[:, 0].astype(np.intp), weights)

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        return self.inner_.step(x, int(y[0]), weight)

    @property
    def size(self) -> int:
        """Number of stored points or features of all learners."""
        return sum(learner.size for learner in self._inner.learners) if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return sum(learner.nbytes for learner in self._inner.learners) if self.d_ else 0
