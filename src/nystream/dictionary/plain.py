"""The expansion and its budget rules in plain NumPy, as the specification of `_core.expansions`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.kernels import rounded
from nystream.dictionary.budget import Budget
from nystream.dictionary.expansion import Expansion
from nystream.kernels.base import Kernel
from nystream.runtime.types import Array

__all__ = ["RIDGE", "PlainExpansion", "admit", "expire", "oldest"]

RIDGE = 1e-10
"""Ridge of Gram matrices in projections, in units of k(x, x)."""
GOLDEN = (math.sqrt(5) - 1) / 2
"""The ratio by which golden-section search shortens its interval."""
NARROW = 1e-6
"""Width of the interval at which the search for a merged point ends."""
TINY = 1e-100
"""A scale below this is multiplied into the coefficients."""


class PlainExpansion(Expansion):
    """f = S sum_i a_i k(x_i, .) as plain arrays, updated in every round.

    points (m, d), a (m, K), sums (m, K): the coefficients S a_i summed over the rounds begun; own (m,) k(x_i, x_i).
    `begin` sets x, its kernel row k (m,) and k(x, x).
    """

    def __init__(self, kernel: Kernel, *, limit: int | None = None, dtype: str = "float64") -> None:
        super().__init__(kernel, limit=limit, dtype=dtype)
        self._block = np.empty((0, 0))

    def start(self, d: int, outputs: int = 1) -> None:
        self._points, self._norms, self._birth = np.empty((0, d)), np.empty(0), np.empty(0, dtype=np.int64)
        self.a, self.sums = np.empty((0, outputs)), np.empty((0, outputs))
        self._scale, self._rounds = 1.0, 0

    @property
    def n(self) -> int:
        return len(self.a)

    @property
    def outputs(self) -> int:
        return self.a.shape[1]

    @property
    def points(self) -> Array:
        return self._points

    @property
    def coef(self) -> Array:
        return self._scale * self.a

    @property
    def averaged_coef(self) -> Array:
        return self.sums / max(self._rounds, 1)

    @property
    def birth(self) -> npt.NDArray[np.int64]:
        return self._birth

    @property
    def own(self) -> Array:
        return self._norms

    @property
    def scale(self) -> float:
        return self._scale

    @scale.setter
    def scale(self, value: float) -> None:
        self._scale = value

    @property
    def cum(self) -> float:
        return 0.0  # the sums are complete after every round

    @property
    def rounds(self) -> int:
        return self._rounds

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self._points, self.a, self.sums, self._norms, self._birth))

    def __len__(self) -> int:
        return len(self.a)

    # -- values --------------------------------------------------------------------------------------------------------
    def values(self, X: Array) -> Array:
        """Return the (n, m) kernel values with the stored points."""
        return self._between(X, self._points) if len(self) else np.zeros((len(X), 0))

    def gram(self) -> Array:
        """Return the (m, m) kernel values between the stored points."""
        return self.values(self._points)

    def predict(self, X: Array) -> Array:
        return self.values(X) @ self.coef

    def averaged(self, X: Array) -> Array:
        return self.values(X) @ self.averaged_coef

    def scores(self, k: Array) -> Array:
        p: Array = self._scale * (k @ self.a)
        return p

    # -- rounds --------------------------------------------------------------------------------------------------------
    def open(self, X: Array) -> None:
        self._block = X

    def begin(self, j: int) -> Array:
        self.x = self._block[j]
        self.k, self._kxx = self.values(self.x[None])[0], float(self._between(self.x[None], self.x[None])[0, 0])
        self._rounds += 1
        self.sums = self.sums + self.coef
        return self.k

    @property
    def row(self) -> Array:
        return self.values(self.x[None])[0]

    @property
    def kxx(self) -> float:
        return self._kxx

    def close(self) -> None:
        self._block = self._block[:0]

    # -- changes -------------------------------------------------------------------------------------------------------
    def decay(self, factor: float) -> None:
        self._scale *= factor
        if self._scale < TINY:
            self.a, self._scale = self._scale * self.a, 1.0

    def append(self, x: Array, alpha: Array, birth: int, own: float | None = None) -> None:
        self._points = np.vstack([self._points, self._stored(x)])
        self._norms = np.append(self._norms, self._kxx if own is None else own)
        self._birth = np.append(self._birth, birth)
        self.a, self.sums = np.vstack([self.a, alpha / self._scale]), np.vstack([self.sums, np.zeros_like(alpha)])

    def replace(self, i: int, x: Array, alpha: Array, birth: int, own: float | None = None) -> None:
        self._points[i], self._birth[i], self._norms[i] = self._stored(x), birth, self._kxx if own is None else own
        self.a[i], self.sums[i] = alpha / self._scale, 0.0

    def remove(self, i: int) -> None:
        for part in (self._points, self.a, self.sums, self._norms, self._birth):
            part[i] = part[-1]
        self._points, self.a, self.sums = self._points[:-1], self.a[:-1], self.sums[:-1]
        self._norms, self._birth = self._norms[:-1], self._birth[:-1]

    def add(self, alpha: Array) -> None:
        self.a = self.a + alpha / self._scale

    def pass_on(self, r: int, shares: Array) -> None:
        """Add shares_i (m,) of the present and past contributions of term r to term i."""
        self.a = self.a + np.outer(shares, self.a[r])
        self.sums = self.sums + np.outer(shares, self.sums[r])

    def grow(self, outputs: int) -> None:
        new = ((0, 0), (0, outputs - self.outputs))
        self.a, self.sums = np.pad(self.a, new), np.pad(self.sums, new)

    def widen(self, d: int) -> None:
        self._points = np.pad(self._points, ((0, 0), (0, d - self._points.shape[1])))
        self._norms = np.diagonal(self.gram()).copy()

    def _state(self) -> dict[str, Any]:
        if "a" not in self.__dict__:
            return {}
        parts = {"points_": self._points, "own_": self._norms, "birth_": self._birth, "coef_": self.a}
        return {**parts, "sums_": self.sums, "scale_": self._scale, "rounds_": self._rounds}

    def _restore(self, state: dict[str, Any]) -> None:
        if state:
            self._points, self._norms, self._birth = state["points_"], state["own_"], state["birth_"]
            self.a, self.sums = state["coef_"], state["sums_"]
            self._scale, self._rounds = state["scale_"], state["rounds_"]

    def _stored(self, x: Array) -> Array:
        """Return x in the precision of the stored points."""
        return rounded(x).astype(np.float64) if self.dtype == "float32" else x

    def _between(self, X: Array, Y: Array) -> Array:
        """Return kernel values (n, m), in single precision if points are."""
        rows = self.kernel.compiled if self.dtype == "float32" else None
        return self.kernel(X, Y) if rows is None else rows.block(X, Y, single=True)


# -- budgets -----------------------------------------------------------------------------------------------------------
def admit(f: PlainExpansion, budget: Budget, alpha: Array, t: int) -> None:
    """Store the present row with coefficients alpha (K,) in round t. If the budget is exceeded, remove one entry.

    The rules are described in `nystream.dictionary.Budget`.
    """
    if not alpha.any() or not f.kxx > 0:  # where k(x, x) = 0, k(x, .) is the zero function
        return
    full = budget.size is not None and len(f) >= budget.size and budget.drop != "age"
    if full and budget.drop in ("smallest", "oldest", "contribution"):
        _replace(f, budget.drop, alpha, t)
        return
    f.append(f.x, alpha, t)
    if full and budget.drop == "project":
        _project(f)
    elif full and budget.drop == "merge":
        _merge(f, t)


def expire(f: PlainExpansion, budget: Budget, t: int) -> None:
    """Remove, with the rule "age", terms that are too old at the end of round t."""
    if budget.drop == "age" and budget.size is not None:
        for i in reversed(range(len(f))):
            if f.birth[i] <= t - budget.size:
                f.remove(i)


def oldest(f: PlainExpansion) -> int:
    return int(np.argmin(f.birth))


def smallest(f: PlainExpansion, contribution: bool = False) -> int:
    """Return the entry with the least max |coefficient|, times |k(x_i, .)| for `contribution`; the oldest of equals."""
    size = _sizes(f, contribution)
    return int(np.lexsort((f.birth, size))[0])


def _sizes(f: PlainExpansion, contribution: bool) -> Array:
    size: Array = np.abs(f.a).max(axis=1)
    return size * np.sqrt(f.own) if contribution else size


def _replace(f: PlainExpansion, drop: str, alpha: Array, t: int) -> None:
    """Replace the smallest entry by the new one, unless the new one is smaller."""
    i = oldest(f) if drop == "oldest" else smallest(f, drop == "contribution")
    if drop != "oldest":
        new = float(np.abs(alpha / f.scale).max()) * (math.sqrt(f.kxx) if drop == "contribution" else 1.0)
        if new < _sizes(f, drop == "contribution")[i]:
            return
    f.replace(i, f.x, alpha, t)


def _project(f: PlainExpansion) -> None:
    """Remove the smallest entry r and add its projection c, (K + ridge) c = k_r, to the others."""
    r = smallest(f)
    K, others = f.gram() + np.diag(RIDGE * f.own), np.arange(len(f)) != r
    shares = np.zeros(len(f))
    shares[others] = np.linalg.solve(K[np.ix_(others, others)], K[others, r])
    f.pass_on(r, shares)
    f.remove(r)


def _merge(f: PlainExpansion, t: int) -> None:
    """Merge the smallest entry i with its best partner j into z = h x_i + (1 - h) x_j. Without one, remove i."""
    i = smallest(f)
    k, inner = f.values(f.points[i : i + 1])[0], f.a @ f.a[i]
    partners = np.flatnonzero((inner >= 0) & (k > 0) & (np.arange(len(f)) != i))
    if len(partners):
        square, pairs, near = (f.a[partners] ** 2).sum(axis=1), inner[partners], np.log(k[partners])
        h, value = _best_place(near, float(inner[i]), square, pairs)
        best = int(np.argmin(inner[i] + square + 2 * pairs * k[partners] - value))
        j, place = int(partners[best]), float(h[best])
        u, v = math.exp((1 - place) ** 2 * near[best]), math.exp(place**2 * near[best])
        alpha, sums = u * f.a[i] + v * f.a[j], u * f.sums[i] + v * f.sums[j]
        f.replace(j, place * f.points[i] + (1 - place) * f.points[j], f.scale * alpha, t, own=float(f.own[j]))
        f.sums[j] = sums
    f.remove(i)


def _best_place(logk: Array, P: float, Q: Array, C: Array) -> tuple[Array, Array]:
    """Maximise |a_i k^((1-h)^2) + a_j k^(h^2)|^2 over h in [0, 1] by golden section, for all partners at once.

    P = |a_i|^2, Q = |a_j|^2, C = a_i.a_j. Returns h and the maxima.
    """

    def value(h: Array) -> Array:
        u, v = np.exp((1 - h) ** 2 * logk), np.exp(h**2 * logk)
        return P * u * u + Q * v * v + 2 * C * u * v

    low, high, width = np.zeros_like(logk), np.ones_like(logk), GOLDEN
    left, right = low + (1 - GOLDEN), low + GOLDEN
    while width > NARROW:
        down = value(left) >= value(right)
        low, high = np.where(down, low, left), np.where(down, right, high)
        new = np.where(down, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        left, right = np.where(down, new, right), np.where(down, left, new)
        width *= GOLDEN
    h = 0.5 * (low + high)
    return h, value(h)
