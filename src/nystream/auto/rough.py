"""Experts with a Laplacian kernel and learnt column scales: rough functions, and changes since the last label."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import blas

from nystream._core.kernel_rows import KernelRows
from nystream.auto.big import Big
from nystream.auto.experts import JITTER, ROUNDING, Expert, View
from nystream.features.scales import LearnedScales
from nystream.solvers.awv import AWV
from nystream.types import Array

__all__ = ["Change", "Rough", "RoughView"]

LAM = 0.1
HELD = 0.6
"""Rows held out in a step of learning scales, for every row fitted."""
PAIRS = 2e7
"""Pairs of rows times columns that a step may look at: with many columns, fewer rows."""
BLOCK = 256
_LAPLACIAN = KernelRows("laplacian", -1.0)


class RoughView(View):
    """Standardised inputs times column scales that were learnt, see `nystream.features.LearnedScales`."""

    def _learnt(
        self, X: Array, Y: Array | None, w: Array | None, rows: int, rounds: int, full: int, seed: int
    ) -> LearnedScales:
        fitted, held = sizes(rows, X.shape[1])
        scales = LearnedScales(rows=fitted, held=held, lam=LAM, seed=seed)
        return scales.fit(self._scaled(X), np.zeros((len(X), 1)) if Y is None else Y, w)

    @property
    def loss(self) -> float:
        """Of what was learnt, on rows held out; nan where nothing was."""
        assert isinstance(self.metric_, LearnedScales)
        return self.metric_.loss_


def sizes(rows: int, d: int) -> tuple[int, int]:
    """Rows fitted, and held out, in a step of learning scales of d columns; twice as many choose in the end."""
    fitted = max(2, int(min(rows / 2, (PAIRS / d) ** 0.5)))
    return fitted, max(1, int(HELD * fitted))


class Rough(Big):
    """Nystrom ridge with the Laplacian kernel exp(-|x - x'|_1), many landmarks; learns 64 rows at a time, as `Big`.

    Its functions may bend sharply, as trees do, and a column whose scale is 0 does not count.
    """

    together: ClassVar[int] = 64

    def __init__(self, m: int) -> None:
        super().__init__(m, lams=(LAM,))

    @property
    def title(self) -> str:
        return f"rough kernel, {self.m:,} landmarks"

    @staticmethod
    def fit_nbytes(m: int, outputs: int) -> float:
        """Bytes that `fit` takes for a moment beside itself: one matrix, and a block of kernel rows."""
        return 8.0 * (m * m + 2 * BLOCK * m + 2 * m * outputs)

    def fit(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> None:
        chosen = np.sort(rng.choice(len(X), min(self.m, len(X)), replace=False))
        points = view(X[chosen])
        _, first = np.unique(points, axis=0, return_index=True)
        self.points_ = np.ascontiguousarray(points[np.sort(first)])
        self._bind()
        for part in ROUNDING:
            solver = AWV(LAM, vovk=False)
            solver.start(self._dim, Y.shape[1])
            try:
                solver.start_from(*self._sums(view, X, Y, w, part), overwrite=True)
                break
            except ValueError:
                if part == ROUNDING[-1]:
                    raise
        self.solvers_ = [solver]
        self._wait(Y.shape[1])

    def _sums(self, view: View, X: Array, Y: Array, w: Array | None, part: float) -> tuple[Array, Array]:
        """A = lam K_mm + Z'WZ, its lower triangle, and Z'WY; `part` of the trace as a further ridge."""
        m, A, b = len(self.points_), np.zeros((self._dim, self._dim)), np.zeros((self._dim, Y.shape[1]))
        for i in range(0, m, BLOCK):
            A[i : min(i + BLOCK, m), :m] = LAM * _LAPLACIAN.block(self.points_[i : i + BLOCK], self.points_)
        A.flat[:: m + 2] += LAM * JITTER
        A[m, m] = LAM
        for i in range(0, len(X), BLOCK):
            rows = slice(i, i + BLOCK)
            Z = self._features(view(X[rows]))
            if w is not None:
                Z *= np.sqrt(w[rows])[:, None]
            A = blas.dsyrk(1.0, Z.T, beta=1.0, c=A.T, lower=0, overwrite_c=1).T
            b += Z.T @ (Y[rows] if w is None else Y[rows] * np.sqrt(w[rows])[:, None])
        if part:
            A.flat[:: m + 2] += part * float(np.trace(A))
        return A, b

    def _bind(self) -> None:
        self._kernel = _LAPLACIAN

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._bind()


class Change(Expert):
    """The last label, and what a rough kernel on inputs and last labels adds to it where rows held out want it.

    Rows X of a fit begin with the label lags, the last label of each of the K targets first. Rows U begin with the last
    labels as they are, before what the view makes of the row; where nothing is added, they are all of it.
    """

    kernel_: Rough | None
    """Of the changes since the last label."""

    def __init__(self, m: int, outputs: int) -> None:
        self.m = m
        self.outputs = outputs

    @property
    def title(self) -> str:
        return "no change" if self.helpless else f"change since the last label, {self.m:,} landmarks"

    @property
    def helpless(self) -> bool:
        """Whether it forecasts no change."""
        return getattr(self, "kernel_", None) is None

    def rest(self) -> None:
        """Forecast no change."""
        self.kernel_ = None

    def fit(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> None:
        self.kernel_ = Rough(self.m)
        self.kernel_.fit(view, X, Y - X[:, : self.outputs], w, rng)

    def predict(self, U: Array) -> Array:
        last, rows = self._parts(U)
        return last if self.kernel_ is None else last + self.kernel_.predict(rows)

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        last, rows = self._parts(U)
        return last if self.kernel_ is None else last + self.kernel_.run(rows, Y - last, w)

    def widen(self, d: int) -> None:
        if self.kernel_ is not None:
            self.kernel_.widen(d)

    @property
    def nbytes(self) -> int:
        return 0 if self.kernel_ is None else self.kernel_.nbytes

    def _parts(self, U: Array) -> tuple[Array, Array]:
        return U[:, : self.outputs], np.ascontiguousarray(U[:, self.outputs :])
