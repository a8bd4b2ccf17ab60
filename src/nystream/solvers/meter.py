"""The guarantee meter of least squares: loss, best loss in hindsight and regret bound, in O(1) per round."""

from __future__ import annotations

import math

import numpy as np

from nystream._core.linalg import record
from nystream.runtime.params import Params, at_least, positive
from nystream.runtime.types import Array

__all__ = ["Meter"]

LOSS, BEST, LABEL, MISS, SLACK, WEIGHT = range(6)
"""Rows of `columns_`, one column per output; the compiled loop counts on this order."""
ROUNDS, ONLINE, SPREAD = range(3)
"""Entries of `totals_`."""


class Meter(Params):
    """Tracks the regret and the regret bound of a ridge or Vovk-Azoury-Warmuth forecaster.

    Round t has label y, ridge prediction r, emitted prediction p, weight w and s = w z'A_{t-1}^-1 z. With
    tau = s/(1 + s), these identities of least squares make the best function in hindsight a running sum::

        best  = min_f sum w (y - f)^2 + lam |f|^2 = sum w (y - r)^2 / (1 + s)
        AWV   (p = r/(1+s)):  w (y - p)^2 - w (y - r)^2/(1+s) = w tau y^2 - w s r^2/(1+s)^2 <= w tau y^2
        ridge (p = r):        w (y - p)^2 - w (y - r)^2/(1+s) = w tau (y - p)^2

    so that regret = loss - best is at most B^2 sum w tau for AWV, where B is the largest |y| seen, and at most
    max (y - p)^2 sum w tau for ridge. Clipping to [-c, c] brings p nearer to every |y| <= c, so both hold for clipped
    predictions too as long as no label is beyond c (then (y - p)^2 <= 4 c^2); after one is, there is no guarantee, and
    the bound is infinite. Several outputs: sums over them. With all weights 1, sum w tau = d_onl = sum tau.

    Parameters
    ----------
    outputs : int
    vovk : bool, default True
        Whether the emitted predictions are those of AWV; False: of ridge.
    clip : float or None
        The clipping of the emitted predictions.

    Examples
    --------
    >>> import numpy as np
    >>> meter = Meter(1)
    >>> y = np.array([[1.0], [-1.0]])  # lam = 1, z = 1 twice: s = 1, then 1/2
    >>> r, s = np.array([[0.0], [0.5]]), np.array([1.0, 0.5])
    >>> meter.add(y, r, r / (1 + s)[:, None], s)
    >>> round(meter.regret(), 12), round(meter.regret_bound(), 12)
    (0.777777777778, 0.833333333333)
    """

    def __init__(self, outputs: int, *, vovk: bool = True, clip: float | None = None) -> None:
        self.outputs = at_least("outputs", outputs, 1)
        self.vovk = vovk
        self.clip = None if clip is None else positive("clip", clip)
        self.totals_ = np.zeros(3)
        self.columns_ = np.zeros((6, outputs))
        self.forgot_ = False

    def add(self, Y: Array, R: Array, P: Array, s: Array, weights: Array | None = None) -> None:
        """Count rounds: labels, ridge predictions, emitted predictions (n, K); w z'A^-1 z and w (n,), every w > 0."""
        record(self.totals_, self.columns_, Y, R, P, s, np.ones(len(s)) if weights is None else weights)

    @property
    def loss(self) -> Array:
        """(K,) sum of w (y - p)^2 over the rounds."""
        return self.columns_[LOSS]

    @property
    def best(self) -> Array:
        """(K,) min over f of sum w (y - f)^2 + lam |f|^2."""
        return self.columns_[BEST]

    @property
    def online_dimension(self) -> float:
        """d_onl = sum of tau over the rounds."""
        return float(self.totals_[ONLINE])

    @property
    def variance(self) -> Array:
        """(K,) best / sum of weights: the estimated noise variance."""
        weight = self.columns_[WEIGHT]
        if not weight.all():
            raise ValueError("no row was learnt yet, so there is no estimate of the noise")
        return self.columns_[BEST] / weight

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.totals_.nbytes + self.columns_.nbytes

    @property
    def is_plain(self) -> bool:
        """Whether the rounds are those of one stream (not merged, none unlearnt) with all weights 1."""
        rounds, online, spread = self.totals_
        return not self.forgot_ and bool((self.columns_[WEIGHT] == rounds).all()) and online == spread

    def regret(self) -> float:
        """Return the cumulative loss minus the regularised loss of the best function in hindsight."""
        self._refuse_if_forgot()
        loss, best = float(self.columns_[LOSS].sum()), float(self.columns_[BEST].sum())
        if not math.isfinite(loss - best):
            raise ValueError(
                f"the regret is not known: with labels up to {self.columns_[LABEL].max():g} sums of squares exceed the "
                "range of double precision; divide the labels by their scale"
            )
        return loss - best

    def regret_bound(self) -> float:
        """Return an upper bound of the regret; infinite once a label was beyond `clip`."""
        self._refuse_if_forgot()
        return float(self._bounds().sum())

    @property
    def largest(self) -> float:
        """The largest |y| so far."""
        return float(self.columns_[LABEL].max())

    @property
    def energy(self) -> float:
        """Bound on the sum of w y^2 over rounds and outputs: the largest y^2 of each output times the weights."""
        return float((self.columns_[LABEL] ** 2 * self.columns_[WEIGHT]).sum())

    def widened(self, combination: Array) -> Meter:
        """Return a meter with new outputs, whose past labels were Y @ combination (K, new).

        For an output that copies, negates or (without clipping) scales an old one, or whose labels were all 0, the
        past is known. For other combinations the best in hindsight is not known. Their meter starts now: the regret
        counts from here, and the bound is valid but not the tightest.
        """
        K, new = combination.shape
        wide = Meter(K + new, vovk=self.vovk, clip=self.clip)
        wide.totals_, wide.forgot_ = self.totals_.copy(), self.forgot_
        wide.columns_[:, :K] = self.columns_
        for j, mix in enumerate(combination.T, start=K):
            old = np.flatnonzero(mix)
            if len(old) == 0:
                wide.columns_[WEIGHT, j] = self.columns_[WEIGHT, 0]
            elif len(old) == 1 and (self.clip is None or abs(mix[old[0]]) == 1):
                c = abs(mix[old[0]])
                wide.columns_[:, j] = self.columns_[:, old[0]] * np.array([c * c, c * c, c, c * c, c * c, 1.0])
        return wide

    def merge(self, other: Meter, best: Array, charge: Array) -> None:
        """Add the rounds of another stream, whose model was merged into this one.

        best (K,): of the pooled data, which the two meters do not determine; charge (K,): lam |f|^2 of the
        pooled minimiser f. Each stream's forecaster had its own regulariser, hence
        regret <= bound_1 + bound_2 + charge from now on.
        """
        slack = self._bounds() + other._bounds() + charge
        for row in (LOSS, WEIGHT):
            self.columns_[row] += other.columns_[row]
        self.columns_[LABEL] = np.maximum(self.columns_[LABEL], other.columns_[LABEL])
        self.columns_[MISS] = 0.0
        self.columns_[SLACK] = slack
        self.columns_[BEST] = best
        self.totals_ += other.totals_
        self.totals_[SPREAD] = 0.0
        self.forgot_ = self.forgot_ or other.forgot_

    def learn(self, best: Array, largest: Array, weight: float, rows: int) -> None:
        """Count rows that were learnt without a prediction. best (K,): loss of the best function in hindsight for all
        rows; largest (K,): the largest |y|.

        They are counted with the loss that they add to the best, so that the regret stays that of the other rounds.
        """
        self.columns_[LOSS] += best - self.columns_[BEST]
        self.columns_[BEST] = best
        self.columns_[LABEL] = np.maximum(self.columns_[LABEL], largest)
        self.columns_[WEIGHT] += weight
        self.totals_[ROUNDS] += rows

    def forget(self, Y: Array, R: Array, s: Array, weights: Array) -> None:
        """Remove rounds: labels and ridge predictions (n, K), w z'A^-1 z and w (n,), all just before their removal.

        `best` stays exact: w (y - r)^2 / (1 - s) leaves the sum with each of them. Their losses are not known.
        """
        left = self.columns_[BEST] - ((weights / (1 - s))[:, None] * (Y - R) ** 2).sum(axis=0)
        self.columns_[BEST] = np.maximum(left, 0.0)
        self.columns_[WEIGHT] = np.maximum(self.columns_[WEIGHT] - weights.sum(), 0.0)
        self.totals_[ROUNDS] -= np.count_nonzero(weights)
        self.forgot_ = True

    def _bounds(self) -> Array:
        """Return the (K,) bounds of the outputs."""
        largest = self.columns_[LABEL] ** 2 if self.vovk else self.columns_[MISS]
        bounds: Array = largest * self.totals_[SPREAD] + self.columns_[SLACK]
        if self.clip is not None:
            bounds[self.columns_[LABEL] > self.clip] = math.inf
        bounds[np.isnan(bounds)] = math.inf  # of sums that exceeded the range of double precision
        return bounds

    def _refuse_if_forgot(self) -> None:
        if self.forgot_:
            raise ValueError(
                "the regret is not known after `unlearn`, because the losses of single rows are not stored; "
                "predictions, std, log_det and effective_dimension are still right"
            )
