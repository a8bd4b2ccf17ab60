"""The hedge: while losses are suspicious, before an alarm is raised, learners that need few rows are mixed in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from nystream.auto.drift.detectors import Evidence
from nystream.auto.drift.mixture import Mixture
from nystream.auto.drift.states import State
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["HEDGE", "Hedge", "Stronger", "odds", "stronger"]


@dataclass(frozen=True)
class HedgeSizes:
    """Values of the hedge, chosen on seeds 0 to 3 of benchmarks/drift/auto_drift.py."""

    hint: float = math.log(50.0)
    """A hedge begins when the bets of a detector have won 50 on average; this is the logarithm. With 20, hedges cost
    11% of the loss on shuffled cpusmall, whose errors have heavy tails (benchmarks/drift/harm.py). With 100, the loss
    after the change of `quieter` was 10% higher (benchmarks/drift/mechanisms.py)."""
    odds: float = 0.18
    """Odds that the stream has changed when a hedge begins. The lower `hint` is, the lower these have to be."""
    back: int = 100
    """Rows that the line and the few-row ridge learn at once when a hedge begins, at most."""
    least: int = 50
    """Earlier losses that are needed to say how rare a loss is."""


HEDGE = HedgeSizes()
Stronger: TypeAlias = tuple[list[float], list[int], list[bool]]
"""For each row, of the detector that is closer to an alarm: how close, the row at which its bet left 1, and whether it
is the second detector.
"""


class Hedge(Params):
    """A mixture without a candidate. It predicts while an alarm is likely but has not been raised.

    After a change, the incumbent is sure and wrong in these rows. The hedge ends when the bets of all detectors are
    lost. No decision depends on it: detectors go on watching the incumbent.
    """

    state: ClassVar[State] = State.WARNING
    mixture_: Mixture

    def start(self, mixture: Mixture) -> None:
        self.mixture_ = mixture

    @property
    def nbytes(self) -> int:
        return self.mixture_.nbytes


def stronger(evidence: list[Evidence], part: slice) -> Stronger:
    """Return the evidence of the detector that is closer to an alarm, for each row of a part."""
    first, second = (one.of(part) for one in evidence)
    is_second = second.level > first.level
    level = np.where(is_second, second.level, first.level)
    return level.tolist(), np.where(is_second, second.left, first.left).tolist(), is_second.tolist()


def odds(losses: Array, new: int) -> float:
    """Return the odds that the stream has changed, given losses of which the last `new` led to a suspicion.

    Ranks do not say how far beyond all others a loss is. A loss r times as large as all before it counts as r times as
    rare: this is so if losses have hardly more than a finite mean.
    """
    before = losses[: len(losses) - new]
    most = before.max() if len(before) >= HEDGE.least else 0.0
    return HEDGE.odds * max(1.0, float(losses[-new:].max() / most)) if most > 0 else HEDGE.odds
