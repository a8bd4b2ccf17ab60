"""Maps from scores to probabilities for each kind of loss. The largest score keeps the largest probability."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from nystream.learners.links import against_the_rest
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Brier", "Calibration", "Logistic", "Platt", "Softmax", "Temperature"]

FLOOR = 0.02
"""Weight of the uniform distribution in `Brier`: no class of K has a probability below FLOOR / K."""
RATE = 0.5
"""First step of the stochastic gradients; step t is RATE / sqrt(t)."""
SMALLEST = 1e-3
"""Slopes never fall below this, so that the maps stay increasing."""


class Calibration(Params):
    """A map from scores F (n, K) to probabilities (n, K)."""

    learns: ClassVar[bool] = False
    """Whether the map learns from the stream; otherwise `learn` does nothing."""

    def __call__(self, F: Array) -> Array:
        raise NotImplementedError

    def learn(self, f: Array, label: int, weight: float = 1.0) -> None:
        """Learn one round with scores f (K,) and class number `label`."""


class Brier(Calibration):
    """For least squares on codes -1/+1: the projection of (f + 1)/2, mixed with the uniform distribution.

    f estimates 2 P(class | x) - 1, so (f + 1)/2 estimates P. Its Euclidean projection on the probability simplex,
    p_k = max((f_k + 1)/2 - tau, 0), is at least as near to the truth, whatever that is, and keeps the largest score
    strictly on top; for two classes it is clipping to [0, 1]. Mixing with the uniform distribution (weight 0.02) keeps
    the log loss finite.
    """

    def __call__(self, F: Array) -> Array:
        U = (F + 1) / 2
        V = -np.sort(-U, axis=1)
        tau = (np.cumsum(V, axis=1) - 1) / np.arange(1, F.shape[1] + 1)  # the threshold if the k largest were kept
        kept = (tau < V).sum(axis=1)  # that holds on a prefix, and always for k = 1
        P = np.maximum(U - tau[np.arange(len(F)), kept - 1, None], 0.0)
        return (1 - FLOOR) * P + FLOOR / F.shape[1]


class Logistic(Calibration):
    """sigma(A f_k + B) of every class against the rest, made to sum to 1. The logistic loss itself: A = 1, B = 0."""

    a_: float = 1.0
    b_: float = 0.0

    def __call__(self, F: Array) -> Array:
        return against_the_rest(self.a_ * F + self.b_)


class Platt(Logistic):
    """The map of `Logistic` for margins that are not log-odds: A and B follow the stream.

    They start at 1 and 0 and take stochastic gradient steps on the logistic loss of (f_t, y_t), f_t made before y_t was
    read; the step in A is divided by 1 + f^2, which bounds it, and A >= 0.001. One A and one B serve all classes, and
    two classes count as f_0 = -f_1 (there B stays 0 by symmetry): the most probable class is the predicted one.
    """

    learns: ClassVar[bool] = True
    t_: int = 0

    def learn(self, f: Array, label: int, weight: float = 1.0) -> None:
        if weight == 0:
            return
        self.t_ += 1
        rate = _rate(self.t_, weight) / len(f)
        down_a = down_b = 0.0
        for k, score in enumerate(f.tolist()):
            error = 0.5 * (1 + math.tanh(0.5 * (self.a_ * score + self.b_))) - (k == label)  # sigma without overflow
            down_a += error * score / (1 + score * score)
            down_b += error
        self.a_ = max(self.a_ - rate * down_a, SMALLEST)
        self.b_ -= rate * down_b


class Softmax(Calibration):
    """softmax(A f). The softmax loss itself: A = 1."""

    a_: float = 1.0

    def __call__(self, F: Array) -> Array:
        return _softmax(self.a_ * F)


class Temperature(Softmax):
    """softmax(A f) for multi-class margins: A starts at 1 and follows gradients of the log loss, as in `Platt`."""

    learns: ClassVar[bool] = True
    t_: int = 0

    def learn(self, f: Array, label: int, weight: float = 1.0) -> None:
        if weight == 0:
            return
        self.t_ += 1
        f = f - f.mean()
        down = float(_softmax(self.a_ * f[None])[0] @ f - f[label])  # derivative of -log p_y in A
        # the divisor depends on f only, so the steps stay unbiased
        self.a_ = max(self.a_ - _rate(self.t_, weight) * down / (1 + float(f @ f)), SMALLEST)


def _softmax(F: Array) -> Array:
    P = np.exp(F - F.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    return P


def _rate(t: int, weight: float) -> float:
    return min(RATE / math.sqrt(t) * weight, RATE)  # one heavy row must not dominate the map
