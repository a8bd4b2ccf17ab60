"""SparseLinear: AdaGrad on sparse rows, at several rates that an online pool combines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nystream._core.sparse import MOST_RATES, Descent, SparseRounds
from nystream.data.sparse_rows import SparseRows
from nystream.learners.families.sparse import SparseLearner
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["SparseLinear"]


class SparseLinear(SparseLearner):
    """A linear model of sparse rows with a step size for every column, learnt at several rates at once.

    For each rate, with scores p_k = w_k'x (a constant 1 is part of x) and residuals e = -dl/dp, over the columns of the
    row alone::

        v_i += (x_i e)^2             w_ik += (rate / N) x_i e_k / sqrt(v_i)

    where N is the mean of sum_i |x_i| over the rows so far: a rate means the same for rows of five columns and of five
    hundred. Classes share v: (x_i e)^2 is the sum over k. Real targets are learnt apart, each on the running scale of
    its own labels (mean and deviation of those so far), with e = y - p between -5 and 5; predictions stay within the
    range of the labels so far and half of it to both sides. The prediction is sum_m s_m p^(m) over the rates m, with
    shares s that start equal and follow the loss by online Newton steps with forgetting::

        H <- 0.999 H + Hessian       s <- s - (H + 30 I)^-1 gradient

    Weights live in 2^bits records that columns are hashed to (`SparseLearner`): rows may have millions of columns and
    memory is fixed. O(nonzeros M K) time a row for M rates and K outputs.

    Parameters
    ----------
    loss : {"squared", "logistic", "softmax"}
        Real targets, labels -1/+1, classes 0, 1, 2, ... that may appear late.
    rates : sequence of float, default (1.0, 3.0, 10.0)
        Step sizes: the first example moves its own score by about this.
    bits : int, default 18
        Columns below 2^bits have a record of their own; later ones share.
    pairs : bool, default False
        Also learn the products of all pairs of columns of a row, hashed: nonzeros^2 / 2 more columns a row.
    max_bytes : int, default 2^26
        Of the table; fewer bits are used where many classes would take more.

    Deviations from the paper: no regulariser and no projection (delta = 0); rates are divided by N;
    classes share v_i; the pool.

    References
    ----------
    Duchi, Hazan, Singer. Adaptive subgradient methods for online learning and stochastic optimization. JMLR 12, 2011:
    the diagonal algorithm.
    Weinberger, Dasgupta, Langford, Smola, Attenberg. Feature hashing for large scale multitask learning. ICML 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from nystream.learners import SparseLinear
    >>> words = 1999 * np.random.default_rng(0).integers(500, size=20 * 3000)  # 20 of 500 in each row, hashed far apart
    >>> X = csr_array((np.ones(60_000), words, np.arange(0, 60_001, 20)), shape=(3000, 1_000_000))
    >>> y = np.where(X @ np.sin(np.arange(1_000_000)) > 0, 1.0, -1.0)
    >>> p = SparseLinear("logistic").run(X, y)
    >>> bool(np.mean(p[2000:] * y[2000:] > 0) > 0.85)
    True
    """

    shares_: Array
    """(G, M) weights of the rates; G = K for the squared loss, else 1."""
    curves_: Array
    """(G, M, M) discounted sums of Hessians."""
    norm_: Array
    """Weight of the rows and N."""

    def __init__(
        self,
        loss: str = "squared",
        *,
        rates: Sequence[float] = (1.0, 3.0, 10.0),
        bits: int = 18,
        pairs: bool = False,
        max_bytes: int = 2**26,
    ) -> None:
        self.loss = loss
        self.rates = rates
        self.bits = bits
        self.pairs = pairs
        self.max_bytes = max_bytes
        self._checked()
        if not isinstance(rates, (list, tuple)) or not 1 <= len(rates) <= MOST_RATES:
            raise ValueError(f"rates must be a list of 1 to {MOST_RATES} numbers, got {rates!r}")
        for rate in rates:
            positive("rates", rate)

    def run_apart(self, rows: SparseRows, Y: Array, weights: Array | None = None) -> tuple[Array, Array]:
        """Learn rows without new classes, and return predictions (n, K) and those of the rates (n, M, K)."""
        return self._descent.run(rows.begin, rows.end, rows.indices, rows.values, np.ascontiguousarray(Y), weights)

    def predict_apart(self, rows: SparseRows) -> tuple[Array, Array]:
        """Return predictions (n, K) and those of the rates (n, M, K). Pure."""
        return self._descent.predict(rows.begin, rows.end, rows.indices, rows.values)

    def _rounds(self, rows: SparseRows, Y: Array | None, weights: Array | None) -> Array:
        return (self.predict_apart(rows) if Y is None else self.run_apart(rows, Y, weights))[0]

    @property
    def _compiled(self) -> SparseRounds:
        return self._descent

    def _shape(self, outputs: int) -> tuple[int, ...]:
        return len(self.rates), 2 * outputs if self.loss == "squared" else outputs + 1

    def _begin(self, outputs: int) -> None:
        groups, M = outputs if self.loss == "squared" else 1, len(self.rates)
        self.shares_ = np.full((groups, M), 1 / M)
        self.curves_ = np.zeros((groups, M, M))
        self.norm_ = np.zeros(2)

    def _bind(self) -> None:
        outputs = self.table_.shape[2] // 2 if self.loss == "squared" else self.table_.shape[2] - 1
        rates, arrays = np.array(self.rates, dtype=np.float64), (self.table_, self.moments_, self.norm_)
        pool = (self.shares_, self.curves_)
        self._descent = Descent(self.loss, 2**self.bits, self.pairs, outputs, *arrays, rates, *pool)

    def _folded(self, one: Array, two: Array) -> Array:
        """Combine two sets of means, weighted by v, and add up v; exact where only one of them is not empty."""
        v = one[..., -1:] + two[..., -1:]
        share = one[..., -1:] / np.where(v > 0, v, 1.0)
        return np.concatenate([share * one[..., :-1] + (1 - share) * two[..., :-1], v], axis=-1)

    def _widened(self, records: Array, outputs: int) -> Array:
        new = np.zeros((*records.shape[:-1], outputs + 1))
        new[..., : records.shape[-1] - 1], new[..., -1] = records[..., :-1], records[..., -1]
        return new
