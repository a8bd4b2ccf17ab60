"""Exact kernel least squares online: Kernel-AWV (also called Kernel AAR) and online kernel ridge regression."""

from __future__ import annotations

import copy
import math
from typing import Any, ClassVar, Self

import numpy as np

from nystream._core.landmarks import RidgeRow
from nystream.dictionary.gram_factor import GramFactor
from nystream.dictionary.rows import Rows
from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.families.averaging import Averaging
from nystream.learners.families.least_squares import LeastSquares
from nystream.runtime.deferred import linalg
from nystream.runtime.params import at_least, positive
from nystream.runtime.types import Array
from nystream.solvers.meter import Meter

__all__ = ["KernelAAR", "KernelAWV", "KernelRidge"]

BLOCK = 64
"""Rows that are added to the factor by one triangular solve."""


class KernelRidge(LeastSquares, Averaging):
    """Online kernel ridge regression: before each label, the ridge function of all examples so far.

    With L L' = K + lam I over the points seen and e = L^-1 y::

        l = L^-1 k(X, x)     s = (k(x,x) - l.l)/lam     prediction r = l.e
        after y:  append the row (l, sqrt(lam (1 + s))) to L,  (y - r)/sqrt(lam (1 + s)) to e

    Rows of a block share one triangular solve, exactly (the Cholesky factor of the block whitens it in time order).
    Cost per round O(t^2) time, O(t^2) memory for t rounds: the reference for bounded learners, and fine for some
    thousands of examples. Guarantee when predictions are clipped to [-B, B] and |y| <= B: regret at most
    4 B^2 log det(I + K/lam) against every f, whose norm is charged lam |f|^2.

    Parameters
    ----------
    kernel : Kernel
    lam : float, default 1.0
        Ridge, > 0. At least 1e-12 k(x, x): below, rounding decides.
    clip : float or None
        Predictions are clipped to [-clip, clip].
    max_points : int or None
        Raise an error, before any change, instead of storing more points.

    Deviations from the paper: none; several outputs share one factor.

    References
    ----------
    Zhdanov, Kalnishkan. An Identity for Kernel Ridge Regression. ALT 2010.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(200, seed=0)
    >>> model = nystream.KernelRidge(nystream.Gaussian(0.5), lam=0.1)
    >>> p = model.run(X, y)
    >>> bool(((p[100:] - y[100:]) ** 2).mean() < 0.5 * y.var())
    True
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True
    vovk: ClassVar[bool] = False
    _row: RidgeRow | None = None  # the present model in compiled form, for single rows

    def __init__(
        self, kernel: Kernel, *, lam: float = 1.0, clip: float | None = None, max_points: int | None = None
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.lam = positive("lam", lam)
        self.clip = None if clip is None else positive("clip", clip)
        self.max_points = None if max_points is None else at_least("max_points", max_points, 1)

    def _start(self, d: int, outputs: int) -> None:
        self.factor_ = GramFactor(self.kernel, self.lam)
        self.factor_.start(d)
        self.e_ = Rows(outputs)
        self.meter_ = Meter(outputs, vovk=self.vovk, clip=self.clip)
        self._row = None

    def _emit(self, R: Array, s: Array) -> Array:
        """Return the predictions of the learner from ridge predictions R (n, K) and leverages s (n,)."""
        P = R / (1 + s)[:, None] if self.vovk else R
        return P if self.clip is None else np.clip(P, -self.clip, self.clip)

    def _predict(self, X: Array) -> Array:
        T = self.factor_.whiten(X)
        return self._emit(T @ self.e_.view, self._leverage(X, T))

    def _averaged(self, X: Array) -> Array:
        """Return the mean over rounds of the predictions (n, K) that the learner would have made for X. O(t^2) per row.

        The coordinates of x in the factor of round t are the first t of those in the factor as it is now, so that all
        ridge predictions are running sums of l e, and all leverages (k(x, x) - running sums of l^2)/lam.
        """
        P, n, e = np.empty((len(X), self.outputs_)), self.factor_.n, self.e_.view
        for i in range(0, len(X), BLOCK):
            rows = X[i : i + BLOCK]
            T, own = self.factor_.whiten(rows), self.kernel.diag(rows)
            seen = np.hstack([np.zeros((len(rows), 1)), np.cumsum(T * T, axis=1)[:, :-1]])
            s = np.maximum(own[:, None] - seen, 0.0) / self.lam
            for k in range(self.outputs_):
                R = np.hstack([np.zeros((len(rows), 1)), np.cumsum(T * e[:, k], axis=1)[:, :-1]])
                said = R / (1 + s) if self.vovk else R
                if self.clip is not None:
                    said = np.clip(said, -self.clip, self.clip)
                P[i : i + BLOCK, k] = said.sum(axis=1) / n
        return P

    def _leverage(self, X: Array, T: Array | None = None) -> Array:
        return self.factor_.leverage(X, T)

    def _step_one(self, x: Any, y: Any) -> float | None:
        p = self._one(x, y)
        return super()._step_one(x, y) if p is None else p

    def _one(self, x: Any, y: Any) -> float | None:
        """Do the round of one row in one call, or return None and do nothing if it needs the general code."""
        row = self._row or self._bound()
        if self.max_points is not None and self.factor_.n >= self.max_points:
            return None
        p = None if row is None else row.one(x, y)
        if row is None or p is None:
            return None
        factor = self.factor_
        before = factor.mark()
        try:
            factor.points_.append(x)
            factor.scale_.append(1.0)
            self.e_.append(row.entry)
            factor.trace_ += row.own
            row.learn()
        except BaseException:
            if factor.n == before[0]:
                factor.rewind(before)
                self.e_.truncate(before[0])
            self._row = None
            raise
        row.hold(*self._memory)
        return p

    @property
    def _memory(self) -> tuple[Array, ...]:
        factor, meter = self.factor_, self.meter_
        return factor.points_.view, factor.scale_.view, self.e_.view, meter.totals_, meter.columns_

    def _bound(self) -> RidgeRow | None:
        """Return the present model in compiled form; None with several outputs or a kernel in Python."""
        form = self.kernel.compiled if self.outputs_ == 1 else None
        if form is not None:
            clip = math.inf if self.clip is None else self.clip
            self._row = RidgeRow(form, self.factor_.factor, self.lam, 1e12 * self.lam, self.vovk, clip)
            self._row.hold(*self._memory)
        return self._row

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        self._check(x[None], 1)
        return super()._step(x, y, weight)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = np.empty_like(Y)
        w = np.ones(len(X)) if weights is None else weights
        row, before = 0, (self.factor_.mark(), self.meter_.totals_.copy(), self.meter_.columns_.copy())
        try:
            while row < len(X):
                stop = row
                while stop < len(X) and stop - row < BLOCK and w[stop] > 0:
                    stop += 1
                if stop == row:  # weight 0: the row is only predicted
                    stop += 1
                    P[row:stop] = self._predict(X[row:stop])
                else:
                    P[row:stop] = self._learn(X[row:stop], Y[row:stop], w[row:stop])
                row = stop
        except BaseException:  # all rows or none: a user's kernel may fail, and Ctrl-C may come at any time
            self._rewind(*before)
            raise
        return P

    def _rewind(self, mark: tuple[int, float], totals: Array, columns: Array) -> None:
        self.factor_.rewind(mark)
        self.e_.truncate(mark[0])
        self.meter_.totals_[:], self.meter_.columns_[:] = totals, columns
        self._row = None

    def _learn(self, X: Array, Y: Array, w: Array) -> Array:
        """Learn one block with weights > 0: psi = sqrt(w) phi with label sqrt(w) y."""
        alone = self._one(X[0], float(Y[0, 0])) if len(X) == 1 and w[0] == 1 and Y.shape[1] == 1 else None
        if alone is not None:  # a row gives the same bits as in the compiled single-row code
            return np.array([[alone]])
        self._row = None
        root = np.sqrt(w)
        T = self.factor_.whiten(X)
        R = T @ self.e_.view
        C = self.factor_.border(X, T, root)
        if len(X) == 1:
            E = root * (Y - R) / C
        else:
            E = linalg.solve_triangular(C, root[:, None] * (Y - R), lower=True)
            # rows of the block before t add to r_t what C says of them; y_t itself must not touch a bit of it
            R += np.tril(C, -1) @ E / root[:, None]
        s = C.diagonal() ** 2 / self.lam - 1  # w_t phi' A^-1 phi: the forecaster counts x_t with its weight
        P = self._emit(R, s)
        self.e_.extend(E)
        self.meter_.add(Y, R, P, s, w)
        return P

    @property
    def room(self) -> int | None:
        return None if self.max_points is None else self.max_points - self.size

    def _check(self, X: Array, learnt: int) -> None:
        n = self.factor_.n + learnt
        if self.max_points is not None and n > self.max_points:
            raise ValueError(
                f"{type(self).__name__} would store {n} points, more than "
                f"max_points={self.max_points}; use PKRR or NystromPKRR for long streams"
            )
        diagonal = self.kernel.diag(X)
        if not bool((diagonal >= 0).all()):
            row = int(np.argmin(diagonal >= 0))
            raise ValueError(f"{self.kernel!r} gives k(x, x) = {diagonal[row]:g} at row {row}; it must be at least 0")
        if self.lam < 1e-12 * float(diagonal.max()):
            raise ValueError(
                f"lam={self.lam!r} is below 1e-12 k(x, x) = {1e-12 * float(diagonal.max()):.1e}: rounding would "
                "decide; raise lam"
            )

    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are combinations (K, new) of those of the present outputs."""
        e = Rows(self.outputs_ + combination.shape[1])
        e.extend(np.hstack([self.e_.view, self.e_.view @ combination]))
        self.e_, self._row = e, None
        self._gained(combination.shape[1])
        self.meter_ = self.meter_.widened(combination)

    def merge(self, other: Self) -> Self:
        """Learn every row of `other`: exact, in any order and any tree."""
        same = type(other) is type(self) and other.get_params(deep=False) == self.get_params(deep=False)
        if not same:
            raise ValueError(f"merge needs two learners with equal parameters; got {self!r} and {other!r}")
        if not other.d_:
            return self
        if not self.d_:
            self._restore(copy.deepcopy(other._state()))
            return self
        labels = (other.factor_.matrix @ other.e_.view) / other.factor_.scale[:, None]  # L e = sqrt(w) y
        self._prepare(other.d_, labels)
        self._check(other.factor_.points, other.factor_.n)
        meter = copy.deepcopy(self.meter_)
        self._run(other.factor_.points, labels, other.factor_.scale**2)
        e = self.e_.view  # of the pool: best = lam |e|^2, and |f|^2 = |e|^2 - lam |L^-T e|^2
        coefficients = self.factor_.solve_transposed(e.T.copy())
        best = self.lam * (e**2).sum(axis=0)
        meter.merge(other.meter_, best, best - self.lam**2 * (coefficients**2).sum(axis=1))
        self.meter_, self._row = meter, None
        self.n_seen_ += other.n_seen_
        return self

    def _widen(self, d: int) -> None:
        self.factor_.widen(d)
        self._row = None

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._row = None

    @property
    def size(self) -> int:
        """Stored points."""
        return self.factor_.n if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return self.factor_.nbytes + self.e_.nbytes + self.meter_.nbytes if self.d_ else 0


