"""Nystrom features on landmarks that follow the stream, with weights carried along (OANA)."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from nystream._core.landmarks import LandmarkMap, Sight, Turns
from nystream.data.inputs import as_block
from nystream.dictionary.eigenpairs import SOLVERS as OF_PAIRS
from nystream.dictionary.eigenpairs import Eigenpairs
from nystream.dictionary.kmeans import MovingLandmarks, checked_eps
from nystream.dictionary.nested import Nested
from nystream.dictionary.rows import Rows
from nystream.features.base import FeatureMap
from nystream.kernels.base import Kernel, checked_kernel
from nystream.runtime.deferred import linalg
from nystream.runtime.params import at_least, one_of, positive
from nystream.runtime.types import Array, Change

__all__ = ["AdaptiveNystrom"]

THETA = 1e-8
"""Default ridge of the change of basis, in units of the largest eigenvalue; for "reflect", of the trace."""
REBUILD = 2
"""Moves, in units of m, after which approximate leading eigenvectors are computed again."""
SOLVERS = ("auto", "reflect", *OF_PAIRS[1:])


class AdaptiveNystrom(FeatureMap):
    """Truncated Nystrom features on moving landmarks u_1..u_m::

        E = (k(u_i, u_j)) ~ U diag(S) U', the r leading eigenpairs
        z(x) = S^(-1/2) U' (k(u_1, x), ..., k(u_m, x))

    A row at least eps (squared distance) from every landmark moves the nearest one, as online k-means does
    (`MovingLandmarks`), and one row and column of E change. By the `solver`:

    "reflect"
        The features are coordinates in an orthonormal basis of r functions in the span of the landmarks, z(x) = W k(x);
        gradient descent is the same in any such basis. A reflection makes all functions of the basis but one
        independent of u_q. That one is replaced by the part of the new landmark outside the span of the others, and the
        function of the weights is projected on the new span. O(m^2), no decomposition. With r < m the m - r other
        functions of the span are kept too. After a move the two groups may lose the orthogonality of eigenvectors; then
        two directions are exchanged, and every 2m moves eigenvectors are computed.
    "eigh", "warm", "rank2"
        The eigenpairs are refreshed (`Eigenpairs`), in O(m^3) or O(m^2 r). Weights become those whose function is
        closest to the old one at the new landmarks::

            w <- T w,        T = (A'A + theta I)^-1 A' B,        A = z_new(u_new),        B = z_old(u_new)

    `observe` returns a `Change` that holds T. Without a move a row costs O(m d + m r). Memory is m d + 2 m^2
    numbers for "reflect", m d + 2 m r + m^2 for the others, m d + m r with eps = inf, where the map is a fixed one.

    Parameters
    ----------
    kernel : Kernel
        Any kernel, including your own.
    landmarks : int or array (m, d)
        The number of landmarks to take from the first rows, or the points. While it collects landmarks, the map has one
        coordinate for each independent row so far, like `Nystrom`, and `observe` returns a `Change` each time.
    rank : int, optional
        r, at most m; None is 0.8 m. r = m truncates nothing and is better if memory allows it.
    eps : float, optional
        A row at this squared distance or more moves a landmark: 0 always, `math.inf` never. None depends on the
        distances between the first landmarks, see `MovingLandmarks`.
    count : {"moves", "all"}
        The rows that N_q counts: rows that moved the landmark, or all rows nearest to it.
    solver : {"auto", "reflect", "eigh", "warm", "rank2"}
        How the map follows a move. "auto" is "reflect" with r = m, where both are the same functions; below, where
        "reflect" is an approximation many times faster, and where a theta is given, it is the "auto" of `Eigenpairs`.
    theta : float, optional
        Ridge of the change of basis of eigenpairs; None is 1e-8 S_1. Each move shrinks component j by
        S_j / (S_j + theta), which compounds over thousands of moves: keep it small. "reflect" does not use it:
        it adds 1e-8 trace E to the diagonal of E, because landmarks may meet, and shrinks nothing.
    tol : float, default 1e-8
        Features whose eigenvalue is at most tol S_1 are 0, so that shapes stay fixed; duplicates are harmless.

    Deviations from the paper: N_q counts moves (its prose can be read either way; its table counts moves). E is stored
    and multiplied exactly, where the paper's low-rank operator never recovers what it discarded. In a learner that is
    a map and a solver `observe` comes before the prediction; NOLANA predicts first, as the paper does.

    References
    ----------
    Si, Kumar, Li. Nonlinear Online Learning with Adaptive Nystrom Approximation. arXiv:1802.07887, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.features import AdaptiveNystrom
    >>> from nystream.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(1000, 2)) + np.linspace(0, 3, 1000)[:, None]  # drifts away
    >>> K = Gaussian(1.0)(X, X)
    >>> for eps in (np.inf, 0.2):
    ...     Z = AdaptiveNystrom(Gaussian(1.0), landmarks=30, eps=eps).fit_transform(X)
    ...     print(round(float(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K)), 2))
    0.3
    0.11
    """

    nested_: Nested | None = None
    """Coordinates while landmarks are collected, then None."""
    waiting_: Rows
    """The collected rows, including dependent ones."""
    motion_: MovingLandmarks
    pairs_: Eigenpairs
    rotation_: Array
    """S^(-1/2) U', (r, m); with reflections (m, m), the features above."""
    reflects_: bool = False
    """Whether the map follows moves by reflections."""
    ridge_: float = 0.0
    """Ridge that reflections add to the diagonal of E; 0 before the first."""
    turned_: int = 0
    """Reflections since eigenvectors were computed."""
    landmark_map: LandmarkMap
    _turns: Turns | None = None

    def __init__(
        self,
        kernel: Kernel,
        landmarks: Any,
        rank: int | None = None,
        eps: float | None = None,
        *,
        count: str = "moves",
        solver: str = "auto",
        theta: float | None = None,
        tol: float = 1e-8,
    ) -> None:
        self.kernel = kernel
        self.landmarks = landmarks
        self.rank = None if rank is None else at_least("rank", rank, 1)
        self.eps = checked_eps(eps)
        self.count = count
        self.solver = solver
        self.theta = None if theta is None else positive("theta", theta, zero=True)
        self.tol = tol
        checked_kernel(kernel)
        m = at_least("landmarks", landmarks, 1) if self._fixed is None else len(self._fixed)
        if rank is not None and rank > m:
            raise ValueError(f"rank must be at most the number of landmarks, {m}, got {rank!r}")
        if one_of("solver", solver, SOLVERS) == "reflect" and theta is not None:
            raise ValueError(f"solver='reflect' takes no theta, got {theta!r}; leave it None or use solver='eigh'")
        MovingLandmarks(eps, count=count)  # the parts check their values here, not at the first row
        Eigenpairs(1, solver=_of_pairs(solver), tol=tol)

    @property
    def _fixed(self) -> Array | None:
        """The given landmarks, or None if they are taken from the stream."""
        return as_block(self.landmarks, name="landmarks") if np.ndim(self.landmarks) else None

    def start(self, d: int) -> None:
        points = self._fixed
        if points is None:
            self.nested_, self.waiting_ = Nested(self.kernel), Rows(d)
            self.nested_.start(d)
            self.d_ = d
            return
        if points.shape[1] != d:
            raise ValueError(f"landmarks have {points.shape[1]} columns, but the rows have {d}")
        self.begin(points)

    def begin(self, points: Array) -> None:
        """Build the map on these landmarks (m, d). Each counts as one row."""
        m, d = points.shape
        self.motion_ = MovingLandmarks(self.eps, count=self.count)
        self.motion_.start(points)
        r = 4 * m // 5 or 1 if self.rank is None else self.rank
        moves = self.motion_.eps_ < math.inf
        whole = self.solver == "auto" and self.theta is None and r == m  # there reflections lose nothing
        self.reflects_ = moves and (self.solver == "reflect" or whole)
        self.pairs_ = Eigenpairs(r, solver="eigh" if self.reflects_ else _of_pairs(self.solver), tol=self.tol)
        self.nested_, self.waiting_ = None, Rows(d)
        self.d_ = d
        self.rotation_ = np.zeros((m if self.reflects_ else r, m))
        self._decompose()
        self._bind()
        if not moves:
            self.pairs_.release()

    def _decompose(self) -> None:
        """Compute the eigenpairs of the present landmarks and their features."""
        points = self.points
        self.pairs_.start(np.ascontiguousarray(self.kernel(points, points), dtype=np.float64))
        self._rotate()
        if self.reflects_:
            self.ridge_, self.pairs_.U_ = 0.0, np.empty((0, 0))

    @property
    def collecting(self) -> bool:
        """Whether landmarks are still missing."""
        return self.nested_ is not None

    @property
    def dim(self) -> int:
        """Number of features: the rank, or the number of independent landmarks while they are collected."""
        if not self.d_:
            return 0
        return self.nested_.n if self.nested_ is not None else len(self.pairs_.S_)

    @property
    def points(self) -> Array:
        """The landmarks as they are now, (m, d)."""
        return self.waiting_.view if self.collecting else self.motion_.points

    @property
    def moves(self) -> int:
        """Rows so far that moved a landmark."""
        return 0 if self.collecting or not self.d_ else self.motion_.moves

    @property
    def settled(self) -> bool:
        """Whether the map will never move again."""
        return bool(self.d_) and not self.collecting and self.motion_.eps_ == math.inf

    @property
    def nbytes(self) -> int:
        if self.nested_ is not None:
            return self.nested_.nbytes + self.waiting_.nbytes
        if not self.d_:
            return 0
        return self.motion_.nbytes + self.pairs_.nbytes + self.rotation_.nbytes

    def _map(self, X: Array, out: Array) -> None:
        if self.nested_ is not None:
            self.nested_.coordinates(X, out)
        else:
            self.landmark_map.map(X, out)

    def row(self, x: Array) -> Array:
        return self.nested_.row(x) if self.nested_ is not None else self.landmark_map.row(x)

    def weights_of(self, alpha: Array) -> Array:
        """Return the weights S^(1/2) U' alpha (dim, K) of the projections of sum_i alpha_i k(u_i, .)."""
        return self.pairs_.S_[:, None] * (self.rotation_[: self.dim] @ alpha)

    # -- moving --------------------------------------------------------------------------------------------------------
    def observe(self, x: Array) -> Change | None:
        """Take x as a landmark while some are missing; later move the nearest one if x is eps away from it."""
        if self.nested_ is not None:
            return self._collect(self.nested_, x)
        if self.motion_.eps_ == math.inf:
            return None
        q, gap = self.motion_.nearest(x)
        return self.move(q, gap, x)

    def meet(self, x: Array) -> tuple[Array, int, float]:
        """Return the features (dim,) of x, its nearest landmark and their squared distance."""
        return self.landmark_map.meet(x)

    def sight(self, X: Array) -> Sight:
        """Return features and nearest landmarks of clean rows X (n, d)."""
        return Sight(self.landmark_map, X)

    def move(self, q: int, gap: float, x: Array) -> Change | None:
        """Return the change by x, nearest to landmark q at squared distance `gap`; None without a change."""
        moved = self.turn(q, gap, x)
        return Change(moved.matrix) if isinstance(moved, Turns) else moved

    def turn(self, q: int, gap: float, x: Array) -> Change | Turns | None:
        """Do `move`, but return reflections if the move consists of a few. Each updates weights in O(m)."""
        motion = self.motion_
        if gap < motion.eps_:
            motion.stay(q)
            return None
        if gap == 0.0:
            motion.move(q, motion.points[q])
            return None
        point = motion.target(q, x)
        k = np.ascontiguousarray(self.kernel.row(motion.points, point), dtype=np.float64)
        own = float(self.kernel.diag(point[None])[0])
        if self.reflects_:
            return self._reflect(q, point, k, own)
        return self._replace(q, point, k, own)

    def _reflect(self, q: int, point: Array, k: Array, own: float) -> Change | Turns:
        before = None if self.ridge_ else self._rebuilt()
        if self._turns is None:
            self._turns = Turns(self.rotation_, self.pairs_.E_, self.dim, self.ridge_, self.ridge_ / THETA)
        turns = self._turns
        sound = turns.move(q, k, own)
        self.motion_.move(q, point)
        self.turned_ += 1
        if before is not None:
            return Change(turns.matrix @ before)
        if sound and (turns.r == turns.m or self.turned_ < REBUILD * turns.m):
            return turns
        return Change(self._rebuilt() @ turns.matrix)

    def _rebuilt(self) -> Array:
        """Compute basis and ridge from E. Return T (dim, dim) from old weights to new weights."""
        E, r = self.pairs_.E_, self.dim
        S, U = np.linalg.eigh(E)
        self.ridge_ = THETA * float(E.trace()) or THETA
        W = (U / np.sqrt(np.maximum(S, 0.0) + self.ridge_)).T[::-1]
        P = self.rotation_[:r].T
        T = W[:r] @ (E @ P + self.ridge_ * P)
        self.rotation_[:] = W
        self._turns, self.turned_ = None, 0
        return np.ascontiguousarray(T)

    def _replace(self, q: int, point: Array, k: Array, own: float) -> Change:
        motion, pairs = self.motion_, self.pairs_
        P = self.rotation_.T
        seen = pairs.U_ * pairs.roots if pairs.exact else pairs.E_ @ P  # z_old at the old landmarks
        seen[q] = k @ P
        k[q] = own
        pairs.replace(q, k)
        motion.move(q, point)
        self._rotate()
        return Change(self._transport(seen))

    def _transport(self, seen: Array) -> Array:
        """Return T (dim, dim) for the features `seen` (m, dim) of the new landmarks under the old map."""
        pairs = self.pairs_
        theta = THETA * float(pairs.S_[0]) if self.theta is None else float(self.theta)
        if pairs.exact:  # A = U S^(1/2): the normal equations are diagonal
            roots = pairs.roots
            scale = np.divide(roots, pairs.S_ + theta, out=np.zeros_like(roots), where=roots > 0)
            return scale[:, None] * (pairs.U_.T @ seen)
        A = pairs.E_ @ self.rotation_.T
        if theta:
            A = np.vstack([A, math.sqrt(theta) * np.eye(self.dim)])
            seen = np.vstack([seen, np.zeros((self.dim, seen.shape[1]))])
        T: Array = linalg.lstsq(A, seen, lapack_driver="gelsy")[0]
        return T

    def _collect(self, nested: Nested, x: Array) -> Change | None:
        self.waiting_.append(x)
        grown = nested.append(x)
        if len(self.waiting_) < self.landmarks:
            return Change(np.eye(nested.n, nested.n - 1)) if grown else None
        points = self.waiting_.view.copy()
        Z = nested.coordinates(points)
        if grown:
            Z = Z[:, :-1]  # the solver does not have the last coordinate yet
        self.begin(points)
        return Change(self.rotation_ @ Z)  # f = w.z projected: S^(-1/2) U' times its values Z w at the landmarks

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Observe more rows; the first call fixes the number of columns."""
        X = as_block(X, self.d_ or None)
        if not self.d_:
            self.start(X.shape[1])
        row = 0
        while row < len(X) and self.nested_ is not None:
            self._collect(self.nested_, X[row])
            row += 1
        if row == len(X) or self.settled:
            return self
        if self.reflects_ or self.pairs_.chosen == "eigh":
            self._follow(X[row:])
        else:
            for x in X[row:]:
                self.observe(x)
        return self

    def _follow(self, X: Array) -> None:
        """Move the landmarks for all rows, then decompose once, because there are no weights to update."""
        for x in X:
            self.motion_.observe(x)
        self._decompose()
        self._turns = None

    def _rotate(self) -> None:
        np.multiply(self.pairs_.inverse_roots[:, None], self.pairs_.U_.T, out=self.rotation_[: self.dim])

    def _bind(self) -> None:
        self.landmark_map = LandmarkMap(self.kernel, self.motion_.points, self.rotation_, self.dim)
        self.rotation_, self._turns = self.landmark_map.rotation, None

    def widen(self, d: int) -> None:
        if self.nested_ is not None:
            self.nested_.widen(d)
            self.waiting_ = self.waiting_.widened(d)
        else:
            self.motion_.widen(d)
            self._bind()
        self.d_ = d

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if self.d_ and self.nested_ is None:
            self._bind()


def _of_pairs(solver: str) -> str:
    """Return the solver of the eigenpairs, which reflections use only once."""
    return "eigh" if solver == "reflect" else solver
