"""The Gaussian kernel."""

from __future__ import annotations

import numpy as np

from nystream._core.kernels import KernelRows
from nystream.kernels.compiled import CompiledKernel, rate
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["Gaussian"]


class Gaussian(CompiledKernel):
    """k(x, y) = exp(-|x - y|^2 / (2 sigma^2)).

    Parameters
    ----------
    sigma : float, default 1.0
        Width, > 0, in the units of x. With g = 1/(2 sigma^2) it is scikit-learn's `rbf_kernel(gamma=g)`.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> Gaussian(sigma=2.0)(np.array([[0.0], [2.0]]), np.array([[0.0]])).round(4).tolist()
    [[1.0], [0.6065]]
    """

    def __init__(self, sigma: float = 1.0) -> None:
        self.sigma = positive("sigma", sigma)
        self._rows = KernelRows("gaussian", -rate(0.5 / float(sigma) / float(sigma)))

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def spectral_sample(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw n frequencies from N(0, I / sigma^2), (n, d)."""
        return rng.standard_normal((n, d)) / self.sigma

    def spectral_extend(self, W: Array, new: int, rng: np.random.Generator) -> Array:
        """Return (n, new) more coordinates for the frequencies W (n, d), independent of the existing ones."""
        return self.spectral_sample(len(W), new, rng)
