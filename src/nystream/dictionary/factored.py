"""Stored points with a compiled factor of their Gram matrix. Files and copies hold the factor as a matrix."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from nystream._core.linalg import NestedFactor, Triangle
from nystream.dictionary.rows import Rows
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["FactoredPoints"]

Factor = TypeVar("Factor", Triangle, NestedFactor)


class FactoredPoints(Params, Generic[Factor]):
    """Stored points with a compiled factor. Subclasses set `_kind` and create `points_` and `_factor` in `start`."""

    _kind: ClassVar[type[Any]]
    _factor: Factor
    points_: Rows

    @property
    def n(self) -> int:
        """Stored points."""
        return self._factor.n

    @property
    def factor(self) -> Factor:
        """The compiled factor itself."""
        return self._factor

    @property
    def points(self) -> Array:
        """(n, d)"""
        return self.points_.view

    @property
    def matrix(self) -> Array:
        """A copy of the factor, lower triangular (n, n)."""
        return self._factor.matrix

    def widen(self, d: int) -> None:
        """Add columns that are 0 in all points, up to d. Kernels of differences or products do not change."""
        self.points_ = self.points_.widened(d)

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return {**state, "factor_": self._factor.matrix} if state else state

    def _restore(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "factor_" in state:
            self._factor = self._kind(state.pop("factor_"))
        super()._restore(state)
