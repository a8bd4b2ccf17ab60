"""The generator that a seed stands for."""

from __future__ import annotations

import copy

import numpy as np

from nystream.params import at_least
from nystream.types import Seed

__all__ = ["checked_seed", "generator"]


def checked_seed(seed: Seed) -> Seed:
    """The seed itself, or a ValueError: a whole number of at least 0, a Generator, or None."""
    if seed is None or isinstance(seed, np.random.Generator):
        return seed
    at_least("seed", seed, 0)
    return seed


def generator(seed: Seed) -> np.random.Generator:
    """A Generator to draw from. One that was given as the seed is copied: a parameter never changes, so that the same
    object started twice draws the same numbers."""
    return copy.deepcopy(seed) if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
