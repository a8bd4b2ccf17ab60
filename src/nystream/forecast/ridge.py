"""Ridges on residuals: for each step ahead, least squares that correct the forecast of another member."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nystream.forecast.member import Arrival, Member, Origin
from nystream.forecast.recent import Recent, ages
from nystream.runtime.params import Params, one_of, positive
from nystream.runtime.types import Array

__all__ = ["Ridge", "Ridges"]

ROBUST = 4.0
"""An error counts as if it were at most so many mean absolute errors."""
TRUSTED = 30
"""Labels from which on the mean absolute error is known well enough for that."""
SLOWEST = 0.002
"""Step of the running mean absolute error from the 500th label on."""
STRIDES = ((64, 1), (128, 2), (256, 4), (math.inf, 8))
"""Before so many rows, one in so many steps is solved anew after each row: a ridge remembers 500 rows or more."""
WINDOW = 6
"""Rows of the short mean of residuals."""
NO_SEASON = 24
"""Rows of the long mean where there is no season."""
GROWTH = (0.5, 2.0)
"""Bounds of the ratio of the last cycle's mean to that of the cycle before it."""
TINY = 1e-12
"""Rounding, relative to the size of the numbers at hand: keeps divisors and pivots above 0."""
EXACT = 1e-9
"""Mean errors below this are those of rounding, as in constant labels: the next error replaces them."""


class Ridge(Params):
    """The setting of one ridge.

    Parameters
    ----------
    base : str or None
        Name of the member whose forecast is corrected; None corrects 0, which is an autoregression.
    inputs : str
        Groups of inputs, one letter each. r: residuals of the base: the last three, the means of the last 6 and of the
        last cycle, the one a cycle ago, and those of the target's slots. y: for each season the newest label of the
        target's slot. l: the last label. g: the newest label of the slot times the growth from the cycle before.
        Labels enter as their difference to the base.
    others : sequence of str
        Names of members whose difference to the base is an input as well.
    forgetting : float
        What a past row keeps of its weight after each label.
    name : str
    """

    def __init__(
        self, base: str | None, inputs: str, others: Sequence[str] = (), *, forgetting: float = 0.9995, name: str
    ) -> None:
        self.base = base
        self.inputs = inputs
        for letter in inputs:
            one_of("inputs", letter, ("r", "y", "l", "g"))
        self.others = others
        self.forgetting = positive("forgetting", forgetting, below=1.0 + TINY)
        self.name = name


