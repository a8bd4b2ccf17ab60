"""Input shifts: how far rows lie from the rows just before them, and which columns shifted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nystream._core.auto.drift import far
from nystream.auto.drift.detectors import RankDetector
from nystream.auto.rows import Rows
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["CENTRED", "QUIET", "InputDetector", "Shift", "centred", "distances", "follow_time", "location", "moved"]

FAR = 5.0
"""A value counts as at most so many units from the centre."""
CENTRED = 50
"""The centres of the columns are computed every so many rows, from twice as many: they follow trends and seasons."""
HELD = 0.5
"""The middle of the last 100 rows becomes the centre of a column if it differs from the base by so many units: five
standard errors. If centres moved by chance, distances would not be comparable in columns with few different values.
"""
PLACED, PLACES = 500, 1500
"""The units of the columns are computed every so many rows, from so many rows."""
AUTOCORRELATION = 0.5
"""A column whose successive values correlate more than this is a function of time and is ignored."""
ALERT = 100
"""Rows after an input shift in which the loss can confirm it. In so many rows after a record no warning is recorded."""
QUIET = (0, 0, 0)
"""The value of `alert_` if there has been no shift."""
RARE = 1e-4
"""Chance that some column is named although none shifted."""
MORE = 1.5
"""A column that moves with time has shifted only if it moved so many times as far as usual."""
STRONG = 3.0
"""Mean squared deviation, in units of the column, from which a column is named in a warning."""
MOST = 5
"""Columns that are named, at most."""


class Shift(NamedTuple):
    """An input shift that was detected."""

    since: int
    """The estimated change point."""
    row: int
    """The row at which it was detected."""
    until: int
    """The row from which on the loss can no longer confirm it."""
    columns: tuple[int, ...] = ()
    """Places of the columns that shifted most, the most shifted first."""


class InputDetector(Params):
    """A `RankDetector` on the distance of rows from the rows just before them, net of what time explains.

    The distance is the mean over the columns of squared deviations from a centre, in units of the column. The centre
    is the trimmed mean of the last 1,500 rows, or of the last 100 if that differs by more than chance: it follows
    trends and seasons. The unit is the deviation from means of 100 rows. Columns that are a function of time (a date, a
    counter, an odometer, the hour of the day) are ignored; their successive values correlate. An input shift alone is a
    warning; it becomes an alarm if the loss confirms it. If memory suffices for fewer than 150 rows, inputs are not
    watched.

    Parameters
    ----------
    reach : int
        As in `RankDetector`.
    """

    ranks_: RankDetector
    where_: Array | None
    """(2, D) centre and unit of each column, nan for columns that are ignored; None in the first rows."""
    base_: Array
    """(D,) base of each column: its mean over many rows."""
    alert_: tuple[int, int, int]
    """`since`, `row` and `until` of the last `Shift`; all 0 if there was none."""

    def __init__(self, reach: int) -> None:
        self.reach = at_least("reach", reach, 1)

    def start(self) -> None:
        self.ranks_ = RankDetector(False, self.reach)
        self.ranks_.start()
        self.where_, self.base_, self.alert_ = None, np.zeros(0), QUIET

    def shifts(self, X: Array, t: int, last: Callable[[int], Rows], reach: int) -> list[Shift]:
        """Return the shifts in these rows, which begin at row t, after the last shift before them.

        `last(n)` returns the last n rows, up to the end of these; `reach` rows before these are kept. Nothing depends
        on how rows are cut into blocks, nor on decisions about losses.
        """
        found, first, end = [Shift(*self.alert_)], t, t + len(X)
        while t < end:
            stop = min(end, t - t % CENTRED + CENTRED)
            if self.where_ is not None:
                apart = distances(X[t - first : stop - first], self.where_)
                while t < stop:
                    seen, found_now = self.ranks_.see(apart[len(apart) - (stop - t) :], t)
                    t += seen
                    if found_now is not None:
                        since = max(found_now.since, t - reach)
                        columns = _strongest(last(end - since).X[: t - since], self.where_)
                        found.append(Shift(since, t - 1, t + ALERT, columns))
                        self.ranks_.start()
            t = stop
            if t % PLACED == 0:
                n = min(reach, t, PLACES + 2 * CENTRED)
                self._place(last(end - t + n).X[:n])
            elif t % CENTRED == 0 and self.where_ is not None:
                n = min(reach, t, 2 * CENTRED)
                self._centre(last(end - t + n).X[:n])
        return found

    def _centre(self, X: Array) -> None:
        """Compute the centres from the last rows."""
        assert self.where_ is not None
        unit = self.where_[1]
        self.where_ = np.stack([centre_of(self.base_, _middles(X[None])[0], unit), unit])

    def _place(self, X: Array) -> None:
        """Compute bases and units from the last rows, and their distances, which the next ones are ranked among."""
        net, self.base_, unit = net_of_time(X)
        if not len(net):
            return  # too few rows are kept to know where columns lie
        unit[follow_time(X)] = np.nan
        kept = len(net) if self.where_ is None else min(self.ranks_.count, len(net))
        if kept:
            self.ranks_.replace_numbers(distances(net[-kept:], np.stack([np.zeros_like(unit), unit])))
        self.where_ = np.stack([self.base_, unit])
        self._centre(X[-2 * CENTRED :])

    def widen(self, d: int) -> None:
        """Add columns, which are ignored until their units are known."""
        if self.where_ is not None:
            more = d - self.where_.shape[1]
            self.where_ = np.pad(self.where_, ((0, 0), (0, more)), constant_values=np.nan)
            self.base_ = np.pad(self.base_, (0, more), constant_values=np.nan)

    @property
    def nbytes(self) -> int:
        return self.ranks_.nbytes + self.base_.nbytes + (0 if self.where_ is None else self.where_.nbytes)


def centre_of(base: Array, middle: Array, unit: Array) -> Array:
    """Return the centre of each column: its base, or the middle of the last rows if that differs clearly."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.abs(middle - base) > HELD * unit, middle, base)


