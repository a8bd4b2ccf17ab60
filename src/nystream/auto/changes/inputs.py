"""How far inputs lie from where they used to, and which columns moved."""

from __future__ import annotations

import math

import numpy as np

from nystream._core.auto.changes import far
from nystream.types import Array

__all__ = ["distances", "location", "moved"]

FAR = 5.0
"""Deviations beyond which a value is no farther."""
RARE = 1e-4
"""Chance that any column is called moved where none did."""
MOST = 5
"""Columns that are named."""


def location(X: Array) -> Array:
    """(2, D) mean and standard deviation of the known values of each column; nan where there are none."""
    known = np.isfinite(X)
    n = np.maximum(known.sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.where(known, X, 0.0).sum(axis=0) / n
        spread = np.sqrt((np.where(known, X - mean, 0.0) ** 2).sum(axis=0) / n)
        found = np.stack([mean, spread + 1e-12 * np.abs(mean) + 1e-300])
    found[:, ~known.any(axis=0) | ~np.isfinite(found).all(axis=0)] = np.nan
    return found


def distances(X: Array, where: Array) -> Array:
    """(n,) means over the known columns of squared deviations from a `location`."""
    return far(np.ascontiguousarray(X), where, FAR)


def moved(before: Array, after: Array, names: list[str]) -> tuple[str, ...]:
    """Columns whose values are distributed otherwise, by the test of Kolmogorov and Smirnov; missing counts as largest.

    The largest distances between the distribution functions first.
    """
    m, n, d = len(before), len(after), before.shape[1]
    if not m or not n:
        return ()
    least = math.sqrt(0.5 * math.log(2 * d / RARE) * (m + n) / (m * n))
    apart = np.empty(d)
    for j in range(d):
        a, b = (np.sort(np.where(np.isnan(X[:, j]), np.inf, X[:, j])) for X in (before, after))
        grid = np.concatenate([a, b])
        apart[j] = np.abs(np.searchsorted(a, grid, "right") / m - np.searchsorted(b, grid, "right") / n).max()
    order = np.argsort(-apart, kind="stable")[:MOST]
    return tuple(names[j] for j in order.tolist() if apart[j] > least)
