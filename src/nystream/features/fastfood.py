"""Fastfood: random Fourier features by Hadamard transforms instead of a matrix of directions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.features import FastfoodFeatures
from nystream.features.base import FeatureMap
from nystream.features.demands import gaussian_of
from nystream.features.fourier import even_dim
from nystream.kernels.base import Kernel
from nystream.runtime.params import one_of
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import DTYPES, Array, Seed

__all__ = ["Fastfood"]

REMEDY = "use Fourier for a shift-invariant kernel, Nystrom for any"


class Fastfood(FeatureMap):
    """Fourier features of the Gaussian kernel in O(dim log d) time a row and O(dim) memory.

    Rows are padded with zeros to d', a power of two. Directions come in blocks of d'::

        V = S H G P H B / (sigma sqrt(d'))           z(x) = [cos V x, sin V x] / sqrt(dim / 2)

    H the Walsh-Hadamard matrix (entries +-1), B random signs, P a random permutation, G independent standard normal,
    S_i = (a chi_d' draw) / |G|. Each direction is distributed exactly as in `Fourier`, so E z(x)'z(x') = k(x, x');
    within a block they are dependent. Of the last block only the rows needed are used. For c times a kernel z is
    multiplied by sqrt(c). It is faster than `Fourier` for large d.

    Parameters
    ----------
    kernel : Gaussian, or a number times it
    dim : int
        Number of features, even: a cosine and a sine for each direction.
    seed : int, Generator or None
        A Generator is copied, not advanced.
    dtype : {"float64", "float32"}
        Type of angles and features. Single precision has an error of some 1e-7 times 1 + |v'x|.

    References
    ----------
    Le, Sarlos, Smola. Fastfood: approximating kernel expansions in loglinear time. ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.features import Fastfood
    >>> from nystream.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 5))
    >>> Z = Fastfood(Gaussian(2.0), dim=4000, seed=0).fit_transform(X)
    >>> Z.shape, bool(abs(Z @ Z.T - Gaussian(2.0)(X, X)).max() < 0.1)
    ((50, 4000), True)
    """

    dim: int = 0
    signs_: Array
    order_: npt.NDArray[np.int32]
    gauss_: Array
    scale_: Array
    engine: FastfoodFeatures

    def __init__(self, kernel: Kernel, dim: int, seed: Seed = None, *, dtype: str = "float64") -> None:
        gaussian_of(kernel, "Fastfood", REMEDY)
        self.kernel = kernel
        self.dim = even_dim(dim)
        self.seed = checked_seed(seed)
        self.dtype = one_of("dtype", dtype, DTYPES)

    def start(self, d: int) -> None:
        rng, size = generator(self.seed), 1 << (d - 1).bit_length()
        shape = (-(-self.dim // 2 // size), size)
        self.signs_ = rng.choice([-1.0, 1.0], size=shape)
        self.order_ = np.array([rng.permutation(size) for _ in range(shape[0])], dtype=np.int32)
        self.gauss_ = rng.normal(size=shape)
        sigma = gaussian_of(self.kernel, "Fastfood", REMEDY)[0].sigma
        lengths = np.sqrt(rng.chisquare(size, size=shape))
        self.scale_ = lengths / (np.linalg.norm(self.gauss_, axis=1, keepdims=True) * sigma * math.sqrt(size))
        self.d_ = d
        self._bind()

    def _map(self, X: Array, out: Array) -> None:
        self.engine.map(X, out)

    def row(self, x: Array) -> Array:
        return self.engine.row(x)

    def _bind(self) -> None:
        gain = math.sqrt(gaussian_of(self.kernel, "Fastfood", REMEDY)[1] / (self.dim // 2))
        parts = self.signs_, self.order_, self.gauss_, self.scale_
        self.engine = FastfoodFeatures(self.d_, self.dim // 2, gain, *parts, self.dtype == "float32")

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if self.d_:
            self._bind()
