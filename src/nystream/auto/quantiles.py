"""Residual quantiles: a scale of the residual for every row, and quantiles in units of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.intervals import learn, quantiles
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["ResidualQuantiles"]

PACES, LEVELS, MEMBERS = 3, 6, 4
"""Running means of residual sizes; inputs of a level regression; members that predict the size of the next residual."""
BUCKETS = 16
"""Columns that are inputs of the scale, each by itself; of more columns, so many sums of columns."""
RECENT, FEWEST = 5, 20
"""The recent scores are the last 1/5 of the scores that are kept, and at least 20."""


class ResidualQuantiles(Params):
    """Learns the distribution of the residual r = y - p given its row, row by row, for each target by itself.

    *Scale.* The size of a residual is modelled with mean exp(s) and heavy tails. Four members predict s::

        running mean      s = m                               m: log of the running mean of sizes, rate .05
        two levels        s = m + v'z                         z: faster and slower running means and the experts'
                                                              disagreement, relative to m, and the prediction
        inputs            s = slower level + u'f(x)           f: columns in units of their deviation, and their sizes

    The weights v and u are learnt by Newton's method on the log loss of sizes (ridge regressions on working responses),
    with forgetting; they are updated every 10 rows. Members are mixed by that log loss with a fixed share. So nothing
    is lost where neither inputs nor levels say anything about the size.

    *Quantiles.* The scores r / exp(s) of the last `window` rows are sorted, with their signs. If they and the next
    score are exchangeable, the next one lies below the k-th of n with probability k/(n + 1). Quantiles between two
    scores are interpolated. The last fifth of the scores has quantiles of its own; both are averaged by their pinball
    losses.

    Labels c times as large have quantiles c times as large. The weight of a row, relative to the running mean of
    weights, counts in the scale and in both mixtures; each score counts once, whatever the weight of its row.

    Parameters
    ----------
    window : int, default 1000
        Scores that are kept.

    References
    ----------
    Vovk, Gammerman, Shafer. Algorithmic Learning in a Random World. Springer 2005 (exchangeable scores).
    Lei, G'Sell, Rinaldo, Tibshirani, Wasserman. Distribution-free predictive inference for regression. JASA 2018
    (scores relative to a learnt size). Herbster, Warmuth. Tracking the best expert. Machine Learning 32, 1998.
    """

    columns_: Array
    """(3, D) weight, mean and mean absolute deviation of the inputs, computed with clipped values."""
    level_: Array
    """(3, K) the same of the predictions."""
    means_: Array
    """(3, K) running means of residual sizes."""
    counts_: Array
    """(5,) weights of these three means; and the running sum of the rows' weights, with its own weight."""
    squares_: Array
    """(K, 2, 6, 6) Hessians of the regressions on levels; sums_ and weights_ (K, 2, 6)."""
    sums_: Array
    weights_: Array
    input_squares_: Array
    """(F, F) Hessian of the regression on inputs, one for all targets; input_sums_ and input_weights_ (K, F)."""
    input_sums_: Array
    input_weights_: Array
    shares_: Array
    """(K, 4) shares of the members."""
    window_shares_: Array
    """(K, 2) shares of the quantiles of all scores and of the recent ones."""
    power_: Array
    """(K,) unit of the pinball losses."""
    kept_: Array
    """(K, window) scores in a ring buffer; order_: the same, sorted; recent_: the recent ones, sorted."""
    order_: Array
    recent_: Array
    marks_: NDArray[np.int64]
    """Number of scores so far, place of the oldest one in the ring, and rows since weights were updated."""

    def __init__(self, window: int = 1000) -> None:
        self.window = at_least("window", window, 1)

    def start(self, d: int, outputs: int) -> None:
        K, F = outputs, 2 * max(1, min(d, BUCKETS))
        self.columns_, self.level_ = np.zeros((3, d)), np.zeros((3, K))
        self.means_, self.counts_ = np.zeros((PACES, K)), np.zeros(PACES + 2)
        self.squares_ = np.zeros((K, 2, LEVELS, LEVELS))
        self.sums_, self.weights_ = np.zeros((K, 2, LEVELS)), np.zeros((K, 2, LEVELS))
        self.input_squares_ = np.zeros((F, F))
        self.input_sums_, self.input_weights_ = np.zeros((K, F)), np.zeros((K, F))
        self.shares_, self.window_shares_ = np.full((K, MEMBERS), 1 / MEMBERS), np.full((K, 2), 0.5)
        self.power_ = np.full(K, np.nan)
        self.kept_, self.order_ = np.zeros((K, self.window)), np.zeros((K, self.window))
        self.recent_ = np.zeros((K, min(self.window, max(FEWEST, self.window // RECENT))))
        self.marks_ = np.zeros(3, dtype=np.int64)

    @staticmethod
    def window_for(budget: float, outputs: int, most: int = 1000, least: int = 100) -> int:
        """Return the number of scores that fit into so many bytes."""
        return int(max(least, min(most, budget / (8 * outputs * (2 + 1 / RECENT)))))

    def learn(self, X: Array, P: Array, residuals: Array, spread: Array, w: Array | None) -> None:
        """Learn rows in order: inputs (n, D); predictions, residuals y - p and the experts' disagreement, all (n, K).

        The very first row is only counted, because there is nothing to compare it with.
        """
        if len(X) > 1:  # one row is in one piece
            X, P, residuals, spread = (np.ascontiguousarray(A) for A in (X, P, residuals, spread))
            w = None if w is None else np.ascontiguousarray(w)
        scale = (self.columns_, self.level_, self.means_, self.counts_, self.squares_, self.sums_, self.weights_)
        inputs = (self.input_squares_, self.input_sums_, self.input_weights_)
        scores = (self.shares_, self.window_shares_, self.power_, self.kept_, self.order_, self.recent_)
        learn(X, P, residuals, spread, w, *scale, *inputs, *scores, self.marks_)

    def forget_order(self, residuals: Array, w: Array | None) -> None:
        """Set the running means of sizes to the mean size of all these residuals: their order means nothing."""
        if len(residuals) and (w is None or w.sum() > 0):
            self.means_[:] = np.average(np.abs(residuals), axis=0, weights=w)

    def quantiles(self, X: Array, P: Array, spread: Array, levels: Array) -> Array:
        """Return (n, K, Q): P plus quantiles of the residual at levels in (0, 1); infinite after too few rows. Pure."""
        X, P, spread, levels = (np.ascontiguousarray(A) for A in (X, P, spread, levels))
        scale = (self.columns_, self.level_, self.means_, self.weights_, self.input_weights_)
        scores = (self.shares_, self.window_shares_, self.kept_, self.order_, self.recent_)
        offsets = quantiles(X, P, spread, levels, *scale, *scores, self.marks_)
        return np.asarray(P[:, :, None] + offsets)

    def widen(self, d: int) -> None:
        """Add columns that were missing so far, up to 16 in all."""
        self.columns_ = np.pad(self.columns_, ((0, 0), (0, d - self.columns_.shape[1])))

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in self._state().values())
