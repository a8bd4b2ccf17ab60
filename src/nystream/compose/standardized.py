"""A wrapper that standardises inputs with running statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.compose.wrapper import Wrapper
from nystream.learners.base import Learner
from nystream.runtime.types import Array
from nystream.scaling import RunningScale

__all__ = ["Standardized"]


class Standardized(Wrapper):
    """A wrapper that gives a learner inputs minus their running mean, over their running deviation.

    Row t is scaled by the statistics of rows 1..t (x_t is known before y_t), and points that the inner
    learner stores keep that scaling. The first rows are therefore scaled roughly; if the first hundred rows matter, use
    a standardised stream or fixed units. Abilities are those of the inner learner, on rows scaled as the next row,
    except `merge` and `unlearn`, which would not be exact.

    Parameters
    ----------
    learner : Learner
        The learner. It is cloned and never trained itself.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(500, seed=0)
    >>> model = nystream.Standardized(nystream.PKRR(nystream.Fourier(nystream.Gaussian(1.0), 100, seed=0), lam=0.1))
    >>> p = model.run(1000 * X, y)
    >>> bool(((p[250:] - y[250:]) ** 2).mean() < 0.5 * y.var())
    True
    """

    scale_: RunningScale

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    def why_not(self, ability: str) -> str | None:
        if ability in ("merge", "unlearn") and self.learner.can(ability):
            return "the scaling of a row depends on the rows before it"
        return super().why_not(ability)

    def prepare(self, X: Any, weights: Any = None) -> None:
        """Do nothing, because the inner learner gets scaled rows."""

    def _inward(self, X: Array) -> Array:
        self.scale_.check(X)
        return self.scale_.scaled(X)

    def _start(self, d: int, outputs: int) -> None:
        super()._start(d, outputs)
        self.scale_ = RunningScale()
        self.scale_.start(d)

    def _widen(self, d: int) -> None:
        super()._widen(d)
        self.scale_.widen(d)

    def _check(self, X: Array, learnt: int) -> None:
        self.scale_.check(X)
        self.learner_._check(np.zeros((1, self.d_)), learnt)  # scaled rows are never large: what counts is their number

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        mark = self.scale_.mark()
        try:
            return self.learner_.run_clean(self.scale_(X), Y, weights)
        except BaseException:  # rows of weight 0 do not count
            self.scale_.rewind(mark)
            raise

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        mark = self.scale_.mark()
        try:
            return self.learner_.step_clean(self.scale_.step(x), y, weight)
        except BaseException:
            self.scale_.rewind(mark)
            raise

    @property
    def _own_bytes(self) -> int:
        return self.scale_.nbytes
