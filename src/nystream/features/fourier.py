"""Random Fourier features of a shift-invariant kernel, with independent or orthogonal directions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream._core.features import FourierFeatures
from nystream.features.base import FeatureMap
from nystream.features.demands import gaussian_of, sampler_of
from nystream.kernels.base import Kernel
from nystream.runtime.params import affordable, at_least, one_of
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import DTYPES, Array, Seed

__all__ = ["Fourier", "even_dim"]

ORTHOGONAL = "Fourier with orthogonal=True", "leave orthogonal=False"


class Fourier(FeatureMap):
    """Cosines and sines of random projections.

    With D = dim / 2 directions omega_i drawn once from the kernel's spectral density (Bochner)::

        z(x) = (cos omega_1'x, ..., cos omega_D'x, sin omega_1'x, ..., sin omega_D'x) / sqrt(D)

    so that |z(x)| = 1 and E z(x)'z(x') = k(x, x'), with error O(D^-1/2). Where k(x, x) = c is not 1, z is multiplied
    by sqrt(c). With `orthogonal`, for the Gaussian kernel, directions come in blocks of d: the rows of a random
    rotation times independent chi_d / sigma; each direction is distributed as before, the error is smaller.

    O(dim d) time a row, O(dim d) memory.

    Parameters
    ----------
    kernel : Kernel
        One with a `spectral_sample` method: Gaussian, Laplacian, Matern, and their sums, products and multiples.
    dim : int
        Number of features, even: a cosine and a sine for each direction.
    orthogonal : bool, default False
    seed : int, Generator or None
        Seed of the directions. A Generator is copied, not advanced.
    dtype : {"float64", "float32"}
        Type of directions and features. Single precision takes half the memory; features then have an error of some
        1e-7 times 1 + |omega'x|.

    Attributes
    ----------
    W_ : (d, dim / 2), the directions in columns.

    References
    ----------
    Rahimi, Recht. Random features for large-scale kernel machines. NIPS 2007.
    Yu, Suresh, Choromanski, Holtmann-Rice, Kumar. Orthogonal random features. NIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.features import Fourier
    >>> from nystream.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> Z = Fourier(Gaussian(2.0), dim=4000, seed=0).fit_transform(X)
    >>> Z.shape, bool(abs(Z @ Z.T - Gaussian(2.0)(X, X)).max() < 0.1)
    ((50, 4000), True)
    """

    dim: int = 0
    W_: Array
    engine: FourierFeatures

    def __init__(
        self, kernel: Kernel, dim: int, orthogonal: bool = False, seed: Seed = None, *, dtype: str = "float64"
    ) -> None:
        sampler_of(kernel)
        if orthogonal:
            gaussian_of(kernel, *ORTHOGONAL)
        self.kernel = kernel
        self.dim = even_dim(dim)
        self.orthogonal = orthogonal
        self.seed = checked_seed(seed)
        self.dtype = one_of("dtype", dtype, DTYPES)

    def start(self, d: int) -> None:
        self.rng_ = rng = generator(self.seed)  # `widen` goes on with it
        directions = self.dim // 2
        affordable(8 * d * directions, f"the matrix of directions of {self.dim} Fourier features", "use a smaller dim")
        if self.orthogonal:
            rows = _orthogonal(directions, d, rng) / gaussian_of(self.kernel, *ORTHOGONAL)[0].sigma
        else:
            rows = sampler_of(self.kernel)(directions, d, rng)
        self._bind(rows.T)

    def widen(self, d: int) -> None:
        """Draw more coordinates for every direction. Rows with zeros in the new columns keep their features."""
        extend = getattr(self.kernel, "spectral_extend", None)
        if extend is None:
            raise TypeError(f"Fourier features of {self.kernel!r} cannot take more columns; name them all at the start")
        self._bind(np.vstack([self.W_, extend(self.W_.T, d - self.d_, self.rng_).T]))

    def _map(self, X: Array, out: Array) -> None:
        self.engine.map(X, out)

    def row(self, x: Array) -> Array:
        return self.engine.row(x)

    def _bind(self, W: Array) -> None:
        amplitude = float(self.kernel.diag(np.zeros((1, len(W))))[0])  # k(x, x), the same everywhere
        self.engine = FourierFeatures(W.astype(self.dtype, copy=False), math.sqrt(amplitude / (self.dim // 2)))
        self.d_, self.W_ = len(W), self.engine.W

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if self.d_:
            self._bind(self.W_)


def even_dim(dim: Any) -> int:
    """Return dim if it is an even whole number, else raise a ValueError."""
    if at_least("dim", dim, 2) % 2:
        raise ValueError(f"dim must be even (a cosine and a sine for each direction), got {dim!r}; use {dim + 1}")
    return int(dim)


def _orthogonal(n: int, d: int, rng: np.random.Generator) -> Array:
    """Return n rows in blocks of d: rows of a random rotation, with the lengths of standard normal vectors."""
    blocks = []
    for _ in range(-(-n // d)):
        Q, R = np.linalg.qr(rng.normal(size=(d, d)))
        blocks.append(Q * np.sign(np.diag(R)))  # with LAPACK's signs, Q would not be uniform
    return np.vstack(blocks)[:n] * np.sqrt(rng.chisquare(d, size=n))[:, None]
