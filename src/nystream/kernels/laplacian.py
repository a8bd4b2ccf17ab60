"""The Laplacian kernel."""

from __future__ import annotations

import numpy as np

from nystream._core.kernel_rows import KernelRows
from nystream.kernels.compiled import CompiledKernel, rate
from nystream.params import positive
from nystream.types import Array

__all__ = ["Laplacian"]


class Laplacian(CompiledKernel):
    """k(x, y) = exp(-|x - y|_1 / sigma), with the sum of absolute differences |.|_1.

    A product over columns, as scikit-learn's `laplacian_kernel(gamma=1/sigma)`. The one with the Euclidean distance is
    `Matern(nu=0.5, sigma=sigma)`.

    Parameters
    ----------
    sigma : float, default 1.0
        Width, > 0, in the units of x.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Laplacian
    >>> Laplacian(sigma=2.0)(np.array([[1.0, 1.0]]), np.zeros((1, 2))).round(4).tolist()
    [[0.3679]]
    """

    def __init__(self, sigma: float = 1.0) -> None:
        self.sigma = positive("sigma", sigma)
        self._rows = KernelRows("laplacian", -rate(1.0 / float(sigma)))

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def spectral_sample(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """n frequencies with independent Cauchy coordinates of scale 1 / sigma, (n, d)."""
        return rng.standard_cauchy((n, d)) / self.sigma

    def spectral_extend(self, W: Array, new: int, rng: np.random.Generator) -> Array:
        """(n, new) further coordinates of the frequencies W (n, d): independent of those there are."""
        return self.spectral_sample(len(W), new, rng)
