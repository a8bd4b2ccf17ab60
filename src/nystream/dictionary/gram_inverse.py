"""The inverse of a Gram matrix as part of a model: compiled loops change it, files and copies carry it."""

from __future__ import annotations

from typing import Any

from nystream._core.inverse import Inverse
from nystream.params import Params
from nystream.types import Array

__all__ = ["GramInverse"]


class GramInverse(Params):
    """G = K^-1 over the stored points of an expansion, for learners that project on their span.

    A new point with kernel row k has the projection coefficients d = G k and the squared distance
    pivot = k(x, x) - k.d to the span. It enters by bordering, or takes the place of point r without the larger matrix
    ever being formed (q = pivot G_rr + d_r^2, c = G_r; rows other than r)::

        enter:     G <- [[G, 0], [0, 0]] + e e'/pivot,  e = (d, -1)
        exchange:  G <- G + [c_r d d' - pivot c c' - d_r (c d' + d c')]/q,   row r: (d_r c - c_r d)/q,  G_rr: c_r/q

    The exchange divides by q alone, so a point that repeats a stored one takes its place exactly. O(n^2) time for
    either, O(n^2) memory. Where it is computed from the kernel (O(n^3)) the diagonal gets a ridge of 1e-10 k(x, x).
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
        return self._inverse.nbytes

    def _state(self) -> dict[str, Any]:
        return {"matrix_": self._inverse.matrix, "changes_": self._inverse.changes}

    def _restore(self, state: dict[str, Any]) -> None:
        self._inverse.restore(state["matrix_"], state["changes_"])
