"""Prediction intervals for any learner of numbers, with a guaranteed long-run coverage."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.compose.levels import FixedStep, ManySteps
from nystream.compose.wrapper import Wrapper
from nystream.data.inputs import as_levels
from nystream.learners.base import Learner
from nystream.runtime.params import at_least, checked_ahead, one_of, positive
from nystream.runtime.types import Array
from nystream.scaling.ring import Ring

__all__ = ["METHODS", "Conformal"]

METHODS = ("dtaci", "aci")
OWN = ("predict_interval", "predict_quantile")
"""Abilities that do not come from the inner learner."""


class Conformal(Wrapper):
    """A wrapper with prediction intervals that contain a share `coverage` of the labels in the long run.

    The score of a row is |y - p|, where p is the learner's prediction before the label. The next interval is p +- the
    k-th smallest of the n last scores (at most `window`), with k = ceil((n + 1)(1 - a)). The level a is adapted after
    every label, so intervals become wider after misses and narrower otherwise::

        aci      a <- a + rate ((1 - coverage) - [y missed])
        dtaci    eight such rules with rates from 0.001 to 0.128, weighted by their recent losses

    Guarantee: for every learner and every stream, drifting or adversarial, the share of misses after n rows is at most
    1 - coverage + `coverage_bound()`, and this bound goes to 0. Therefore intervals may be infinite: at the start, and
    after labels far beyond all scores of the window. The guarantee is for intervals of the next row (ahead=1), if each
    label is learnt before the next interval is made. With several targets it holds for each.

    Predictions are those of the inner learner. A row costs O(window) more than the learner.

    Parameters
    ----------
    learner : Learner
        A learner of real targets. It is cloned and never trained itself.
    coverage : float, default 0.9
        Target share of labels inside the intervals.
    method : {"dtaci", "aci"}
        How the level is adapted, see above.
    window : int, default 500
        Number of stored scores, and the horizon of "dtaci". After drift, old scores stay for this many rows.
    rate : float, default 0.01
        Step of "aci": a larger one adapts faster and gives infinite intervals more often. "dtaci" does not use it.

    Deviations from the papers: see `nystream.compose.levels`. An interval that should be empty is [p, p] here.

    References
    ----------
    Gibbs, Candes. Adaptive conformal inference under distribution shift. NeurIPS 2021, arXiv:2106.00170.
    Gibbs, Candes. Conformal inference for online prediction with arbitrary distribution shifts. JMLR 25, 2024,
    arXiv:2208.08401.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(2000, seed=0)
    >>> model = nystream.Conformal(nystream.KRLS(nystream.Gaussian(0.5)), coverage=0.8)
    >>> p = model.run(X, y)
    >>> low, high = model.predict_interval(X[:3], coverage=0.8)
    >>> bool((low < high).all()), round(model.measured_coverage(), 2)
    (True, 0.8)
    """

    scores_: Ring
    rule_: FixedStep | ManySteps
    missed_: Array
    """(K,) number of labels outside their intervals."""

    def __init__(
        self,
        learner: Learner,
        coverage: float = 0.9,
        *,
        method: str = "dtaci",
        window: int = 500,
        rate: float = 0.01,
    ) -> None:
        if not isinstance(learner, Learner):
            raise ValueError(f"learner must be a learner, e.g. PKRR(Fourier(Gaussian(1.0), 100)); got {learner!r}")
        if learner.labels != "real":
            raise ValueError(f"{learner!r} does not predict numbers; intervals need predicted numbers")
        self.learner = learner
        self.coverage = positive("coverage", coverage, below=1.0)
        self.method = one_of("method", method, METHODS)
        self.window = at_least("window", window, 1)
        self.rate = positive("rate", rate)

    # -- intervals --------------------------------------------------------------------------------------------------
    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Return the ends (n,), or (n, K) for K targets, of intervals around the predictions.

        The guarantee is for the coverage that the model was made for. Another one, c, takes the level
        a (1 - c)/(1 - coverage) of the same scores.
        """
        P, radius = self._around(X, np.array([positive("coverage", coverage, below=1.0)]), ahead)
        return self._outward(P - radius[0]), self._outward(P + radius[0])

    def predict_quantile(self, X: Any, q: Any, ahead: int | None = None) -> Array:
        """Return quantiles as ends of intervals: q is an end of the interval of coverage |2 q - 1|."""
        levels = as_levels(q)
        P, radius = self._around(X, np.abs(2 * levels - 1), ahead)
        signs = np.sign(levels - 0.5)
        found = [self._outward(P if not sign else P + sign * r) for sign, r in zip(signs, radius, strict=True)]
        return found[0] if np.ndim(q) == 0 else np.stack(found, axis=-1)

    def _around(self, X: Any, coverages: Array, ahead: int | None) -> tuple[Array, Array]:
        """Return predictions (n, K) and half-widths (C, K) of intervals of C coverages."""
        P = self.predict_clean(self._accepted(X), checked_ahead(ahead))
        shares = (1 - coverages) / (1 - self.coverage)
        return P, self._radius(shares) if self.d_ else np.full((len(coverages), P.shape[1]), np.inf)

    def measured_coverage(self) -> Any:
        """Return the share of labels inside their intervals: a number, or (K,) for K targets; nan before the first."""
        if not self.n_seen_:
            return float("nan")
        share = 1 - self.missed_ / self.n_seen_
        return float(share[0]) if len(share) == 1 else share

    def coverage_bound(self) -> float:
        """Return the largest possible gap of `measured_coverage()` below `coverage`, for any labels."""
        return self.rule_.bound(self.n_seen_) if self.n_seen_ else 1.0

    # -- abilities ---------------------------------------------------------------------------------------------------
    @classmethod
    def _declares(cls, ability: str) -> bool:
        return ability in OWN

    def why_not(self, ability: str) -> str | None:
        if ability in OWN:
            return None
        if ability in ("merge", "unlearn", "add_outputs") and self.learner.can(ability):
            return "its intervals depend on the order of the labels"
        return super().why_not(ability)

    # -- rounds ------------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        super()._start(d, outputs)
        miss = 1 - self.coverage
        self.rule_ = FixedStep(miss, self.rate) if self.method == "aci" else ManySteps(miss, self.window)
        self.rule_.start(outputs)
        self.scores_ = Ring(self.window, outputs)
        self.missed_ = np.zeros(outputs)

    def _grow(self, outputs: int) -> None:
        raise TypeError("the number of targets cannot change")

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = self.learner_.run_clean(X, Y, weights)
        self._learn(Y, P)
        return P

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        p = self.learner_.step_clean(x, y, weight)
        self._learn(y[None], p[None])
        return p

    def _learn(self, Y: Array, P: Array) -> None:
        """Adapt the levels row by row to labels (n, K) and their predictions."""
        with np.errstate(over="ignore"):
            scores = np.abs(Y - P)
        for score in scores:
            past = self.scores_.store_[: len(self.scores_)]
            rank = 1 - (past < score).sum(axis=0) / (len(past) + 1)
            level = self.rule_.level
            self.missed_ += (level >= rank) & ((level < 1) | (score > 0))  # an empty interval is shown as [p, p]
            self.rule_.learn(rank)
            self.scores_.extend(score[None])

    def _radius(self, shares: Array) -> Array:
        """Return half-widths (C, K) of the next intervals at these multiples (C,) of the level."""
        past = np.sort(self.scores_.store_[: len(self.scores_)], axis=0)
        known = np.vstack([np.zeros((1, past.shape[1])), past, np.full((1, past.shape[1]), np.inf)])
        ranks = 1 - np.arange(len(past) + 1) / (len(past) + 1)  # as in `_learn`, to the last bit
        places = (shares[:, None, None] * self.rule_.level[:, None] < ranks).sum(axis=2)
        return np.asarray(known[places, np.arange(past.shape[1])])

    @property
    def _own_bytes(self) -> int:
        return self.scores_.nbytes + self.rule_.nbytes + self.missed_.nbytes
