"""The lengths of seasons: candidates of the calendar, or peaks of the autocorrelation, checked against the labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nystream.types import Array

__all__ = ["autocorrelation", "find_seasons"]

CYCLES = 3
"""Cycles that must have been seen before a season is believed or given up."""
REFUTED = 0.05
"""A season of the calendar is given up where the autocorrelation at its length is below this."""
FOUND = 0.3
"""A season that only the labels suggest needs an autocorrelation of at least this at its length."""
NEARLY = 0.9
"""Of several peaks the shortest counts whose height is at least this part of the highest."""
CLEARLY = 0.1
"""A second, longer season must raise the autocorrelation by at least this over the multiples of the first."""
FEWEST = 16
"""Labels before which nothing is looked for."""


def autocorrelation(y: Array, most: int) -> Array:
    """Autocorrelations (most + 1,) of labels at lags 0, 1, ..., as sums over pairs of known labels.

    nan are missing. Every lag's sum is divided by the number of its pairs.
    """
    known = ~np.isnan(y)
    centred = np.where(known, y - (y[known].mean() if known.any() else 0.0), 0.0)
    size = 1 << int(2 * len(y) - 1).bit_length()

    def sums(v: Array) -> Array:
        spectrum = np.fft.rfft(v, size)
        return np.fft.irfft(spectrum * spectrum.conj(), size)[: most + 1]

    products, pairs = sums(centred), np.maximum(np.rint(sums(known.astype(float))), 1.0)
    variance = products[0] / pairs[0]
    return products / pairs / variance if variance > 1e-300 else np.zeros(most + 1)


def _without_trend(y: Array, length: int) -> Array:
    """Labels minus their mean over one cycle around them; nan where less than half of it is known."""
    known = ~np.isnan(y)
    kernel = np.ones(length)
    sums = np.convolve(np.where(known, y, 0.0), kernel, mode="same")
    counts = np.convolve(known.astype(float), kernel, mode="same")
    return np.where(counts >= length / 2, y - sums / np.maximum(counts, 1.0), np.nan)


def _strength(y: Array, length: int) -> float:
    """Autocorrelation at one cycle's length after the slow trend is taken out."""
    return float(autocorrelation(_without_trend(y, length), length)[length])


def find_seasons(y: Array, candidates: Sequence[int] | None) -> list[int]:
    """Lengths of the seasons of labels, the shortest first; none, one or two.

    Candidates of the calendar stay unless three cycles refute them. Without a calendar, peaks of the autocorrelation
    are looked for.

    Examples
    --------
    >>> t = np.arange(200)
    >>> find_seasons(np.sin(2 * np.pi * t / 12) + np.cos(t * t), None)
    [12]
    """
    if candidates is not None:
        return [s for s in candidates if len(y) < CYCLES * s or _strength(y, s) >= REFUTED]
    if len(y) < FEWEST:
        return []
    return _peaks(y)


def _peaks(y: Array) -> list[int]:
    most = len(y) // CYCLES
    if most < 3:
        return []
    with_trend = autocorrelation(_without_trend(y, min(len(y) // 2, 2 * most)), most + 1)
    peaks = np.flatnonzero((with_trend[1:-1] > with_trend[:-2]) & (with_trend[1:-1] >= with_trend[2:])) + 1
    peaks = peaks[(peaks > 1) & (with_trend[peaks] >= FOUND)]
    if not len(peaks):
        return []
    # a random walk has small peaks on a falling slope: a season's peak stands out from the valley before it
    peaks = np.array([p for p in peaks if with_trend[p] - with_trend[1:p].min() >= FOUND])
    if not len(peaks):
        return []
    first = int(peaks[with_trend[peaks] >= NEARLY * with_trend[peaks].max()][0])
    shorter = [int(p) for p in peaks if p < first and first % p in (0, 1, p - 1) and _strength(y, int(p)) >= FOUND]
    if shorter:  # a week of hours: the day inside it
        short = shorter[0]
        long = short * round(first / short)
        return [short, long] if long > short else [short]
    return [first]
