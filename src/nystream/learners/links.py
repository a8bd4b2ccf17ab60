"""Log odds become probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, softmax

from nystream.types import Array

__all__ = ["LINKS"]


def _logistic(P: Array) -> Array:
    return np.column_stack([expit(-P), expit(P)])  # 1 - expit(p) would lose what is tiny


def _softmax(P: Array) -> Array:
    probabilities: Array = softmax(P, axis=1)
    return probabilities


LINKS: dict[str, Callable[[Array], Array]] = {"logistic": _logistic, "softmax": _softmax}
"""What `Learner.link` names: predictions (n, 1) of the labels -1/+1, or (n, K) of classes, to probabilities."""
