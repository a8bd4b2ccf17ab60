"""A stream with alternating labels, on which following the last label is worst."""

from __future__ import annotations

import numpy as np

from nystream.runtime.params import at_least, positive
from nystream.runtime.types import Array
from nystream.streams.cutting import Block
from nystream.streams.generated import Draw, Generated

__all__ = ["alternating"]


def alternating(n: int | None = None, *, C: float = 1.0, d: int = 1) -> Generated:
    """Return a stream with x = (1, 0, ..., 0) in every round and labels -C, +C, -C, ...

    The best fixed prediction is 0 and loses C^2 a round; a learner that follows the last label loses up to 4 C^2 a
    round.

    Examples
    --------
    >>> X, y = alternating(4)
    >>> X.ravel().tolist(), y.tolist()
    ([1.0, 1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0])
    """
    positive("C", C)
    at_least("d", d, 1)

    def recipe(rng: np.random.Generator) -> Draw:
        def draw(t: Array) -> Block:
            X = np.zeros((len(t), d))
            X[:, 0] = 1.0
            return X, C * (1.0 - 2.0 * (t % 2))

        return draw

    return Generated("alternating", recipe, n, d, "regression", 0)
