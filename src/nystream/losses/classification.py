"""Losses of a label -1/+1 (hinge, squared hinge, logistic) and of no label at all (novelty)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np

from nystream._core.losses import CompiledLoss
from nystream.losses.scalar import ScalarLoss
from nystream.runtime.deferred import special
from nystream.runtime.params import positive
from nystream.runtime.types import Array, LabelKind, Link

__all__ = ["Hinge", "Logistic", "Novelty", "SquaredHinge"]


class MarginLoss(ScalarLoss):
    """A loss that is 0 from the margin rho on."""

    def __init__(self, rho: float = 1.0) -> None:
        self.rho = positive("rho", rho, zero=True)
        self._form = CompiledLoss(self.name, rho)

    @property
    def margin(self) -> float:
        return self.rho


class Hinge(MarginLoss):
    """max(0, rho - y p), which is 0 from the margin rho on. Its derivative is -y below the margin, and 0 from it on.

    Parameters
    ----------
    rho : float, default 1.0
        The margin; 0 leaves the perceptron's loss.

    Examples
    --------
    >>> Hinge().value(-1.0, 0.25), Hinge().implicit(-1.0, 0.25, s=1.0, c=0.5)
    (1.25, -0.5)
    """

    name: ClassVar[str] = "hinge"
    labels: ClassVar[LabelKind] = "sign"
    adaptable: ClassVar[Literal["margin", "tube"] | None] = "margin"

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        return 1.0

    def _value(self, y: Array, p: Array) -> Any:
        return np.maximum(0.0, self.rho - y * p)

    def _grad(self, y: Array, p: Array) -> Any:
        return np.where(y * p < self.rho, -y, 0.0)[()]

    def _implicit(self, y: Array, p: Array, s: Array, c: Array) -> Any:
        return y * np.clip((self.rho - y * p) / s, 0.0, c)


class SquaredHinge(MarginLoss):
    """max(0, rho - y p)^2, without a factor 1/2.

    Curvature: 1/(2 (rho + clip)^2) for clip <= rho, else (3 clip - rho)/(8 clip^2 (rho + clip)), because a pair a, b
    on the two sides of the margin is then the worst.

    Parameters
    ----------
    rho : float, default 1.0
        The margin.
    """

    name: ClassVar[str] = "squared_hinge"
    labels: ClassVar[LabelKind] = "sign"
    tail_curvature: ClassVar[float] = 2.0

    def curvature(self, clip: float, bound: float | None = None) -> float:
        if clip <= self.rho:
            return 0.5 / (self.rho + clip) ** 2
        return (3.0 * clip - self.rho) / (8.0 * clip**2 * (self.rho + clip))

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        return 2.0 * (self.rho + clip)

    def _value(self, y: Array, p: Array) -> Any:
        return np.square(np.maximum(0.0, self.rho - y * p))

    def _grad(self, y: Array, p: Array) -> Any:
        return np.where(y * p < self.rho, -2.0 * y * (self.rho - y * p), 0.0)[()]

    def _second(self, y: Array, p: Array) -> Any:
        return np.where(y * p < self.rho, 2.0, 0.0)[()]

    def _implicit(self, y: Array, p: Array, s: Array, c: Array) -> Any:
        return y * (2.0 * c * np.maximum(0.0, self.rho - y * p) / (1.0 + 2.0 * c * s))


class Logistic(ScalarLoss):
    """log(1 + exp(-y p)); p is then the log-odds of y = +1. Curvature exp(-clip).

    Examples
    --------
    >>> Logistic().grad(1.0, 0.0), Logistic().value(1.0, -1000.0)
    (-0.5, 1000.0)
    """

    name: ClassVar[str] = "logistic"
    labels: ClassVar[LabelKind] = "sign"
    link: ClassVar[Link | None] = "logistic"

    def curvature(self, clip: float, bound: float | None = None) -> float:
        return math.exp(-clip)

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        return 1.0 / (1.0 + math.exp(-clip))

    def _value(self, y: Array, p: Array) -> Any:
        return np.logaddexp(0.0, -y * p)

    def _grad(self, y: Array, p: Array) -> Any:
        return -y * special.expit(-y * p)

    def _second(self, y: Array, p: Array) -> Any:
        q = special.expit(p) * special.expit(-p)
        return np.broadcast_to(q, np.broadcast_shapes(y.shape, p.shape)).copy()[()]

    def _implicit(self, y: Array, p: Array, s: Array, c: Array) -> Any:
        return y * c * special.expit(-_logistic_root(y * p, s * c))


class Novelty(MarginLoss):
    """max(0, rho - p): seen inputs should score at least rho. There is no label; y is ignored and may be None.

    Parameters
    ----------
    rho : float, default 1.0
        The score below which an input counts as not yet explained.

    Examples
    --------
    >>> Novelty().grad(None, 0.3)
    -1.0
    """

    name: ClassVar[str] = "novelty"
    labels: ClassVar[LabelKind] = "none"
    adaptable: ClassVar[Literal["margin", "tube"] | None] = "margin"

    @property
    def symmetric(self) -> bool:
        return False

    def value(self, y: Any, p: Any) -> Any:
        return super().value(0.0, p)

    def grad(self, y: Any, p: Any) -> Any:
        return super().grad(0.0, p)

    def second(self, y: Any, p: Any) -> Any:
        return super().second(0.0, p)

    def implicit(self, y: Any, p: Any, s: Any, c: Any) -> Any:
        return super().implicit(0.0, p, s, c)

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        return 1.0

    def _value(self, y: Array, p: Array) -> Any:
        return np.maximum(0.0, self.rho - p)

    def _grad(self, y: Array, p: Array) -> Any:
        return np.where(p < self.rho, -1.0, 0.0)[()]

    def _implicit(self, y: Array, p: Array, s: Array, c: Array) -> Any:
        return np.clip((self.rho - p) / s, 0.0, c)


def _logistic_root(m: Array, sc: Array) -> Array:
    """Solve u = m + sc sigma(-u) by bracketed Newton, elementwise.

    In u and not in a = c sigma(-u): a can be many orders of magnitude below c, where no bracket in a resolves it.
    """
    m, sc = np.broadcast_arrays(m, sc)
    lo, hi = m, m + sc * special.expit(-m)
    u = np.where((sc > 1.0) & (hi - lo >= 1.0), np.clip(np.log(sc), lo, hi), lo)
    done = np.zeros(u.shape, dtype=bool)
    for _ in range(100):
        h = u - m - sc * special.expit(-u)
        lo, hi = np.where(h > 0.0, lo, u), np.where(h > 0.0, u, hi)
        step = u - h / (1.0 + sc * special.expit(u) * special.expit(-u))
        # closed interval: an open one would take a converged step for a failure and jump to the middle
        step = np.where((step < lo) | (step > hi), 0.5 * (lo + hi), step)
        close = np.abs(step - u) <= 1e-13 * np.maximum(1.0, np.abs(u))
        u = np.where(done, u, step)
        done |= close
        if done.all():
            break
    return u
