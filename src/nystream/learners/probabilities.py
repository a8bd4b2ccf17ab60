"""Scores become probabilities: one map per kind of loss, each of which keeps the class of the largest score on top."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import softmax

from nystream.params import Params
from nystream.types import Array

__all__ = ["Brier", "Calibration", "Logistic", "Platt", "Softmax", "Temperature"]

FLOOR = 0.02
"""Weight of the uniform distribution in `Brier`: no class of K has a probability below FLOOR / K."""
RATE = 0.5
"""First step of the stochastic gradients; step t is RATE / sqrt(t)."""
SMALLEST = 1e-3
"""Slopes never fall below this, so that the maps stay increasing."""


class Calibration(Params):
    """Scores F (n, K) -> probabilities (n, K), rows summing to 1."""

    def __call__(self, F: Array) -> Array:
        raise NotImplementedError

    def learn(self, F: Array, classes: list[int], weights: Array | None) -> None:
        """Scores F (n, K) of n rounds in order, each made before its label, and the n class numbers that came out."""


class Brier(Calibration):
    """For least squares on codes -1/+1: the distribution nearest to (f + 1)/2, drawn a little towards the uniform one.

    f estimates 2 P(class | x) - 1, so (f + 1)/2 estimates P. Its Euclidean projection on the probability simplex,
    p_k = max((f_k + 1)/2 - tau, 0), is at least as near to the truth, whatever that is, and keeps the largest score
    strictly on top; for two classes it is clipping to [0, 1]. Mixing with the uniform distribution (weight 0.02) keeps
    the log loss finite.
    """

    def __call__(self, F: Array) -> Array:
        U = (F + 1) / 2
        V = -np.sort(-U, axis=1)
        tau = (np.cumsum(V, axis=1) - 1) / np.arange(1, F.shape[1] + 1)  # the threshold if the k largest were kept
        kept = (V > tau).sum(axis=1)  # V > tau holds on a prefix, and always for k = 1
        P = np.maximum(U - tau[np.arange(len(F)), kept - 1, None], 0.0)
        return (1 - FLOOR) * (P / P.sum(axis=1, keepdims=True)) + FLOOR / F.shape[1]


class Logistic(Calibration):
    """sigma(A f_k + B) of every class against the rest, made to sum to 1. The logistic loss itself: A = 1, B = 0."""

    a_: float = 1.0
    b_: float = 0.0

    def __call__(self, F: Array) -> Array:
        L = -np.logaddexp(0.0, -(self.a_ * F + self.b_))  # log sigma; the row's largest is taken out, so no 0/0
        return softmax(L, axis=1)


class Platt(Logistic):
    """The map of `Logistic` for margins that are not log-odds: A and B follow the stream.

    They start at 1 and 0 and take stochastic gradient steps on the logistic loss of (f_t, y_t), f_t made before y_t was
    read; the step in A is divided by 1 + f^2, which bounds it, and A >= 0.001. One A and one B serve all classes, and
    two classes count as f_0 = -f_1 (there B stays 0 by symmetry): the most probable class is the predicted one.
    """

    t_: int = 0

    def learn(self, F: Array, classes: list[int], weights: Array | None) -> None:
        a, b, t = self.a_, self.b_, self.t_
        for i, row in enumerate(F.tolist()):
            t += 1
            rate = _rate(t, weights, i) / len(row)
            down_a = down_b = 0.0
            for k, f in enumerate(row):
                error = 0.5 * (1 + math.tanh(0.5 * (a * f + b))) - (k == classes[i])  # sigma without overflow
                down_a += error * f / (1 + f * f)
                down_b += error
            a = max(a - rate * down_a, SMALLEST)
            b -= rate * down_b
        self.a_, self.b_, self.t_ = a, b, t


class Softmax(Calibration):
    """softmax(A f). The softmax loss itself: A = 1."""

    a_: float = 1.0

    def __call__(self, F: Array) -> Array:
        return softmax(self.a_ * F, axis=1)


class Temperature(Softmax):
    """softmax(A f) for multi-class margins: A starts at 1 and follows stochastic gradients of the log loss, as in `Platt`."""

    t_: int = 0

    def learn(self, F: Array, classes: list[int], weights: Array | None) -> None:
        a, t = self.a_, self.t_
        for i, f in enumerate(F):
            t += 1
            f = f - f.mean()
            down = float(softmax(a * f) @ f - f[classes[i]])  # derivative of -log p_y in A
            # the divisor knows f only, not y: the steps stay right on average where the odds are
            a = max(a - _rate(t, weights, i) * down / (1 + float(f @ f)), SMALLEST)
        self.a_, self.t_ = a, t


def _rate(t: int, weights: Array | None, i: int) -> float:
    rate = RATE / math.sqrt(t)
    return rate if weights is None else min(rate * float(weights[i]), RATE)  # a heavy row must not throw the map away
