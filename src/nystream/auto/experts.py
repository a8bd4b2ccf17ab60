"""The experts: how each one is refitted, and how it learns row by row after that."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from nystream._core.auto.experts import (
    Asked,
    AskedChange,
    AskedForgetting,
    AskedLinear,
    AskedRidge,
    AskedWaiting,
    AskedWindow,
    after_constant,
    answered,
    with_constant,
)
from nystream._core.kernels import KernelRows
from nystream._core.linalg import add_gram, solution
from nystream.auto.views import LAPLACIAN_LAM, SORTED, View, thinned
from nystream.features.landmarks import Landmarks
from nystream.kernels.gaussian import Gaussian
from nystream.learners.smoother import KernelSmoother
from nystream.runtime.incremental import CALL, PIECE, Task, allocate_zeros, kernel_cost, median_cost, run_to_completion
from nystream.runtime.params import Params
from nystream.runtime.types import Array
from nystream.scaling.distance import median_distance
from nystream.scaling.ring import Ring
from nystream.solvers.awv import AWV
from nystream.solvers.forgetting import Forgetting

__all__ = [
    *("BLOCK", "Expert", "ForgettingLinear", "ForgettingRidge", "Innovation", "LaplacianRidge", "LargeRidge", "Ridge"),
    "WindowSmoother",
]

APART = 1e-5
"""Landmarks within this squared distance of the span of others are left out: with few columns most of them are."""
JITTER = 1e-6
"""Added to the diagonal of K_mm: A must stay positive definite in rounding after millions of rows."""
ROUNDING = (0.0, 1e-13, 1e-10, 1e-7)
"""Parts of the trace that are tried as a further ridge where weights are so large that A is not."""
FADED = 1e-9
"""A row of this weight no longer counts."""
WIDTH, BLOCK = 400, 128
"""Rows whose distances give a width, fewer for few landmarks; rows whose kernel values a refit holds, at most."""
SEEN, RENEWED, STRETCHED = 60.0, 25.0, 100.0
"""Operations for a number of a row that is seen through a view, beside those for the columns that it is combined with;
and for what a solver that forgets does with a row, over the square of its features and over them."""
WORK, FEWEST = 64 * 1700**2, 8
"""Rows that are learnt at a time times squared landmarks, at most, some 8 ms; and rows at least."""
_LINEAR, _LAPLACIAN = KernelRows("linear"), KernelRows("laplacian", -1.0)


class Expert(Params):
    """Least squares that is refitted on a block of rows, and then learns row by row.

    U are rows of its view, Y (n, K) targets, w weights (n,) or None. A refit takes the view and rows X before it, so
    that a few rows at a time are seen through it. Beside `nbytes`, which counts, every expert has `nbytes_for`, which
    tells beforehand from sizes alone.
    """

    asked: ClassVar[type[Asked]] = Asked
    """How it is asked for a single row: with the bits of `run`."""

    @property
    def title(self) -> str:
        """Return what it is, in a few words for people."""
        raise NotImplementedError

    def fit(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> None:
        """Run `fitting` to completion."""
        run_to_completion(self.fitting(view, X, Y, w, rng))

    def fitting(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> Task[None]:
        """Refit, a piece at a time."""
        raise NotImplementedError

    def freeze(self) -> None:
        """Give up the large arrays: it predicts as before, and `run` no longer learns."""

    def predict(self, U: Array) -> Array:
        raise NotImplementedError

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        raise NotImplementedError

    def add_outputs(self, combination: Array) -> None:
        """Add targets whose values so far are these combinations (K, new) of the present ones."""
        raise NotImplementedError

    def widen(self, d: int) -> None:
        """Accept rows of the view with d columns, the new ones 0 so far."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        raise NotImplementedError


