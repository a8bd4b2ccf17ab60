"""Streams from a random generator. Every pass gives the same rows, for blocks of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from nystream.runtime.params import at_least
from nystream.runtime.seeds import fixed_seed
from nystream.runtime.types import Array, Seed
from nystream.streams.base import Stream, Task
from nystream.streams.cutting import Block, first

__all__ = ["DRAWN", "Draw", "Generated", "Recipe"]

DRAWN = 1024
"""Rows drawn at once, always: a generator asked for other numbers of rows would give other rows."""

Draw: TypeAlias = Callable[[Array], Block]
"""The rows of the rounds t (DRAWN,), which are counted from 1."""
Recipe: TypeAlias = Callable[[np.random.Generator], Draw]
"""Draws the constants of a pass and returns the function that draws rows."""


class Generated(Stream):
    """A stream of rows that a recipe draws from a seed.

    Of length n it unpacks into its arrays, ``X, y = sine(500, seed=0)``; endless (n = None) it does not. Shorter
    streams are beginnings of longer ones with the same seed and parameters.

    Parameters
    ----------
    name : str
    recipe : function of a Generator
    n : int or None
    d : int
    task : "regression" or "classification"
    seed : int, Generator or None
        None draws a seed once, so that passes agree; a Generator gives a child of it.
    """

    def __init__(self, name: str, recipe: Recipe, n: int | None, d: int, task: Task, seed: Seed) -> None:
        if n is not None:
            at_least("n", n, 1)
        super().__init__(name, n=n, d=d, task=task, endless=n is None)
        self._recipe = recipe
        self._seed = fixed_seed(seed)

    def _chunks(self, rows: int) -> Iterator[Block]:
        return self._drawn() if self.n is None else first(self._drawn(), self.n)

    def _drawn(self) -> Iterator[Block]:
        draw = self._recipe(np.random.default_rng(self._seed))
        start = 1
        while True:
            yield draw(np.arange(start, start + DRAWN, dtype=np.float64))
            start += DRAWN
