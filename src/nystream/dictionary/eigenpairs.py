"""The leading eigenpairs of a Gram matrix in which one row and column changes at a time."""

from __future__ import annotations

import numpy as np

from nystream._core.landmarks import NOT_FINITE
from nystream.runtime.params import Params, at_least, one_of, positive
from nystream.runtime.types import Array

__all__ = ["SOLVERS", "Eigenpairs"]

SOLVERS = ("auto", "eigh", "warm", "rank2")
ITERATIONS = 2
"""Multiplications by the matrix in one warm refresh."""
TILTED = 1e-6
"""Deviation of U'U from I above which a refresh is rejected."""
DEPENDENT = 1e-12
"""Length below which a direction of a rank-two change counts as inside the tracked span."""
REBUILD = 100
"""Changes after which "rank2", which cannot recover discarded directions, decomposes the matrix again."""


class Eigenpairs(Params):
    """Leading eigenpairs of a positive semidefinite E (m, m): E ~ U diag(S) U', U (m, r), S (r,) descending.

    `replace` puts a new row and column into E, a change of a b' + b a' with a = e_q, and refreshes U and S:

    "eigh"
        A new decomposition, the top r kept: O(m^3).
    "warm"
        Subspace iteration from Q = [U, a, b]: twice Q <- orth(E Q), then the leading eigenpairs of Q'E Q: O(m^2 r).
        Around position r eigenvalues are close, so the pairs there differ from those of "eigh"; |E - U S U'| does not
        (1.05 times the least possible).
    "rank2"
        The eigenpairs of U S U' + a b' + b a' in the basis [U, a, b]: O(m r^2 + r^3). Truncated directions do not
        come back, so every hundredth change is an "eigh".
    "auto"
        "eigh" when r > m/3, where a warm start saves nothing, else "warm".

    If a refresh gives a number that is not finite, or U'U further than 1e-6 from I, "eigh" is used instead.

    Parameters
    ----------
    rank : int
        r; no more than m are kept.
    solver : {"auto", "eigh", "warm", "rank2"}
    tol : float, default 1e-8
        Eigenvalues of at most tol S_1 count as zero.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import Eigenpairs
    >>> pairs = Eigenpairs(rank=2)
    >>> pairs.start(np.diag([1.0, 4.0, 0.0]))
    >>> pairs.replace(0, np.array([9.0, 0.0, 0.0]))
    >>> pairs.S_.tolist(), pairs.inverse_roots.round(3).tolist()
    ([9.0, 4.0], [0.333, 0.5])
    """

    E_: Array
    U_: Array
    S_: Array
    age_: int
    """Changes since the last decomposition of E."""

    def __init__(self, rank: int, *, solver: str = "auto", tol: float = 1e-8) -> None:
        self.rank = at_least("rank", rank, 1)
        self.solver = one_of("solver", solver, SOLVERS)
        self.tol = positive("tol", tol, zero=True, below=1.0)

    def start(self, E: Array) -> None:
        """Decompose E. It is stored without a copy, and `replace` changes it."""
        self.E_ = _finite(E)
        self._decompose()

    @property
    def exact(self) -> bool:
        """Whether U and S are, to rounding, eigenpairs of E."""
        return self.chosen == "eigh" or self.age_ == 0

    @property
    def chosen(self) -> str:
        """The solver that is used, with "auto" resolved."""
        if self.solver != "auto":
            return self.solver
        return "eigh" if 3 * self.U_.shape[1] > len(self.E_) else "warm"

    @property
    def roots(self) -> Array:
        """S^(1/2), 0 where S counts as zero, (r,)."""
        return np.where(self._alive, np.sqrt(self.S_), 0.0)

    @property
    def inverse_roots(self) -> Array:
        """S^(-1/2), 0 where S counts as zero, (r,)."""
        return np.divide(1.0, np.sqrt(self.S_), out=np.zeros_like(self.S_), where=self._alive)

    @property
    def _alive(self) -> np.typing.NDArray[np.bool_]:
        return (self.tol * self.S_[0] < self.S_) & (self.S_ > 0)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.E_.nbytes + self.U_.nbytes + self.S_.nbytes

    def replace(self, q: int, row: Array) -> None:
        """Replace row and column q of E by `row` (m,)."""
        b = _finite(row) - self.E_[q]
        b[q] /= 2
        self.E_[q] = self.E_[:, q] = row
        self.age_ += 1
        if self.chosen == "eigh" or (self.chosen == "rank2" and self.age_ >= REBUILD):
            self._decompose()
            return
        self._accept(*(_warm(self.E_, self.U_, q, b) if self.chosen == "warm" else _rank_two(self.U_, self.S_, q, b)))

    def release(self) -> None:
        """Free everything but the eigenvalues, when nothing will be replaced any more."""
        self.E_ = self.U_ = np.empty((0, 0))

    def _decompose(self) -> None:
        values, vectors = np.linalg.eigh(self.E_)
        r = min(self.rank, len(values))
        self.S_ = np.maximum(values[::-1][:r], 0.0)
        self.U_ = np.ascontiguousarray(vectors[:, ::-1][:, :r])
        self.age_ = 0

    def _accept(self, S: Array, U: Array) -> None:
        if np.isfinite(S).all() and np.abs(U.T @ U - np.eye(len(S))).max() <= TILTED:
            self.S_, self.U_ = np.maximum(S, 0.0), U
        else:
            self._decompose()


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise ValueError(NOT_FINITE)
    return values


def _warm(E: Array, U: Array, q: int, b: Array) -> tuple[Array, Array]:
    m, r = U.shape
    Q = np.zeros((m, r + 2))
    Q[:, :r] = U
    Q[q, r] = (
        1.0  # the directions of the change: without them eigenvalues with a gap are off by 1e-3, with them by 1e-5
    )
    Q[:, r + 1] = b / (np.linalg.norm(b) or 1.0)
    for _ in range(ITERATIONS):
        Q = np.linalg.qr(E @ Q)[0]  # every time: without it the columns collapse on the leading ones
    T = Q.T @ (E @ Q)
    values, vectors = np.linalg.eigh((T + T.T) / 2)
    return values[::-1][:r].copy(), np.ascontiguousarray(Q @ vectors[:, ::-1][:, :r])


def _rank_two(U: Array, S: Array, q: int, b: Array) -> tuple[Array, Array]:
    """Compute the top eigenpairs of U S U' + a b' + b a', a = e_q."""
    a = np.zeros(len(U))
    a[q] = 1.0
    basis = U
    for v in (a, b):
        length = float(np.linalg.norm(v))
        new = v
        for _ in range(2):  # a second projection removes the rounding errors of the first
            new = new - basis @ (basis.T @ new)
        rest = float(np.linalg.norm(new))
        if rest > DEPENDENT * max(length, 1.0):
            basis = np.column_stack([basis, new / rest])
    left, right = basis.T @ a, basis.T @ b
    T = np.outer(left, right)
    T += T.T
    r = len(S)
    T[range(r), range(r)] += S
    values, vectors = np.linalg.eigh(T)
    return values[::-1][:r].copy(), np.ascontiguousarray(basis @ vectors[:, ::-1][:, :r])
