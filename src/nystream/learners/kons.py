"""KONS: the online Newton step in the kernel's own space, exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.atoms import KernelNewton, NewtonRow
from nystream._core.landmarks import WhitenedRow
from nystream._core.linalg import Triangle
from nystream.data.inputs import as_labels
from nystream.dictionary.rows import Rows
from nystream.features.base import LARGEST, refuse_large
from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.bounds import AGAINST, BoundTerms
from nystream.learners.families.averaging import Averaging
from nystream.learners.families.loss import LossLearner
from nystream.learners.kons_bounds import (
    GAIN,
    GRAD,
    LEVERAGE,
    OUTSIDE,
    PREDICTION,
    ROUND,
    WIDTH,
    a_priori_dimension,
    sharp_terms,
)
from nystream.losses import Loss, as_loss
from nystream.losses.label_bound import LabelBound
from nystream.losses.steps import Eta, checked_eta, newton_steps, warn_if_on_kink
from nystream.runtime.params import at_least, one_of, positive
from nystream.runtime.types import Array

__all__ = ["KONS"]

BLOCK = 64
"""Rows that share one kernel block and one triangular solve."""
CHUNK = 512
"""Rows whose predictions are computed together."""


class KONS(LabelBound, LossLearner, Averaging):
    """Kernel online Newton step: logarithmic regret for curved losses against every function, at O(t^2) a round.

    A_t = lam I + sum_s eta_s g_s g_s' is the metric of the gradients g_s = l'(y_s, p_s) phi(x_s) in the kernel's space.
    Each round projects the function on the predictions that are allowed, then takes a Newton-like step::

        w_t = argmin { (w - u_t)' A_{t-1} (w - u_t) : |w(x_t)| <= clip },     p_t = w_t(x_t) = clip(u_t(x_t))
        u_{t+1} = w_t - A_t^-1 g_t

    Over the points with a gradient, d_i = l'_i sqrt(eta_i), a Cholesky factor L L' = D K D + lam I grows by a row a
    round. The gradients contribute A^-1 sum_i d_i b_i phi_i. The projections, also in rounds without a gradient,
    add coefficients c_i. With v = L^-1 (b - D K c/lam), a round takes one triangular solve::

        l = L^-1 (d_i k(x_i, x))     u(x) = l.v + k(x)'c/lam     s = phi' A^-1 phi = (k(x,x) - l.l)/lam
        h = u(x) - p,  c = -h/s,  v <- v - (c/lam) l
        if l' != 0:  append the row (d l, sqrt(lam (1 + d^2 s))) to L,  -1/sqrt(eta lam (1 + d^2 s)) to v

    Blocks share one kernel product and one triangular solve; rows that enter inside a block correct later ones.
    If d^2 k(x, x) is above 1e12 lam, beyond the digits of double precision, the row enters L with that limit. The
    guarantee still holds, but `ONS` or `ProsNKons`, which keep A itself, learn better then.
    Cost per round O(t^2) time and memory for t stored points; rounds without gradient and projection store nothing.
    Guarantee: with eta_t = sigma, the curvature of the loss on [-clip, clip], regret against any function with
    |f(x_t)| <= clip is at most (lam |f|^2 + sum_t g_t' A_t^-1 g_t) / 2, see `regret_bound`.

    Parameters
    ----------
    kernel : Kernel
    loss, clip, lam, eta
        As in `nystream.ONS`; lam is the paper's alpha. The default clip = 1 suits labels in [-1, 1]. It does not suit
        the hinge losses: their kink is at y p = 1, where clipped predictions lie, and rounding decides whether the
        round has a gradient (there is a warning). Take clip = 1.5 with "hinge" and "squared_hinge", 2 with
        "logistic".
    d_eff : float, default 1.0
        Effective dimension that eta = "sqrt" assumes, and "auto" where the loss has no curvature (hinge, absolute):
        eta_t = sqrt(d_eff/t)/(L clip), with which the paper's bound is O(L clip sqrt(T d_eff log T)). eta may also be a
        function of the round t = 1, 2, ...; rounds are then followed one by one, and the model cannot be saved.
    max_points : int or None
        Raise an error, before any change, instead of storing more points.

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
    total_loss_: float
    trace_: float
    _coef: Array | None = None  # coefficients of u, computed by the first prediction
    _index: npt.NDArray[np.intp] | None = None  # which stored points have a row in the factor, computed when needed
    _row: NewtonRow | None = None  # the present model in compiled form, for single rows

    def __init__(
        self,
        kernel: Kernel,
        *,
        loss: str | Loss = "squared",
        clip: float = 1.0,
        lam: float = 1.0,
        eta: Eta = "auto",
        d_eff: float = 1.0,
        max_points: int | None = None,
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.loss = loss
        self.clip = positive("clip", clip)
        self.lam = positive("lam", lam)
        self.eta = checked_eta(eta, functions=True)
        self.d_eff = positive("d_eff", d_eff)
        self.max_points = None if max_points is None else at_least("max_points", max_points, 1)
        self._loss = as_loss(loss)
        if self._loss.multiclass:
            raise TypeError(
                f"{type(self).__name__} has one output, {self._loss.name} needs one per class; use a binary loss, "
                "one-vs-rest through nystream.sklearn.OnlineKernelClassifier"
            )
        self._steps = newton_steps(self._loss, clip, eta, d_eff)
        self._newton = KernelNewton(self._loss, clip, lam, self._steps.constant, self._steps.scale)

    # -- learning ------------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        warn_if_on_kink(self._loss, self.clip)
        self.points_, self.record_, self.scale_, self.v_ = Rows(d), Rows(WIDTH), Rows(1), Rows(1)
        self.trace_ = self.total_loss_ = 0.0
        self.void_ = False
        self._factor = Triangle()
        self._row = None

    def _check(self, X: Array, learnt: int) -> None:
        refuse_large(self.kernel.diag(X), "k(x, x)", "scale the inputs")

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        self._check(x[None], 1)
        self._watch_labels(y)
        return self._block(x[None], y[None], self.n_seen_ + 1)[0]

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = np.empty((len(X), 1))
        mark, void = self._mark(), self.void_
        try:
            self._watch_labels(Y)
            rows = 1 if self._one_by_one else BLOCK
            for i in range(0, len(X), rows):
                part = slice(i, i + rows)
                P[part] = self._block(X[part], Y[part], self.n_seen_ + i + 1)
        except BaseException:
            self._rewind(mark)
            self.void_ = void
            raise
        return P

    def _block(self, X: Array, Y: Array, t: int) -> Array:
        """Do rounds t, t + 1, ... Everything that may fail comes before the first change."""
        if self._one_by_one:
            self._newton = self._single(X, Y, t)
        alone = self._one(X[0], float(Y[0, 0]), t) if len(X) == 1 else None
        if alone is not None:  # a row gives the same bits as in the compiled single-row code
            return np.array([[alone]])
        self._row = None
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

    @property
    def _one_by_one(self) -> bool:
        """Whether every round has its own constants, so that rounds cannot share a block."""
        return self._steps.rule is not None

    def _single(self, X: Array, Y: Array, t: int) -> KernelNewton:
        """Return the constants of round t for the row X (1, d)."""
        return KernelNewton(self._loss, self.clip, self.lam, self._steps.of(t), 0.0)

    def _store(
        self, X: Array, record: Array, T: Array, E: Array, v: Array, scale: Array, pivots: Array, own: Array
    ) -> None:
        """Store points with a coefficient outside the factor, a row in it, or both; E (r, n) are new coordinates."""
        outside, enters = record[:, OUTSIDE], record[:, GAIN] > 0
        if outside.any():
            self.v_.view[:, 0] -= outside @ T
        if len(v):
            C = np.ascontiguousarray((E[:, enters] * scale).T)  # strictly lower: a row gains by earlier ones only
            C.flat[:: len(C) + 1] = pivots
            self._factor.border(np.ascontiguousarray(scale[:, None] * T[enters]), C)
            self.scale_.extend(scale[:, None])
            self.v_.extend(v[:, None])
            self.trace_ += float(scale**2 @ own[enters])
        self.points_.extend(X)
        self.record_.extend(record)
        self._coef = None

    # -- one row -------------------------------------------------------------------------------------------------------
    def _step_one(self, x: Any, y: Any) -> float | None:
        p = self._one(x, y, self.n_seen_ + 1)
        return super()._step_one(x, y) if p is None else p

    def _one(self, x: Any, y: Any, t: int) -> float | None:
        """Do round t of one row in one call, or return None and do nothing if it needs the general code."""
        row = None if self._one_by_one else self._row or self._bound()
        if row is None or (self.max_points is not None and self.points_.n >= self.max_points):
            return None
        if row.full:
            self._hold(row)
        p = row.one(x, y, t, self.trace_, self._coin)
        if p is None:
            return None
        self.total_loss_ += row.loss
        if row.stored:
            row.learn(x)
            self.points_.advance()
            self.record_.advance()
            if row.entered:
                self.scale_.advance()
                self.v_.advance()
                self.trace_ += row.gained
            self._coef = None
        self._tossed(row, x)
        return p

    def _bound(self) -> NewtonRow | None:
        """Return the present model in compiled form, or None if only Python can evaluate the kernel."""
        form = self.kernel.compiled
        if form is not None:
            self._row = NewtonRow(self._newton, form, self._factor, LARGEST, self._limit, self._sampler())
            self._hold(self._row)
        return self._row

    def _hold(self, row: NewtonRow) -> None:
        for rows in (self.points_, self.record_, self.scale_, self.v_):
            rows.reserve(1)
        row.hold(self.points_.memory, self.record_.memory, self.scale_.memory, self.v_.memory, self.points_.n)

    @property
    def _coin(self) -> float:
        """Return the uniform of the next round, if rounds are sampled."""
        return 0.0

    def _sampler(self) -> WhitenedRow | None:
        """Return the compiled form of the state that `_coins` uses."""
        return None

    def _tossed(self, row: NewtonRow, x: Array) -> None:
        """Do `_sampled` for the round that `row` has just done."""

    def _coins(self, X: Array, gram: Array) -> tuple[Array | None, Array | None]:
        """Return which rows with a gradient enter the factor; here all of them."""
        return None, None

    def _sampled(self, X: Array, record: Array, odds: Array) -> None:
        """Update the state of `_coins` after the block has succeeded."""

    def _watch_labels(self, Y: Array) -> None:
        if self._note_labels(Y, stacklevel=6):
            self._row = None  # it was compiled with the limit

    @property
    def _label_bound(self) -> float:
        return self._steps.limit

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
        """Return what `_rewind` needs; everything else only grows."""
        return self.points_.n, self._factor.n, self.v_.view.copy(), self.trace_, self.total_loss_

    def _rewind(self, mark: tuple[Any, ...]) -> None:
        points, rows, v, self.trace_, self.total_loss_ = mark
        self.points_.truncate(points)
        self.record_.truncate(points)
        self._factor.truncate(rows)
        self.scale_.truncate(rows)
        self.v_.truncate(rows)
        self.v_.view[:] = v
        self._coef = self._index = self._row = None

    # -- the function --------------------------------------------------------------------------------------------------
    def _kernel_rows(self, X: Array) -> Array:
        return self.kernel(X, self.points_.view) if self.points_.n else np.zeros((len(X), 0))

    def _whitened(self, K: Array) -> Array:
        """Return L^-1 (d_i k(x_i, x)) of kernel rows K (n, points)."""
        if self._factor.n < self.points_.n:
            K = K[:, self._entered]
        return self._factor.solve(np.ascontiguousarray(K * self.scale_.view[:, 0]))

    @property
    def _entered(self) -> npt.NDArray[np.intp]:
        """Return which stored points have a row in the factor."""
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

    def _averaged(self, X: Array) -> Array:
        """Return the mean over rounds of clip(u_t(x)): O(n) per row, after O(n^3) once for projected points.

        A stored point changes u by c (k(x) - l(x).l) + v l_i(x), with its coefficient c outside the factor, its
        coordinates l when it came, and its entry v, from which later projections subtracted c l_i. So u_t(x) is a
        running sum.
        """
        record, n = self._record, self.points_.n
        if not n:
            return np.zeros((len(X), 1))
        outside, entered = record[:, OUTSIDE], self._entered
        before = np.searchsorted(entered, np.arange(n))  # rows of the factor when each point came
        projected = np.flatnonzero(outside)
        L = self._whitened(self._kernel_rows(self.points_.view[projected]))
        L[np.arange(L.shape[1]) >= before[projected, None]] = 0.0
        v = self.v_.view[:, 0] + outside[projected] @ L
        rounds = np.append(record[:, ROUND], self.n_seen_)
        lasts, P = np.diff(rounds), np.empty((len(X), 1))  # rounds that a function predicted in
        for i in range(0, len(X), CHUNK):
            K = self._kernel_rows(X[i : i + CHUNK])
            T = self._whitened(K)
            change = np.zeros(K.shape)
            change[:, entered] = T * v
            change[:, projected] += outside[projected] * (K[:, projected] - T @ L.T)
            said = np.clip(np.cumsum(change, axis=1), -self.clip, self.clip)
            P[i : i + CHUNK, 0] = said @ lasts / self.n_seen_
        return P

    # -- regret and its bounds -----------------------------------------------------------------------------------------
    def why_not(self, ability: str) -> str | None:
        if ability == "regret":
            return (
                "the best function in hindsight is not known while it runs: in Python, regret_against(values, Y) is "
                "the regret against the predictions of any function"
            )
        return super().why_not(ability)

    def regret_against(self, values: Any, Y: Any) -> float:
        """Return the cumulative loss minus that of a comparator with predictions `values` (n_seen,) for labels Y."""
        f = self._comparator(values)
        y = as_labels(Y, self.labels, len(f))[:, 0]
        return (self.total_loss_ if self.d_ else 0.0) - float(np.sum(self._loss.value(y, f)))

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return a bound on the regret against every f with |f|^2 <= norm2 and |f(x_t)| <= clip; see `bound_terms`.

        f may be any function of the kernel's space, so that `against` makes no difference. Infinite once a real label
        of a curved loss was beyond clip.
        """
        return self.bound_terms(self._norm2(norm2, changes), against=against).total

    def bound_terms(self, norm2: float, values: Any = None, *, against: str = "features") -> BoundTerms:
        """Return the terms of the sharp bound::

            1/2 [ lam norm2 + sum g' A_t^-1 g + sum (z_t eta_t - sigma) (g'(w_t - f))^2 ]

        z_t is 1 (in sketches: whether the round entered). `values` (n_seen,), the comparator's predictions, make the
        last sum exact; without them each of its terms is replaced by a bound that holds for every f. `against` makes no
        difference, see `regret_bound`.
        """
        one_of("against", against, AGAINST)
        positive("norm2", norm2, zero=True)
        f = None if values is None else self._comparator(values)
        if f is not None and np.abs(f).max(initial=0.0) > self.clip * (1 + 1e-9):
            raise ValueError(
                f"the bound holds against functions within [-clip, clip] = +-{self.clip!r}; scale values down"
            )
        record = self._record
        terms = sharp_terms(
            *(record[:, i] for i in (GRAD, PREDICTION, GAIN, LEVERAGE)),
            lam=self.lam,
            clip=self.clip,
            sigma=self._steps.sigma,
            norm2=norm2,
            f=None if f is None else f[record[:, ROUND].astype(int) - 1],
        )
        return terms._replace(excess=math.inf) if self.void_ else terms

    def published_bound(self, norm2: float, a_priori: bool = False) -> BoundTerms:
        """Return the bound of Theorem 1 of the paper: lam norm2 + d_onl/eta_T + 4 clip^2 L^2 sum_t (eta_t - sigma).

        d_onl is `online_dimension`; `a_priori` replaces it by d_eff(r) (1 + log(1 + kappa^2 T/r)), r = lam/(eta_1 L^2),
        of the raw kernel, which depends on the points alone; O(n^3). Steps of the paper never grow: eta_T stands for
        the smallest and eta_1 for the largest.
        """
        ridge = self.lam * positive("norm2", norm2, zero=True)
        if not self.n_seen_:
            return BoundTerms(ridge, 0.0, 0.0)
        eta, L = self._steps.at(np.arange(1, self.n_seen_ + 1)), self._loss.lipschitz(self.clip)
        dimension = self.online_dimension()
        if a_priori:
            dimension = a_priori_dimension(
                self.kernel, self._gradients()[0], self.lam / (float(eta.max()) * L * L), self.n_seen_
            )
        excess = 4 * (self.clip * L) ** 2 * float(np.maximum(eta - self._steps.sigma, 0.0).sum())
        excess = math.inf if self.void_ else excess
        return BoundTerms(ridge, dimension / float(eta.min()), excess)

    @property
    def pivots(self) -> Array:
        """Squares of the diagonal of L, one for each gradient in the metric: each at least lam."""
        return self._factor.diagonal**2 if self.d_ else np.zeros(0)

    def log_det(self) -> float:
        """Return log det(A_t / lam) = log det(I + D K D/lam), where D are the scales l' sqrt(eta)."""
        return float(2 * np.log(self._factor.diagonal / math.sqrt(self.lam)).sum()) if self.d_ else 0.0

    def online_dimension(self) -> float:
        """Return the sum over rounds of d^2 s/(1 + d^2 s), the leverage of the scaled point when it arrived."""
        record = self._record
        s = record[:, GAIN] * record[:, GRAD] ** 2 * record[:, LEVERAGE]
        return float((s / (1 + s)).sum())

    def effective_dimension(self) -> float:
        """Return tr D K D (D K D + lam I)^-1, the effective dimension of the gradients at this ridge. O(n^3)."""
        if not self.d_:
            return 0.0
        inverse = self._factor.solve(np.eye(self._factor.n))
        return float(self._factor.n - self.lam * np.vdot(inverse, inverse))

    @property
    def _record(self) -> Array:
        return self.record_.view if self.d_ else np.zeros((0, WIDTH))

    def _gradients(self) -> tuple[Array, Array, Array]:
        """Return points, derivatives and step sizes of all rounds with a gradient."""
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
        self._row = None

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
        self._coef = self._index = self._row = None
        super()._restore(state)
