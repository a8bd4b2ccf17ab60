"""Drift detectors: rank losses among the last ones, bet that they rank higher, and raise an alarm when the bets win."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.drift import see
from nystream.runtime.params import Params, at_least, positive
from nystream.runtime.types import Array

__all__ = ["NO_ALERT", "RULES", "Detection", "Evidence", "RankDetector"]


@dataclass(frozen=True)
class Thresholds:
    """Values of the detectors. Chosen on seeds 0 to 3 of benchmarks/drift/auto_drift.py, where no other is named."""

    window: int = 2000
    """Numbers that the next one is ranked among, at most: enough for p-values of 1 in 2,000."""
    least: int = 50
    """Numbers before one is ranked at all."""
    rises: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8)
    """Exponents e of the bets e p^(e - 1) against small p-values: small ones for jumps, large ones for slow rises."""
    falls: tuple[float, ...] = (0.2, 0.4, 0.6)
    """Exponents of the bets against large p-values."""
    bar: float = 1e5
    """What bets on rises have to win on average: about the rows between false alarms."""
    steady_bar: float = 1e6
    """The same of the detector on steady experts: slow drift, which other experts follow, raises their loss too."""
    fall_bar: float = 1e12
    """What bets on falls have to win on average: losses fall wherever a model learns."""
    confirmed: float = 20.0
    """What bets on rises have to win from an input shift on, so that it is an alarm: 1 in 20 is a false one."""
    floor: float = 0.25
    """Numbers below this part of the mean are alike: there is no news in how small a small loss is."""
    first: int = 50
    """Rows whose losses are not looked at: before labels have a scale, they can be larger than all others by far."""
    settled: int = 4200
    """Rows of the incumbent's age from which on falling losses are news. Before, it is still learning."""
    refitted: int = 400
    """Rows after a full refit, which replaces the steady experts, in which their losses begin no hedge: there are few
    to rank among. Fewer hedge where nothing changes (tests/auto/test_changes.py); more come late in covtype7."""


LIMITS = Thresholds()
BETS = np.array(LIMITS.rises + LIMITS.falls)
NO_ALERT = (0, 0)
"""The compiled code knows rows of an alert, in which a lower bar holds: there are none, and no bar for them."""
NEVER = 1 << 62
RULES = (BETS, len(LIMITS.rises), math.log(LIMITS.fall_bar), math.inf, LIMITS.least, LIMITS.floor)


class Detection(NamedTuple):
    """A change that was detected."""

    since: int
    """The row that the change is put at."""
    cause: str
    """rise, fall, inputs (they shifted, and losses confirm it), or steady (a rise of experts that do not forget)."""
    before: float
    """Mean of the numbers that were ranked among, but those since then."""
    after: float
    """Mean since then."""


Parts: TypeAlias = tuple[bool, float, Array, Array, Array, Array, NDArray[np.int64], NDArray[np.int64], Array]


class Evidence(NamedTuple):
    """How near an alarm is, after each row."""

    level: Array
    """(n,) logarithms of what the bets on rises have won on average."""
    left: NDArray[np.int64]
    """(n,) the row at which the one that has won most left 1."""

    def of(self, part: slice) -> Evidence:
        """A view of some rows."""
        return Evidence(self.level[part], self.left[part])


class RankDetector(Params):
    """Ranks each number x_t among the last ones, and bets that it ranks high::

        p = (#above + #alike / 2 + 1/2) / (n + 1)        log S_e <- max(log S_e, 0) + log e + (e - 1) log p

    An alarm sounds where the mean of the S_e reaches the bar. Under exchangeable numbers each S_e is about a martingale
    that restarts at 1, so a false alarm takes about as many rows. The change is put at the row where the S_e that won
    most left 1, and from there on at the first whose p is at most the (lower) median since. O(log n) comparisons a row,
    and one move within the sorted numbers.

    Parameters
    ----------
    alike : bool
        Whether small numbers are alike for bets on falls too: losses of classes that become surer are no news.
    reach : int
        Rows back that a change is put at most.
    bar : float, default 1e5
        What the bets on rises have to win on average; about the rows between false alarms.

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
    """What `parts` gives until the arrays are others."""

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
        """Return the state as compiled code takes it."""
        if self._parts is None:
            known = (self.kept_, self.order_, self.ranks_, self.logs_, self.began_, self.marks_, self.sums_)
            self._parts = self.alike, self._bar, *known
        return self._parts

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._parts = None

    def restart_bets(self) -> None:
        """Begin all bets anew; the numbers to rank among stay."""
        self.logs_[:] = 0.0

    @property
    def count(self) -> int:
        """The numbers that the next one is ranked among."""
        return int(self.marks_[0])

    def replace_numbers(self, x: Array) -> None:
        """Replace the last numbers, at most LIMITS.window, by the same rows in another measure. Bets go on."""
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
        """Look at rows `row`, `row` + 1, ... up to the first alarm: return how many were seen, and the alarm.

        Falls count from row `falls_from` on. `evidence` is filled for the rows seen.
        """
        level, left = evidence or Evidence(np.empty(len(x)), np.empty(len(x), dtype=np.int64))
        used, won = see(x, row, falls_from, *NO_ALERT, self.parts, RULES, level, left)
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
        """Whether numbers rank higher from row `since` to row `end`, a change point that another detector estimated.

        The same bets, begun at that row and never begun again: under exchangeable numbers they win 20 on
        average at any time with a chance of 1 in 20 (Ville's inequality).
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
