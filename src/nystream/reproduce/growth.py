"""Measure how a curve grows: its exponent at the end, and whether a logarithm or a root of the rounds fits better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nystream.runtime.types import Array

__all__ = ["Growth", "growth", "slope"]


@dataclass(frozen=True)
class Growth:
    """The local exponent d log R/d log T, and the law that fits best; the beginning of the curve is left out."""

    early: float
    """The exponent from 1/16 to 1/4 of the rounds."""
    exponent: float
    """From 1/4 of the rounds to the end."""
    law: str
    fits: dict[str, float]
    """R^2 of R = a + b g(T) for each law g, from 1/16 of the rounds to the end."""


def growth(rounds: Array, values: Array) -> Growth:
    """Return the growth of a curve that is known at some rounds."""
    late, middle = rounds >= rounds[-1] / 4, rounds >= rounds[-1] / 16
    first, last = (slope(rounds[part], values[part]) for part in (middle & ~late, late))
    T, R = np.asarray(rounds[middle], dtype=float), values[middle]
    fits = {name: _explained(g, R) for name, g in (("log T", np.log(T)), ("sqrt T", np.sqrt(T)), ("T", T))}
    return Growth(first, last, max(fits, key=lambda name: fits[name]), fits)


def slope(x: Array, y: Array) -> float:
    """Return the least-squares slope of log y against log x; nan if a value is not positive."""
    if len(x) < 2 or np.any(np.asarray(y) <= 0):
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _explained(g: Array, values: Array) -> float:
    """Return R^2 of the line through (g, values)."""
    left = values - np.polyval(np.polyfit(g, values, 1), g)
    return 1.0 - float(left @ left) / max(float(np.sum((values - values.mean()) ** 2)), 1e-300)
