"""The experts of the automatic learner: what each is refitted from, and how it goes on from there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream._core.auto.views import scaled, with_constant
from nystream._core.kernel_rows import KernelRows
from nystream.features.landmarks import Landmarks
from nystream.features.metric import FULL, LearnedMetric
from nystream.features.scales import LearnedScales
from nystream.kernels.gaussian import Gaussian
from nystream.learners.smoother import KernelSmoother
from nystream.params import Params
from nystream.scaling import FrozenScale
from nystream.scaling.distance import median_distance
from nystream.scaling.ring import Ring
from nystream.scaling.spread import fence_outliers
from nystream.solvers.awv import AWV
from nystream.solvers.forgetting import Forgetting
from nystream.types import Array

__all__ = ["Decaying", "Linear", "Ridge", "View", "Window"]

APART = 1e-5
"""Landmarks within this squared distance of the span of others are left out: with few columns most of them are."""
JITTER = 1e-6
"""Added to the diagonal of K_mm: A must stay positive definite in rounding after millions of rows."""
ROUNDING = (0.0, 1e-13, 1e-10, 1e-7)
"""Parts of the trace that are tried as a further ridge where weights are so large that A is not."""
FADED = 1e-9
"""A row of this weight no longer counts."""
MOST = 1 << 19
"""Numbers that scales are computed from: with many columns, rows are thinned evenly."""
WIDTH = 400
"""Rows whose distances give a width, fewer for few landmarks."""
BLOCK = 128
"""Rows whose kernel values are held at a time in a refit."""


class View(Params):
    """Inputs as some experts see them: a frozen scaling, missing values at the mean, and perhaps a learnt metric."""

    scale_: FrozenScale
    metric_: LearnedMetric | LearnedScales | None

    def __init__(self, scale: FrozenScale) -> None:
        self.scale = scale

    def fit(
        self,
        X: Array,
        Y: Array | None = None,
        w: Array | None = None,
        *,
        rows: int = 1000,
        rounds: int = 1,
        full: int = FULL,
        seed: int = 0,
    ) -> None:
        """Scale from X, wild values fenced; with Y (n, K) the metric too, from so many rows, gradients at a fifth."""
        most = max(2, MOST // X.shape[1])
        thin, v = _thinned(X, most), None if w is None else _thinned(w, most)
        self.scale_ = self.scale.clone().fit(fence_outliers(thin, v), v)
        self.metric_ = self._learnt(X, Y, w, rows, rounds, full, seed)

    def _learnt(
        self, X: Array, Y: Array | None, w: Array | None, rows: int, rounds: int, full: int, seed: int
    ) -> LearnedMetric | LearnedScales | None:
        """What scaled rows are multiplied by."""
        if Y is None:
            return None
        if len(X) > rows:
            chosen = np.sort(np.random.default_rng(seed).choice(len(X), rows, replace=False))
            X, Y, w = X[chosen], Y[chosen], None if w is None else w[chosen]
        metric = LearnedMetric(rounds, rows=rows, gradients=max(1, rows // 5), full=full)
        return metric.fit(self._scaled(X), Y, w)

    def __call__(self, X: Array) -> Array:
        U = self._scaled(X)
        return U if self.metric_ is None else self.metric_.applied(U)

    def _scaled(self, X: Array) -> Array:
        return scaled(self.scale_._warped(X), self.scale_.mean_, self.scale_.scale_, self.scale_.clip)

    def widen(self, d: int) -> None:
        self.scale_.widen(d)
        if self.metric_ is not None:
            self.metric_.widen(d)

    @staticmethod
    def fit_nbytes(kept: int, d: int, rows: int, outputs: int, full: int = FULL) -> float:
        """Bytes that `fit` on `kept` rows takes for a moment: for the scale, then for the metric."""
        return max(8.0 * 5 * min(kept * d, MOST), LearnedMetric.fit_nbytes(rows, d, outputs, full))

    @property
    def nbytes(self) -> int:
        return self.scale_.nbytes + (0 if self.metric_ is None else self.metric_.nbytes)


class Expert(Params):
    """Least squares that can be refitted on a block of rows at once, and then learns row by row.

    U are rows of its view, Y (n, K) targets, w weights (n,) or None. A refit takes the view and rows X before it, so
    that a few rows at a time are seen through it. Beside `nbytes`, which counts, every expert has `nbytes_for`, which
    tells beforehand from sizes alone.
    """

    @property
    def title(self) -> str:
        """What it is, in a few words for people."""
        raise NotImplementedError

    def fit(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> None:
        raise NotImplementedError

    def predict(self, U: Array) -> Array:
        raise NotImplementedError

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        raise NotImplementedError

    def add_outputs(self, combination: Array) -> None:
        """New targets whose values so far are these combinations (K, new) of the present ones."""
        raise NotImplementedError

    def widen(self, d: int) -> None:
        """Rows of the view have d columns from now on, the new ones 0 so far."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        raise NotImplementedError


