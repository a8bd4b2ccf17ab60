"""Labels with long tails: what a learner of squares is told in place of one far from what was predicted for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.drift import cuts, medians, weighed, with_residuals
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array
from nystream.scaling.ring import Ring

__all__ = ["Tails"]

FEWEST = 10
"""Residuals from which on there is a median to compare with."""
FAR_OFF, GAIN = 8.0, 3.0
"""Medians of the residuals' sizes beyond which a label is far off, where Huber's estimate is so many times as precise
as the mean."""
EXTREME, RATE = 0.1, 0.1
"""Part of the predictions, at their end, where one foresees such a label if it is also so much of the way to it from
their median; rate of the running share of those."""
FAR, LAST, BELIEVED = 10.0, 10, 7
"""Where so many of the last residuals are beyond FAR medians, labels have another level or scale: they are believed."""
ALIKE, TIMES = 3, 2.0
"""So are so many in a row that are as far off to the same side, none of them more than so many times another."""
REACHES = np.array([1.5, 3.0, 6.0, 12.0])
"""Medians to which residuals may be cut."""
LIMIT = 6.0
"""Medians to which residuals are cut for alarms."""
LEAST = 0.1
"""No residual is cut to less than this part of the labels' deviation: what is rare could not be learnt any more."""
HALF = 0.5
"""Residuals that are not cut count as this part of all at least; where fewer labels were foreseen, tails are noise."""


