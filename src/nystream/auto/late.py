"""Labels that come late: what was known of them when a row came."""

from __future__ import annotations

import numpy as np

from nystream._core.auto.stack import lagged
from nystream.runtime.types import Array

__all__ = ["after", "shifted"]


def shifted(Y: Array, delay: int, before: Array | None = None) -> Array:
    """(n, K) in place of each label of Y (n, K) the one `delay` rows before it; `before`, the last labels before Y.

    nan where there was none.
    """
    known = Y[:0] if before is None else before[-delay:]
    nothing = np.full((delay - len(known), Y.shape[1]), np.nan)
    return np.concatenate((nothing, known, Y))[: len(Y)]


def after(lags: Array, Y: Array, paces: Array) -> Array:
    """Lags, as `lagged` keeps them, once these labels (n, K) are known too. Pure."""
    lags = lags.copy()
    lagged(np.ascontiguousarray(Y), lags, paces)
    return lags