class _Landmarks(Expert):
    """Features (k(a_1, x), ..., k(a_m, x), 1): random rows as landmarks, width a factor times the median distance."""

    points_: Array
    width_: float
    _kernel: KernelRows

    def _place(self, view: View, X: Array, m: int, factor: float, rng: np.random.Generator) -> Array:
        """Choose landmarks and width; returns the penalty matrix, K_mm and 1 for the constant."""
        chosen = np.sort(rng.choice(len(X), min(m, len(X)), replace=False))
        self.width_ = factor * median_distance(view(_thinned(X, min(WIDTH, max(2, 4 * m // 3)))))
        landmarks = Landmarks(Gaussian(self.width_), view(X[chosen]), tol=APART)
        landmarks.start(X.shape[1])
        self.points_ = np.ascontiguousarray(landmarks.points_)
        self._kernel = Gaussian(self.width_).compiled
        P = np.zeros((len(self.points_) + 1, len(self.points_) + 1))
        P[:-1, :-1] = landmarks.penalty
        P.flat[:: len(P) + 1] += JITTER
        P[-1, -1] = 1.0
        return P

    @staticmethod
    def width_nbytes(m: int) -> float:
        """Bytes of the distances that a width is computed from."""
        return 8.0 * 4 * min(WIDTH, 4 / 3 * m) ** 2

    def _features(self, U: Array) -> Array:
        return with_constant(self._kernel, U, self.points_)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "width_" in state:
            self._kernel = Gaussian(self.width_).compiled

    def _add(self, G: Array, view: View, X: Array, Y: Array, w: Array | None) -> Array:
        """Add Z'WZ to G, in place; returns Z'WY."""
        b = np.zeros((len(G), Y.shape[1]))
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            Z = self._features(view(X[part]))
            W = Z if w is None else Z * w[part, None]
            G += W.T @ Z
            b += W.T @ Y[part]
        return b

    def widen(self, d: int) -> None:
        self.points_ = np.pad(self.points_, ((0, 0), (0, d - self.points_.shape[1])))


class Ridge(_Landmarks):
    """Nystrom ridge, no forgetting; several ridges may share the landmarks.

    The features are raw kernel values and the penalty is lam K_mm: the same function as with whitened features and
    lam I, without a triangular solve for every row.
    """

    solvers_: list[AWV]

    def __init__(self, m: int, factor: float = 1.0, lams: tuple[float, ...] = (0.01,)) -> None:
        self.m = m
        self.factor = factor
        self.lams = lams

    @property
    def title(self) -> str:
        return f"kernel, {self.m:,} landmarks"

    @classmethod
    def nbytes_for(cls, m: int, d: int, outputs: int, lams: int = 1) -> float:
        return 8.0 * m * d + lams * AWV.nbytes_for(m, outputs)

    def fit(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> None:
        P = self._place(view, X, self.m, self.factor, rng)
        more = [(lam - self.lams[0]) * P for lam in self.lams[1:]]
        P *= self.lams[0]  # from here on A of the first ridge: one matrix, where it is large
        b = self._add(P, view, X, Y, w)
        self.solvers_ = []
        for lam, A in zip(self.lams, [P, *(P + extra for extra in more)], strict=True):
            solver = AWV(lam, vovk=False)
            solver.start(len(P), Y.shape[1])
            _start_solver(solver, A, b)
            self.solvers_.append(solver)

    def predict(self, U: Array) -> Array:
        return self.solvers_[0].predict(self._features(U))

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        """Of the first ridge; `run_all` gives all of them."""
        return self.run_all(U, Y, w)[0]

    def run_all(self, U: Array, Y: Array, w: Array | None) -> list[Array]:
        Z = self._features(U)
        return [solver.run(Z, Y, w) for solver in self.solvers_]

    def add_outputs(self, combination: Array) -> None:
        for solver in self.solvers_:
            solver.add_outputs(combination)

    @property
    def nbytes(self) -> int:
        return self.points_.nbytes + sum(solver.nbytes for solver in self.solvers_)


class Decaying(_Landmarks):
    """Nystrom ridge that forgets, the penalty lam K_mm apart: see `nystream.solvers.Forgetting`."""

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

    def fit(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> None:
        P = self._place(view, X, self.m, 1.0, rng)
        self._begin(len(P), Y.shape[1])
        self.solver_.start_from(self.lam * P)
        self._replay(view, X, Y, w)

    def _begin(self, dim: int, outputs: int) -> None:
        self.solver_ = Forgetting(self.lam, decay=self.decay)
        self.solver_.start(dim, outputs)

    def _replay(self, view: View, X: Array, Y: Array, w: Array | None) -> None:
        """Learn the rows that still count."""
        reach = len(X) if self.decay == 1.0 else math.ceil(math.log(FADED) / math.log(self.decay))
        for i in range(max(0, len(X) - reach), len(X), BLOCK):
            part = slice(i, i + BLOCK)
            self.run(view(X[part]), Y[part], None if w is None else w[part])

    def predict(self, U: Array) -> Array:
        return self.solver_.predict(self._features(U))

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        Z = self._features(U)
        if len(Z) == 1:
            return self.solver_.step(Z[0], Y[0], 1.0 if w is None else float(w[0]))[None]
        return self.solver_.run(Z, Y, w)

    def add_outputs(self, combination: Array) -> None:
        self.solver_.add_outputs(combination)

    @property
    def nbytes(self) -> int:
        return self.solver_.nbytes + self.points_.nbytes


class Linear(Decaying):
    """Linear ridge with a constant that forgets."""

    def __init__(self, decay: float = 0.95, lam: float = 0.01) -> None:
        self.decay = decay
        self.lam = lam

    @property
    def title(self) -> str:
        return f"linear, {self._memory}"

    @staticmethod
    def nbytes_for(d: int, outputs: int, forgets: bool = True) -> float:
        return Forgetting.nbytes_for(d, outputs, forgets=forgets)

    def fit(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> None:
        self._begin(X.shape[1] + 1, Y.shape[1])
        self._replay(view, X, Y, w)

    def _features(self, U: Array) -> Array:
        return np.hstack([np.ones((len(U), 1)), U])

    def widen(self, d: int) -> None:
        self.solver_.widen(d + 1)

    @property
    def nbytes(self) -> int:
        return self.solver_.nbytes


class Window(Expert):
    """The kernel smoother over the last W rows."""

    smoother_: KernelSmoother

    def __init__(self, window: int) -> None:
        self.window = window

    @property
    def title(self) -> str:
        return f"nearest of the last {self.window:,} rows"

    @staticmethod
    def nbytes_for(window: int, d: int, outputs: int) -> float:
        return Ring.nbytes_for(window, d + outputs + 1)

    def fit(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> None:
        """Take the last W rows as they are."""
        last = slice(max(0, len(X) - self.window), None)
        self.smoother_ = KernelSmoother(self.window)
        self.smoother_.reserve(X.shape[1], Y.shape[1])
        n = len(X[last])
        self.smoother_.points_[:n] = view(X[last])
        self.smoother_.targets_[:n, :-1] = Y[last]
        self.smoother_.targets_[:n, -1] = 1.0 if w is None else w[last]
        self.smoother_.kept_ = n

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


def _start_solver(solver: AWV, A: Array, b: Array) -> None:
    """Start a solver from A and b, with as much more ridge as rounding asks for."""
    for i, part in enumerate(ROUNDING):
        try:
            solver.start_from(A if not part else A + part * float(np.trace(A)) * np.eye(len(A)), b)
            return
        except ValueError:
            if i == len(ROUNDING) - 1:
                raise


def _thinned(X: Array, most: int) -> Array:
    """At most so many rows, spread evenly."""
    return X if len(X) <= most else X[np.linspace(0, len(X) - 1, most).round().astype(np.intp)]
