"""The sizes that the automatic learner works with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nystream.features.metric import FULL
from nystream.runtime.params import Params, at_least, boolean

__all__ = ["CANDIDATES", "EXPERTS", "LARGE", "METRIC_TARGETS", "WIDE", "Recipe"]

EXPERTS = ("ag", "glob", "big", "ag.99", "lin.95", "win1000", "rough", "change")
"""Keys of the experts, in the order of their outputs; people read `ExpertSet.titles`."""
FORGETFUL = ("ag.99", "lin.95", "win1000", "change")
"""Experts that forget old rows. After a change the loss of the others stays high, whatever weights the stack gives."""
CANDIDATES = {
    "std": ("std", 1.0),
    "std/2": ("std", 0.5),
    "ag": ("ag", 1.0),
    "ag/2": ("ag", 0.5),
    "glob": ("glob", 0.7),
    "log+ag": ("log", 1.0),
}
"""Ridges that compete during the warm-up for the view and width of the large ridge: view and width factor. Those with
a slash have half the width of another."""
LARGE = ("big", "rough", "change")
METRIC_TARGETS = 64
"""Targets that a metric is learnt from, at most."""
MANY, THINNED = 500, 4
"""Columns times outputs beyond which partial refits come so many times less often."""
WIDE = 100
"""Columns beyond which there are no Laplacian experts: on images they gained nothing, and a row costs all columns."""
LATE, LEAST_LATE = 10, 8
"""A full refit is swapped in after one in so many rows of the warm-up at the latest, or after so many rows if those are
more."""
GROWTH = 2**0.5
"""Factor of the landmarks each time that they grow: their matrices then double as the rows do."""
SIZES = ("landmarks", "big", "rough", "change")
"""Sizes that grow."""
TOGETHER, LEAST_ROWS = 1 << 13, 8
"""Rows times classes of a block, at most, and rows at least."""


class Recipe(Params):
    """Sizes of the automatic learner. The defaults were chosen over ten real streams; a small one makes tests fast.

    `nystream.auto.budget` makes them smaller until they fit a budget of bytes and of seconds.

    Parameters
    ----------
    rebuilds : sequence of int
        Rows after which a full refit begins: scales, metric, widths and landmarks are computed anew and every expert
        is fitted on all rows so far. The first two are 1 and 2 (two labels have a scale); the last one ends the
        warm-up.
    grows : sequence of int
        Row counts of full refits after the warm-up, each twice the one before, with `growth` times as
        many landmarks; the default is never. `Auto` adds 6,400 and 12,800 where its budgets allow it.
    growth : float
        At least 1; the default is the root of 2, so that matrices grow as rows do.
    landmarks, big, small, rough, change : int
        Landmarks of each plain ridge, of the large ridge (0: none), of the forgetting ridge, of the Laplacian ridge
        (0: none) and of the innovation expert (0: none).
    ring, refresh : int
        After the warm-up, a partial refit begins every `refresh` rows: experts that forget are fitted on the last
        `ring` rows.
    window : int
        Rows of the window smoother.
    metric : int
        Rows that a metric is learnt from, and rows from which on one is learnt at all are a tenth of it.
    experts : sequence of str
        The experts in use, of `EXPERTS`.
    block : int
        Rows that are handled at a time, fewer for very many classes. It changes memory and speed alone.
    full : int
        Columns up to which the metric is a full matrix and the linear expert forgets: beyond, its window would hold
        fewer rows than columns.
    spread : bool
        Whether a full refit is spread over the rows after its beginning, while the experts before it still predict.
    """

    def __init__(
        self,
        rebuilds: Sequence[int] = (1, 2, 5, 10, 20, 50, 100, 200, 400, 800, 1600, 3200),
        *,
        grows: Sequence[int] = (),
        growth: float = GROWTH,
        landmarks: int = 300,
        big: int = 1000,
        small: int = 100,
        rough: int = 1700,
        change: int = 1000,
        ring: int = 2000,
        refresh: int = 1000,
        window: int = 1000,
        metric: int = 1000,
        experts: Sequence[str] = EXPERTS,
        block: int = 256,
        full: int = FULL,
        spread: bool = True,
    ) -> None:
        self.rebuilds = rebuilds
        self.grows = grows
        self.growth = growth
        self.landmarks = at_least("landmarks", landmarks, 1)
        self.big = at_least("big", big, 0)
        self.small = at_least("small", small, 1)
        self.rough = at_least("rough", rough, 0)
        self.change = at_least("change", change, 0)
        self.ring = at_least("ring", ring, 2)
        self.refresh = at_least("refresh", refresh, 1)
        self.window = at_least("window", window, 1)
        self.metric = at_least("metric", metric, 2)
        self.experts = experts
        self.block = at_least("block", block, 1)
        self.full = at_least("full", full, 0)
        self.spread = boolean("spread", spread)
        some = {"big": big, "rough": rough, "change": change}
        self._living = tuple(name for name in EXPERTS if name in experts and some.get(name, 1))  # asked for every row
        self._steady = np.array([e for e, name in enumerate(self._living) if name not in FORGETFUL], dtype=np.int64)
        if not experts or not set(experts) <= set(EXPERTS):
            raise ValueError(f"experts must be some of {', '.join(EXPERTS)}; got {experts!r}")
        if list(rebuilds[:2]) != [1, 2] or any(b <= a for a, b in pairwise(rebuilds)):
            raise ValueError(f"rebuilds must be increasing row counts that begin with 1, 2; got {rebuilds!r}")
        if not growth >= 1:
            raise ValueError(f"growth must be a number of at least 1, got {growth!r}")
        if any(b <= a for a, b in pairwise([rebuilds[-1], *grows])):
            raise ValueError(f"grows must be increasing row counts after {rebuilds[-1]:,}; got {grows!r}")

    @property
    def living(self) -> list[str]:
        """The experts in use, in the order of their outputs."""
        return list(self._living)

    @property
    def steady(self) -> NDArray[np.int64]:
        """Places of the experts that never forget."""
        return self._steady

    @property
    def warmup(self) -> int:
        """Rows after which landmarks stay the same."""
        return self.rebuilds[-1]

    @property
    def late(self) -> int:
        """Rows after which a refit is swapped in, at the latest."""
        return max(LEAST_LATE, self.warmup // LATE) if self.spread else 0

    def rows_at_once(self, outputs: int) -> int:
        """Return the rows of a block."""
        return min(self.block, max(LEAST_ROWS, TOGETHER // outputs))

    def every(self, d: int, outputs: int) -> int:
        """Return the rows between partial refits: their cost grows with columns and classes, so they come less often
        there.
        """
        return self.refresh if d * outputs <= MANY else THINNED * self.refresh

    def suited(self, d: int, *, forecasts: bool) -> Recipe:
        """Return the sizes without Laplacian experts if they do not help with so many columns; `forecasts`: labels are
        numbers, and label lags are inputs.
        """
        rough = self.rough if d <= WIDE else 0
        return self.resized(rough=rough, change=self.change if rough and forecasts else 0)

    def resized(self, **sizes: Any) -> Recipe:
        """Return a copy with some sizes replaced."""
        return Recipe(**{**self.get_params(deep=False), **sizes})

    def grown(self) -> Recipe:
        """Return the sizes after the next of `grows`."""
        large = {name: math.floor(self.growth * getattr(self, name)) for name in SIZES}
        return self.resized(rebuilds=[*self.rebuilds, self.grows[0]], grows=self.grows[1:], **large)

    def as_large(self, other: Recipe) -> Recipe:
        """Return the sizes with the landmarks of the other one, if both have the same experts and this one has
        fewer.
        """
        if self._living != other._living or self.landmarks > other.landmarks:
            return self
        return self.resized(**{name: max(getattr(self, name), getattr(other, name)) for name in SIZES})

    def growing_while(self, fits: Callable[[Recipe], bool]) -> Recipe:
        """Return the sizes with only those `grows` whose result fits."""
        larger, times = self, 0
        while larger.grows and fits(larger := larger.grown()):
            times += 1
        return self.resized(grows=self.grows[:times])

    @property
    def largest(self) -> Recipe:
        """Return the sizes after all of `grows`."""
        return self.grown().largest if self.grows else self

    def scaled(self, rows: float, landmarks: float) -> Recipe:
        """Return smaller sizes: these parts of the kept rows and of the landmarks."""

        def size(n: int, part: float = landmarks) -> int:
            return max(1, math.floor(part * n))

        warmup = max(3, size(self.warmup, rows))
        rebuilds = [r for r in self.rebuilds if r < warmup] + [warmup]
        return self.resized(
            rebuilds=rebuilds,
            landmarks=size(self.landmarks),
            big=math.floor(landmarks * self.big),
            small=size(self.small),
            rough=math.floor(landmarks * self.rough),
            change=math.floor(landmarks * self.change),
            ring=max(2, size(self.ring, rows)),
            window=size(self.window),
            metric=max(2, size(self.metric, rows)),
            block=max(min(self.block, 32), size(self.block)),
        )
