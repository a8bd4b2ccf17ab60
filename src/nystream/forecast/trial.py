"""A fresh engine beside a forecaster's own after an alarm: whichever erred less lately makes the forecasts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nystream.forecast.engine import Engine
from nystream.runtime.params import Params

__all__ = ["Trial"]


@dataclass(frozen=True)
class Rules:
    """How long a trial lasts, and what it takes to lead. All values were chosen on generated changes."""

    cycles: int = 8
    """A trial lasts so many cycles: one more than a week of days, so that a weekly profile has been seen."""
    early: int = 2
    """It ends after so many cycles if the fresh engine has never led by then: most alarms are outliers."""
    no_season: int = 24
    """Rows of a cycle where there is no season."""
    most: float = 1.0
    """The logarithm of the ratio of errors counts up to this in each row: one outlier decides nothing."""
    lead: float = 1 / 3
    """The fresh engine leads while the sum is above a third of a cycle: after a third of a day of much smaller errors.
    With less it leads in outages of some hours (water flow), which say nothing of the time after them."""
    tiny: float = 1e-12
    """Added to errors, which may be 0."""


RULES = Rules()


class Trial(Params):
    """Compares a fresh engine, which began at a suspected change, with the one that was there before.

    With a and b the mean absolute errors of the last label by the forecasts of the fresh and of the old engine, made 1
    to H rows ago (as many steps as the fresh one has), the score is s <- max(0, (1 - 1/cycle) s + log(b/a)), with the
    logarithm kept within [-1, 1]. The fresh engine leads while s > cycle/3.

    """

    def start(self, fresh: Engine, seasons: list[int]) -> None:
        """Begin with an engine that has learnt the rows since the change."""
        self.fresh_ = fresh
        self.cycle_ = seasons[0] if seasons else RULES.no_season
        self.score_, self.rows_, self.has_led_ = 0.0, 0, False

    @property
    def is_leading(self) -> bool:
        """Whether the fresh engine makes the forecasts."""
        return self.score_ > RULES.lead * self.cycle_

    @property
    def is_over(self) -> bool:
        """Whether the one that does not lead can go."""
        late = self.rows_ >= RULES.cycles * self.cycle_
        return late or (self.rows_ >= RULES.early * self.cycle_ and not self.has_led_)

    def learn(self, old: Engine) -> None:
        """Compare the errors of both engines for a label that both have just learnt."""
        self.rows_ += 1
        steps = min(len(self.fresh_.errors_), len(old.errors_))
        a, b = (float(np.mean(engine.errors_[:steps])) if steps else math.nan for engine in (self.fresh_, old))
        if math.isfinite(a) and math.isfinite(b):
            ratio = math.log((b + RULES.tiny) / (a + RULES.tiny))
            self.score_ += min(max(ratio, -RULES.most), RULES.most) - self.score_ / self.cycle_
            self.score_ = max(self.score_, 0.0)
            self.has_led_ = self.has_led_ or self.is_leading

    @property
    def nbytes(self) -> int:
        return self.fresh_.nbytes
