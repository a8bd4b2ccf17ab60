"""Rules that adapt the miscoverage level of prediction intervals to the observed misses.

A rule uses only the ranks of the labels. With n past scores, of which r are smaller than the new one, the rank
of the new score is b = 1 - r/(n + 1). The interval of level a misses the label exactly if a >= b: level 0 or less is
the whole line, level 1 or more is empty. A rule has a level for every target, (K,).
"""

from __future__ import annotations

import math

import numpy as np

from nystream.runtime.params import Params, at_least, positive
from nystream.runtime.types import Array

__all__ = ["FixedStep", "ManySteps"]


class FixedStep(Params):
    """Adaptive conformal inference: a <- a + step (miss - [missed]), from a = miss.

    For every sequence of ranks the share of misses differs from `miss` by at most (max(miss, 1 - miss) + step)/(step n)
    after n rounds: a stays in [-step, 1 + step], and moves by step (miss - [missed]).

    References
    ----------
    Gibbs, Candes. Adaptive conformal inference under distribution shift. NeurIPS 2021, arXiv:2106.00170.
    """

    level_: Array

    def __init__(self, miss: float, step: float) -> None:
        self.miss = positive("miss", miss, below=1.0)
        self.step = positive("step", step)

    def start(self, outputs: int) -> None:
        self.level_ = np.full(outputs, self.miss)

    @property
    def level(self) -> Array:
        """Levels (K,) of the next intervals."""
        return self.level_

    def learn(self, rank: Array) -> None:
        """Learn one round with these ranks (K,)."""
        self.level_ = self.level_ + self.step * (self.miss - (self.level_ >= rank))

    def bound(self, n: int) -> float:
        """Bound on the distance between the share of misses and `miss` after n >= 1 rounds."""
        return (max(self.miss, 1 - self.miss) + self.step) / (self.step * n)

    @property
    def nbytes(self) -> int:
        return self.level_.nbytes


class ManySteps(Params):
    """Dynamically tuned adaptive conformal inference: eight rules `FixedStep` with steps 0.001 to 0.128, combined.

    Each rule i follows its own level a_i. The level in use is their mean with weights w_i, which follow the pinball
    loss l(a, b) = miss (b - a) where the label is inside, (1 - miss) (a - b) where it is not::

        w_i <- (1 - s) w_i exp(-eta l(a_i, b)) + s (mean of all w exp(-eta l))         s = 1/(2 horizon)
        eta^2 = 3 (log(2 K horizon) + 1) / (horizon miss^2 (1 - miss)^2)               K = 8 rules

    In every stretch of about `horizon` rounds the pinball loss is nearly that of the rule with the best step for this
    stretch. In the long run a guard holds the share of misses within `bound`: if misses exceed miss n by more
    than 10 + 3 sqrt(miss (1 - miss) n), the next interval is the whole line; if they fall short by as much, it is
    empty.

    Deviations from the paper: it draws one of the levels or takes their mean, of which this is the second. The guard,
    and with it the bound for every stream, is derived here; the paper bounds the long-run share of misses only where
    eta and s go to 0. The denominator of eta^2 is the paper's (1 - miss)^2 miss^3 + miss^2 (1 - miss)^3, simplified.

    References
    ----------
    Gibbs, Candes. Conformal inference for online prediction with arbitrary distribution shifts. JMLR 25, 2024,
    arXiv:2208.08401.
    """

    rounds_: int
    excess_: Array
    """(K,) misses minus miss n."""
    levels_: Array
    """(8, K) levels of the rules."""
    weights_: Array
    """(8, K), columns sum to 1."""

    STEPS = 0.001 * 2.0 ** np.arange(8)
    """The steps of the paper."""
    SLACK, DEVIATIONS = 10.0, 3.0
    """Thresholds of the guard. Independent ranks deviate by sqrt(miss (1 - miss) n) and should not trigger it."""

    def __init__(self, miss: float, horizon: int) -> None:
        self.miss = positive("miss", miss, below=1.0)
        self.horizon = at_least("horizon", horizon, 1)

    def start(self, outputs: int) -> None:
        self.rounds_ = 0
        self.excess_ = np.zeros(outputs)
        self.levels_ = np.full((len(self.STEPS), outputs), self.miss)
        self.weights_ = np.full((len(self.STEPS), outputs), 1 / len(self.STEPS))

    @property
    def level(self) -> Array:
        """Levels (K,) of the next intervals."""
        slack, mean = self._slack(self.rounds_), (self.weights_ * self.levels_).sum(axis=0)
        return np.where(self.excess_ > slack, -1.0, np.where(self.excess_ < -slack, 2.0, mean))

    def learn(self, rank: Array) -> None:
        """Learn one round with these ranks (K,)."""
        self.excess_ = self.excess_ + ((self.level >= rank) - self.miss)
        above = self.levels_ - rank
        weights = self.weights_ * np.exp(-self._eta * np.maximum(-self.miss * above, (1 - self.miss) * above))
        share = 1 / (2 * self.horizon)
        weights = (1 - share) * weights + share * weights.mean(axis=0)
        self.weights_ = weights / weights.sum(axis=0)
        self.levels_ = self.levels_ + self.STEPS[:, None] * (self.miss - (above >= 0))
        self.rounds_ += 1

    @property
    def _eta(self) -> float:
        logs = math.log(2 * len(self.STEPS) * self.horizon) + 1
        return math.sqrt(3 * logs / self.horizon) / (self.miss * (1 - self.miss))

    def _slack(self, n: int) -> float:
        return self.SLACK + self.DEVIATIONS * math.sqrt(self.miss * (1 - self.miss) * n)

    def bound(self, n: int) -> float:
        """Bound on the distance between the share of misses and `miss` after n >= 1 rounds."""
        return (self._slack(n) + 1) / n

    @property
    def nbytes(self) -> int:
        return self.excess_.nbytes + self.levels_.nbytes + self.weights_.nbytes
