"""Quantiles by the sizes of past residuals alone, alike to both sides; and the intervals of models saved before."""

from __future__ import annotations

import numpy as np

from nystream._core.auto.stack import lagged
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array
from nystream.scaling.ring import Ring

__all__ = ["Intervals", "symmetric"]

LEAST = 1e-150
"""Rows never look easier than this: predictions may be exact for a while."""
RATE = 0.02
"""Of the running mean of squared residuals."""
PACE = np.array([RATE])
ROUNDING = 1e-9
"""By which (n + 1) coverage may miss a whole number."""


class Intervals(Params):
    """What `Noise` is to models of now, for those saved before it: they go on as they did.

    A row looks hard where experts disagree, by a standard deviation of spread, and while residuals are large::

        h_t^2 = (running mean of residual^2) + spread_t^2        score_t = |residual_t| / h_t

    Quantiles at x are h(x) times those of the last `window` scores, see `symmetric`.

    Parameters
    ----------
    window : int, default 1000
        Scores that are kept.

    References
    ----------
    Vovk, Gammerman, Shafer. Algorithmic Learning in a Random World. Springer 2005. Papadopoulos, Gammerman, Vovk.
    Normalized nonconformity measures for regression conformal prediction. AIA 2008.
    """

    scores_: Ring
    power_: Array
    """(1, K) running mean of squared residuals, nan before the first."""

    def __init__(self, window: int = 1000) -> None:
        self.window = at_least("window", window, 1)

    def start(self, outputs: int) -> None:
        self.scores_ = Ring(self.window, outputs)
        self.power_ = np.full((1, outputs), np.nan)

    def learn(self, X: Array, P: Array, residuals: Array, spread: Array, w: Array | None) -> None:
        """As `Noise.learn`; inputs, predictions and weights are not looked at."""
        before = lagged(residuals * residuals, self.power_, PACE)[:, 0]
        if np.isnan(before[0, 0]):
            before, residuals, spread = before[1:], residuals[1:], spread[1:]
        self.scores_.extend(np.abs(residuals) / _hardness(before, spread))

    def quantiles(self, X: Array, P: Array, spread: Array, levels: Array) -> Array:
        """(n, K, Q), as `Noise.quantiles`."""
        scores = symmetric(np.sort(self.scores_.rows, axis=0), levels)
        return np.asarray(P[:, :, None] + _hardness(self.power_, spread)[:, :, None] * scores)

    def widen(self, d: int) -> None:
        """Columns are not looked at."""

    @property
    def nbytes(self) -> int:
        return self.scores_.nbytes + self.power_.nbytes


def symmetric(sizes: Array, levels: Array) -> Array:
    """(K, Q) quantiles of residuals that are distributed alike to both sides, from sorted sizes (n, K).

    Between those of (1 - c)/2 and (1 + c)/2 lies the next with probability c where all are exchangeable, and at most
    1/(n + 1) more: it is the ceil((n + 1) c)-th smallest size, infinite where there are fewer.
    """
    n = len(sizes)
    around = 2 * levels - 1
    places = np.ceil((n + 1) * np.abs(around) - ROUNDING).astype(np.intp)
    known = np.vstack([np.zeros((1, sizes.shape[1])), sizes, np.full((1, sizes.shape[1]), np.inf)])
    return np.asarray(np.sign(around) * known[places].T)


def _hardness(power: Array, spread: Array) -> Array:
    return np.maximum(np.sqrt(power + spread * spread), LEAST)
