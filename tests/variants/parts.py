"""Kernels, losses and maps that several variants share, a kernel and a loss of a user's own among them."""

from __future__ import annotations

import numpy as np

from nystream import Fourier, Gaussian
from nystream.features import Landmarks, LearnedMetric
from nystream.kernels import Kernel
from nystream.losses import Loss, StructuredHinge

G = Gaussian(0.7)
FEATURES = Fourier(G, 40, seed=0)
POINTS = np.random.default_rng(5).uniform(-1, 1, (15, 3))
ALIKE = StructuredHinge(1 - np.eye(3), np.eye(3) + 0.4)
"""Three classes whose labels are similar: what is learnt of one moves the others."""
APART = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
ORDERED = StructuredHinge(APART, np.exp(-APART))
METRIC = LearnedMetric().fit(POINTS, np.sin(3 * POINTS[:, 0]) + POINTS[:, 1] * POINTS[:, 2])
LANDMARKS = Landmarks(G, POINTS)


class OwnKernel(Kernel):
    """The Gaussian kernel as a user would write it: the compiled loops have to ask Python."""

    def __call__(self, X, Y):
        difference = X[:, None, :] - Y[None, :, :]
        with np.errstate(over="ignore"):
            return np.exp(-(difference**2).sum(-1) / 0.5)


class OwnLoss(Loss):
    """A loss that only Python knows."""

    name = "quartic"

    def value(self, y, p):
        return (p - y) ** 4

    def grad(self, y, p):
        return np.clip(4 * (p - y) ** 3, -1, 1)
