"""The numbers that a seed stands for: drawn once by a learner, or again in every pass over a stream."""

from __future__ import annotations

import copy

import numpy as np

from nystream.runtime.params import at_least
from nystream.runtime.types import Seed

__all__ = ["checked_seed", "fixed_seed", "generator"]


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


def fixed_seed(seed: Seed) -> np.random.SeedSequence:
    """What `default_rng` takes, again and again: of an int itself, of None fresh entropy, of a Generator a new child.

    A child, and not the Generator itself, since a pass must not change what the next pass draws.
    """
    if isinstance(seed, np.random.Generator):
        sequence = seed.bit_generator.seed_seq
        if not isinstance(sequence, np.random.SeedSequence):
            raise ValueError("seed: this Generator has no seed sequence; make it with numpy.random.default_rng")
        return sequence.spawn(1)[0]
    return np.random.SeedSequence(None if seed is None else at_least("seed", seed, 0))
