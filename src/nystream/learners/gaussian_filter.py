"""GaussianFilter: Bayesian linear model of sparse rows with independent Gaussian weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream._core.sparse import Filter, SparseRounds
from nystream.data.sparse_rows import SparseRows
from nystream.learners.families.sparse import SparseLearner
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["GaussianFilter"]


class GaussianFilter(SparseLearner):
    """Bayesian linear regression or classification with independent Gaussian weights.

    Weight i has the mean w_i and the precision q_i = prior N + v_i, where N is the mean of |x|^2 over the rows so far
    (a constant 1 is part of x). With p = w'x, e = -dl/dp and the curvature h = d2l/dp2, over the columns of the row
    alone::

        w_i += x_i e / q_i / (1 + h sum_j x_j^2 / q_j)            v_i += h x_i^2

    which is one Newton step for the Laplace approximation of the posterior, and its precisions. Classes: each class
    has its Gaussians, with h = p_k (1 - p_k), at least 0.01, p_k of the softmax. Real targets, each on the running
    scale of its own labels: e = h (y - p), y - p between -5 and 5, where 1/h is the noise, a running mean of
    (y - p)^2 of rate 0.01; predictions stay within the range of the labels so far and half of it to both sides.

    Weights live in 2^bits records that columns are hashed to (`SparseLearner`). O(nonzeros K) time a row.

    Parameters
    ----------
    loss : {"squared", "logistic", "softmax"}
        Real targets, labels -1/+1, classes 0, 1, 2, ... that may appear late.
    prior : float, default 1.0
        Precision that scores are expected to have before anything is learnt.
    bits : int, default 18
        Columns below 2^bits have a record of their own; later ones share.
    pairs : bool, default False
        Also learn the products of all pairs of columns of a row, hashed: nonzeros^2 / 2 more columns a row.
    max_bytes : int, default 2^26
        Of the table; fewer bits are used where many classes would take more.

    Deviations from the paper: batches of one row; one Newton step in place of the minimum; the curvature is that at
    the old weights and at least 0.01; the prior follows |x|^2; classes and real targets.

    References
    ----------
    Chapelle, Li. An empirical evaluation of Thompson sampling. NIPS 2011, Algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.learners import GaussianFilter
    >>> from scipy.sparse import csr_array
    >>> levels = np.random.default_rng(0).integers([[20, 30]] * 1000) + [0, 20]  # two categories of 20 and 30 levels
    >>> X = csr_array((np.ones(2000), levels.ravel(), np.arange(0, 2001, 2)), shape=(1000, 50))
    >>> y = 100 + X @ np.sin(np.arange(50.0))
    >>> p = GaussianFilter().run(X, y)
    >>> bool(np.abs(p - y)[800:].mean() < 0.1 * y.std())
    True
    """

    noise_: Array
    """(K,) running mean of squared residuals, of the squared loss only."""
    norm_: Array
    """Weight of the rows and the mean of |x|^2."""

    def __init__(
        self,
        loss: str = "squared",
        *,
        prior: float = 1.0,
        bits: int = 18,
        pairs: bool = False,
        max_bytes: int = 2**26,
    ) -> None:
        self.loss = loss
        self.prior = positive("prior", prior)
        self.bits = bits
        self.pairs = pairs
        self.max_bytes = max_bytes
        self._checked()

    def std(self, X: Any) -> Array:
        """Return posterior standard deviations of the scores: (n,), or (n, K) for several outputs.

        For the squared loss they have the units of the labels and exclude the noise.
        """
        X = self._accepted(X)
        if not self.d_:
            return self._outward(np.full((len(X), self._width), np.inf))
        rows = self._sparse(X)
        return self._outward(np.sqrt(self._filter.predict(rows.begin, rows.end, rows.indices, rows.values)[1][:, 0]))

    def _rounds(self, rows: SparseRows, Y: Array | None, weights: Array | None) -> Array:
        block = (rows.begin, rows.end, rows.indices, rows.values)
        return (self._filter.predict(*block) if Y is None else self._filter.run(*block, Y, weights))[0]

    @property
    def _compiled(self) -> SparseRounds:
        return self._filter

    def _shape(self, outputs: int) -> tuple[int, ...]:
        return 1, 2 * outputs

    def _begin(self, outputs: int) -> None:
        self.noise_ = np.ones(outputs if self.loss == "squared" else 0)
        self.norm_ = np.zeros(2)

    def _bind(self) -> None:
        outputs, arrays = self.table_.shape[2] // 2, (self.table_, self.moments_, self.norm_)
        self._filter = Filter(self.loss, 2**self.bits, self.pairs, outputs, *arrays, self.prior, self.noise_)

    def _folded(self, one: Array, two: Array) -> Array:
        """Return the product of the two Gaussians: means weighted by learnt precisions, precisions added."""
        K = one.shape[-1] // 2
        v = one[..., K:] + two[..., K:]
        share = one[..., K:] / np.where(v > 0, v, 1.0)
        return np.concatenate([share * one[..., :K] + (1 - share) * two[..., :K], v], axis=-1)

    def _widened(self, records: Array, outputs: int) -> Array:
        K = records.shape[-1] // 2
        new = np.zeros((len(records), 1, 2 * outputs))
        new[..., :K], new[..., outputs : outputs + K] = records[..., :K], records[..., K:]
        return new
