"""The sizes that the automatic learner works with, and how a budget of memory or time shrinks them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from nystream.params import Params, at_least

__all__ = ["Recipe", "bytes_of", "seconds_of"]

_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_SECONDS = {"": 1.0, "S": 1.0, "MS": 1e-3, "US": 1e-6}
FLOPS = 4e9
"""Multiplications and additions a second that a deadline counts on: a slow core's."""
OVERHEAD = 60e-6
"""Seconds a row that stacking and bookkeeping take whatever the experts do."""
SLACK = 1.3
"""What the allocator and small things take beside the arrays that are counted."""
SHRINK = (
    (1.0, 1.0),
    (0.75, 1.0),
    (0.6, 1.0),
    (0.5, 1.0),
    (0.4, 1.0),
    (0.35, 1.0),
    (0.3, 0.9),
    (0.3, 0.8),
    (0.4, 0.8),
    (0.3, 0.65),
    (0.25, 0.5),
    (0.2, 0.4),
    (0.15, 0.3),
    (0.1, 0.2),
    (0.06, 0.12),
    (0.03, 0.06),
    (0.015, 0.03),
)
"""Parts of the rows kept and of the landmarks that are tried against a budget; landmarks matter more."""


class Recipe(Params):
    """Sizes of the automatic learner. The defaults were chosen over ten real streams; a small one makes tests fast.

    Parameters
    ----------
    rebuilds : sequence of int
        Rows after which scales, metric, widths and landmarks are computed anew and every expert is refitted on all
        rows so far: 1, 2 (from then on targets have a scale) and more. The last one ends the warm-up.
    landmarks, big, small : int
        Landmarks of the plain experts, of the big one (0: none) and of the one that forgets.
    ring, refresh : int
        After the warm-up, every `refresh` rows, what follows the stream is refitted on the last `ring` rows.
    windows : pair of int
        Rows that the two smoothers look back.
    metric : int
        Rows that a metric is learnt from, and rows from which on one is learnt at all are a tenth of it.
    """

    def __init__(
        self,
        rebuilds: Sequence[int] = (1, 2, 5, 10, 20, 50, 100, 200, 400, 800, 1600, 3200),
        *,
        landmarks: int = 300,
        big: int = 1000,
        small: int = 100,
        ring: int = 2000,
        refresh: int = 1000,
        windows: tuple[int, int] = (1000, 100),
        metric: int = 1000,
    ) -> None:
        self.rebuilds = rebuilds
        self.landmarks = at_least("landmarks", landmarks, 1)
        self.big = at_least("big", big, 0)
        self.small = at_least("small", small, 1)
        self.ring = at_least("ring", ring, 2)
        self.refresh = at_least("refresh", refresh, 1)
        self.windows = windows
        self.metric = at_least("metric", metric, 2)
        if list(rebuilds[:2]) != [1, 2] or any(b <= a for a, b in pairwise(rebuilds)):
            raise ValueError(f"rebuilds must be increasing row counts that begin with 1, 2; got {rebuilds!r}")

    @property
    def warmup(self) -> int:
        """Rows after which landmarks are frozen."""
        return self.rebuilds[-1]

    def within(self, budget: float, d: int, outputs: int) -> Recipe:
        """The largest recipe of this shape whose model for d columns stays within a budget in bytes."""
        for rows, landmarks in SHRINK:
            smaller = self._scaled(rows, landmarks)
            if smaller.nbytes(d, outputs) <= budget:
                return smaller
        least = self._scaled(*SHRINK[-1])
        least.big = 0
        if least.nbytes(d, outputs) > budget:
            need = math.ceil(least.nbytes(d, outputs) / 1e6)
            raise ValueError(f"memory is too small for rows of {d} columns: at least memory='{need}MB' is needed")
        return least

    def until(self, deadline: float, d: int, outputs: int) -> Recipe:
        """This recipe with a big expert, and then plain experts, small enough for so many seconds a row."""
        faster = self._scaled(1.0, 1.0)
        while faster.seconds(d, outputs) > deadline and faster.big:
            faster.big = faster.big * 3 // 4 if faster.big > self.landmarks else 0
        while faster.seconds(d, outputs) > deadline and faster.landmarks > 30:
            faster.landmarks = faster.landmarks * 3 // 4
        return faster

    def nbytes(self, d: int, outputs: int) -> float:
        """Bytes of the model at its largest, the end of the warm-up, with what computing it needs for a moment."""
        m, b, n = self.landmarks, self.big, self.metric
        kept, later = self.warmup * (d + outputs + 1), self.ring * (d + outputs + 1)
        big = b * b / 2 + b * d
        others = sum(self.windows) * (d + outputs) + 3 * self.small**2 + 4 * min(d, 300) ** 2
        warming, after = 12 * (m * m / 2) + 6 * m * d, 3 * (m * m / 2 + m * d)
        block = 256 * (b + 4 * d)  # rows seen through a view, and their kernel values
        metric = 2.3 * n * n + 5 * n * d
        moments = 5 * min(self.warmup * d, 1 << 19)
        widths = 4 * min(400.0, 4 / 3 * max(b, m)) ** 2
        rebuild = kept + max(metric, moments, big + 3 * b * b + block, big + warming + others + max(block, widths))
        refresh = 2 * later + big + after + others + max(metric, block)
        return SLACK * 8 * max(rebuild, refresh)

    def seconds(self, d: int, outputs: int) -> float:
        """A cautious estimate of the time per row after the warm-up."""
        m, b = self.landmarks, self.big
        experts = sum(2 * r * r + 4 * r * d + 4 * r * outputs for r in (m, m, m, b))
        recent = 2 * self.small**2 + min(d, 300) ** 2 * 2 + 3 * sum(self.windows) * d
        n = self.metric
        metric = 2 * (n**3 / 3 + 2 * n * n * d * outputs) / self.refresh
        return OVERHEAD + (experts + recent + metric + 4 * d * min(d, 300)) / FLOPS

    def _scaled(self, rows: float, landmarks: float) -> Recipe:
        def size(n: int, part: float = landmarks) -> int:
            return max(1, math.floor(part * n))

        warmup = max(3, size(self.warmup, rows))
        rebuilds = [r for r in self.rebuilds if r < warmup] + [warmup]
        return Recipe(
            rebuilds,
            landmarks=size(self.landmarks),
            big=math.floor(landmarks * self.big),
            small=size(self.small),
            ring=max(2, size(self.ring, rows)),
            refresh=self.refresh,
            windows=(size(self.windows[0]), size(self.windows[1], min(1.0, 3 * landmarks))),
            metric=max(2, size(self.metric, rows)),
        )


def bytes_of(value: Any) -> float:
    """A number of bytes from 64_000_000 or "64MB"; a ValueError says what is meant otherwise."""
    return _quantity("memory", value, _BYTES, "'64MB' or a number of bytes")


def seconds_of(value: Any) -> float | None:
    """Seconds from 0.001 or "1ms"; None stays None."""
    return None if value is None else _quantity("deadline", value, _SECONDS, "'1ms', a number of seconds, or None")


def _quantity(name: str, value: Any, units: dict[str, Any], wanted: str) -> float:
    found = re.fullmatch(r"\s*([0-9.eE+]+?)\s*([a-zA-Z]*)\s*", str(value))
    if not isinstance(value, bool) and found and found[2].upper() in units:
        try:
            amount = float(found[1]) * units[found[2].upper()]
        except ValueError:
            amount = 0.0
        if amount > 0 and math.isfinite(amount):
            return amount
    raise ValueError(f"{name} must be {wanted}, got {value!r}")
