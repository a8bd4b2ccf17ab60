"""How far inputs lie from where they used to, and which columns moved."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nystream._core.auto.alarms import far
from nystream.auto.changes.alarm import RankAlarm
from nystream.auto.rows import Rows
from nystream.params import Params, at_least
from nystream.types import Array

__all__ = ["QUIET", "InputAlarm", "centred", "distances", "location", "moved"]

FAR = 5.0
"""Deviations beyond which a value is no farther."""
PLACED, PLACES = 500, 1500
"""Where inputs lie is computed anew every so many rows, from so many."""
FEW = 1000
"""Rows below which it matters that a location is nearer to the rows that it was computed from than to others."""
ALERT = 100
"""Rows after inputs moved in which a suspicion about losses suffices."""
QUIET = (0, 0, 0)
"""No alert."""
RARE = 1e-4
"""Chance that any column is called moved where none did."""
MOST = 5
"""Columns that are named."""


class InputAlarm(Params):
    """A `RankAlarm` on how far rows lie from where they used to: the mean squared deviation over the columns.

    By itself it is no reason to begin anew; for some rows a suspicion about losses suffices then.

    Parameters
    ----------
    reach : int
        As in `RankAlarm`.
    """

    alarm_: RankAlarm
    where_: Array | None
    """Where inputs lie; None in the first rows."""
    alert_: tuple[int, int, int]
    """Where they moved last, and the rows from and until which that counts; 0 each: they did not."""

    def __init__(self, reach: int) -> None:
        self.reach = at_least("reach", reach, 1)

    def start(self) -> None:
        self.alarm_ = RankAlarm(False, self.reach)
        self.alarm_.start()
        self.where_, self.alert_ = None, QUIET

    def alerts(self, X: Array, t: int, last: Callable[[int], Rows], reach: int) -> list[tuple[int, int, int]]:
        """The alert that holds, and those in these rows, which begin at row t; no decision about losses matters to it.

        `last`: the last rows, up to these; `reach`: so many before these are there.
        """
        found, first, end = [self.alert_], t, t + len(X)
        while t < end:
            stop = min(end, t - t % PLACED + PLACED)
            if self.where_ is not None:
                far = distances(X[t - first : stop - first], self.where_)
                while t < stop:
                    seen, alarm = self.alarm_.see(far[len(far) - (stop - t) :], t)
                    t += seen
                    if alarm is not None:
                        found.append((alarm.since, t - 1, t + ALERT))
                        self.alarm_.start()
            t = stop
            if t % PLACED == 0:
                n = min(reach, t)
                self._place(last(end - t + n).X[:n])
        return found

    def _place(self, X: Array) -> None:
        """Where inputs lie, by the last rows. Those that are ranked among are measured from there too: ranks among
        distances from elsewhere are no p-values. Nor are those among distances of the n rows that made the location:
        other rows are (n + 1) / (n - 1) times as far, which of hundreds of columns tells.
        """
        n = len(X[-PLACES:])
        self.where_ = location(X[-PLACES:])
        kept = min(self.alarm_.count, len(X))
        if kept:
            measured = distances(X[-kept:], self.where_)
            self.alarm_.measured_anew(measured * (n + 1) / (n - 1) if 1 < n < FEW else measured)

    def widen(self, d: int) -> None:
        """More columns, which do not count until it is known where they lie."""
        if self.where_ is not None:
            self.where_ = np.pad(self.where_, ((0, 0), (0, d - self.where_.shape[1])), constant_values=np.nan)

    @property
    def nbytes(self) -> int:
        return self.alarm_.nbytes + (0 if self.where_ is None else self.where_.nbytes)


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


def centred(where: Array, X: Array) -> Array:
    """A `location` with the units of another, in the middle of these rows; a column without known values stays."""
    middle = location(X)[0]
    return np.stack([np.where(np.isnan(middle), where[0], middle), where[1]])


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