class KernelAWV(KernelRidge):
    """Exact kernel Vovk-Azoury-Warmuth regression: ridge regression that already counts x_t when it predicts.

    The forecaster of `KernelRidge` divided by 1 + s_t, which is the ridge prediction with x_t added under label 0::

        p_t = k_t' (K_t + lam I)^-1 (y_1, ..., y_{t-1}, 0) = ridge_t / (1 + s_t)

    Same cost and parameters as `KernelRidge`. Guarantee, with no knowledge of B >= |y| and no clipping: regret at most
    B^2 log det(I + K/lam) against every f, whose norm is charged lam |f|^2. It shrinks predictions where s is
    large: a better worst case, usually a little worse than ridge on independent data.

    Deviations from the paper: none.

    References
    ----------
    Jezequel, Gaillard, Rudi. Efficient online learning with kernels for adversarial large scale problems. NeurIPS
    2019, arXiv:1902.09917. Gammerman, Kalnishkan, Vovk. On-line prediction with kernels and the complexity
    approximation principle. UAI 2004 (the same forecaster, as Kernel AAR).

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(200, seed=0)
    >>> model = nystream.KernelAWV(nystream.Gaussian(0.5), lam=0.1)
    >>> p = model.run(X, y)
    >>> model.regret() <= model.regret_bound()
    True
    """

    vovk: ClassVar[bool] = True


KernelAAR = KernelAWV
