"""KONS: the online Newton step in the kernel's own space, exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.gram.kons import KernelNewton
from nystream._core.linalg.cholesky import Triangle
from nystream.dictionary.rows import Rows
from nystream.features.base import refuse_large
from nystream.inputs import as_labels
from nystream.kernels.base import Kernel
from nystream.learners.families.loss import LossLearner
from nystream.learners.kons_bounds import BoundTerms, a_priori_dimension, sharp_terms
from nystream.losses import Loss, as_loss
from nystream.losses.steps import checked_eta, newton_steps, warn_if_on_kink, warn_of_label
from nystream.params import at_least, positive
from nystream.types import Array

__all__ = ["KONS"]

BLOCK = 64
"""Rows that share one kernel block and one triangular solve."""
CHUNK = 512
"""Rows whose predictions are computed together."""
OUTSIDE, GRAD, PREDICTION, GAIN, LEVERAGE, ROUND, WIDTH = range(7)
"""Columns of `record_`, one row per stored point; the compiled rounds count on this order."""


class KONS(LossLearner):
    """Kernel online Newton step: logarithmic regret for curved losses against every function, at O(t^2) a round.

    A_t = lam I + sum_s eta_s g_s g_s' is the metric of the gradients g_s = l'(y_s, p_s) phi(x_s) in the kernel's space.
    Each round projects the function on the predictions that are allowed, then takes a Newton-like step::

        w_t = argmin { (w - u_t)' A_{t-1} (w - u_t) : |w(x_t)| <= clip },     p_t = w_t(x_t) = clip(u_t(x_t))
        u_{t+1} = w_t - A_t^-1 g_t

    Over the points with a gradient, d_i = l'_i sqrt(eta_i), a Cholesky factor L L' = D K D + lam I grows by a row a
    round. What the gradients alone contribute is A^-1 sum_i d_i b_i phi_i; the projections, which need not have a
    gradient, add coefficients c_i "outside" of it. With v = L^-1 (b - D K c/lam), one triangular solve serves a round::

        l = L^-1 (d_i k(x_i, x))     u(x) = l.v + k(x)'c/lam     s = phi' A^-1 phi = (k(x,x) - l.l)/lam
        h = u(x) - p,  c = -h/s,  v <- v - (c/lam) l
        if l' != 0:  append the row (d l, sqrt(lam (1 + d^2 s))) to L,  -1/sqrt(eta lam (1 + d^2 s)) to v

    Blocks share one kernel product and one triangular solve; rows that enter inside a block correct those after them.
    Where d^2 k(x, x) is above 1e12 lam, which double precision could not tell from infinity, the row enters L with that
    size: the guarantee holds all the same, but `ONS` or `ProsNKons`, which keep A itself, learn better there.
    Cost per round O(t^2) time and memory for t stored points; rounds without gradient and projection store nothing.
    Guarantee: with eta_t = sigma, the curvature of the loss on [-clip, clip], regret against any function with
    |f(x_t)| <= clip is at most (lam |f|^2 + sum_t g_t' A_t^-1 g_t) / 2, see `regret_bound`.

    Parameters
    ----------
    kernel : Kernel
    loss, clip, lam, eta
        As in `nystream.ONS`; lam is the paper's alpha.
    max_points : int or None
        Refuse, before anything changes, to store more points than this.

    Deviations from the paper: its dual form divides by l', which loses the projection of rounds without a gradient;
    the form above does not divide. The step size is sigma itself, for which the bound holds with a factor 1/2.

    References
    ----------
    Calandriello, Lazaric, Valko. Second-Order Kernel Online Convex Optimization with Adaptive Sketching. ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import KONS
    >>> y = np.resize([-1.0, 1.0], 200)  # the same point with alternating labels; f = 0 is the best in hindsight
    >>> model = KONS(Gaussian(1.0))
    >>> p = model.run(np.ones((200, 1)), y)
    >>> round(model.regret_against(np.zeros(200), y), 6), round(model.regret_bound(norm2=0.0), 6)
    (16.072607, 17.009407)
    """

    points_: Rows
    record_: Rows
    scale_: Rows
    v_: Rows
    trace_: float
    total_loss_: float
    _factor: Triangle
    _coef: Array | None = None  # coefficients of u, once a prediction asked for them
    _index: npt.NDArray[np.intp] | None = None  # which stored points have a row in the factor, once it was asked for

    def __init__(
        self,
        kernel: Kernel,
        *,
        loss: str | Loss = "squared",
        clip: float = 1.0,
        lam: float = 1.0,
        eta: str | float = "auto",
        max_points: int | None = None,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise ValueError(f"kernel must be a kernel such as Gaussian(1.0), got {kernel!r}")
        self.kernel = kernel
        self.loss = loss
        self.clip = positive("clip", clip)
        self.lam = positive("lam", lam)
        self.eta = checked_eta(eta)
        self.max_points = None if max_points is None else at_least("max_points", max_points, 1)
        self._loss = as_loss(loss)
        if self._loss.multiclass:
            raise TypeError(
                f"{type(self).__name__} has one output, {self._loss.name} needs one per class; use a binary loss, "
                "one-vs-rest through nystream.sklearn.OnlineKernelClassifier"
            )
        self._steps = newton_steps(self._loss, clip, eta)
        self._limit = self._steps.limit
        self._newton = KernelNewton(self._loss, clip, lam, self._steps.constant, self._steps.scale)

    # -- learning ------------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        warn_if_on_kink(self._loss, self.clip)
        self.points_, self.record_, self.scale_, self.v_ = Rows(d), Rows(WIDTH), Rows(1), Rows(1)
        self.trace_ = self.total_loss_ = 0.0
        self._factor = Triangle()

    def _check(self, X: Array, learnt: int) -> None:
        refuse_large(self.kernel.diag(X), "k(x, x)", "scale the inputs")

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        if abs(y[0]) > self._limit:
            self._warn_once()
        self._check(x[None], 1)
        return self._block(x[None], y[None], self.n_seen_ + 1)[0]

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        if self._limit < math.inf and np.abs(Y).max(initial=0.0) > self._limit:
            self._warn_once()
        P = np.empty((len(X), 1))
        mark = self._mark()
        try:
            for i in range(0, len(X), BLOCK):
                part = slice(i, i + BLOCK)
                P[part] = self._block(X[part], Y[part], self.n_seen_ + i + 1)
        except BaseException:
            self._rewind(mark)
            raise
        return P

    def _block(self, X: Array, Y: Array, t: int) -> Array:
        """Rounds t, t + 1, ... Whatever can fail does so before anything changes."""
        K, gram = self._kernel_rows(X), self.kernel(X, X)
        T, own = self._whitened(K), gram.diagonal().copy()
        f = T @ self.v_.view[:, 0] + K @ self.record_.view[:, OUTSIDE]
        G = np.ascontiguousarray(gram - T @ T.T)
        record, loss, E, v, scale, pivots, odds = self._newton.rounds(
            f, G, own, Y, t, self.trace_, *self._coins(X, gram)
        )
        stored = (record[:, GAIN] > 0) | (record[:, OUTSIDE] != 0)
        new = int(np.count_nonzero(stored))
        self._check_room(new)
        self.total_loss_ += loss
        self._sampled(X, record, odds)
        if new:
            self._store(X[stored], record[stored], T[stored], E[:, stored], v, scale, pivots, own[stored])
        return record[:, PREDICTION, None].copy()

    def _store(
        self, X: Array, record: Array, T: Array, E: Array, v: Array, scale: Array, pivots: Array, own: Array
    ) -> None:
        """Points with a coefficient outside the factor, a row in it, or both; E (r, n) are coordinates gained since."""
        outside, enters = record[:, OUTSIDE], record[:, GAIN] > 0
        if outside.any():
            self.v_.view[:, 0] -= outside @ T
        if len(v):
            C = np.ascontiguousarray((E[:, enters] * scale).T)  # strictly lower: a row gains by earlier ones only
            C.flat[:: len(C) + 1] = pivots
            self._factor.append(np.ascontiguousarray(scale[:, None] * T[enters]), C)
            self.scale_.extend(scale[:, None])
            self.v_.extend(v[:, None])
            self.trace_ += float(scale**2 @ own[enters])
        self.points_.extend(X)
        self.record_.extend(record)
        self._coef = None

    def _coins(self, X: Array, gram: Array) -> tuple[Array | None, Array | None]:
        """What decides whether rows with a gradient enter the factor; here all do."""
        return None, None

    def _sampled(self, X: Array, record: Array, odds: Array) -> None:
        """The block is certain: let what `_coins` looked at follow."""

    def _warn_once(self) -> None:
        self._limit = math.inf
        warn_of_label(self.clip, stacklevel=5)

    @property
    def room(self) -> int | None:
        return None if self.max_points is None else self.max_points - self.size

    def _check_room(self, new: int) -> None:
        if self.max_points is not None and self.points_.n + new > self.max_points:
            raise ValueError(
                f"{type(self).__name__} would store {self.points_.n + new} points, more than "
                f"max_points={self.max_points}; use ProsNKons for long streams"
            )

    def _mark(self) -> tuple[Any, ...]:
        """What `_rewind` needs; everything else only grows."""
        return self.points_.n, self._factor.n, self.v_.view.copy(), self.trace_, self.total_loss_

    def _rewind(self, mark: tuple[Any, ...]) -> None:
        points, rows, v, self.trace_, self.total_loss_ = mark
        self.points_.truncate(points)
        self.record_.truncate(points)
        self._factor.truncate(rows)
        self.scale_.truncate(rows)
        self.v_.truncate(rows)
        self.v_.view[:] = v
        self._coef = self._index = None

    # -- the function --------------------------------------------------------------------------------------------------
    def _kernel_rows(self, X: Array) -> Array:
        return self.kernel(X, self.points_.view) if self.points_.n else np.zeros((len(X), 0))

    def _whitened(self, K: Array) -> Array:
        """L^-1 (d_i k(x_i, x)) of kernel rows K (n, points)."""
        if self._factor.n < self.points_.n:
            K = K[:, self._entered]
        return self._factor.solve(np.ascontiguousarray(K * self.scale_.view[:, 0]))

    @property
    def _entered(self) -> npt.NDArray[np.intp]:
        """Which stored points have a row in the factor."""
        if self._index is None or len(self._index) != self._factor.n:
            self._index = np.flatnonzero(self.record_.view[:, GAIN])
        return self._index

    @property
    def points(self) -> Array:
        """(n, d) stored points."""
        return self.points_.view

    @property
    def coef(self) -> Array:
        """(n,) coefficients of the function before projection on the stored points; O(n^2) after a change."""
        if self._coef is None:
            coef = self.record_.view[:, OUTSIDE].copy()
            q = self._factor.solve(self.v_.view.T.copy(), transposed=True)[0]
            coef[self._entered] += self.scale_.view[:, 0] * q
            self._coef = coef
        return self._coef

    def _predict(self, X: Array) -> Array:
        P, coef = np.empty((len(X), 1)), self.coef
        for i in range(0, len(X), CHUNK):
            P[i : i + CHUNK, 0] = self._kernel_rows(X[i : i + CHUNK]) @ coef
        return np.clip(P, -self.clip, self.clip)

    # -- what it promised and what it delivered ------------------------------------------------------------------------
    def regret_against(self, values: Any, Y: Any) -> float:
        """Cumulative loss so far minus that of a comparator that predicted `values` (n_seen,) where labels were Y."""
        f = self._comparator(values)
        y = as_labels(Y, self.labels, len(f))[:, 0]
        return (self.total_loss_ if self.d_ else 0.0) - float(np.sum(self._loss.value(y, f)))

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0) -> float:
        """Bound on the regret so far against every f with |f|^2 <= norm2 and |f(x_t)| <= clip; see `bound_terms`."""
        return self.bound_terms(self._norm2(norm2, changes)).total

    def bound_terms(self, norm2: float, values: Any = None) -> BoundTerms:
        """The sharp bound, term by term::

            1/2 [ lam norm2 + sum g' A_t^-1 g + sum (z_t eta_t - sigma) (g'(w_t - f))^2 ]

        z_t is 1 (in sketches: whether the round entered). `values` (n_seen,), the comparator's predictions, make the
        last sum exact; without them each of its terms is replaced by a bound that holds for every f.
        """
        f = None if values is None else self._comparator(values)
        if f is not None and np.abs(f).max(initial=0.0) > self.clip * (1 + 1e-9):
            raise ValueError(
                f"the bound holds against functions within [-clip, clip] = +-{self.clip!r}; scale values down"
            )
        record = self._record
        return sharp_terms(
            *(record[:, i] for i in (GRAD, PREDICTION, GAIN, LEVERAGE)),
            lam=self.lam,
            clip=self.clip,
            sigma=self._steps.sigma,
            norm2=norm2,
            f=None if f is None else f[record[:, ROUND].astype(int) - 1],
        )

    def published_bound(self, norm2: float, a_priori: bool = False) -> BoundTerms:
        """Theorem 1 of the paper: lam norm2 + d_onl/eta_T + 4 clip^2 L^2 sum_t (eta_t - sigma).

        d_onl is `online_dimension`; `a_priori` replaces it by d_eff(r) (1 + log(1 + kappa^2 T/r)), r = lam/(eta_1 L^2),
        of the raw kernel, which depends on the points alone; O(n^3).
        """
        if not self.n_seen_:
            return BoundTerms(self.lam * norm2, 0.0, 0.0)
        eta, L = self._steps.at(np.arange(1, self.n_seen_ + 1)), self._loss.lipschitz(self.clip)
        dimension = self.online_dimension()
        if a_priori:
            dimension = a_priori_dimension(self.kernel, self._gradients()[0], self.lam / (eta[0] * L * L), self.n_seen_)
        excess = 4 * (self.clip * L) ** 2 * float(np.maximum(eta - self._steps.sigma, 0.0).sum())
        return BoundTerms(self.lam * norm2, dimension / float(eta[-1]), excess)

    @property
    def pivots(self) -> Array:
        """Squares of the diagonal of L, one for each gradient in the metric: each at least lam."""
        return self._factor.diagonal**2 if self.d_ else np.zeros(0)

    def log_det(self) -> float:
        """log det(A_t / lam) = log det(I + D K D/lam), D the scales l' sqrt(eta)."""
        return float(2 * np.log(self._factor.diagonal / math.sqrt(self.lam)).sum()) if self.d_ else 0.0

    def online_dimension(self) -> float:
        """Sum over rounds of d^2 s/(1 + d^2 s), the leverage of the scaled point when it arrived."""
        record = self._record
        s = record[:, GAIN] * record[:, GRAD] ** 2 * record[:, LEVERAGE]
        return float((s / (1 + s)).sum())

    def effective_dimension(self) -> float:
        """tr D K D (D K D + lam I)^-1: how many directions the gradients really have at this ridge. O(n^3)."""
        if not self.d_:
            return 0.0
        inverse = self._factor.solve(np.eye(self._factor.n))
        return float(self._factor.n - self.lam * np.vdot(inverse, inverse))

    @property
    def _record(self) -> Array:
        return self.record_.view if self.d_ else np.zeros((0, WIDTH))

    def _gradients(self) -> tuple[Array, Array, Array]:
        """Points, derivatives and step sizes of the rounds with a gradient, whether they entered the factor or not."""
        record = self._record
        live = record[:, GRAD] != 0
        points = self.points_.view[live] if self.d_ else np.zeros((0, 1))
        return points, record[live, GRAD], self._steps.at(record[live, ROUND])

    def _comparator(self, values: Any) -> Array:
        f = as_labels(values, "real", self.n_seen_, name="values")
        if f.shape[1] != 1:
            raise ValueError(f"values must be one number for each of the {self.n_seen_} rounds, got shape {f.shape}")
        return f[:, 0]

    # -- the rest of a learner -----------------------------------------------------------------------------------------
    def _widen(self, d: int) -> None:
        self.points_ = self.points_.widened(d)

    @property
    def size(self) -> int:
        """Stored points."""
        return self.points_.n if self.d_ else 0

    @property
    def nbytes(self) -> int:
        parts = (self.points_, self.record_, self.scale_, self.v_, self._factor) if self.d_ else ()
        return sum(part.nbytes for part in parts)

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return {**state, "factor_": self._factor.matrix} if "points_" in state else state

    def _restore(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "factor_" in state:
            self._factor = Triangle(state.pop("factor_"))
        self._coef = self._index = None
        super()._restore(state)
