"""A seed that gives the same numbers in every pass."""

from __future__ import annotations

import numpy as np

from nystream.params import at_least
from nystream.types import Seed

__all__ = ["fixed_seed"]


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