class _Landmarks(Expert):
    """Features (k(a_1, x), ..., k(a_m, x), 1): landmarks are random rows, the width is a factor times the median
    distance.
    """

    m: int
    factor: float = 1.0
    points_: Array
    width_: float
    kernel_rows: KernelRows

    def placing(self, view: View, X: Array, rng: np.random.Generator) -> Task[None]:
        """Choose landmarks and width."""
        chosen = np.sort(rng.choice(len(X), min(self.m, len(X)), replace=False))
        near = view(thinned(X, min(WIDTH, max(2, 4 * self.m // 3))))
        self.width_ = self.factor * median_distance(near)
        yield seen(*near.shape) + median_cost(*near.shape)
        landmarks = Landmarks(Gaussian(self.width_), view(X[chosen]), tol=APART)
        yield CALL + seen(len(chosen), X.shape[1])
        yield from landmarks.starting(X.shape[1])
        self.points_ = np.ascontiguousarray(landmarks.points_)
        self.kernel_rows = Gaussian(self.width_).compiled

    @staticmethod
    def width_nbytes(m: int) -> float:
        """Return the bytes of the distances that a width is computed from."""
        return 8.0 * 4 * min(WIDTH, 4 / 3 * m) ** 2

    def _features(self, U: Array) -> Array:
        return with_constant(self.kernel_rows, U, self.points_)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "width_" in state:
            self.kernel_rows = Gaussian(self.width_).compiled

    def _penalising(self, A: Array, lam: float) -> Task[None]:
        """Add lam times the penalty matrix to A, in place: K_mm, and 1 for the constant."""
        m, rows = len(self.points_), self._rows
        for i in range(0, m, rows):
            A[i : min(i + rows, m), :m] += lam * self.kernel_rows.block(self.points_[i : i + rows], self.points_)
            yield CALL + kernel_cost(rows, m, self.points_.shape[1])
        A.flat[: -1 : len(A) + 1] += lam * JITTER
        A[m, m] += lam

    @property
    def _rows(self) -> int:
        """Return the rows handled at a time in a refit: fewer with many landmarks."""
        dim = len(self.points_) + 1
        return max(8, min(BLOCK, int(PIECE / (dim * (dim + kernel_cost(1, 1, self.points_.shape[1])))) // 8 * 8))

    def summing(self, view: View, X: Array, Y: Array, w: Array | None) -> Task[tuple[Array, Array]]:
        """Compute Z'WZ, its lower triangle, and Z'WY."""
        dim, rows, d = len(self.points_) + 1, self._rows, X.shape[1]
        G, b = (yield from allocate_zeros(dim)), np.zeros((dim, Y.shape[1]))
        for i in range(0, len(X), rows):
            part = slice(i, i + rows)
            Z, T = self._features(view(X[part])), Y[part]
            if w is not None:
                root = np.sqrt(w[part])[:, None]
                Z, T = Z * root, T * root
            add_gram(Z, G)
            b += Z.T @ T
            n = len(Z)
            yield CALL + seen(n, d) + n * dim * (dim + 2 * Y.shape[1]) + kernel_cost(n, dim, d)
        return G, b

    def widen(self, d: int) -> None:
        self.points_ = np.pad(self.points_, ((0, 0), (0, d - self.points_.shape[1])))


class Ridge(_Landmarks):
    """Nystrom ridge without forgetting.

    The features are raw kernel values and the penalty is lam K_mm: the same function as with whitened features and
    lam I, without a triangular solve for every row.
    """

    asked: ClassVar[type[Asked]] = AskedRidge
    solvers_: list[AWV]
    """One; none while it is frozen."""
    weights_: Array
    """(K, r) while it is frozen."""

    def __init__(self, m: int, factor: float = 1.0, lam: float = 0.01) -> None:
        self.m = m
        self.factor = factor
        self.lam = lam

    @property
    def title(self) -> str:
        return f"kernel, {self.m:,} landmarks"

    @classmethod
    def nbytes_for(cls, m: int, d: int, outputs: int) -> float:
        return 8.0 * m * d + AWV.nbytes_for(m, outputs)

    def fitting(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> Task[None]:
        yield from self.placing(view, X, rng)
        solver = yield from self.solving(self.lam, lambda: self.summing(view, X, Y, w))
        self.adopt(solver)

    def adopt(self, solver: AWV) -> None:
        """Go on with this solver."""
        self.solvers_ = [solver]

    def shrink(self, m: int) -> None:
        """Keep m of the landmarks, spread evenly, as if it had had these alone since its fit.

        Features are raw kernel values and the penalty is lam K_mm, so its matrix is a part of the present one.
        """
        if len(self.points_) <= m or not self.solvers_:
            return
        kept, solver = np.linspace(0, len(self.points_) - 1, m).round().astype(np.intp), self.solvers_[0]
        A, b = solver.part(np.append(kept, len(self.points_)))
        smaller = AWV(solver.lam, vovk=False)
        smaller.start(len(A), b.shape[1])
        smaller.start_from(A, b, overwrite=True)
        self.m, self.points_ = m, np.ascontiguousarray(self.points_[kept])
        self.adopt(smaller)

    def solving(self, lam: float, sums: Callable[[], Task[tuple[Array, Array]]]) -> Task[AWV]:
        """Solve from Z'WZ and Z'WY, which are used up and computed again where rounding needs a larger ridge."""
        for part in ROUNDING:
            A, b = yield from sums()
            yield from self._penalising(A, lam)
            A.flat[:: len(A) + 1] += part * float(np.trace(A))
            solver = AWV(lam, vovk=False)
            solver.start(len(A), b.shape[1])
            try:
                yield from solver.starting_from(A, b)
                break
            except ValueError:
                if part == ROUNDING[-1]:
                    raise
        return solver

    def freeze(self) -> None:
        if self.solvers_:
            self.weights_ = self._solution(self.solvers_[0])
            self.solvers_ = []

    @staticmethod
    def _solution(solver: AWV) -> Array:
        """Return (K, r) weights of the features."""
        return solution(solver.tiles_, solver.q_, solver.dim_, solver.outputs_)

    def predict(self, U: Array) -> Array:
        Z, solvers = self._features(U), self.solvers_
        return solvers[0].predict(Z) if solvers else _LINEAR.block(Z, self.weights_)

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        return self.solvers_[0].run(self._features(U), Y, w) if self.solvers_ else self.predict(U)

    def add_outputs(self, combination: Array) -> None:
        for solver in self.solvers_:
            solver.add_outputs(combination)

    @property
    def nbytes(self) -> int:
        frozen = 0 if self.solvers_ else self.weights_.nbytes
        return self.points_.nbytes + sum(solver.nbytes for solver in self.solvers_) + frozen


class LargeRidge(Ridge):
    """Nystrom ridge that learns after every 32 rows, counted from its fit, and predicts by its weights until then.

    A factor of a thousand features is 4 MB, more than a core's cache holds: learning one row at a time, most of the
    time goes into reading and writing it. Rows that share a pass cost less, and a prediction is one dot
    product. What is given up is that a row counts up to 31 rows late. With very many landmarks groups are smaller, so
    that none is a long pause.
    """

    asked: ClassVar[type[Asked]] = AskedWaiting
    together: ClassVar[int] = 32
    """Rows that are learnt at a time, at most."""
    first: int = 32
    """Of those, rows that are learnt the first time: large experts take turns."""

    rows_: Array
    """Features, targets and weights of the rows that wait, (group, r + K + 1)."""
    filled_: int

    @classmethod
    def nbytes_for(cls, m: int, d: int, outputs: int) -> float:
        return Ridge.nbytes_for(m, d, outputs) + 8.0 * m * (outputs + cls.group(m))

    @classmethod
    def group(cls, m: int) -> int:
        """Return the rows that m landmarks learn at a time: `together`, halved until the work is no more than WORK."""
        rows = cls.together
        while rows > FEWEST and rows * m * m > WORK:
            rows //= 2
        return rows

    @staticmethod
    def fit_nbytes(m: int, outputs: int) -> float:
        """Return the bytes that `fit` takes for a moment beside itself: one matrix and a block of kernel rows."""
        return 8.0 * (m * m + 2 * BLOCK * m + 2 * m * outputs)

    def adopt(self, solver: AWV) -> None:
        """Go on with this solver: allocate room for waiting rows, and compute the first weights."""
        super().adopt(solver)
        rows = self.group(self._dim - 1)
        self.rows_ = np.zeros((rows, self._dim + solver.outputs_ + 1))
        self._settle()
        self.filled_ = rows - rows * self.first // self.together  # by rows of weight 0

    def predict(self, U: Array) -> Array:
        return _LINEAR.block(self._features(U), self.weights_)

    def freeze(self) -> None:
        self.solvers_, self.rows_ = [], np.empty((0, 0))

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        if not self.solvers_:
            return self.predict(U)
        P, row = np.empty(Y.shape), 0
        while row < len(U):  # up to the next time that rows are learnt
            waiting = (self.points_, self.weights_, self.rows_, self.filled_)
            taken = answered(self.kernel_rows, U, Y, w, row, *waiting, P)
            row, self.filled_ = row + taken, self.filled_ + taken
            if self.filled_ == len(self.rows_):
                self.learn()
        return P

    def learn(self) -> None:
        """Learn the waiting rows."""
        r = self._dim
        parts = self.rows_[:, :r], self.rows_[:, r:-1], self.rows_[:, -1]
        self.solvers_[0].run(*(np.ascontiguousarray(part) for part in parts))
        self._settle()

    def shrink(self, m: int) -> None:
        if len(self.points_) > m and self.solvers_:
            r, waiting = self._dim, self.rows_[: self.filled_]
            parts = waiting[:, :r], waiting[:, r:-1], waiting[:, -1]
            if len(waiting):
                self.solvers_[0].run(*(np.ascontiguousarray(part) for part in parts))
            super().shrink(m)

    def add_outputs(self, combination: Array) -> None:
        super().add_outputs(combination)
        labels = self.rows_[:, self._dim : -1]
        self.rows_ = np.hstack([self.rows_[:, :-1], labels @ combination, self.rows_[:, -1:]])
        self.weights_ = np.vstack([self.weights_, combination.T @ self.weights_])

    @property
    def nbytes(self) -> int:
        return self.points_.nbytes + sum(s.nbytes for s in self.solvers_) + self.weights_.nbytes + self.rows_.nbytes

    @property
    def _dim(self) -> int:
        return len(self.points_) + 1

    def _settle(self) -> None:
        """Predict with everything learnt from now on."""
        self.weights_ = self._solution(self.solvers_[0])
        self.filled_ = 0


class LaplacianRidge(LargeRidge):
    """Nystrom ridge with the Laplacian kernel exp(-|x - x'|_1), many landmarks; learns at most 64 rows at a time.

    Its functions may bend sharply, as trees do, and a column whose scale is 0 does not count.
    """

    together: ClassVar[int] = 64

    def __init__(self, m: int, first: int = 48) -> None:
        super().__init__(m, lam=LAPLACIAN_LAM)
        self.first = first

    @property
    def title(self) -> str:
        return f"rough kernel, {self.m:,} landmarks"

    def placing(self, view: View, X: Array, rng: np.random.Generator) -> Task[None]:
        """Choose landmarks; the scales take the place of the width. Equal landmarks are left out; others are never
        nearly dependent.
        """
        points = view(X[np.sort(rng.choice(len(X), min(self.m, len(X)), replace=False))])
        _, first = np.unique(points, axis=0, return_index=True)
        self.points_ = np.ascontiguousarray(points[np.sort(first)])
        self._bind()
        yield CALL + SORTED * points.size

    def _bind(self) -> None:
        self.kernel_rows = _LAPLACIAN

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._bind()


class Innovation(Expert):
    """The last label plus a correction by a Laplacian ridge on inputs and last labels, where held-out rows want it.

    Rows X of a fit begin with the label lags, the last label of each of the K targets first. Rows U begin with the last
    labels as they are, before what the view makes of the row; where nothing is added, they are all of it.
    """

    asked: ClassVar[type[Asked]] = AskedChange
    kernel_: LaplacianRidge | None
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

    def fitting(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> Task[None]:
        self.kernel_ = LaplacianRidge(self.m, first=16)
        yield from self.kernel_.fitting(view, X, Y - X[:, : self.outputs], w, rng)

    def freeze(self) -> None:
        if self.kernel_ is not None:
            self.kernel_.freeze()

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


class ForgettingRidge(_Landmarks):
    """Nystrom ridge that forgets rows but not its penalty lam K_mm: see `nystream.solvers.Forgetting`."""

    asked: ClassVar[type[Asked]] = AskedForgetting
    solver_: Forgetting

    def __init__(self, m: int, decay: float = 0.99, lam: float = 0.01) -> None:
        self.m = m
        self.decay = decay
        self.lam = lam

    @property
    def title(self) -> str:
        return f"kernel, {self._memory}"

    @property
    def _memory(self) -> str:
        return "all rows" if self.decay == 1.0 else f"forgets in about {1 / (1 - self.decay):,.0f} rows"

    @staticmethod
    def nbytes_for(m: int, outputs: int) -> float:
        return Forgetting.nbytes_for(m, outputs, prior=True)

    def fitting(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> Task[None]:
        yield from self.placing(view, X, rng)
        penalty = np.zeros((len(self.points_) + 1, len(self.points_) + 1))
        yield from self._penalising(penalty, self.lam)
        self._begin(len(penalty), Y.shape[1])
        self.solver_.start_from(penalty)
        yield from self._replaying(view, X, Y, w)

    def _begin(self, dim: int, outputs: int) -> None:
        self.solver_ = Forgetting(self.lam, decay=self.decay)
        self.solver_.start(dim, outputs)

    def _replaying(self, view: View, X: Array, Y: Array, w: Array | None) -> Task[None]:
        """Learn the rows that still count."""
        reach = len(X) if self.decay == 1.0 else math.ceil(math.log(FADED) / math.log(self.decay))
        dim, d = self.solver_.ridge_.dim_, X.shape[1]
        for i in range(max(0, len(X) - reach), len(X), BLOCK):
            part = slice(i, i + BLOCK)
            self.run(view(X[part]), Y[part], None if w is None else w[part])
            yield CALL + seen(BLOCK, d) + BLOCK * (kernel_cost(1, dim, d) + RENEWED * dim**2 + STRETCHED * dim)

    def predict(self, U: Array) -> Array:
        return self.solver_.predict(self._features(U))

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        return self.solver_.run(self._features(U), Y, w)

    def add_outputs(self, combination: Array) -> None:
        self.solver_.add_outputs(combination)

    @property
    def nbytes(self) -> int:
        return self.solver_.nbytes + self.points_.nbytes


class ForgettingLinear(ForgettingRidge):
    """Linear ridge with a constant that forgets."""

    asked: ClassVar[type[Asked]] = AskedLinear

    def __init__(self, decay: float = 0.95, lam: float = 0.01) -> None:
        self.decay = decay
        self.lam = lam

    @property
    def title(self) -> str:
        return f"linear, {self._memory}"

    @staticmethod
    def nbytes_for(d: int, outputs: int, forgets: bool = True) -> float:
        return Forgetting.nbytes_for(d, outputs, forgets=forgets)

    def fitting(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> Task[None]:
        self._begin(X.shape[1] + 1, Y.shape[1])
        yield from self._replaying(view, X, Y, w)

    def _features(self, U: Array) -> Array:
        return after_constant(U)

    def widen(self, d: int) -> None:
        self.solver_.widen(d + 1)

    @property
    def nbytes(self) -> int:
        return self.solver_.nbytes


class WindowSmoother(Expert):
    """Kernel smoother over the last W rows."""

    asked: ClassVar[type[Asked]] = AskedWindow
    smoother_: KernelSmoother

    def __init__(self, window: int) -> None:
        self.window = window

    @property
    def title(self) -> str:
        return f"nearest of the last {self.window:,} rows"

    @staticmethod
    def nbytes_for(window: int, d: int, outputs: int) -> float:
        return Ring.nbytes_for(window, d + outputs + 1)

    def fitting(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> Task[None]:
        """Take the last W rows as they are."""
        last = slice(max(0, len(X) - self.window), None)
        self.smoother_ = KernelSmoother(self.window)
        self.smoother_.reserve(X.shape[1], Y.shape[1])
        n = len(X[last])
        self.smoother_.points_[:n] = view(X[last])
        self.smoother_.targets_[:n, :-1] = Y[last]
        self.smoother_.targets_[:n, -1] = 1.0 if w is None else w[last]
        self.smoother_.kept_ = n
        yield CALL + seen(n, X.shape[1])

    def predict(self, U: Array) -> Array:
        return self.smoother_._predict(U)

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        return self.smoother_._run(U, Y, w)

    def add_outputs(self, combination: Array) -> None:
        self.smoother_.add_outputs(combination)

    def widen(self, d: int) -> None:
        self.smoother_.widen(d)

    @property
    def nbytes(self) -> int:
        return self.smoother_.nbytes


def seen(n: int, d: int) -> float:
    """Return the operations of seeing n rows of d columns through a view."""
    return n * d * (SEEN + 2.0 * d)
