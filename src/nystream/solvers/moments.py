"""Sums over rows from which least squares is solved at once, added up by matrix products."""

from __future__ import annotations

import numpy as np

from nystream.runtime.deferred import linalg
from nystream.runtime.params import affordable
from nystream.runtime.types import Array

__all__ = ["Moments"]


class Moments:
    """Holds the sums w z z', w z y and w y^2 over rows with features z and labels y (K,). Features may be appended.

    r^2 flops a row in one BLAS call a block (dsyrk), half of what a round of `AWV` takes, and on all threads of BLAS.

    Parameters
    ----------
    dim : int
        Features.
    outputs : int
        Labels of a row.
    """

    def __init__(self, dim: int, outputs: int) -> None:
        affordable(8 * dim * dim, f"the sums of products of {dim} features", "use fewer features")
        self.products = np.zeros((dim, dim), order="F")
        """sum w z z'; only the lower triangle is filled."""
        self.targets = np.zeros((dim, outputs))
        self.squares, self.largest = np.zeros(outputs), np.zeros(outputs)
        """(K,) sum w y^2; and the largest |y|."""
        self.weight, self.rows = 0.0, 0

    def add(self, Z: Array, Y: Array, weights: Array | None = None) -> None:
        """Count rows with features Z (n, dim or more), labels (n, K) and weights (n,), None for 1. Z is not kept."""
        if not len(Z):
            return
        self._widen(Z.shape[1])
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            Z, Y = root * Z, root * Y
            self.largest = np.maximum(self.largest, (np.abs(Y) / root).max(axis=0))
        else:
            self.largest = np.maximum(self.largest, np.abs(Y).max(axis=0))
        self.products = linalg.blas.dsyrk(1.0, Z.T, 1.0, self.products, lower=True, overwrite_c=True)
        self.targets += Z.T @ Y
        self.squares += np.einsum("ij,ij->j", Y, Y)
        self.weight += float(len(Z) if weights is None else weights.sum())
        self.rows += len(Z)

    def _widen(self, dim: int) -> None:
        old = len(self.products)
        if dim > old:
            wide = np.zeros((dim, dim), order="F")
            wide[:old, :old] = self.products
            self.products = wide
            self.targets = np.vstack([self.targets, np.zeros((dim - old, self.targets.shape[1]))])