class Tails(Params):
    r"""Huber's estimate by pseudo-observations, for K targets, each by itself, where tails are long, and else nothing.

    A label y far from its prediction p would, squared, outweigh all others. With r = y - p the learner is told::

        p + min(max(r, -k), k) / q        q: the part of the last sizes |r| that is at most k

    which is Newton's step for Huber's loss, taken by least squares. k is 1.5, 3, 6 or 12 medians of the last sizes,
    whichever makes the estimate's variance mean(min(|r|, k)^2) / q^2 the least.

    A label is far off where it lies outside the usual range (`Targets.usual_`), more than 8 medians from p, and with it
    the variance of the mean would be 3 times that. It may be noise, or come from a function with far values, for which
    squares are right; then p, too, is within the outer tenth of the last predictions on that side, and a tenth of the
    way from their median to y. Where a running share of those that were so foreseen is under a half, the label is wild,
    and from it on tails are long for 1,000 rows; what is told of the last labels changes too, for the next rebuild.
    `nystream.auto.retold` may `suspect` that they are before. Until then everything is told as it is. Where 7 of the
    last 10 residuals are beyond 10 medians, or three in a row alike to the same side, it is the labels that have
    changed: they are believed, and tails are not long. So they are where a change of the stream is noticed: residuals
    since then tell how wrong an old function is.

    Parameters
    ----------
    outputs : int
    window : int, default 500
        Predictions and residuals that are kept.
    lasting : int, default 1000
        Rows from a wild label on for which tails are long. Each of them has to be predicted before it is learnt, which
        more than doubles its cost; with 1 the wild ones alone.
    kept : int, default 1
        Labels that are kept as they came, for `nystream.auto.retold`.

    References
    ----------
    Huber, Ronchetti. Robust Statistics, 2nd edition. Wiley 2009 (modified residuals).
    """

    past_: Ring
    """(n, 2 K) the last predictions and residuals."""
    wild_: NDArray[np.int64]
    """(K,) rows that had been seen before the last wild label; long ago where there was none."""
    foreseen_: Array
    """(K,) running share of labels far off that were foreseen."""
    labels_: Ring
    """(n, K) the last labels as they came."""
    began_: NDArray[np.int64]
    """(K,) rows that had been seen when tails became long for the last time."""
    suspected_: NDArray[np.bool_]
    """(K,) whether tails were last said to be long, or are, without a wild label: see `suspect`."""
    limit_: Array
    """(K,) what residuals are cut to for alarms where tails are long."""
    _anew: int | None = None
    """The last rows of those to be seen next that alone are to be known after them; None: no change was noticed."""

    def __init__(self, outputs: int, window: int = 500, lasting: int = 1000, kept: int = 1) -> None:
        self.outputs = at_least("outputs", outputs, 1)
        self.window = at_least("window", window, LAST)
        self.lasting = at_least("lasting", lasting, 1)
        self.kept = at_least("kept", kept, 1)

    def start(self) -> None:
        self.past_ = Ring(self.window, 2 * self.outputs)
        self.wild_ = np.full(self.outputs, -self.lasting)
        self.began_ = np.zeros(self.outputs, dtype=np.int64)
        self.foreseen_ = np.full(self.outputs, HALF)
        self.labels_ = Ring(self.kept, self.outputs)
        self.suspected_ = np.zeros(self.outputs, dtype=bool)
        self.limit_ = np.full(self.outputs, np.inf)

    @staticmethod
    def window_for(budget: float, outputs: int, most: int = 500, least: int = 100) -> int:
        """Rows that so many bytes suffice for."""
        return int(max(least, min(most, budget / (16 * outputs))))

    @property
    def long(self) -> NDArray[np.bool_]:
        """(K,) whether tails are long."""
        return self.past_.seen_ - self.wild_ < self.lasting

    def plain(self, Y: Array, low: Array, high: Array) -> int:
        """How many of the next labels (n, K) can be told as they are: 0 where the first has to be looked at.

        `low` and `high` (K,): the usual range. After the first, none of them is outside.
        """
        if self.past_.seen_ < FEWEST:  # too few to compare with
            return max(1, _inside(Y[: FEWEST - self.past_.seen_], low, high))
        if self.past_.seen_ - max(self.wild_.tolist()) < self.lasting:  # `long`, of any target
            return 0
        if Y.size == 1:  # the common round
            return int(not (low.item() > Y.item() or high.item() < Y.item()))
        return _inside(Y, low, high)

    def told(self, y: Array, p: Array, outside: NDArray[np.bool_], deviation: Array) -> tuple[Array, Array]:
        """What is told of a label (K,) with this prediction; outside: of the usual range. Notes wild ones.

        And what is told (n, K) of the last n labels before it: nan, but for targets whose tails are long from now on,
        where some were far off already; n = 0 where there is no such target.
        """
        ring, before = self.past_, self.long
        oldest = max(0, ring.seen_ - ring.capacity) % ring.capacity
        rules = (REACHES, HALF, FAR_OFF, GAIN, FAR)
        found = weighed(ring.store_[: len(ring)], oldest, LAST, y, p, LEAST * deviation, *rules)
        reach, kept, far, beyond, median = found
        if outside.any() and (far * outside).any():
            self._note(y, p, outside & (far > 0.0))
        others = (beyond >= BELIEVED) | self._alike(y - p, FAR * median)
        if others.any():
            self.wild_[others] = -self.lasting
        long = self.long
        self._begins(long & ~before)
        self.limit_ = np.minimum(self.limit_, np.maximum(LIMIT * median, LEAST * deviation))
        told = np.where(long, p + np.minimum(np.maximum(y - p, -reach), reach) / kept, y)
        return told, self._told_before(long & ~before, reach, kept)

    def _alike(self, residual: Array, least: Array) -> NDArray[np.bool_]:
        """(K,) whether the last residuals and this one are beyond `least` to the same side, and none is far larger."""
        side = np.sign(residual)
        if not (side * residual > least).any():
            return np.zeros(self.outputs, dtype=bool)
        sizes = side * np.vstack((self.past_.last(ALIKE - 1)[:, self.outputs :], residual))
        return (sizes.min(axis=0) > least) & (sizes.max(axis=0) <= TIMES * sizes.min(axis=0))

    def heard(self, y: Array, p: Array) -> Array | None:
        """(K,) the label, after `told`, by which alarms measure the loss of p where tails are long, nan where they are
        not; None: none are.

        What is told follows the last residuals: losses by that would rise and fall without a change. So they are cut to
        6 medians, the least that there were since tails became long.
        """
        if not self.long.any():
            return None
        return np.where(self.long, np.clip(y, p - self.limit_, p + self.limit_), np.nan)

    def _begins(self, new: NDArray[np.bool_]) -> None:
        self.began_[new] = self.past_.seen_
        self.limit_[new] = np.inf

    def _note(self, y: Array, p: Array, far: NDArray[np.bool_]) -> None:
        """Labels (K,) that are far off are wild, unless such ones are mostly foreseen."""
        P = self.past_.last(self.window)[:, : self.outputs]
        middle = medians(P)
        beyond = np.where(y > middle, p < P, p > P).mean(axis=0)
        foreseen = (beyond < EXTREME) & (np.abs(p - middle) > EXTREME * np.abs(y - middle))
        self.foreseen_[far] += RATE * (foreseen[far] - self.foreseen_[far])
        self.wild_[far] = np.where(self.foreseen_ < HALF, self.past_.seen_, -self.lasting)[far]

    def _told_before(self, new: NDArray[np.bool_], reach: Array, kept: Array) -> Array:
        """What is told of the last labels of targets whose tails are long from `new` on."""
        if not new.any():
            return np.empty((0, self.outputs))
        P, R = np.split(self.past_.last(self.window), 2, axis=1)
        return np.where(new & (np.abs(R) > reach), P + np.clip(R, -reach, reach) / kept, np.nan)

    def suspect(self, target: int, rows: int) -> None:
        """Tails of this target are long for the next so many rows, without a wild label; 0: they no longer are."""
        self.suspected_[target] = rows > 0
        self._begins(~self.long & self.suspected_ & (np.arange(self.outputs) == target))
        self.wild_[target] = self.past_.seen_ - self.lasting + min(rows, self.lasting)

    def changed(self, rows: int, unseen: int, after: int) -> bool:
        """A change of the stream was noticed: whether labels since it are to be believed, as they came.

        It was so many rows ago; `unseen` rows are seen next, `after` of them came after the alarm. Residuals between
        change and alarm are those of an old function. Unless tails were long before it, those from the alarm on are all
        that is known of what noise is like.
        """
        before = self.past_.seen_ + unseen - rows
        if (self.long & (self.began_ < before)).any():
            return False
        self._anew = after
        return True

    def see(self, P: Array, Y: Array) -> None:
        """The next predictions and labels, (n, K), in order."""
        self.past_.extend(with_residuals(P, Y))
        if self._anew is not None:
            rows, self.past_ = self.past_.last(self._anew), Ring(self.window, 2 * self.outputs)
            self.past_.extend(rows)
            self.wild_[:], self.foreseen_[:] = -self.lasting, HALF
            self._anew = None
        self.labels_.extend(Y)

    def variance(self, least: Array) -> Array:
        """(K,) of the estimate, from the last residuals; none is cut to less than `least` (K,)."""
        sizes = np.abs(self.past_.last(self.window)[:, self.outputs :])
        return cuts(sizes, medians(sizes), least, REACHES, HALF)[2]

    @staticmethod
    def cut(Y: Array, P: Array, least: Array, window: int) -> tuple[Array, Array]:
        """What is told (n, K) of labels with these predictions, and the estimate's variance over the last of them."""
        sizes = np.abs(Y - P)
        reach, kept, _ = cuts(sizes, medians(sizes), least, REACHES, HALF)
        last = sizes[-window:]
        return P + np.clip(Y - P, -reach, reach) / kept, cuts(last, medians(last), least, REACHES, HALF)[2]

    @property
    def nbytes(self) -> int:
        return self.past_.nbytes + self.wild_.nbytes + self.foreseen_.nbytes + self.labels_.nbytes


def _inside(Y: Array, low: Array, high: Array) -> int:
    """How many of the first labels lie within the range."""
    outside = ((low > Y) | (high < Y)).any(axis=1)
    return int(outside.argmax()) if outside.any() else len(Y)
