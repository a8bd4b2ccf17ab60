"""The lengths of seasons: candidates of the calendar, or peaks of the autocorrelation, checked against the labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nystream.runtime.types import Array

__all__ = ["autocorrelation", "find_seasons"]

CYCLES = 3
"""Cycles that must have been seen before a season is believed or given up."""
SIGNIFICANT = 1.0
"""A season of the calendar stays where the autocorrelation at its length is at least this over the root of the rows: to
keep a season that is none costs little, since members without it take over."""
FAR = 3.0
"""Changes count up to so many times their median size: rare drops would hide a season."""
FOUND, SURE = 0.2, 4.0
"""A season that only the labels suggest needs an autocorrelation of at least 0.2, and 4 over the root of the rows."""
PART = 1 / 3
"""The height of a length is the mean autocorrelation at its multiples, which is less a row beside the true length. The
shortest length counts for which the autocorrelations at once, twice and three times the length are at least this part
of the largest height: a day inside a week."""
CLEARLY = 4.0
"""A multiple of it counts as well where its height is larger by so many standard errors, those of k averaged
autocorrelations of n labels, 1/(n k)^.5 with k = n/(2 p) multiples."""
NEARLY = 0.9
"""Of several such multiples the shortest counts whose height is at least this part of the highest."""


def autocorrelation(y: Array, most: int) -> Array:
    """Return the autocorrelations (most + 1,) of labels at lags 0, 1, ..., as sums over pairs of known labels.

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


def _of_changes(y: Array, most: int) -> Array:
    """Return the autocorrelations of the changes between known labels, which ignore a drifting level."""
    newest = np.maximum.accumulate(np.where(np.isnan(y), 0, np.arange(len(y))))
    changes = y[1:] - y[newest][:-1]
    sizes = np.abs(changes[np.isfinite(changes) & (changes != 0)])
    limit = FAR * float(np.median(sizes)) if len(sizes) else 1.0
    return autocorrelation(np.clip(changes, -limit, limit), most)


def find_seasons(y: Array, candidates: Sequence[int] | None) -> list[int]:
    """Return the lengths of the seasons of labels, the shortest first; none, one or two.

    Candidates of the calendar stay unless three cycles refute them. Without a calendar, peaks of the autocorrelation of
    changes are looked for.

    Examples
    --------
    >>> t = np.arange(200)
    >>> find_seasons(np.sin(2 * np.pi * t / 12) + 0.1 * np.cos(t * t), None)
    [12]
    """
    if candidates is not None:
        limit = SIGNIFICANT / max(len(y), 1) ** 0.5
        stays = [s for s in candidates if len(y) < CYCLES * s or _of_changes(y, s)[s] >= limit]
        return [s for s in candidates if s <= max(stays, default=0)]  # the day stays with the week
    most = len(y) // CYCLES
    if most < 3:
        return []
    r = _of_changes(y, len(y) // 2)
    height = np.array([0.0, *(r[p::p].mean() for p in range(1, most + 2))])
    before = (
        np.cumsum(r)[:-1] - r[0]
    )  # changes of a season sum to 0 over a cycle, so those before its length are negative
    least = max(FOUND, SURE / len(y) ** 0.5)
    peaks = [
        p for p in range(2, most + 1) if height[p] >= max(height[p - 1], height[p + 1], least) and before[p - 1] < 0
    ]
    if not peaks:
        return []
    lowest = PART * max(height[peaks])
    short = next((p for p in peaks if r[p : 3 * p + 1 : p].min() >= lowest), peaks[int(np.argmax(height[peaks]))])
    longer = [
        p
        for p in peaks
        if p > short and p % short == 0 and height[p] - height[short] >= CLEARLY * (2 * p) ** 0.5 / len(y)
    ]
    if not longer:
        return [short]
    highest = max(height[longer])
    return [short, next(p for p in longer if height[p] >= NEARLY * highest)]
