"""What every linear solver in feature space shares."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream._core.inputs import OneRow, RowMap
from nystream.runtime.params import Params
from nystream.runtime.types import Array, Change, LabelKind

__all__ = ["Solver"]


class Solver(Params):
    """A linear model with K outputs on features z in R^dim.

    Shapes: Z (n, dim); Y (n, K) for real targets, (n, 1) for labels of one class number or sign; predictions (n, K).
    `step` predicts, then learns, sharing the work; `run` is the same over a block, equal to the loop of `step`.
    Inputs are clean (checked at the boundary, by the learner); nothing here checks again.
    """

    weighted: ClassVar[bool] = False
    """Whether `weight` other than 1 is understood."""
    dtype: str = "float64"
    """Of the features; a parameter where there is a choice."""
    engine: OneRow | None = None
    """The compiled rounds, once started; only where a round of one output changes nothing but their arrays and, where
    the solver has it, the count `t_`."""

    @property
    def labels(self) -> LabelKind:
        """What kind of label this solver learns from."""
        return "real"

    @property
    def classes(self) -> int | None:
        """Number of classes fixed by a multi-class loss; None where it grows with the labels or does not apply."""
        return None

    def start(self, dim: int, outputs: int) -> None:
        """Allocate the state for `dim` features and `outputs` outputs."""
        raise NotImplementedError

    def predict(self, Z: Array) -> Array:
        """(n, dim) -> (n, K), pure."""
        raise NotImplementedError

    def step(self, z: Array, y: Array, weight: float = 1.0) -> Array:
        """Prediction (K,) for z (dim,) made before y is read; then learn."""
        weights = None if weight == 1.0 else np.array([weight])
        return self.run(z[None], y[None], weights)[0]

    def one(self, features: RowMap, x: Any, y: Any) -> float | None:
        """`step` of one output on the features of a row x that nobody has checked; None, and nothing done, where x is
        not a clean row or y not a plain number, or where the solver has no such short way."""
        return None

    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array:
        """Predictions (n, K) of n rounds, each made before its label was read."""
        raise NotImplementedError

    def rebase(self, change: Change, dim: int) -> None:
        """The feature map moved: carry the weights over, or refuse with the reason."""
        raise TypeError(f"{type(self).__name__} cannot follow a feature map that moves")

    def grow(self, outputs: int) -> None:
        """More outputs (a class that appears late); the new ones start at zero."""
        raise TypeError(f"{type(self).__name__} has a fixed number of outputs")

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the solver holds."""
        return sum(v.nbytes for v in self._state().values() if isinstance(v, np.ndarray))
