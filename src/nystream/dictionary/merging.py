"""Merge the dictionaries of parts of the data in a balanced tree of re-sampling merges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from nystream.dictionary.kors import KORS

__all__ = ["merge_dictionaries"]


def merge_dictionaries(parts: Sequence[KORS], seed: int | Sequence[int] = 0) -> KORS:
    """Return the dictionary of all streams whose dictionaries are `parts`, which are not changed.

    Neighbours are merged by pairs, level by level, each time sampled again by ridge leverage scores of the union
    (`KORS.merge`): as in DISQUEAK, whose guarantee is that of one pass over all the data, with the failures of all
    merges added up. The uniforms of a merge depend only on the seed, its level and its place, so the result
    does not depend on where or when a merge is computed. O(m^3) a merge of m atoms.

    References
    ----------
    Calandriello, Lazaric, Valko. Distributed Adaptive Sampling for Kernel Matrix Approximation. AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import KORS, merge_dictionaries
    >>> from nystream.kernels import Gaussian
    >>> rng, parts = np.random.default_rng(0), []
    >>> for _ in range(4):
    ...     part = KORS(Gaussian(0.5), ridge=1.0)
    ...     part.start(1)
    ...     _ = part.run(rng.uniform(-1, 1, (1000, 1)), rng.random(1000))
    ...     parts.append(part)
    >>> merge_dictionaries(parts).n < sum(part.n for part in parts)
    True
    """
    if not parts:
        raise ValueError("there is no dictionary to merge")
    seeds = [seed] if isinstance(seed, (int, np.integer)) else list(seed)
    level, waiting = 0, list(parts)
    while len(waiting) > 1:
        waiting = [
            left if right is None else _united(left, right, np.random.default_rng([*seeds, level, place]))
            for place, (left, right) in enumerate(zip_longest(waiting[::2], waiting[1::2]))
        ]
        level += 1
    return waiting[0]


def _united(left: KORS, right: KORS, rng: np.random.Generator) -> KORS:
    united = KORS(left.kernel, left.ridge, eps=left.eps, beta=left.beta, max_atoms=left.max_atoms)
    united.start(left.points.shape[1])
    united.merge([left, right], rng.random(left.n + right.n))
    return united
