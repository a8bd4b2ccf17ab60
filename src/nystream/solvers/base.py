"""The base class of linear solvers in feature space."""

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
    Inputs are not checked here; the learner has checked them.
    """

    weighted: ClassVar[bool] = False
    """Whether the solver supports weights other than 1."""
    dtype: str = "float64"
    """Number type of the features; a parameter if there is a choice."""
    engine: OneRow | None = None
    """The compiled rounds, after the start. Only for solvers whose round of one output changes nothing but these arrays
    and the count `t_`."""

    @property
    def labels(self) -> LabelKind:
        """The kind of labels that this solver learns from."""
        return "real"

    @property
    def classes(self) -> int | None:
        """Number of classes fixed by a multi-class loss; None where it grows with the labels or does not apply."""
        return None

    def start(self, dim: int, outputs: int) -> None:
        """Allocate the state for `dim` features and `outputs` outputs."""
        raise NotImplementedError

    def predict(self, Z: Array) -> Array:
        """Return predictions (n, K) for Z (n, dim) without learning."""
        raise NotImplementedError

    def step(self, z: Array, y: Array, weight: float = 1.0) -> Array:
        """Return the prediction (K,) for z (dim,), then learn y."""
        weights = None if weight == 1.0 else np.array([weight])
        return self.run(z[None], y[None], weights)[0]

    def one(self, features: RowMap, x: Any, y: Any) -> float | None:
        """Do `step` for one output on an unchecked row x. Return None, and do nothing, if x or y is not clean or if the
        solver has no fast path."""
        return None

    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array:
        """Return the predictions (n, K) of n rounds, each made before its label is learnt."""
        raise NotImplementedError

    def rebase(self, change: Change, dim: int) -> None:
        """Follow a change of the feature map, or raise an error with the reason."""
        raise TypeError(f"{type(self).__name__} cannot follow a feature map that moves")

    def grow(self, outputs: int) -> None:
        """Add outputs (a class that appears late). They start at zero."""
        raise TypeError(f"{type(self).__name__} has a fixed number of outputs")

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the solver holds."""
        return sum(v.nbytes for v in self._state().values() if isinstance(v, np.ndarray))
