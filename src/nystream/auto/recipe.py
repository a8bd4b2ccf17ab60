"""The sizes that the automatic learner works with, and how a budget of memory or time shrinks them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from nystream.params import Params, at_least

__all__ = ["EXPERTS", "Recipe", "bytes_of", "seconds_of"]

_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_SECONDS = {"": 1.0, "S": 1.0, "MS": 1e-3, "US": 1e-6}
FULL = 300
EXPERTS = ("std", "ag", "glob", "big", "ag.99", "lin.95", "win1000", "win100")
"""In the order of their outputs."""
MANY, THINNED = 500, 4
"""Columns times outputs beyond which a refresh comes so many times less often."""
SLACK = 1.3
"""What the allocator and small things take beside the arrays that are counted."""
TOGETHER, LEAST_ROWS = 1 << 13, 8
"""Rows times classes of a block, at most, and rows at least."""
FEW = 20
"""Classes up to which they are no reason for a budget to be too small."""
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
    experts : sequence of str
        Experts that live, of `EXPERTS`.
    block : int
        Rows that are handled at a time, fewer for very many classes: a matter of memory and speed alone.
    full : int
        Columns up to which the metric is a full matrix and the linear expert forgets: beyond, its window would hold
        fewer rows than columns.
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
        experts: Sequence[str] = EXPERTS,
        block: int = 256,
        full: int = FULL,
    ) -> None:
        self.rebuilds = rebuilds
        self.landmarks = at_least("landmarks", landmarks, 1)
        self.big = at_least("big", big, 0)
        self.small = at_least("small", small, 1)
        self.ring = at_least("ring", ring, 2)
        self.refresh = at_least("refresh", refresh, 1)
        self.windows = windows
        self.metric = at_least("metric", metric, 2)
        self.experts = experts
        self.block = at_least("block", block, 1)
        self.full = at_least("full", full, 0)
        if not experts or not set(experts) <= set(EXPERTS):
            raise ValueError(f"experts must be some of {', '.join(EXPERTS)}; got {experts!r}")
        if list(rebuilds[:2]) != [1, 2] or any(b <= a for a, b in pairwise(rebuilds)):
            raise ValueError(f"rebuilds must be increasing row counts that begin with 1, 2; got {rebuilds!r}")

    @property
    def warmup(self) -> int:
        """Rows after which landmarks are frozen."""
        return self.rebuilds[-1]

    def within(self, budget: float, d: int, outputs: int, *, codes: bool = False) -> Recipe:
        """The largest recipe of this shape whose model for d columns stays within a budget in bytes.

        `outputs` are targets or, with `codes`, classes.
        """
        plain = tuple(name for name in self.experts if name != "lin.95") or self.experts
        narrow = self.resized(full=0, experts=plain)  # without any matrix of the columns' number squared
        for recipe, (rows, landmarks) in (*((self, parts) for parts in SHRINK), *((narrow, parts) for parts in SHRINK)):
            smaller = recipe._scaled(rows, landmarks)
            if smaller.nbytes(d, outputs, codes=codes) <= budget:
                return smaller
        need = math.ceil(smaller.nbytes(d, outputs, codes=codes) / 1e6)
        what = f"rows of {d} columns" + (f" and {outputs} classes" if codes and outputs > FEW else "")
        raise ValueError(f"memory is too small for {what}: at least memory='{need}MB' is needed")

    def rows_at_once(self, outputs: int) -> int:
        """Rows of a block."""
        return min(self.block, max(LEAST_ROWS, TOGETHER // outputs))

    def every(self, d: int, outputs: int) -> int:
        """Rows between refreshes: what they cost grows with columns and classes, so they are thinned there."""
        return self.refresh if d * outputs <= MANY else THINNED * self.refresh

    def resized(self, **sizes: Any) -> Recipe:
        """A copy with some sizes replaced."""
        return Recipe(**{**self.get_params(deep=False), **sizes})

    def nbytes(self, d: int, outputs: int, *, codes: bool = False) -> float:
        """Bytes of the model at its largest, the end of the warm-up, with what computing it needs for a moment."""
        m, b, n, K = self.landmarks, self.big, self.metric, outputs + codes
        labels, told = 1 if codes else outputs, min(outputs, 64)
        kept, later = self.warmup * (d + labels + 1), self.ring * (d + labels + 1)
        big = b * b / 2 + b * (d + 2 * K + 32)
        square, linear = d * d if d <= self.full else 0, d if "lin.95" in self.experts else 0
        others = sum(self.windows) * (d + K + 1) + 3 * self.small**2 + 2 * square + (2.0 if square else 0.6) * linear**2
        others += (3 * self.small + 64 + 3 * linear) * K + 20 * min(outputs, 64) ** 2
        warming, after = 12 * (m * m / 2 + m * K) + 6 * m * d, 3 * (m * m / 2 + m * (d + K))
        rows = self.rows_at_once(outputs)
        block = rows * (b + 4 * d + 40 * K)  # rows seen through a view, their kernel values, all that is said of them
        metric = 2.3 * n * n + 5 * n * d + n * told + 9 * square
        moments = 5 * min(self.warmup * d, 1 << 19)
        widths = 4 * min(400.0, 4 / 3 * max(b, m)) ** 2
        fit = big + 3 * b * b + b * K + block
        rebuild = kept + self.warmup * K + max(metric, moments, fit, big + warming + others + max(block, widths))
        refresh = 2 * later + self.ring * K + big + after + others + max(metric, block)
        return SLACK * 8 * max(rebuild, refresh)

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
            experts=self.experts,
            block=max(min(self.block, 32), size(self.block)),
            full=self.full,
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
