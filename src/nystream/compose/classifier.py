"""Any learner as a learner of classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream.compose.classes import ClassLearner, class_learner
from nystream.inputs import as_block
from nystream.learners.base import Learner
from nystream.types import Array, LabelKind

__all__ = ["Classifier"]


class Classifier(Learner):
    """Learns class numbers 0, 1, 2, ... with a learner of any kind; predicts one score per class.

    Least squares learns -1/+1 codes of all classes over one shared factor, where a class that appears late is exact;
    a loss of -1/+1 labels is used one class against the rest; a multi-class loss learns by itself.

    Parameters
    ----------
    learner : Learner
        The pattern; it is cloned, never trained itself.

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

    weighted: ClassVar[bool] = True  # a learner that is not will say so itself

    inner_: ClassLearner

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        class_learner(learner)  # refuses a learner that cannot tell classes apart

    @property
    def labels(self) -> LabelKind:
        return "class"

    @property
    def classes(self) -> int | None:
        return self.learner.classes

    @property
    def missing(self) -> bool:
        return self.learner.missing

    def probabilities(self, X: Any) -> Array:
        """(n, K), rows summing to 1, pure."""
        X = as_block(X, self.d_ or None, missing=self.missing)
        return self.inner_.probabilities(X) if self.d_ else np.full((len(X), self._width), 1 / self._width)

    def _start(self, d: int, outputs: int) -> None:
        self.inner_ = class_learner(self.learner)
        self.inner_.declare(outputs)

    def _grow(self, outputs: int) -> None:
        self.inner_.declare(outputs)

    def _widen(self, d: int) -> None:
        self.inner_.widen(d)

    def _predict(self, X: Array) -> Array:
        return self.inner_.scores(X)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        return self.inner_.run(X, Y[:, 0].astype(np.intp), weights)

    @property
    def size(self) -> int:
        """Stored points or features of all learners together."""
        return sum(learner.size for learner in self.inner_.learners) if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return sum(learner.nbytes for learner in self.inner_.learners) if self.d_ else 0
