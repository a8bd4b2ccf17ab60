"""Functions from log odds to probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nystream.runtime.deferred import special
from nystream.runtime.types import Array

__all__ = ["LINKS", "against_the_rest"]


def _logistic(P: Array) -> Array:
    return np.column_stack([special.expit(-P), special.expit(P)])  # 1 - expit(p) would lose small values


def _softmax(P: Array) -> Array:
    probabilities: Array = special.softmax(P, axis=1)
    return probabilities


def against_the_rest(P: Array) -> Array:
    """Return probabilities from log odds (n, K) of each class against the others: sigma of each, normalised."""
    return _softmax(-np.logaddexp(0.0, -P))  # of log sigma: sums to 1 without 0/0


LINKS: dict[str, Callable[[Array], Array]] = {
    "logistic": _logistic,
    "softmax": _softmax,
    "one_vs_rest": against_the_rest,
}
"""The functions named by `Learner.link`, from predictions (n, 1) for labels -1/+1, or (n, K), to probabilities."""
