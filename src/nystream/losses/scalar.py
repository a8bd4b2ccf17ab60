"""Losses of one prediction: NumPy code for arrays, compiled code of the same formulas for single numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream._core.losses import CompiledLoss
from nystream.losses.base import Loss
from nystream.runtime.types import Array

__all__ = ["ScalarLoss"]

NUMBER = (float, int)


class ScalarLoss(Loss):
    """A loss with at most one constant and a compiled form. Constructors set `_form`.

    The NumPy methods `_value`, `_grad`, `_second`, `_implicit` are the definition. Single numbers use the compiled
    form, which takes one function call instead of a dozen ufuncs.
    """

    def __init__(self) -> None:
        self._form = CompiledLoss(self.name)

    def value(self, y: Any, p: Any) -> Any:
        if isinstance(p, NUMBER) and isinstance(y, NUMBER):
            return self._form.value(y, p)
        return self._value(_array(y), _array(p))

    def grad(self, y: Any, p: Any) -> Any:
        if isinstance(p, NUMBER) and isinstance(y, NUMBER):
            return self._form.grad(y, p)
        return self._grad(_array(y), _array(p))

    def second(self, y: Any, p: Any) -> Any:
        if isinstance(p, NUMBER) and isinstance(y, NUMBER):
            return self._form.second(y, p)
        return self._second(_array(y), _array(p))

    def implicit(self, y: Any, p: Any, s: Any, c: Any) -> Any:
        if isinstance(p, NUMBER) and isinstance(y, NUMBER) and isinstance(s, NUMBER) and isinstance(c, NUMBER):
            return self._form.implicit(y, p, s, c)
        s, c = _array(s), _array(c)
        live = (s > 0) & (c > 0)
        with np.errstate(over="ignore"):  # r/s for a vanishing s is infinite before it is clipped
            alpha = self._implicit(_array(y), _array(p), np.where(live, s, 1.0), np.where(live, c, 1.0))
        return np.where(live, alpha, 0.0)[()]

    @property
    def compiled(self) -> CompiledLoss:
        return self._form

    def _value(self, y: Array, p: Array) -> Any:
        raise NotImplementedError

    def _grad(self, y: Array, p: Array) -> Any:
        raise NotImplementedError

    def _second(self, y: Array, p: Array) -> Any:
        return np.zeros(np.broadcast_shapes(y.shape, p.shape))[()]

    def _implicit(self, y: Array, p: Array, s: Array, c: Array) -> Any:
        """Return the step for s > 0 and c > 0."""
        raise NotImplementedError


def _array(v: Any) -> Array:
    return np.asarray(v, dtype=np.float64)
