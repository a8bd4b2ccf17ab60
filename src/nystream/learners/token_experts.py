"""The sparse experts of a table: linear models of its tokens, learnt by gradient descent at several rates and by a
Gaussian filter.
"""

from __future__ import annotations

import numpy as np

from nystream.data.sparse_rows import SparseRows
from nystream.learners.gaussian_filter import GaussianFilter
from nystream.learners.sparse_linear import SparseLinear
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["TOKENS", "TokenExperts"]

RATES = (1.0, 3.0, 10.0)
"""Learning rates of the descents, half a power of ten apart, since the best one depends on the stream."""
TOKENS = 2**32
"""Columns of tokens."""


class TokenExperts(Params):
    """A pair of sparse experts: `SparseLinear` on tokens without pairs and `GaussianFilter` on all tokens, with the
    same labels.

    What they say of a row is (experts, K): the descent at each of its rates, the filter, the pool of the rates. Real
    targets are predicted in the units of the labels; of classes these are scores, centred around 0.

    Parameters
    ----------
    classes : bool
        Whether labels are numbers of classes.
    max_bytes : int, default 2^25
        Of both tables together.
    """

    descent_: SparseLinear
    filter_: GaussianFilter

    def __init__(self, classes: bool, max_bytes: int = 2**25) -> None:
        self.classes = classes
        self.max_bytes = at_least("max_bytes", max_bytes, 1)

    def start(self, outputs: int) -> None:
        loss = "softmax" if self.classes else "squared"
        # as their records are long: 3 (K + 1) and 2 K numbers of K classes, 6 K and 2 K of K targets
        first = self.max_bytes * 7 // 10 if self.classes else self.max_bytes * 3 // 4
        self.descent_ = SparseLinear(loss, rates=RATES, max_bytes=max(1, first))
        self.filter_ = GaussianFilter(loss, max_bytes=max(1, self.max_bytes - first))
        for learner in (self.descent_, self.filter_):
            learner.reserve(TOKENS, outputs)

    @property
    def names(self) -> list[str]:
        """Names of the experts, in the order of their predictions."""
        return [*(f"descent, rate {rate:g}" for rate in RATES), "filter", "descent"]

    def predict(self, plain: SparseRows, tokens: SparseRows) -> Array:
        """Return predictions (n, experts, K) for rows without pairs and with them. Pure."""
        pooled, apart = self.descent_.predict_apart(plain)
        return self._together(apart, self.filter_.rounds(tokens), pooled)

    def run(self, plain: SparseRows, tokens: SparseRows, Y: Array, weights: Array | None = None) -> Array:
        """Do `predict` for each row before its label in Y (n, K) or (n, 1) is learnt. Classes are known, weights are
        above 0.
        """
        pooled, apart = self.descent_.run_apart(plain, Y, weights)
        return self._together(apart, self.filter_.rounds(tokens, Y, weights), pooled)

    def check(self, rows: SparseRows) -> None:
        """Raise an error for values that are too large, before anything is learnt."""
        self.descent_._check(rows, len(rows))

    def grow(self, outputs: int) -> None:
        """Add classes that appear late."""
        for learner in (self.descent_, self.filter_):
            learner.reserve(TOKENS, outputs)

    @property
    def nbytes(self) -> int:
        return self.descent_.nbytes + self.filter_.nbytes

    def _together(self, apart: Array, filtered: Array, pooled: Array) -> Array:
        S = np.concatenate([apart, filtered[:, None], pooled[:, None]], axis=1)
        if self.classes:
            S -= np.add.reduce(S, axis=2, keepdims=True) / S.shape[2]
        return S
