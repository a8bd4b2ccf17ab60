"""The inverse of a Gram matrix as part of a model. Compiled loops change it; files and copies hold it."""

from __future__ import annotations

from typing import Any

from nystream._core.terms import Inverse
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["GramInverse"]


class GramInverse(Params):
    """G = (K + 1e-10 diag K)^-1 over a full budget of points, for learners that project a point on the others.

    Point r is at squared distance 1/G_rr from the others, and -G_rj/G_rr are the coefficients of its projection. A new
    point with kernel row k, d = G k and pivot = k(x, x) - k.d takes its place without the larger matrix ever being
    formed (q = pivot G_rr + d_r^2, c = G_r; rows other than r)::

        projection of r on the others and the new point:   -(pivot c + d_r d)/q,   d_r/q at the new point
        squared distance of r to their span:               pivot/q
        G <- G + [c_r d d' - pivot c c' - d_r (c d' + d c')]/q,   row r: (d_r c - c_r d)/q,   G_rr: c_r/q

    Nothing is divided by the pivot, so a point that equals a stored one replaces it exactly. d is corrected by
    G (k - K d), which stops rounding errors from adding up. O(n^2) time and memory. The learner computes it in O(n^3)
    when its budget is first reached, and after every 1000 exchanges.
    """

    def __init__(self) -> None:
        self._inverse = Inverse()

    @property
    def compiled(self) -> Inverse:
        """The compiled object, for compiled loops."""
        return self._inverse

    @property
    def n(self) -> int:
        """Points."""
        return self._inverse.n

    @property
    def matrix(self) -> Array:
        """A copy of G, (n, n)."""
        return self._inverse.matrix

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self._inverse.nbytes

    def _state(self) -> dict[str, Any]:
        inverse = self._inverse
        return {"gram_": inverse.gram, "matrix_": inverse.matrix, "changes_": inverse.changes}

    def _restore(self, state: dict[str, Any]) -> None:
        self._inverse.restore(state["gram_"], state["matrix_"], state["changes_"])
