"""The polynomial kernel."""

from __future__ import annotations

from nystream._core.kernels import KernelRows
from nystream.kernels.compiled import CompiledKernel
from nystream.runtime.params import at_least, positive

__all__ = ["Polynomial"]


class Polynomial(CompiledKernel):
    """k(x, y) = (scale <x, y> + offset)^degree.

    Values grow like |x|^(2 degree): for a high degree scale the rows first, or use `Normalized(Polynomial(9))`.

    Parameters
    ----------
    degree : int, default 2
        At least 1.
    scale : float, default 1.0
        > 0.
    offset : float, default 1.0
        >= 0; above 0, all monomials up to the degree take part.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Polynomial
    >>> Polynomial(3, scale=0.5)(np.array([[2.0, 0.0]]), np.array([[1.0, 5.0]])).tolist()
    [[8.0]]
    """

    def __init__(self, degree: int = 2, scale: float = 1.0, offset: float = 1.0) -> None:
        self.degree = at_least("degree", degree, 1)
        self.scale = positive("scale", scale)
        self.offset = positive("offset", offset, zero=True)
        self._rows = KernelRows("polynomial", scale, offset, degree)

    @property
    def single(self) -> bool:
        """False: values soon exceed the range of single precision."""
        return False
