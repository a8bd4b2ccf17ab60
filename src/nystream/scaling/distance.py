"""The median distance between rows, which sets the width of a kernel."""

from __future__ import annotations

import math

import numpy as np

from nystream._core.kernels import KernelRows
from nystream.runtime.params import at_least
from nystream.runtime.types import Array

__all__ = ["median_distance"]

_SQUARED = KernelRows("squared")
_ABSOLUTE = KernelRows("absolute")


def median_distance(X: Array, sample: int = 400, *, absolute: bool = False) -> float:
    """Return the median of the non-zero distances between rows of X (n, d), or 1 if there are none.

    Of more than `sample` rows, evenly spaced ones are used. With `absolute`, distances are sums of absolute
    differences, as in the Laplacian kernel. O(sample^2 d).

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import median_distance
    >>> median_distance(np.array([[0.0], [0.0], [3.0]]))
    3.0
    """
    at_least("sample", sample, 2)
    if len(X) > sample:
        X = X[np.linspace(0, len(X) - 1, sample).round().astype(np.intp)]
    apart = (_ABSOLUTE if absolute else _SQUARED).block(X, X)[np.triu_indices(len(X), 1)]
    apart = apart[apart > 0.0]
    if not len(apart):
        return 1.0
    median = float(np.median(apart))
    return median if absolute else math.sqrt(median)
