"""The linear kernel."""

from __future__ import annotations

from nystream._core.kernels import KernelRows
from nystream.kernels.compiled import CompiledKernel

__all__ = ["Linear"]


class Linear(CompiledKernel):
    """k(x, y) = <x, y>.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])).tolist()
    [[11.0]]
    """

    def __init__(self) -> None:
        self._rows = KernelRows("linear")

    @property
    def single(self) -> bool:
        """False: products of large numbers exceed the range of single precision."""
        return False