class Ridges(Member):
    """Several ridges side by side, each with its own coefficients for every step: base + c z'theta.

    c is the deviation of all labels so far. With z the inputs of the origin in units of c, and u = (y - base)/c, every
    label teaches each step once (origin t - h, step h)::

        A <- lam A + w z z',   b <- lam b + w z u,   theta = (A + I)^-1 b,   w = min(1, 4 m/|u - z'theta|)

    with m the running mean of |u - z'theta|. Learning begins with the third label, when c is known. Inside a ridge a
    missing label counts as the ridge's own forecast of it, kept near the range of the labels. A ridge sleeps (nan) at a
    step until it has learnt as many labels there as the shortest season has slots, and wherever its base sleeps; others
    that sleep count as equal to the base.

    Parameters
    ----------
    ridges : sequence of Ridge
        Bases and others are members that come earlier in the list.
    """

    def __init__(self, ridges: Sequence[Ridge]) -> None:
        self.ridges = ridges
        self.names = tuple(ridge.name for ridge in ridges)
        used = [name for ridge in ridges for name in (ridge.base, *ridge.others) if name is not None]
        self.uses = tuple(dict.fromkeys(used))

    def start(self, horizon: int, seasons: tuple[int, ...]) -> None:
        r, self.horizon_, self.seasons_ = len(self.ridges), horizon, list(seasons)
        self.cycle_ = seasons[0] if seasons else NO_SEASON
        self.others_ = list(dict.fromkeys(name for ridge in self.ridges for name in ridge.others))
        widths = {"r": 6 + len(seasons) + bool(seasons), "y": len(seasons), "l": 1, "g": int(bool(seasons))}
        used = [
            [True, *(letter in ridge.inputs for letter in widths for _ in range(widths[letter]))]
            + [name in ridge.others for name in self.others_]
            for ridge in self.ridges
        ]
        self.used_ = np.array(used, dtype=float)
        self.first_label_ = 1 + widths["r"]
        p = self.used_.shape[1]
        self.A_, self.b_ = _by_entry(np.zeros((horizon, r, p, p))), np.zeros((horizon, r, p))
        self.theta_ = np.zeros((horizon, r, p))
        self.spread_, self.counts_ = np.zeros((horizon, r)), np.zeros((horizon, r))
        keep = horizon + self.cycle_ + max([self.cycle_, *seasons]) + 1
        self.residuals_, self.short_, self.long_, self.labels_, self.growth_ = (Recent(r, keep) for _ in range(5))
        self.mean_, self.squares_, self.n_ = 0.0, 0.0, 0
        self.least_, self.largest_ = math.inf, -math.inf
        self.scale_ = 1.0
        self._prepare()

    def _restore(self, state: dict[str, object]) -> None:
        super()._restore(state)
        if "horizon_" in state:
            self.A_ = _by_entry(self.A_)
            self._prepare()

    def _prepare(self) -> None:
        """Compute the places of all inputs, which one buffer holds, and make room for a product."""
        h = np.arange(1, self.horizon_ + 1)
        slots = [ages(self.horizon_, s) for s in self.seasons_]
        zero = np.zeros_like(h)
        residuals, short, long, labels, growth = range(5)
        columns = [(residuals, zero), (residuals, zero + 1), (residuals, zero + 2), (short, zero), (long, zero)]
        columns += [(residuals, age) for age in (zero + self.cycle_, *slots, *(s + self.cycle_ for s in slots[:1]))]
        columns += [(labels, age) for age in (*slots, zero, *slots[:1])]
        self._slots = np.column_stack([*slots, zero])
        self._back = h - 1  # rows between the origin of each step and the row before the label
        parts = (self.residuals_, self.short_, self.long_, self.labels_, self.growth_)
        together = np.concatenate([part.buffer_ for part in parts])
        for part, buffer in zip(parts, np.split(together, len(parts)), strict=True):
            part.buffer_ = buffer
        self._history = together.reshape(-1)
        r, width = len(self.ridges), together.shape[1]
        starts = width * (r * np.arange(len(parts))[:, None] + np.arange(r)) - 1  # (parts, R)

        def places(back: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Places of the inputs (H, R, columns), and of the growths (H, R), counted from the buffer's end."""
            inputs = [starts[part] - (age + back)[:, None] for part, age in columns]
            return np.stack(inputs, axis=2), starts[growth] - back[:, None]

        self._places = (places(zero), places(self._back))
        self._forgetting = np.array([ridge.forgetting for ridge in self.ridges])
        self._eye = np.eye(self.used_.shape[1])
        self._product = np.empty((*self._eye.shape, self.horizon_, r))

    # -- inputs ----------------------------------------------------------------------------------------------------
    def _inputs(self, base: Array, others: list[Array], *, is_past: bool) -> Array:
        """Return z (n, R, p) of the steps 1 to n: of the newest row, or (`is_past`) of each step's own origin."""
        n, first, k = len(base), self.first_label_, len(self.seasons_)
        places, of_growth = self._places[is_past]
        end, known = self.labels_.end_, self.labels_.count_
        last = first + k + 1
        z = np.empty((n, *self.used_.shape))
        z[..., 0] = 1.0
        z[..., 1 : last + (k > 0)] = self._history.take(places[:n] + end)
        if k:
            growth = self._history.take(of_growth[:n] + end)
            z[..., last] *= growth
        for j, forecast in enumerate(others):
            z[..., last + (k > 0) + j] = forecast[:, None]
        z[..., first:] -= base[..., None]
        if known <= self._slots.max() + self._back[-1]:
            age = self._slots[:n] + (self._back[:n, None] if is_past else 0)
            z[..., first:last] *= (age < known)[:, None]
            if k:
                z[..., last] *= age[:, :1] < known
        if k and not growth.all():
            z[..., last] *= growth > 0
        z[..., 1:] /= self.scale_
        z *= self.used_
        return np.nan_to_num(z, copy=False) if np.isnan(z.sum()) else z  # of members that sleep

    def _bases(self, forecasts: Mapping[str, Array], n: int) -> Array:
        """Forecasts of the bases (n, R)."""
        found = np.zeros((n, len(self.ridges)))
        for i, ridge in enumerate(self.ridges):
            if ridge.base is not None:
                found[:, i] = forecasts[ridge.base][:n]
        return found

    # -- the protocol ----------------------------------------------------------------------------------------------
    def learn(self, arrival: Arrival) -> None:
        n = min(self.horizon_, arrival.row)
        if n:
            z, base, own = self._recalled(arrival, n)
            if not arrival.is_missing and self.squares_ > 0:  # before that, c is not known
                self._update(z, (arrival.y - base) / self.scale_, (own - base) / self.scale_)
        filled: Any = arrival.y
        if arrival.is_missing:
            filled = np.clip(np.where(np.isnan(own[0]), arrival.filled, own[0]), *self._bounds()) if n else 0.0
        residual = np.nan_to_num(filled - base[0]) if n else 0.0 * self.used_[:, 0]
        if not arrival.is_missing:
            self._rescale(arrival.y)
        self._remember(filled, residual)
        stride = next(stride for rows, stride in STRIDES if arrival.row < rows)
        steps = slice(arrival.row % stride, None, stride)
        self.theta_[steps] = self._solved(self.A_[steps], self.b_[steps])

    def _solved(self, A: Array, b: Array) -> Array:
        """Solve (A + I)^-1 b; the identity grows with A, so that labels far from 0 do not make A singular."""
        added = 1 + TINY * np.trace(A, axis1=-2, axis2=-1)
        return np.linalg.solve(A + added[..., None, None] * self._eye, b[..., None])[..., 0]

    def _recalled(self, arrival: Arrival, n: int) -> tuple[Array, Array, Array]:
        """Inputs, bases and the ridges' forecasts (n, R) of a label for the n steps that could have forecast it."""
        base = self._bases(arrival.past, n)
        z = self._inputs(base, [arrival.past[name][:n] for name in self.others_], is_past=True)
        return z, base, base + self.scale_ * np.einsum("hrp,hrp->hr", z, self.theta_[:n])

    def _awake(self, forecasts: Array) -> Array:
        """Replace forecasts (n, R) of steps that have learnt fewer labels than a cycle has by nan."""
        return np.where(self.counts_[: len(forecasts)] >= self.cycle_, forecasts, math.nan)

    def _update(self, z: Array, u: Array, own: Array) -> None:
        n = len(z)
        known = ~np.isnan(u)  # where the base did not sleep
        kept = np.where(known, self._forgetting, 1.0)
        if not known.all():
            u, own, z = np.where(known, u, 0.0), np.where(known, own, 0.0), z * known[..., None]
        error = np.abs(u - own)
        counts, spread = self.counts_[:n], self.spread_[:n]
        counts += known
        exact = spread <= EXACT
        cap = np.where((counts > TRUSTED) & ~exact, ROBUST * spread, np.inf)
        w = np.where(error > cap, cap / np.maximum(error, TINY), 1.0)
        rate = np.where(exact, 1.0, np.maximum(1 / np.maximum(counts, 1.0), SLOWEST))
        spread += (np.minimum(error, cap + TINY) - spread) * rate
        weighted = z * w[..., None]
        columns, A = np.ascontiguousarray(z.transpose(2, 0, 1)), self.A_.transpose(2, 3, 0, 1)[:, :, :n]
        A *= kept
        A += np.multiply((columns * w)[:, None], columns, out=self._product[:, :, :n])
        self.b_[:n] *= kept[..., None]
        self.b_[:n] += weighted * u[..., None]

    def _bounds(self) -> tuple[float, float]:
        """Return the bounds of forecasts: the range of the labels, widened by its length on both sides.

        Where days are missing, forecasts of forecasts would grow without limit.
        """
        if self.n_ == 0:
            return 0.0, 0.0
        margin = self.largest_ - self.least_
        return self.least_ - margin, self.largest_ + margin

    def _rescale(self, y: float) -> None:
        self.least_, self.largest_ = min(self.least_, y), max(self.largest_, y)
        self.n_ += 1
        delta = y - self.mean_
        self.mean_ += delta / self.n_
        self.squares_ += delta * (y - self.mean_)
        self.scale_ = math.sqrt(self.squares_ / max(self.n_ - 1, 1)) or 1.0

    def _remember(self, filled: Array | float, residual: Array) -> None:
        self.residuals_.push(residual)
        self.labels_.push(filled)
        self.short_.push(_means(self.residuals_.last(WINDOW)))
        self.long_.push(_means(self.residuals_.last(self.cycle_)))
        growth = np.zeros(len(self.ridges))  # 0 stands for unknown
        if self.labels_.count_ > 2 * self.cycle_:
            both = self.labels_.last(2 * self.cycle_)
            before, now = _means(both[:, : self.cycle_]), _means(both[:, self.cycle_ :])
            far = np.abs(before) > EXACT * self.scale_
            growth = np.where(far, np.clip(now / np.where(far, before, 1.0), *GROWTH), 0.0)
        self.growth_.push(growth)

    def forecast(self, origin: Origin) -> Array:
        base = self._bases(origin.made, self.horizon_)
        z = self._inputs(base, [origin.made[name] for name in self.others_], is_past=False)
        return self._awake(base + self.scale_ * np.einsum("hrp,hrp->hr", z, self.theta_)).T

    def recall(self, arrival: Arrival) -> Array:
        n = min(self.horizon_, arrival.row)
        out = np.full((len(self.ridges), self.horizon_), math.nan)
        if n:
            out[:, :n] = self._awake(self._recalled(arrival, n)[2]).T
        return out

    @property
    def nbytes(self) -> int:
        arrays = (self.A_, self._product, self.b_, self.theta_, self.spread_, self.residuals_, self.labels_)
        return sum(a.nbytes for a in arrays) + 3 * self.growth_.nbytes


def _by_entry(A: Array) -> Array:
    """Return the same matrices (H, R, p, p), with the same entry of all of them side by side in memory."""
    return np.ascontiguousarray(A.transpose(2, 3, 0, 1)).transpose(2, 3, 0, 1)


def _means(rows: Array) -> Array:
    """The mean of each row; numpy's own costs three times as much for a few numbers."""
    return np.add.reduce(rows, axis=1) / rows.shape[1]
