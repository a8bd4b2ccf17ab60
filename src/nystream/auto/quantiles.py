"""Residual quantiles: a scale of the residual for every row, and quantiles in units of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.intervals import learn, quantiles
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["ResidualQuantiles"]

PACES, LEVELS, MEMBERS = 3, 6, 4
"""Running means of the residuals' sizes; what a level looks at; who says how large the next residual is."""
BUCKETS = 16
"""Columns that the scale looks at one by one; of more, so many sums of them."""
RECENT, FEWEST = 5, 20
"""The last scores, which may count more, are one in so many, and at least so many."""


class ResidualQuantiles(Params):
    """Learns the distribution of the residual r = y - p given its row, row by row, for each target by itself.

    *Scale.* A residual's size is taken to have the mean exp(s) and heavy tails. Four members say what s is::

        running mean      s = m                               m: log of the running mean of sizes, rate .05
        two levels        s = m + v'z                         z: faster and slower running means and the experts'
                                                              disagreement, relative to m, and the prediction
        inputs            s = slower level + u'f(x)           f: the columns in units of their deviation, and sizes

    Weights v and u are those of a ridge regression on working responses, that is Newton's method on the log loss of
    sizes, with forgetting; they move every 10 rows. Members are mixed by that log loss with a fixed share, so where
    nothing tells rows apart, nothing is lost.

    *Quantiles.* Scores r / exp(s) of the last `window` rows, with their signs, are sorted: where they and the next are
    exchangeable, it lies below the k-th of n with probability k/(n + 1), and between two of them the quantile is put in
    proportion. The last fifth of them has quantiles of its own; both are averaged by their pinball losses.

    Everything is homogeneous: labels c times as large have quantiles c times as large. Weights count in the scale and
    both mixtures, relative to their running mean; a score is one score whatever its row's weight.

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
    """(3, D) weight, mean and mean absolute deviation of the inputs, wild values moved nearer."""
    level_: Array
    """(3, K) of the predictions."""
    means_: Array
    """(3, K) running means of sizes."""
    counts_: Array
    """(5,) their weights, and of the weights of rows a running sum and its weight."""
    squares_: Array
    """(K, 2, 6, 6) and sums_, weights_ (K, 2, 6): the levels' regressions."""
    sums_: Array
    weights_: Array
    input_squares_: Array
    """(F, F), which all targets share; input_sums_ and input_weights_ (K, F)."""
    input_sums_: Array
    input_weights_: Array
    shares_: Array
    """(K, 4)"""
    window_shares_: Array
    """(K, 2) of all scores and the last ones."""
    power_: Array
    """(K,) the unit of their losses."""
    kept_: Array
    """(K, window) scores in a circle; order_: sorted; recent_: the last fifth, sorted."""
    order_: Array
    recent_: Array
    marks_: NDArray[np.int64]
    """Scores so far, the place of the oldest, and rows since the weights moved."""

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
        """Learn rows in order: inputs (n, D), predictions, label minus prediction, the experts' disagreement (n, K).

        The first row of all has nothing to be compared with and is only counted.
        """
        if len(X) > 1:  # one row is in one piece
            X, P, residuals, spread = (np.ascontiguousarray(A) for A in (X, P, residuals, spread))
            w = None if w is None else np.ascontiguousarray(w)
        scale = (self.columns_, self.level_, self.means_, self.counts_, self.squares_, self.sums_, self.weights_)
        inputs = (self.input_squares_, self.input_sums_, self.input_weights_)
        scores = (self.shares_, self.window_shares_, self.power_, self.kept_, self.order_, self.recent_)
        learn(X, P, residuals, spread, w, *scale, *inputs, *scores, self.marks_)

    def quantiles(self, X: Array, P: Array, spread: Array, levels: Array) -> Array:
        """Return (n, K, Q): P plus quantiles of the residual at Q levels in (0, 1); infinite while there are too few
        rows. Pure.
        """
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
