"""Drift detectors: they rank each loss among the last ones, and raise an alarm when bets on high ranks win enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.drift import see
from nystream.runtime.params import Params, at_least, positive
from nystream.runtime.types import Array

__all__ = ["RULES", "Detection", "Evidence", "RankDetector"]


@dataclass(frozen=True)
class Thresholds:
    """Values of the detectors, chosen on seeds 0 to 3 of benchmarks/drift/auto_drift.py if no other is named."""

    window: int = 2000
    """Numbers that the next one is ranked among, at most: p-values can be as small as 1 in 2,000."""
    least: int = 50
    """Numbers that are needed before the next one is ranked."""
    rises: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8)
    """Exponents e of the bets e p^(e - 1) against small p-values: small ones for jumps, large ones for slow rises."""
    falls: tuple[float, ...] = (0.2, 0.4, 0.6)
    """Exponents of the bets against large p-values."""
    bar: float = 1e5
    """What bets on rises have to win on average; also about the number of rows between false alarms."""
    steady_bar: float = 1e6
    """The same for the detector on steady experts: slow drift, which others follow, raises their loss too."""
    fall_bar: float = 1e12
    """What bets on falls have to win on average. It is higher because losses fall wherever a model learns."""
    confirmed: float = 20.0
    """An input shift becomes an alarm if bets on rises, begun at the shift, win so much: 1 in 20 is false."""
    floor: float = 0.25
    """Numbers below this part of the mean count as equal: how small a small loss is does not matter."""
    first: int = 50
    """The first rows, whose losses are ignored: before labels have a scale, they can be far larger than all others."""
    settled: int = 4200
    """Age of the incumbent, in rows, from which falling losses count. Before, they fall because it learns."""
    refitted: int = 400
    """Rows after a full refit in which losses of steady experts begin no hedge. A refit replaces these experts, so
    there are few losses to rank among. With fewer rows, hedges begin where nothing changes
    (tests/auto/test_changes.py); with more, they begin late in covtype7."""


LIMITS = Thresholds()
BETS = np.array(LIMITS.rises + LIMITS.falls)
NEVER = 1 << 62
"""A row that no stream reaches."""
RULES = (BETS, len(LIMITS.rises), math.log(LIMITS.fall_bar), LIMITS.least, LIMITS.floor)


class Detection(NamedTuple):
    """A change that was detected."""

    since: int
    """The estimated change point."""
    cause: str
    """rise, fall, inputs (they shifted, and losses confirm it), or steady (a rise for experts that never forget)."""
    before: float
    """Mean of the kept numbers before that row."""
    after: float
    """Mean from that row on."""


Parts: TypeAlias = tuple[bool, float, Array, Array, Array, Array, NDArray[np.int64], NDArray[np.int64], Array]


class Evidence(NamedTuple):
    """How close an alarm is after each row."""

    level: Array
    """(n,) logarithm of what the bets on rises have won on average."""
    left: NDArray[np.int64]
    """(n,) the row at which the capital of the best bet last left 1."""

    def of(self, part: slice) -> Evidence:
        """Return a view of some rows."""
        return Evidence(self.level[part], self.left[part])


class RankDetector(Params):
    """Ranks each number x_t among the last ones, and bets that it ranks high::

        p = (#above + #alike / 2 + 1/2) / (n + 1)        log S_e <- max(log S_e, 0) + log e + (e - 1) log p

    An alarm is raised where the mean of the S_e reaches the bar. If numbers are exchangeable, each S_e is nearly a
    martingale that restarts at 1, so there are about as many rows between false alarms as the bar. The change point is
    searched from the row where the largest S_e last left 1: it is the first row whose p is at most the (lower) median
    of p since. A row costs O(log n) comparisons, and one move within the sorted numbers.

    Parameters
    ----------
    alike : bool
        Whether small numbers count as equal for bets on falls too. This is for log losses, which go on falling as
        probabilities become surer.
    reach : int
        The change point is at most so many rows back.
    bar : float, default 1e5
        What the bets on rises have to win on average; also about the number of rows between false alarms.

    References
    ----------
    Vovk, Nouretdinov, Gammerman. Testing exchangeability on-line. ICML 2003. Volkhonskiy, Burnaev, Nouretdinov,
    Gammerman, Vovk. Inductive conformal martingales for change-point detection. COPA 2017.
    """

    kept_: Array
    order_: Array
    ranks_: Array
    logs_: Array
    began_: NDArray[np.int64]
    marks_: NDArray[np.int64]
    sums_: Array
    _parts: Parts | None = None
    """The result of `parts`, until arrays are replaced."""

    def __init__(self, alike: bool, reach: int, bar: float = LIMITS.bar) -> None:
        self.alike = alike
        self.reach = at_least("reach", reach, 1)
        self.bar = positive("bar", bar)
        self._bar = math.log(bar)

    def start(self) -> None:
        self._parts = None
        self.kept_, self.order_ = np.zeros(LIMITS.window), np.zeros(LIMITS.window)
        self.ranks_ = np.ones(self.reach)
        self.logs_, self.began_ = np.zeros(len(BETS)), np.zeros(len(BETS), dtype=np.int64)
        self.marks_, self.sums_ = np.zeros(2, dtype=np.int64), np.zeros(1)

    @property
    def parts(self) -> Parts:
        """The state in the form that compiled code takes."""
        if self._parts is None:
            known = (self.kept_, self.order_, self.ranks_, self.logs_, self.began_, self.marks_, self.sums_)
            self._parts = self.alike, self._bar, *known
        return self._parts

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._parts = None

    def restart_bets(self) -> None:
        """Restart all bets. The numbers to rank among stay."""
        self.logs_[:] = 0.0

    @property
    def count(self) -> int:
        """How many numbers the next one is ranked among."""
        return int(self.marks_[0])

    def replace_numbers(self, x: Array) -> None:
        """Replace the last numbers, at most LIMITS.window, by numbers of the same rows in another unit. Bets go on."""
        self.kept_[: len(x)], self.order_[: len(x)] = x, np.sort(x)
        self.marks_[:], self.sums_[0] = (len(x), 0), x.sum()

    def see(
        self,
        x: Array,
        row: int,
        *,
        falls_from: int = NEVER,
        evidence: Evidence | None = None,
    ) -> tuple[int, Detection | None]:
        """Watch rows `row`, `row` + 1, ... up to the first alarm. Return how many were seen, and the alarm.

        Falls count from row `falls_from` on. `evidence` is filled for the rows seen.
        """
        level, left = evidence or Evidence(np.empty(len(x)), np.empty(len(x), dtype=np.int64))
        used, won = see(x, row, falls_from, self.parts, RULES, level, left)
        return used, None if won == -1 else self._found(row + used, won)

    def _found(self, end: int, won: int) -> Detection:
        cause = "fall" if won >= len(LIMITS.rises) else "rise"
        return self.detection(self.change_point(end, int(self.began_[won]), falls=cause == "fall"), end, cause)

    def detection(self, since: int, end: int, cause: str) -> Detection:
        """Return the detection at row `end` of a change in the numbers since row `since`."""
        count, oldest = self.marks_.tolist()
        losses = np.roll(self.kept_, -oldest)[:count]
        new = min(end - since, count)
        before = losses[: count - new]
        return Detection(since, cause, float(before.mean()) if len(before) else math.nan, float(losses[-new:].mean()))

    def confirms(self, since: int, end: int) -> bool:
        """Return whether numbers rank higher from row `since`, the change point of another detector, to row `end`.

        The bets are the same, but begin at that row and never restart. If numbers are exchangeable, the chance that
        they ever win 20 on average is 1 in 20 (Ville's inequality).
        """
        first = max(since, end - self.reach)
        p = self.ranks_[np.arange(first, end) % self.reach]
        rises = BETS[: len(LIMITS.rises)]
        won = (end - first) * np.log(rises) + (rises - 1) * np.log(p).sum()
        return bool(np.logaddexp.reduce(won) - math.log(len(rises)) >= math.log(LIMITS.confirmed))

    def change_point(self, end: int, left: int, *, falls: bool = False) -> int:
        """Return the estimated change point as of row `end`, for a bet whose capital left 1 at row `left`."""
        first = min(max(left, end - self.reach, 0), end - 1)
        p = self.ranks_[np.arange(first, end) % self.reach]
        p = 1 - p if falls else p
        return first + int(np.argmax(p <= np.sort(p)[(len(p) - 1) // 2]))

    @property
    def nbytes(self) -> int:
        return sum(v.nbytes for v in self._state().values() if isinstance(v, np.ndarray))
