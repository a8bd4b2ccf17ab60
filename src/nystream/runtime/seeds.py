"""Random generators from seeds."""

from __future__ import annotations

import copy

import numpy as np

from nystream.runtime.params import at_least
from nystream.runtime.types import Seed

__all__ = ["checked_seed", "fixed_seed", "generator"]


def checked_seed(seed: Seed) -> Seed:
    """Return the seed if it is a whole number of at least 0, a Generator, or None; else raise a ValueError."""
    if seed is None or isinstance(seed, np.random.Generator):
        return seed
    at_least("seed", seed, 0)
    return seed


def generator(seed: Seed) -> np.random.Generator:
    """Return a Generator for this seed. A Generator is copied, so a second start draws the same numbers."""
    return copy.deepcopy(seed) if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)


def fixed_seed(seed: Seed) -> np.random.SeedSequence:
    """Return a seed that gives the same numbers in every pass over a stream.

    An int is returned as it is, None gives fresh entropy, and a Generator gives a new child, because a pass must not
    change the numbers of the next pass.
    """
    if isinstance(seed, np.random.Generator):
        sequence = seed.bit_generator.seed_seq
        if not isinstance(sequence, np.random.SeedSequence):
            raise ValueError("seed: this Generator has no seed sequence; make it with numpy.random.default_rng")
        return sequence.spawn(1)[0]
    return np.random.SeedSequence(None if seed is None else at_least("seed", seed, 0))
