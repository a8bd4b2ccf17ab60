"""Persistence for classes: how often the last class was right so far, and which classes came instead."""

from __future__ import annotations

import numpy as np

from nystream._core.auto.mixtures import repeated
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Repeats"]


class Repeats(Params):
    """Gives probabilities of the next of K classes from the last one alone.

    The class before comes again with probability (r + 1/2) / (n + 1) after r repetitions in n rows (Krichevsky and
    Trofimov's estimate); the rest goes to the other classes by their counts, each plus 1. Before the first row all are
    alike. Labels that rarely change are forecast so with hardly more than one mistake for every change.
    """

    counts_: Array
    """(K,) rows of every class."""
    last_: int
    """The last class, -1 before the first row."""
    repeated_: int
    """Rows whose class was the one before."""

    def start(self, outputs: int) -> None:
        self.counts_ = np.zeros(outputs)
        self.last_, self.repeated_ = -1, 0

    def predict(self) -> Array:
        """Return (K,) probabilities."""
        return repeated(None, self.counts_, self.last_, self.repeated_)[0][0]

    def run(self, labels: Array) -> Array:
        """Return (n, K) probabilities before each of these labels (n,), and count the labels."""
        P, self.last_, self.repeated_ = repeated(labels, self.counts_, self.last_, self.repeated_)
        return P

    def grow(self, outputs: int) -> None:
        self.counts_ = np.concatenate([self.counts_, np.zeros(outputs - len(self.counts_))])

    @property
    def nbytes(self) -> int:
        return self.counts_.nbytes
