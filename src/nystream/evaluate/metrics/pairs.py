"""Conversion of labels and predictions to numbers, to classes, or to two classes with a score."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nystream.runtime.types import Array

__all__ = ["UNDECIDED", "as_classes", "as_numbers", "as_scores", "as_truth"]

UNDECIDED = -1
"""The decision for a NaN prediction, which is always wrong."""

_Classes = npt.NDArray[np.intp]


def as_numbers(Y: Any, P: Any, name: str) -> tuple[Array, Array]:
    """Return targets and predictions, both (n, K)."""
    y, p = _array(Y, "Y", name), _array(P, "P", name)
    if y.ndim == 1:
        y = y[:, None]
    if p.ndim == 1:
        p = p[:, None]
    if y.shape != p.shape:
        raise ValueError(f"{name} compares numbers: Y and P must have one shape, got {np.shape(Y)} and {np.shape(P)}")
    return y, p


def as_classes(Y: Any, P: Any, name: str) -> tuple[_Classes, _Classes, bool]:
    """Return the class numbers of labels and of decisions, and whether the sign of (n,) predictions decides.

    Then -1 is class 0 and +1 is class 1. A two-dimensional Y is read as one-hot: its largest entry.
    """
    p = _array(P, "P", name)
    truth = as_truth(Y, p, name)
    if p.ndim == 1:
        decided = (p >= 0).astype(np.intp)
        decided[np.isnan(p)] = UNDECIDED
        return truth, decided, True
    decided = np.argmax(p, axis=1)
    decided[np.isnan(p).any(axis=1)] = UNDECIDED
    return truth, decided, False


def as_scores(Y: Any, P: Any, name: str) -> tuple[_Classes, Array]:
    """Return 0 or 1 for each label, and a score (n,) that should be larger for 1."""
    p = _array(P, "P", name)
    if p.ndim == 2 and p.shape[1] > 2:
        raise ValueError(f"{name} compares two classes, got scores of {p.shape[1]}; use balanced_accuracy, f1 or kappa")
    truth = as_truth(Y, p, name)
    if len(truth) and truth.max() > 1:
        raise ValueError(f"{name} compares two classes, got the label {truth.max()}")
    if p.ndim == 1:
        return truth, p
    return truth, p[:, 1] - p[:, 0] if p.shape[1] == 2 else np.zeros(len(p))


def as_truth(Y: Any, p: Array, name: str) -> _Classes:
    """Return the class numbers of the labels that belong to predictions p."""
    y = _array(Y, "Y", name)
    if len(y) != len(p):
        raise ValueError(f"{name} got {len(y)} labels for {len(p)} predictions")
    if y.ndim == 2 and y.shape[1] > 1:
        return _hot(y, p, name)
    y = y.reshape(-1)
    if p.ndim == 1:
        _refuse(y, np.abs(y) != 1, name, "-1 or +1")
        return (y > 0).astype(np.intp)
    _refuse(y, ~((y >= 0) & (y == np.floor(y)) & np.isfinite(y)), name, "class numbers 0, 1, 2, ...")
    return y.astype(np.intp)


def _hot(y: Array, p: Array, name: str) -> _Classes:
    if p.shape != y.shape:
        raise ValueError(f"{name} reads (n, K) labels as one-hot, with K scores a row: got {y.shape} and {p.shape}")
    top = y == y.max(axis=1, keepdims=True)
    _refuse(y, top.sum(axis=1) != 1, name, "one-hot, with one largest entry a row")
    return np.argmax(y, axis=1)


def _array(value: Any, what: str, name: str) -> Array:
    if value is None:
        raise ValueError(f"{name} needs {'labels, and there are none' if what == 'Y' else 'predictions'}")
    array = np.asarray(value, dtype=np.float64)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name}: {what} must be (n,) or (n, K), got shape {array.shape}")
    return array


def _refuse(y: Array, bad: npt.NDArray[np.bool_], name: str, wanted: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{name} needs labels that are {wanted}; got {y[row].tolist()} at row {row}")
