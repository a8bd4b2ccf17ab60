"""The Laplacian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream._core.kernels import KernelRows
from nystream.kernels.compiled import CompiledKernel, rate
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["Laplacian"]


class Laplacian(CompiledKernel):
    """k(x, y) = exp(-|v (x - y)|_1 / sigma), with the sum of absolute differences |.|_1 and column scales v.

    A product over columns, the same as scikit-learn's `laplacian_kernel(gamma=1/sigma)`. The kernel with the Euclidean
    distance is `Matern(nu=0.5, sigma=sigma)`. Functions of this kernel may bend sharply, and a column of scale 0 is
    ignored. With learnt scales (`nystream.features.LearnedScales`) it suits tables for which trees are common.

    Parameters
    ----------
    sigma : float, default 1.0
        Width, > 0, in the units of x.
    scales : sequence of float, optional
        One for each column, >= 0; None: all are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Laplacian
    >>> Laplacian(sigma=2.0)(np.array([[1.0, 1.0]]), np.zeros((1, 2))).round(4).tolist()
    [[0.3679]]
    >>> Laplacian(scales=[1.0, 0.0])(np.array([[1.0, 1.0]]), np.zeros((1, 2))).round(4).tolist()
    [[0.3679]]
    """

    def __init__(self, sigma: float = 1.0, scales: Any = None) -> None:
        self.sigma = positive("sigma", sigma)
        self._scales = None if scales is None else _checked(scales)
        self.scales = None if self._scales is None else tuple(self._scales.tolist())
        self._rows = KernelRows("laplacian", -rate(1.0 / float(sigma)))

    def __call__(self, X: Array, Y: Array) -> Array:
        return super().__call__(self._scaled(X), self._scaled(Y))

    def row(self, X: Array, x: Array) -> Array:
        return super().row(self._scaled(X), self._scaled(x))

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    @property
    def compiled(self) -> KernelRows | None:  # type: ignore[override]
        """None with scales, because compiled loops do not scale rows."""
        return self._rows if self._scales is None else None

    def spectral_sample(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw n frequencies with independent Cauchy coordinates of scale v / sigma, (n, d)."""
        W = rng.standard_cauchy((n, d)) / self.sigma
        return W if self._scales is None else self._scaled(W)

    def spectral_extend(self, W: Array, new: int, rng: np.random.Generator) -> Array:
        """Return (n, new) more coordinates for the frequencies W (n, d), independent of the existing ones."""
        if self._scales is not None:
            raise ValueError(f"this kernel has scales for {len(self._scales)} columns, and there are more now")
        return self.spectral_sample(len(W), new, rng)

    def _scaled(self, X: Array) -> Array:
        if self._scales is None:
            return X
        X = np.asarray(X, dtype=np.float64)
        if X.shape[-1] != len(self._scales):
            raise ValueError(f"this kernel has scales for {len(self._scales)} columns, but rows have {X.shape[-1]}")
        return X * self._scales


def _checked(scales: Any) -> Array:
    v = np.array(scales, dtype=np.float64)
    if v.ndim != 1 or not len(v) or not np.isfinite(v).all() or (v < 0).any():
        raise ValueError(f"scales must be numbers >= 0, one for each column; got {scales!r}")
    return v
