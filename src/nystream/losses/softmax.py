"""The softmax (multinomial logistic) loss."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from nystream._core.losses import CompiledLoss
from nystream.losses.vector import Labels, VectorLoss
from nystream.runtime.deferred import special
from nystream.runtime.params import at_least
from nystream.runtime.types import Array, Link

__all__ = ["Softmax"]


class Softmax(VectorLoss):
    """log sum_j exp(p_j) - p_y; the probabilities of the classes are then softmax(p).

    Gradient pi - e_y, Hessian diag(pi) - pi pi', pi = softmax(p). The implicit step is one scalar root: with omega
    the Wright function (omega + log omega = x) and sc = s c,

        omega_j = sc pi_j = omega(log sc + p_j - p_y - x), j != y,    omega_y = omega(log sc + sc - x),
        sum_j omega_j = sc   determines   x = logsumexp(p + s alpha) - p_y.

    Curvature exp(-2 clip)/(classes - 1) for scores in [-clip, clip], and 0 while the number of classes is open: this
    is the logistic loss of the margin p_y - logsumexp of the rivals, and the margin is at least
    -2 clip - log(classes - 1).

    Parameters
    ----------
    classes : int, optional
        Number of classes; None lets the scores grow with the labels.

    Examples
    --------
    >>> import numpy as np
    >>> Softmax().grad(0, np.zeros(4))
    array([-0.75,  0.25,  0.25,  0.25])
    """

    name: ClassVar[str] = "softmax"
    link: ClassVar[Link | None] = "softmax"

    def __init__(self, classes: int | None = None) -> None:
        self.classes = None if classes is None else at_least("classes", classes, 2)
        self._form = CompiledLoss(self.name)

    def curvature(self, clip: float, bound: float | None = None) -> float:
        return 0.0 if self.classes is None else math.exp(-2.0 * clip) / (self.classes - 1)

    def check_rule(self, rule: str) -> None:
        if rule != "exact":
            raise ValueError("softmax has one implicit step, rule 'exact'; 'runner_up' belongs to the hinges")

    def _value(self, y: Labels, p: Array) -> Array:
        rows, top = np.arange(len(p)), p.argmax(axis=1)
        lead = p[rows, top]
        rest = np.exp(p - lead[:, None])
        rest[rows, top] = 0.0  # log1p of the others keeps a tiny loss exact
        value: Array = (lead - p[rows, y]) + np.log1p(rest.sum(axis=1))
        return value

    def _grad(self, y: Labels, p: Array) -> Array:
        return _closed(np.asarray(special.softmax(p, axis=1)), y)

    def _second(self, y: Labels, p: Array) -> Array:
        pi = np.asarray(special.softmax(p, axis=1))
        H: Array = np.eye(p.shape[1]) * pi[:, :, None] - pi[:, :, None] * pi[:, None, :]
        return H

    def _exact(self, y: Labels, p: Array, s: Array, c: Array) -> Array:
        sc = s * c
        q = p - p[np.arange(len(p)), y][:, None]
        q[np.arange(len(p)), y] = sc[:, 0]
        omega = np.asarray(special.wrightomega(np.log(sc) + q - _root(y, q, sc)))
        return -c * _closed(np.minimum(omega / sc, 1.0), y)


def _closed(pi: Array, y: Labels) -> Array:
    """Return pi - e_y. The entry of y is minus the sum of the others, which avoids cancellation."""
    rows = np.arange(len(pi))
    g = pi.copy()
    g[rows, y] = 0.0
    g[rows, y] = -np.minimum(g.sum(axis=1), 1.0)
    return g


def _root(y: Labels, q: Array, sc: Array) -> Array:
    """Solve v(x) = sum_{j != y} omega_j(x), v = sc - omega_y, for the x of each row by bracketed Newton.

    v - sum is increasing and concave in x: Newton from the left end stays in the bracket but for rounding.
    """
    own = (np.arange(len(q)), y)
    top = q.max(axis=1, keepdims=True)
    hi = top + np.log(np.exp(q - top).sum(axis=1, keepdims=True))
    lo = np.maximum(0.0, hi - sc)
    x = lo
    done = np.zeros(x.shape, dtype=bool)
    for _ in range(100):
        omega = np.asarray(special.wrightomega(np.log(sc) + q - x))
        slope = (omega / (1.0 + omega)).sum(axis=1, keepdims=True)
        v = _gain(omega[own][:, None], sc, x)
        omega[own] = 0.0
        G = v - omega.sum(axis=1, keepdims=True)
        lo, hi = np.where(G > 0, lo, x), np.where(G > 0, x, hi)
        step = x - np.divide(G, slope, out=np.full_like(G, np.inf), where=slope > 0)
        step = np.where((step < lo) | (step > hi), 0.5 * (lo + hi), step)
        close = np.abs(step - x) <= 1e-13 * np.maximum(1.0, np.abs(x))
        x = np.where(done, x, step)
        done |= close
        if done.all():
            break
    return x


def _gain(omega: Array, sc: Array, x: Array) -> Array:
    """Return v = sc - omega. One Newton step on x = v - log(1 - v/sc) restores the digits lost to cancellation."""
    v = sc - omega
    far = omega <= 0.5 * sc
    near = np.where(far, 0.0, v)
    near = near - (near - np.log1p(-near / sc) - x) / (1.0 + 1.0 / np.where(far, 1.0, omega))
    return np.where(far, v, near)