def net_of_time(X: Array) -> tuple[Array, Array, Array]:
    """Return rows minus the centres of their groups of 50, and base and unit of each column.

    The first 100 rows, and with fewer than 150 all of them, are left out.
    """
    n, d = len(X) // CENTRED, X.shape[1]
    if n < 3:
        return X[:0], np.zeros(d), np.ones(d)
    groups = X[len(X) - n * CENTRED :].reshape(n, CENTRED, d)
    middles = _middles(np.concatenate([groups[:-2], groups[1:-1]], axis=1))
    base = _middles(X[None])[0]
    with np.errstate(over="ignore", invalid="ignore"):
        unit = location((groups[2:] - middles[:, None]).reshape(-1, d))[1]
        net = groups[2:] - centre_of(base, middles, unit)[:, None]
    return net.reshape(-1, d), base, unit


def _middles(groups: Array) -> Array:
    """Return (m, D) trimmed means of the columns of groups (m, n, D) of rows, without the tenth at either end.

    A single far value moves a plain mean, and the median of few different values jumps. nan if no value is known.
    """
    known = np.isfinite(groups)
    ordered = np.sort(np.where(known, groups, np.inf), axis=1)
    counts = known.sum(axis=1)[:, None]
    place, cut = np.arange(groups.shape[1])[:, None], counts // 10
    inside = (place >= cut) & (place < counts - cut)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return np.asarray(np.where(inside, ordered, 0.0).sum(axis=1) / inside.sum(axis=1))


def follow_time(X: Array) -> Array:
    """Return (D,) whether a column is a function of time: its successive values correlate by more than one half."""
    mean, unit = location(X)
    with np.errstate(over="ignore", invalid="ignore"):
        Z = (X - mean) / unit
        both = np.isfinite(Z[1:]) & np.isfinite(Z[:-1])
        products = np.where(both, Z[1:] * Z[:-1], 0.0).sum(axis=0) / np.maximum(both.sum(axis=0), 1)
    return np.asarray(products > AUTOCORRELATION)


def _strongest(X: Array, where: Array) -> tuple[int, ...]:
    """Return the places of the columns that deviate strongly in these rows, or else of the one that deviates most."""
    with np.errstate(over="ignore", invalid="ignore"):
        Z = np.clip((X - where[0]) / where[1], -FAR, FAR) ** 2
    known = np.isfinite(Z)
    mean = np.where(known, Z, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    order = np.argsort(-mean, kind="stable")[:MOST]
    strong = tuple(order[mean[order] >= STRONG].tolist())
    return strong or tuple(order[:1].tolist())


def location(X: Array) -> Array:
    """Return (2, D): mean and standard deviation of the known values of each column; nan if there are none."""
    known = np.isfinite(X)
    n = np.maximum(known.sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.where(known, X, 0.0).sum(axis=0) / n
        spread = np.sqrt((np.where(known, X - mean, 0.0) ** 2).sum(axis=0) / n)
        found = np.stack([mean, spread + 1e-12 * np.abs(mean) + 1e-300])
    found[:, ~known.any(axis=0) | ~np.isfinite(found).all(axis=0)] = np.nan
    return found


def centred(where: Array, X: Array) -> Array:
    """Return a `location` with the mean of these rows and the units of another. Columns without known values stay."""
    middle = location(X)[0]
    return np.stack([np.where(np.isnan(middle), where[0], middle), where[1]])


def distances(X: Array, where: Array) -> Array:
    """Return (n,) means over the known columns of squared deviations from a `location`."""
    return far(np.ascontiguousarray(X), where, FAR)


def moved(before: Array, after: Array, names: list[str]) -> tuple[str, ...]:
    """Return the columns whose distribution differs since a change point, by the test of Kolmogorov and Smirnov.

    The columns with the largest distances between their distribution functions come first. A missing value counts as
    the largest value. A column that moves with time also differs between the two halves of the rows before the change.
    That much is usual for it, and it has to differ by 1.5 times as much.
    """
    if not len(before) or not len(after):
        return ()
    apart, least = _apart(before, after)
    if len(before) > 1:
        usual, by_chance = _apart(*np.array_split(before, 2))
        least = np.where(usual > by_chance, np.maximum(least, MORE * usual), least)
    order = np.argsort(-apart, kind="stable")[:MOST]
    return tuple(names[j] for j in order.tolist() if apart[j] > least[j])


def _apart(before: Array, after: Array) -> tuple[Array, Array]:
    """Return (D,) largest distances between distribution functions, and the distances that are possible by chance."""
    m, n, d = len(before), len(after), before.shape[1]
    apart = np.empty(d)
    for j in range(d):
        a, b = (np.sort(np.where(np.isnan(X[:, j]), np.inf, X[:, j])) for X in (before, after))
        grid = np.concatenate([a, b])
        apart[j] = np.abs(np.searchsorted(a, grid, "right") / m - np.searchsorted(b, grid, "right") / n).max()
    return apart, np.full(d, math.sqrt(0.5 * math.log(2 * d / RARE) * (m + n) / (m * n)))
