"""Probabilities of classes made as sure as they turn out to be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.mixtures import recalibrated
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Recalibration"]


class Recalibration(Params):
    """Two maps of probabilities, learnt row by row, and a mixture of them and what was said, by log loss.

    A map gives class k a probability in proportion to exp((1 + a/2) log p_k + 2 b p_k): a makes all of it more or less
    sure; b bends it, so that sureness may end below 1, as where labels are wrong now and then. Both are found by
    Newton's method on the log loss with a ridge of 1, in sums that keep .995 or .9995 of a row's weight, every 10 rows;
    slopes stay above 0, so the order of the classes is never changed. Nothing depends on the number of classes.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger. On calibration of modern neural networks. ICML 2017 (a alone: temperature).
    Herbster, Warmuth. Tracking the best expert. Machine Learning 32, 1998 (the mixture).
    """

    squares_: Array
    """(2, 4) Hessians; sums_ (2, 2), weights_ (2, 2) a and b."""
    sums_: Array
    weights_: Array
    shares_: Array
    """(3,) of what was said and the two maps."""
    marks_: NDArray[np.int64]
    """Rows since the maps moved."""

    def start(self) -> None:
        self.squares_, self.sums_, self.weights_ = np.zeros((2, 4)), np.zeros((2, 2)), np.zeros((2, 2))
        self.shares_, self.marks_ = np.full(3, 1 / 3), np.zeros(1, dtype=np.int64)

    def predict(self, P: Array) -> Array:
        """Logarithms of probabilities (n, K) for such of the learner. Pure."""
        return recalibrated(np.ascontiguousarray(P), None, None, *self._parts)

    def run(self, P: Array, labels: Array, w: Array | None) -> Array:
        """The same, each row before its label (n,) is learnt."""
        return recalibrated(np.ascontiguousarray(P), labels, w, *self._parts)

    @property
    def _parts(self) -> tuple[Array, Array, Array, Array, NDArray[np.int64]]:
        return self.squares_, self.sums_, self.weights_, self.shares_, self.marks_

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in self._state().values())
