"""Exact streaming least squares on explicit features: the Vovk-Azoury-Warmuth forecaster and online ridge."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np

from nystream._core.inputs import RowMap
from nystream._core.linalg import LDL, aligned_zeros
from nystream.runtime.deferred import linalg
from nystream.runtime.incremental import Task
from nystream.runtime.params import boolean, positive
from nystream.runtime.types import Array, Change
from nystream.solvers.base import Solver
from nystream.solvers.factored import Factored, padded_width
from nystream.solvers.meter import Meter
from nystream.solvers.moments import Moments

__all__ = ["AWV"]

AVERAGED = 64
"""Rows that are added to the mean function by one factorisation."""
BELOW = 0.5
"""Unlearning stops if a pivot falls below this share of the ridge, which learnt rows cannot cause."""


class AWV(Factored, Solver):
    """Exact streaming least squares with a ridge: ridge regression, or AWV, which already counts z_t.

    With A_t = lam I + sum_{s<=t} w_s z_s z_s' and b_t = sum_{s<=t} w_s y_s z_s::

        ridge  r_t = b_{t-1}' A_{t-1}^-1 z_t
        AWV    p_t = b_{t-1}' A_t^-1 z_t = r_t / (1 + w_t s_t),      s_t = z_t' A_{t-1}^-1 z_t

    The state is the factor A = L D L' with q = D^-1 L^-1 b (`Factored`). One pass over L predicts and learns in 2 r^2
    flops (r^2 for the quadratic form, r^2 to absorb z z'). It only adds positive terms, so rounding errors do not build
    up. `run` processes several rows per pass and gives the same bits as `step`; `predict` gives those of a `step` of
    weight 1. Several outputs share the factor, and ridge
    predictions are Z @ weights.

    O(r^2) time a row, r^2/2 numbers of memory for r features, whatever the length of the stream. A row of weight w
    counts as w rows (and the forecaster counts z_t with its weight); one of weight 0 is predicted and not learnt.
    `meter_` holds the regret bound.

    Parameters
    ----------
    lam : float, default 1.0
        Ridge, > 0.
    vovk : bool, default True
        True: predictions of AWV; False: of ridge regression.
    clip : float or None
        Predictions are clipped to [-clip, clip].
    average : bool, default False
        Keep the mean of the functions of all rounds, for `averaged`: r K numbers, and about twice the time.

    References
    ----------
    Vovk. Competitive on-line statistics. International Statistical Review 69, 2001. Azoury, Warmuth. Relative loss
    bounds for on-line density estimation with the exponential family. Machine Learning 43, 2001. Gill, Golub, Murray,
    Saunders. Methods for modifying matrix factorizations. Mathematics of Computation 28, 1974 (method C1).

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.solvers import AWV
    >>> solver = AWV(lam=0.5)
    >>> solver.start(dim=3, outputs=1)
    >>> Z = np.random.default_rng(0).normal(size=(100, 3))
    >>> P = solver.run(Z, Z @ [[1.0], [-2.0], [0.5]])
    >>> bool(np.allclose(solver.weights[:, 0], [1.0, -2.0, 0.5], atol=0.05))
    True
    """

    weighted: ClassVar[bool] = True

    engine: LDL
    meter_: Meter
    sum_: Array
    """(dim, K) sum of the weights of all rounds, with `average`."""
    rounds_: int
    """Number of rounds in `sum_`."""
    ground_: Array | None = None
    """(dim,) D of the initial matrix A_0, if it is not lam I."""

    def __init__(
        self, lam: float = 1.0, *, vovk: bool = True, clip: float | None = None, average: bool = False
    ) -> None:
        super().__init__(lam)
        self.vovk = vovk
        self.clip = None if clip is None else positive("clip", clip)
        self.average = boolean("average", average)

    def start(self, dim: int, outputs: int) -> None:
        super().start(dim, outputs)
        if self.average:
            self.sum_, self.rounds_ = np.zeros((dim, outputs)), 0
        self.meter_ = Meter(outputs, vovk=self.vovk, clip=self.clip)
        self._bind()

    def start_from(self, A: Array, b: Array | None = None, *, overwrite: bool = False) -> None:
        """Restart from a positive definite A_0 = A (dim, dim) in place of lam I, and b_0 = b (dim, K), 0 if None.

        For features in which a function's squared norm is not |w|^2: kernel rows of landmarks with A = lam K_mm are
        Nystrom features without the triangular solve for every row. In this class, lam I
        and lam |f|^2 then stand for A and w'Aw. O(dim^3). If A is not positive definite, an error is raised and nothing
        is changed. `overwrite`: A and b, C-ordered, may be overwritten, and only the lower triangle of A is read.
        """
        self._take(A, np.zeros((self.dim_, self.outputs_)) if b is None else b, overwrite=overwrite)
        self._settle()

    def starting_from(self, A: Array, b: Array) -> Task[None]:
        """Do `start_from` with `overwrite` in pieces."""
        yield from self._taking(A, b)
        self._settle()

    def _settle(self) -> None:
        self.ground_ = self.pivots
        self.meter_.totals_[:] = 0.0
        self.meter_.columns_[:] = 0.0
        if self.average:
            self.sum_, self.rounds_ = np.zeros((self.dim_, self.outputs_)), 0

    def predict(self, Z: Array, growth: Array | None = None) -> Array:
        """Return predictions (n, K). `growth` (n,) holds squares of features that the rows would append, which are 0 in
        A and b.
        """
        if growth is None or not self.vovk:
            return self.engine.query(Z, True)[0]
        R, s = self.engine.query(Z)
        P = R / (1 + s + growth / self.lam)[:, None]
        return P if self.clip is None else np.clip(P, -self.clip, self.clip)

    def step(self, z: Array, y: Array, weight: float = 1.0) -> Array:
        if self.average:
            self._accumulate(z[None], y[None], np.array([weight]))
        return self.engine.step(z, y, weight)

    def step_one(self, z: Array, y: float) -> float:
        """Do `step` for one output and weight 1, with plain numbers. It is the fastest way for single rows."""
        if self.average:
            self._accumulate(z[None], np.array([[y]]), np.ones(1))
        return self.engine.step_one(z, y)

    def one(self, features: RowMap, x: Any, y: Any) -> float | None:
        return None if self.average else self.engine.one_mapped(features, x, y, 0)

    def one_kept(self, features: RowMap, x: Any, y: Any, weight: float, rows: Array, at: int) -> float | None:
        """Do `one` with this weight, and write features, label and the weight 1 to row `at` of `rows`."""
        return self.engine.one_kept(features, x, y, weight, rows, at)

    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array:
        if not self.average:
            return self.engine.run(Z, Y, weights)
        P = np.empty((len(Z), self.outputs_))
        w = np.ones(len(Z)) if weights is None else weights
        for i in range(0, len(Z), AVERAGED):
            part = slice(i, i + AVERAGED)
            self._accumulate(Z[part], Y[part], w[part])
            P[part] = self.engine.run(Z[part], Y[part], None if weights is None else weights[part])
        return P

    # -- the mean function -----------------------------------------------------------------------------------------
    def averaged(self) -> Array:
        """Return the (dim, K) mean of the weights that made the predictions: f_t = A_{t-1}^-1 b_{t-1} for
        ridge, f_t = A_t^-1 b_{t-1}, which counts z_t, for AWV. Not clipped."""
        if self.meter_.forgot_:
            raise ValueError(
                "the mean of the functions is not known after `unlearn`, because the functions of single rounds "
                "are not stored"
            )
        return self.sum_ / max(self.rounds_, 1)

    def _accumulate(self, Z: Array, Y: Array, w: Array) -> None:
        """Add the weights of the next rounds to the sum.

        With psi = sqrt(w) z, C C' = I + Psi A^-1 Psi' and e = C^-1 (sqrt(w) y - Psi A^-1 b), the rows of
        V = C^-1 Psi A^-1 are A_{t-1}^-1 psi_t/C_tt. So the weights grow by e_t V_t in round t, and the function of AWV
        is that of ridge less (r_t/C_tt) V_t, where r_t = sqrt(w) y_t - C_tt e_t. O(n dim^2).
        """
        n, root = len(Z), np.sqrt(w)[:, None]
        psi, L, D, before = root * Z, self.factor, self.pivots[:, None], self.weights
        half = linalg.solve_triangular(L, psi.T, lower=True, unit_diagonal=True)
        C = np.linalg.cholesky(np.eye(n) + half.T @ (half / D))
        inside = linalg.solve_triangular(L, half / D, lower=True, trans="T", unit_diagonal=True)
        V = linalg.solve_triangular(C, inside.T, lower=True)
        e = linalg.solve_triangular(C, root * Y - psi @ before, lower=True)
        gains = np.arange(n - 1, -1, -1.0)[:, None] * e
        if self.vovk:
            own = C.diagonal()[:, None]
            gains -= root * Y / own - e
        self.sum_ += n * before + V.T @ gains
        self.rounds_ += n

    # -- diagnostics -----------------------------------------------------------------------------------------------
    def leverage(self, Z: Array) -> Array:
        """Return s = z'A^-1 z (n,), exact and never below 0."""
        return self.engine.query(Z)[1]

    def log_det(self) -> float:
        """Return log det(A / lam) = log det(I + K / lam) for the Gram matrix K of the learnt rows."""
        return float(-np.log(self._ground * self.dinv_[: self.dim_]).sum())

    def effective_dimension(self, prior: Array | None = None) -> float:
        """Return tr K (K + lam I)^-1 = dim - lam tr A^-1. O(dim^3). `prior` as in `merge`."""
        root = np.linalg.cholesky(self._prior(prior))  # tr A_0 A^-1 = the sum over its columns c of c'A^-1 c
        return float(self.dim_ - self.leverage(np.ascontiguousarray(root.T)).sum())

    def std(self, Z: Array) -> Array:
        """Return (n, K) predictive standard deviations sqrt(best/n (1 + s)), where n is the sum of weights."""
        return np.sqrt((1 + self.leverage(Z))[:, None] * self.meter_.variance)

    # -- changes of the model ---------------------------------------------------------------------------------------
    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are Y @ combination (K, new). This is exact: least squares is linear in Y.

        The meter of the new outputs is that of `Meter.widened`.
        """
        wide = aligned_zeros(len(self.q_), padded_width(self.outputs_ + combination.shape[1]))
        wide[:, : self.outputs_] = self.q_[:, : self.outputs_]
        wide[:, self.outputs_ : self.outputs_ + combination.shape[1]] = self.q_[:, : self.outputs_] @ combination
        self.q_ = wide
        if self.average:
            self.sum_ = np.hstack([self.sum_, self.sum_ @ combination])
        self.meter_ = self.meter_.widened(combination)
        self.outputs_ += combination.shape[1]
        self._bind()

    def grow(self, outputs: int) -> None:
        """Add outputs whose labels were 0 in every round so far."""
        self.add_outputs(np.zeros((self.outputs_, outputs - self.outputs_)))

    def merge(self, other: Self, prior: Array | None = None) -> Self:
        """Become the model of both streams: A = A_1 + A_2 - lam I, b = b_1 + b_2. Exact, in any order and any tree.

        It costs as much as 2 dim rows. prior: the initial matrix of both models, if they used `start_from`. It is not
        stored.
        """
        if not isinstance(other, AWV) or repr(other) != repr(self):
            raise ValueError(f"merge needs two models with equal parameters; got {self!r} and {other!r}")
        if (self.dim_, self.outputs_) != (other.dim_, other.outputs_):
            raise ValueError(
                f"merge needs equal features and outputs; got {self.dim_} x {self.outputs_} and "
                f"{other.dim_} x {other.outputs_}"
            )
        best, charge = self._pool(other, other.meter_.best, self._prior(prior))
        self.meter_.merge(other.meter_, best, charge)
        if self.average:
            self.sum_ = self.sum_ + other.sum_
            self.rounds_ += other.rounds_
        return self

    def learn_moments(self, moments: Moments, prior: Array | None = None) -> None:
        """Learn the rows of these sums, which has no prediction for any of them. Exact, up to rounding. O(dim^3).

        `prior` as in `merge`. Refuses, with nothing changed, sums that are not positive definite by rounding.
        """
        ground = self._prior(prior)
        A = ground + moments.products
        bulk = type(self)(self.lam, vovk=self.vovk, clip=self.clip)
        bulk.start(self.dim_, self.outputs_)
        bulk._take(np.ascontiguousarray(A), moments.targets.copy(), overwrite=True)
        own = moments.squares - np.einsum("ik,ik->k", moments.targets, bulk.weights)
        best, _ = self._pool(bulk, np.maximum(own, 0.0), ground)
        self.meter_.learn(best, moments.largest, moments.weight, moments.rows)

    def unlearn(self, Z: Array, Y: Array, weights: Array | None = None) -> None:
        """Remove learnt rows: A -= w z z', b -= w y z. Exact, in any order.

        O(r^2) per row. If A without the rows would be less than the ridge, they cannot have been learnt: an error is
        raised and nothing is changed. Afterwards the regret is unknown: the losses of those rounds are not stored.
        """
        w = np.ones(len(Z)) if weights is None else weights
        trial = type(self)(self.lam, vovk=self.vovk, clip=self.clip)
        trial._restore(self._state())
        done, R, s = trial.engine.remove(Z, Y, w)
        if done < len(Z) or (trial.dinv_[: self.dim_] * self._ground).max() * BELOW > 1:
            raise ValueError(
                f"unlearn: rows up to row {min(done, len(Z) - 1)} cannot all have been learnt, or not with these "
                "weights: without them A would be less than its ridge. Nothing was changed"
            )
        self.tiles_[:], self.dinv_[:], self.q_[:] = trial.tiles_, trial.dinv_, trial.q_
        self.meter_.forget(Y, R, w * s, w)

    def fade(self, factor: float) -> None:
        """Multiply A and b by the factor, ridge included. The weights do not change. O(dim)."""
        self.ground_ = factor * self._ground
        self.dinv_[: self.dim_] /= factor

    def rebase(self, change: Change, dim: int) -> None:
        """Follow a map that appends coordinates, 0 in every row so far. Any other change raises an error."""
        appends = change.transport is not None and np.array_equal(change.transport, np.eye(dim, self.dim_))
        if not appends or dim < self.dim_:
            raise TypeError(
                "AWV is exact because past rows keep their features: it can follow a map that appends coordinates, not "
                "one that moves or starts anew. Use a fixed map (Taylor, Fourier, Nystrom with given landmarks)"
            )
        self.widen(dim)

    def widen(self, dim: int) -> None:
        """Append features up to `dim`, 0 in every row so far: A gains lam on its diagonal, b zeros. O(dim^2)."""
        if dim == self.dim_:
            return
        if self.average:
            self.sum_ = np.pad(self.sum_, ((0, dim - self.dim_), (0, 0)))
        super().widen(dim)
        if self.ground_ is not None:
            self.ground_ = np.append(self.ground_, np.full(dim - len(self.ground_), self.lam))
        self._bind()

    @staticmethod
    def nbytes_for(dim: int, outputs: int) -> float:
        """Return the bytes of a solver of this size: half a matrix, and a column for every output."""
        return 8.0 * (dim * dim / 2 + dim * outputs)

    @property
    def nbytes(self) -> int:
        ground = 0 if self.ground_ is None else self.ground_.nbytes
        return super().nbytes + ground + self.meter_.nbytes

    # -- machinery -------------------------------------------------------------------------------------------------
    @property
    def _ground(self) -> Array:
        """(dim,) D of the initial matrix, a lower bound of A and of the pivots."""
        return np.full(self.dim_, self.lam) if self.ground_ is None else self.ground_

    def _pool(self, other: Self, best: Array, ground: Array) -> tuple[Array, Array]:
        """Take in A and b of `other`, whose best in hindsight is `best`; both (K,): the best of the pool, and what its
        function is charged for its norm."""
        pieces = [(model.factor, model.pivots, model.weights) for model in (self, other)]
        self._add(other, ground)
        w = self.weights
        charge = (w * (ground @ w)).sum(axis=0)
        # pooled best without cancellation: each stream's own, plus the distance of its minimiser from the common one
        apart = sum((D[:, None] * (L.T @ (w - v)) ** 2).sum(axis=0) for L, D, v in pieces)
        return np.maximum(self.meter_.best + best + apart - charge, 0.0), charge

    def _add(self, other: Self, ground: Array) -> None:
        """Do A += A_2 - ground and b += b_2 on the factor.

        The other factor is learnt as rows: A_2 = L D L' and b_2 = L D q are dim rows, the columns of L, with weights
        D and labels q. The common initial matrix is then removed once. Factoring A_1 + A_2 instead would lose twice as
        many digits.
        """
        trial = type(self)(self.lam, vovk=self.vovk, clip=self.clip)
        trial._restore(copy.deepcopy(self._state()))
        trial.engine.run(np.ascontiguousarray(other.factor.T), np.ascontiguousarray(other._q), other.pivots)
        roots = np.ascontiguousarray(np.linalg.cholesky(ground).T)
        none = np.zeros((self.dim_, self.outputs_))
        done, _, _ = trial.engine.remove(roots, none, np.ones(self.dim_))
        if done < self.dim_:
            raise ValueError(f"A is not positive definite, by rounding, at feature {done}; use a larger ridge")
        self.tiles_[:], self.dinv_[:], self.q_[:] = trial.tiles_, trial.dinv_, trial.q_
        self.dinv_[: self.dim_] = np.minimum(trial.dinv_[: self.dim_], 1 / self._ground)  # A is at least what it was

    def _prior(self, prior: Array | None) -> Array:
        """Return the initial matrix (dim, dim)."""
        if self.ground_ is None:
            return self.lam * np.eye(self.dim_)
        if prior is None:
            raise ValueError("this model was started from a matrix, which it does not keep; give it as `prior`")
        return prior

    def _bind(self) -> None:
        """Connect the compiled code to the arrays of the state."""
        state = (self.tiles_, self.dinv_, self.q_, self.meter_.totals_, self.meter_.columns_)
        self.engine = LDL(self.dim_, self.outputs_, *state, self.vovk, self.clip)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "tiles_" in state:
            self._bind()
