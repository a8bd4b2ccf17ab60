"""Exact kernel ridge regression on the first rows after an estimated change point."""

from __future__ import annotations

import numpy as np

from nystream._core.auto.drift import few_rounds, placed
from nystream.auto.drift.inputs import FAR
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["FewRowRidge"]

WIDTHS = (3.4, 1.7)
"""Squared width of the kernel per standardised column, for targets and for classes. The median squared distance is
about 1.7 per column. Classes get a narrower kernel because they have sharp edges.
"""
RIDGES = (0.01, 0.3)
"""Ridges for targets and for codes of classes, in units of their variance."""
SURELY = 0.02
"""Probabilities are at least this, before they are divided by their sum."""


class FewRowRidge(Params):
    """Kernel ridge regression with two Gaussian kernels, one wide and one narrow, on the first rows that it learns.

    The location of inputs and the scale of labels are known from before the change. A fresh `Auto` has to learn both,
    so in the first hundred rows this ridge is better. Targets are standardised; a class has the codes 1 - 1/K and -1/K.
    O(rows^2) a row while it learns; see `nystream._core.auto.drift.few_rounds`.

    Parameters
    ----------
    classes : bool
    rows : int
        Number of rows that it learns: the first ones.
    """

    where_: Array
    """(2, d) centres and units of the columns."""
    kept_: Array
    inverse_: Array
    whitened_: Array
    labels_: Array
    """For classes: the labels learnt."""

    def __init__(self, classes: bool, rows: int) -> None:
        self.classes = classes
        self.rows = at_least("rows", rows, 1)

    @staticmethod
    def affordable(numbers: float, d: int, outputs: int) -> int:
        """Return how many rows fit into so many numbers of memory."""
        half = (d + outputs + 1) / 2
        return int(np.sqrt(half * half + max(numbers, 0.0)) - half)

    def start(self, outputs: int, where: Array) -> None:
        self.outputs_, self.where_, self.count_ = outputs, where, 0
        self.width_ = WIDTHS[self.classes] * max(1, where.shape[1])
        self.kept_, self.inverse_ = np.zeros((self.rows, where.shape[1])), np.zeros((self.rows, self.rows))
        self.whitened_, self.labels_ = np.zeros((self.rows, outputs)), np.zeros(self.rows if self.classes else 0)

    def run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        """Return predictions (n, K), each before its label in Y: standardised targets (n, K) or classes (n, 1)."""
        T = self._coded(Y[:, 0]) if self.classes else np.ascontiguousarray(Y)
        if self.classes:
            new = Y[: self.rows - self.count_, 0]
            self.labels_[self.count_ : self.count_ + len(new)] = new
        P, self.count_ = self._rounds(X, T, weights, learn=True)
        return self._predictions(P)

    def predict(self, X: Array) -> Array:
        """Return predictions (n, K). Pure."""
        return self._predictions(self._rounds(X, np.empty((0, 0)), None, learn=False)[0])

    def left_out(self, n: int) -> tuple[Array, Array]:
        """Predict each of the first n rows from the others. Return the errors (n, K), and their variances (n,) in
        units of the targets' variances.
        """
        inverse, whitened = self.inverse_[:n, :n], self.whitened_[:n]
        variances = 1 / np.einsum("ji,ji->i", inverse, inverse)
        return np.einsum("ji,jk->ik", inverse, whitened) * variances[:, None], variances

    def without(self, missing: Array, labels: Array) -> Array:
        """Return (n, K) probabilities of classes, from the errors of their codes."""
        return self._predictions(self._coded(labels) - missing)

    def grow(self, outputs: int) -> None:
        """Add classes."""
        self.outputs_ = outputs
        n, T = self.count_, self._coded(self.labels_[: self.count_])
        self.whitened_ = np.zeros((self.rows, outputs))
        self.whitened_[:n] = np.einsum("ij,jk->ik", self.inverse_[:n, :n], T)

    def _rounds(self, X: Array, T: Array, weights: Array | None, *, learn: bool) -> tuple[Array, int]:
        Z = placed(np.ascontiguousarray(X), self.where_, FAR)
        arrays = (self.kept_, self.inverse_, self.whitened_)
        numbers = (self.count_, self.width_, RIDGES[self.classes])
        return few_rounds(Z, T, *arrays, *numbers, weights, learn)

    def _coded(self, labels: Array) -> Array:
        return (labels[:, None] == np.arange(self.outputs_)) - 1.0 / self.outputs_

    def _predictions(self, P: Array) -> Array:
        if not self.classes:
            return P
        P = np.maximum(P + 1.0 / self.outputs_, SURELY)
        return np.asarray(P / P.sum(axis=1, keepdims=True))

    def widen(self, d: int) -> None:
        """Add columns, which are ignored."""
        self.where_ = np.pad(self.where_, ((0, 0), (0, d - self.where_.shape[1])), constant_values=np.nan)
        self.kept_ = np.pad(self.kept_, ((0, 0), (0, d - self.kept_.shape[1])))

    @property
    def nbytes(self) -> int:
        return sum(v.nbytes for v in self._state().values() if isinstance(v, np.ndarray))
