"""The span of stored points as part of a model. Compiled loops extend it; files and copies hold it."""

from __future__ import annotations

from typing import Any

from nystream._core import terms
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Span"]


class Span(Params):
    """The Cholesky factor L L' = K over the stored points of an expansion, for learners that project on their span.

    For a point with kernel row k and z = L^-1 k: its squared distance to the span is k(x, x) - z.z, the coefficients of
    its projection are K^-1 k = L^-T z, and storing it appends the row (z, distance) to L. O(n^2) time, O(n^2) memory.
    The papers keep K^-1 instead, at the same cost. For nearly dependent points its error is the square of the
    factor's, and the projections have the same error.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import Span
    >>> from nystream.kernels import Gaussian
    >>> k, X, s = Gaussian(1.0), np.array([[0.0], [1.0], [0.5]]), Span()
    >>> for i in range(2):
    ...     s.compiled.append(k(X[:i], X[i : i + 1])[:, 0], 1.0)
    >>> d, distance = s.compiled.coefficients(k(X[:2], X[2:])[:, 0], 1.0)
    >>> d.round(3).tolist(), round(distance, 3)
    ([0.549, 0.549], 0.03)
    """

    def __init__(self) -> None:
        self._span = terms.Span()

    @property
    def compiled(self) -> terms.Span:
        """The compiled object, for compiled loops."""
        return self._span

    @property
    def n(self) -> int:
        """Points."""
        return self._span.n

    @property
    def matrix(self) -> Array:
        """A copy of L, (n, n)."""
        return self._span.matrix

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self._span.nbytes

    def _state(self) -> dict[str, Any]:
        return {"factor_": self._span.matrix}

    def _restore(self, state: dict[str, Any]) -> None:
        self._span.restore(state["factor_"])
