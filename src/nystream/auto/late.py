"""Labels that come late: the labels that were known when a row came."""

from __future__ import annotations

import numpy as np

from nystream._core.auto.stack import lagged
from nystream.runtime.types import Array

__all__ = ["after", "shifted"]


def shifted(Y: Array, delay: int, before: Array | None = None) -> Array:
    """Replace each label of Y (n, K) by the one `delay` rows before it; `before` are the last labels before Y.

    nan where there was none.
    """
    known = Y[:0] if before is None else before[-delay:]
    nothing = np.full((delay - len(known), Y.shape[1]), np.nan)
    return np.concatenate((nothing, known, Y))[: len(Y)]


def after(lags: Array, Y: Array, paces: Array) -> Array:
    """Return the lags, as `lagged` keeps them, after these labels (n, K). Pure."""
    lags = lags.copy()
    lagged(np.ascontiguousarray(Y), lags, paces)
    return lags
