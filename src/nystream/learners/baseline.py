"""The learner behind `learner=None`: ridge on random Fourier features whose scale and width come from the first rows."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from nystream.dictionary.rows import Rows
from nystream.features.base import FeatureMap
from nystream.features.fourier import Fourier
from nystream.inputs import as_block, as_weights
from nystream.kernels.gaussian import Gaussian
from nystream.learners.feature_learner import FeatureLearner
from nystream.params import at_least, positive
from nystream.solvers.awv import AWV
from nystream.types import Array, Seed

__all__ = ["Baseline", "ScaledFourier"]

REBUILDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Rows after which scale and width are computed anew, as far as the warm-up goes; its end is one more."""
CLIP = 3.0
"""Standardised inputs stay within this: a column that drifts away must not carry every row out of the kernel's reach."""
SAMPLE = 400
"""Rows whose distances give the width, at most."""


class Shape(NamedTuple):
    """What is computed from rows before features can be drawn."""

    mean: Array
    scale: Array
    width: float


class ScaledFourier(FeatureMap):
    """Random Fourier features of the Gaussian kernel on standardised, clipped inputs, and the constant 1.

    Parameters
    ----------
    mean, scale : array (d,)
        x -> (x - mean) / scale, clipped to [-3, 3].
    width : float
        sigma of the Gaussian kernel.
    dim : int
        Number of Fourier features.
    seed : int, Generator or None
    """

    def __init__(self, mean: Array, scale: Array, width: float, dim: int, seed: Seed = 0) -> None:
        self.mean = mean
        self.scale = scale
        self.width = positive("width", width)
        self.count = dim
        self.seed = seed
