"""Landmarks that follow a stream: online k-means that moves only for rows far from every landmark."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.kernels import KernelRows
from nystream.runtime.params import Params, one_of, positive
from nystream.runtime.types import Array

__all__ = ["COUNTS", "MovingLandmarks", "checked_eps"]

COUNTS = ("moves", "all")
QUANTILE = 0.9
"""eps=None: this quantile of the squared distances of the landmarks to their nearest neighbours among them."""

_DISTANCE = KernelRows("squared")


class MovingLandmarks(Params):
    """m points u_1..u_m with counts N_1..N_m, all 1 at first. For a row x with nearest landmark u_q (ties: least q)::

        |x - u_q|^2 >= eps:      u_q <- (N_q u_q + x) / (N_q + 1),      N_q <- N_q + 1

    eps = 0 moves a landmark for every row, a large eps never. A row that equals its landmark changes no point; it
    still counts. O(m d) time a row, O(m d) memory.

    Parameters
    ----------
    eps : float or None
        A squared distance, >= 0; `math.inf` never moves. None: the 90 percent quantile of the squared distances of the
        landmarks, as they are at the start, to their nearest neighbours among them.
    count : {"moves", "all"}
        What N_q counts: the rows that moved u_q, or all rows that were nearest to it.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import MovingLandmarks
    >>> landmarks = MovingLandmarks(eps=1.0)
    >>> landmarks.start(np.array([[0.0], [10.0]]))
    >>> [landmarks.observe(np.array([x])) for x in (0.5, 2.0, 4.0)]
    [None, 0, 0]
    >>> landmarks.points.ravel().tolist(), landmarks.counts_.tolist(), landmarks.moves
    ([2.0, 10.0], [3, 1], 2)

    References
    ----------
    Si, Kumar, Li. Nonlinear Online Learning with Adaptive Nystrom Approximation. arXiv:1802.07887, 2018.
    """

    points_: Array
    counts_: npt.NDArray[np.int64]
    moves_: int = 0
    eps_: float

    def __init__(self, eps: float | None = None, *, count: str = "moves") -> None:
        self.eps = checked_eps(eps)
        self.count = one_of("count", count, COUNTS)

    def start(self, points: Array) -> None:
        """Start with a copy of these landmarks (m, d)."""
        self.points_ = np.array(points, dtype=np.float64, order="C")
        self.counts_ = np.ones(len(points), np.int64)
        self.moves_ = 0
        self.eps_ = _spacing(self.points_) if self.eps is None else float(self.eps)

    @property
    def n(self) -> int:
        """Landmarks."""
        return len(self.points_)

    @property
    def points(self) -> Array:
        """(m, d) view of the landmarks."""
        return self.points_

    @property
    def moves(self) -> int:
        """Rows so far that were at least eps from every landmark."""
        return self.moves_

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.points_.nbytes + self.counts_.nbytes

    def nearest(self, x: Array) -> tuple[int, float]:
        """Return the index of the landmark nearest to x (d,) and the squared distance."""
        squares = _DISTANCE.row(self.points_, x)
        q = int(squares.argmin())
        return q, float(squares[q])

    def target(self, q: int, x: Array) -> Array:
        """Return the position (d,) to which x would move landmark q. Nothing is changed."""
        N = float(self.counts_[q])
        return (N * self.points_[q] + x) / (N + 1.0)

    def move(self, q: int, point: Array) -> None:
        """Move landmark q to `point` and count one row."""
        self.points_[q] = point
        self.counts_[q] += 1
        self.moves_ += 1

    def stay(self, near: int | npt.NDArray[np.intp]) -> None:
        """Count rows that moved nothing, by their nearest landmarks."""
        if self.count == "all":
            np.add.at(self.counts_, near, 1)

    def observe(self, x: Array) -> int | None:
        """Process one row. Return the landmark that it moved, or None."""
        q, gap = self.nearest(x)
        if gap < self.eps_:
            self.stay(q)
            return None
        self.move(q, self.target(q, x) if gap else self.points_[q])
        return q

    def widen(self, d: int) -> None:
        """Add columns that are 0 in every landmark, up to d."""
        self.points_ = np.pad(self.points_, ((0, 0), (0, d - self.points_.shape[1])))


def checked_eps(eps: Any) -> float | None:
    """Return eps if it is None, a number >= 0, or infinity; else raise a ValueError."""
    return eps if eps is None or (isinstance(eps, float) and eps == math.inf) else positive("eps", eps, zero=True)


def _spacing(points: Array) -> float:
    if len(points) < 2:
        return 0.0
    squares = _DISTANCE.block(points, points)
    np.fill_diagonal(squares, np.inf)
    return float(np.quantile(squares.min(axis=1), QUANTILE))
