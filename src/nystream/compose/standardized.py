"""Any learner on running-standardised inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from nystream.learners.base import Learner
from nystream.scaling import RunningScale
from nystream.types import Array, LabelKind

__all__ = ["Standardized"]

TOLD = ("regret", "regret_bound", "log_det", "effective_dimension", "online_dimension", "weights", "explain")
"""What a learner may say of itself and of the rows it was given; of the scaled ones it is said by the inner learner."""


class Standardized(Learner):
    """Gives a learner inputs minus their running mean, over their running standard deviation.

    Row t is scaled by the statistics of rows 1..t (x_t is known before y_t), and keeps that scaling in what the inner
    learner stores of it. The first rows are therefore scaled roughly: give a stream that has been standardised, or
    fixed units, where the first hundred rows matter.

    Parameters
    ----------
    learner : Learner
        The pattern; it is cloned, never trained itself.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(500, seed=0)
    >>> model = nystream.Standardized(nystream.PKRR(nystream.Fourier(nystream.Gaussian(1.0), 100, seed=0), lam=0.1))
    >>> p = model.run(1000 * X, y)
    >>> bool(((p[250:] - y[250:]) ** 2).mean() < 0.5 * y.var())
    True
    """

    multi_output: ClassVar[bool] = True  # a learner that is not will say so itself
    weighted: ClassVar[bool] = True

    learner_: Learner
    scale_: RunningScale

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    @property
    def labels(self) -> LabelKind:
        return self.learner.labels

    @property
    def classes(self) -> int | None:
        return self.learner.classes

    @property
    def missing(self) -> bool:
        return self.learner.missing

    @property
    def separable(self) -> bool:
        """Whether K outputs are learnt as by K clones on the same rows."""
        return bool(getattr(self.learner, "separable", False))

    @property
    def add_outputs(self) -> Callable[[Array], None]:
        """That of the inner learner; an AttributeError here is how `hasattr` learns that it has none."""
        inner: Any = self.learner_ if self.d_ else self.learner
        add: Callable[[Array], None] = inner.add_outputs

        def widen(combination: Array) -> None:
            add(combination)
            self.outputs_ += combination.shape[1]

        return widen

    def __getattr__(self, name: str) -> Any:
        if name not in TOLD:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.learner_ if self.d_ else self.learner, name)

    def _start(self, d: int, outputs: int) -> None:
        learner, scale = self.learner.clone(), RunningScale()
        learner.reserve(d, outputs)
        scale.start(d)
        self.learner_, self.scale_ = learner, scale

    def _grow(self, outputs: int) -> None:
        self.learner_.reserve(self.d_, outputs)

    def _widen(self, d: int) -> None:
        self.learner_.widen(d)
        self.scale_.widen(d)

    def _predict(self, X: Array) -> Array:
        return self.learner_._predict(self.scale_.scaled(X))

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        self.learner_._check_weights(weights)
        P = self.learner_._run(self.scale_(X), Y, weights)
        self.learner_.n_seen_ += len(X)
        return P

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        if weight != 1.0:
            self.learner_._check_weights(np.array([weight]))
        p = self.learner_._step(self.scale_.step(x), y, weight)
        self.learner_.n_seen_ += 1
        return p

    @property
    def size(self) -> int:
        """Stored points or features of the inner learner."""
        return self.learner_.size if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return self.learner_.nbytes + self.scale_.nbytes if self.d_ else 0
