"""The Matern kernels of half-integer smoothness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream._core.kernels import KernelRows
from nystream.kernels.compiled import CompiledKernel, rate
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["Matern"]


class Matern(CompiledKernel):
    """A polynomial of u = sqrt(2 nu) |x - y| / sigma, Euclidean distance, times exp(-u)::

        nu = 1/2: exp(-u)       nu = 3/2: (1 + u) exp(-u)       nu = 5/2: (1 + u + u^2/3) exp(-u)

    Functions of its space are rougher than the Gaussian's: nu - 1/2 times differentiable in the mean square.
    As scikit-learn's `gaussian_process.kernels.Matern(length_scale=sigma, nu=nu)`.

    Parameters
    ----------
    nu : 0.5, 1.5 or 2.5, default 1.5
    sigma : float, default 1.0
        Width, > 0, in the units of x.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Matern
    >>> Matern(nu=0.5, sigma=2.0)(np.array([[2.0]]), np.zeros((1, 1))).round(4).tolist()
    [[0.3679]]
    """

    def __init__(self, nu: float = 1.5, sigma: float = 1.0) -> None:
        self.nu = _half_integer(nu)
        self.sigma = positive("sigma", sigma)
        scale = rate(math.sqrt(2 * nu) / float(sigma))
        if nu == 0.5:
            self._rows = KernelRows("matern12", scale)
        else:
            self._rows = KernelRows("matern32" if nu == 1.5 else "matern52", scale)

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def spectral_sample(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw n frequencies (n, d) from the t distribution with 2 nu degrees of freedom and scale 1 / sigma."""
        normal = rng.standard_normal((n, d))
        return normal / (self.sigma * np.sqrt(rng.chisquare(2 * self.nu, (n, 1)) / (2 * self.nu)))

    def spectral_extend(self, W: Array, new: int, rng: np.random.Generator) -> Array:
        """Draw (n, new) more coordinates for the frequencies W (n, d), conditional on the existing ones.

        Given d coordinates w of a t vector with m degrees of freedom, the others are a t vector with m + d degrees of
        freedom, its scale multiplied by sqrt((m + sigma^2 |w|^2) / (m + d)).
        """
        m, (n, d) = 2 * self.nu, W.shape
        spread = np.sqrt((m + self.sigma**2 * (W**2).sum(axis=1)) / rng.chisquare(m + d, n))
        return rng.standard_normal((n, new)) * (spread / self.sigma)[:, None]


def _half_integer(nu: Any) -> Any:
    if isinstance(nu, (float, np.floating)) and nu in (0.5, 1.5, 2.5):
        return nu
    raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {nu!r}; for smoother functions use Gaussian")
