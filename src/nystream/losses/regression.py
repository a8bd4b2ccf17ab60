"""Losses of a real label: squared, absolute, epsilon-insensitive, Huber, pinball."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from nystream._core.losses import CompiledLoss
from nystream.losses.scalar import ScalarLoss
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["Absolute", "EpsilonInsensitive", "Huber", "Pinball", "Squared"]


class Squared(ScalarLoss):
    """(p - y)^2, without a factor 1/2.

    Implicit step 2c(y - p)/(1 + 2cs). Curvature 1/(2 (clip + bound)^2): both sides of its inequality are equal for
    b = clip, y = -bound and every a.

    Examples
    --------
    >>> Squared().value(1.0, 3.0), Squared().grad(1.0, 3.0), Squared().curvature(1.0)
    (4.0, 4.0, 0.125)
    """

    name: ClassVar[str] = "squared"
    estimates_mean: ClassVar[bool] = True
    tail_curvature: ClassVar[float] = 2.0

    def curvature(self, clip: float, bound: float | None = None) -> float:
        return 0.5 / (clip + _bound(clip, bound)) ** 2

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        return 2.0 * (clip + _bound(clip, bound))

    def _value(self, y: Array, p: Array) -> Any:
        return np.square(p - y)

    def _grad(self, y: Array, p: Array) -> Any:
        return 2.0 * (p - y)

    def _second(self, y: Array, p: Array) -> Any:
        return np.full(np.broadcast_shapes(y.shape, p.shape), 2.0)[()]

    def _implicit(self, y: Array, p: Array, s: Array, c: Array) -> Any:
        return 2.0 * c * (y - p) / (1.0 + 2.0 * c * s)


class Absolute(ScalarLoss):
    """|p - y|; its minimiser is the median. Derivative sign(p - y), 0 at 0."""

    name: ClassVar[str] = "absolute"

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        return 1.0

    def _value(self, y: Array, p: Array) -> Any:
        return np.abs(p - y)

    def _grad(self, y: Array, p: Array) -> Any:
        return np.sign(p - y)

    def _implicit(self, y: Array, p: Array, s: Array, c: Array) -> Any:
        return np.clip((y - p) / s, -c, c)


class EpsilonInsensitive(ScalarLoss):
    """max(0, |p - y| - eps): errors up to eps are free, so they store no point.

    Parameters
    ----------
    eps : float, default 0.1
        Half the width of the free tube, in units of y.
    """

    name: ClassVar[str] = "epsilon_insensitive"
    adaptable: ClassVar[Literal["margin", "tube"] | None] = "tube"

    def __init__(self, eps: float = 0.1) -> None:
        self.eps = positive("eps", eps, zero=True)
        self._form = CompiledLoss(self.name, eps)

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        return 1.0

    def _value(self, y: Array, p: Array) -> Any:
        return np.maximum(0.0, np.abs(p - y) - self.eps)

    def _grad(self, y: Array, p: Array) -> Any:
        return np.where(np.abs(p - y) > self.eps, np.sign(p - y), 0.0)[()]

    def _implicit(self, y: Array, p: Array, s: Array, c: Array) -> Any:
        r = y - p
        return np.sign(r) * np.minimum(c, np.maximum(0.0, np.abs(r) - self.eps) / s)


class Huber(ScalarLoss):
    """u^2/2 for u = |p - y| <= delta, then the line delta u - delta^2/2.

    The factor 1/2 is Huber's own and stays: slope delta outside, second derivative 1 inside. `Huber(delta)` for a
    large delta is therefore half of `Squared()`. Its curvature is 0 as soon as a linear piece is in reach.

    Parameters
    ----------
    delta : float, default 1.0
        Error from which the loss is linear, in units of y.
    """

    name: ClassVar[str] = "huber"

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = positive("delta", delta)
        self._form = CompiledLoss(self.name, delta)

    def curvature(self, clip: float, bound: float | None = None) -> float:
        reach = clip + _bound(clip, bound)
        return 1.0 / reach**2 if reach <= self.delta else 0.0

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        return min(self.delta, clip + _bound(clip, bound))

    def _value(self, y: Array, p: Array) -> Any:
        inner = np.minimum(np.abs(p - y), self.delta)
        return inner * (np.abs(p - y) - 0.5 * inner)

    def _grad(self, y: Array, p: Array) -> Any:
        return np.clip(p - y, -self.delta, self.delta)

    def _second(self, y: Array, p: Array) -> Any:
        return np.where(np.abs(p - y) < self.delta, 1.0, 0.0)[()]

    def _implicit(self, y: Array, p: Array, s: Array, c: Array) -> Any:
        return np.clip(c * (y - p) / (1.0 + c * s), -c * self.delta, c * self.delta)


class Pinball(ScalarLoss):
    """q (y - p) below the label, (1 - q)(p - y) above it: its minimiser is the q-quantile. Derivative 0 at y.

    Parameters
    ----------
    q : float, default 0.5
        The quantile, between 0 and 1. Pinball(0.5) is half of `Absolute()`.
    """

    name: ClassVar[str] = "pinball"

    def __init__(self, q: float = 0.5) -> None:
        self.q = positive("q", q, below=1.0)
        self._form = CompiledLoss(self.name, q)

    @property
    def symmetric(self) -> bool:
        return self.q == 0.5

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        return max(self.q, 1.0 - self.q)

    def _value(self, y: Array, p: Array) -> Any:
        r = p - y
        return np.maximum(-self.q * r, (1.0 - self.q) * r)

    def _grad(self, y: Array, p: Array) -> Any:
        return np.where(p < y, -self.q, np.where(p > y, 1.0 - self.q, 0.0))[()]

    def _implicit(self, y: Array, p: Array, s: Array, c: Array) -> Any:
        return np.clip((y - p) / s, -c * (1.0 - self.q), c * self.q)


def _bound(clip: float, bound: float | None) -> float:
    return clip if bound is None else bound
