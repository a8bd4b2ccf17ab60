"""Aggregate: a combination of regression learners that is nearly as good as the best of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nystream._core.auto.mixtures import Aggregated, mix_aggregated
from nystream.compose.ensemble import Ensemble, check_learners
from nystream.learners.base import Learner
from nystream.runtime.deferred import special
from nystream.runtime.params import one_of, positive
from nystream.runtime.threads import checked_threads
from nystream.runtime.types import Array

__all__ = ["Aggregate"]

SLACK = {"aa": 2.0, "ewa": 8.0}
"""Regret is at most SLACK B^2 ln N, with eta = 1 / (SLACK B^2)."""


class Aggregate(Ensemble):
    """A weighted combination of learners, e.g. one for each of several ridges or kernel widths.

    Learner i has the prior weight w_i and predicts q_i, clipped to [-B, B]; its weight falls with its losses::

        W_i = log w_i - eta sum (q_i - y)^2
        "ewa":  p = sum softmax(W)_i q_i,                                                   eta = 1 / (8 B^2)
        "aa":   p = (G(-B) - G(B)) / 4B,  G(y) = -1/eta log sum softmax(W)_i exp(-eta (y - q_i)^2),
                                                                                            eta = 1 / (2 B^2)

    Guarantee for labels in [-B, B]: the total squared loss exceeds that of learner i by at most 2 B^2 ln(1/w_i) with
    the aggregating algorithm ("aa") and 8 B^2 ln(1/w_i) with the exponentially weighted average ("ewa"), whatever the
    learners do. `regret` and `regret_bound` are computed live. "aa" has the smaller bound; on a given stream either may
    have the smaller loss. A row costs as much as in all learners together, but equal feature maps and kernels are
    evaluated once. Each of several outputs has its own weights.

    Parameters
    ----------
    learners : list of Learner
        Regression learners. They are cloned and never trained themselves. One of them may be an
        `Aggregate`.
    bound : float
        B, a bound on |y|. A label beyond it is learnt, but it voids the guarantee, with one warning.
    rule : "aa" or "ewa"
    prior : sequence of float, optional
        Positive weights of the learners before the first round; None: equal weights.
    threads : int, optional
        Number of learners that learn at the same time in `run`; None: NYSTREAM_THREADS, or all cores of the process (1
        in a worker of joblib, Spark or pytest-xdist). It does not change the results.

    Deviations from the papers: none.

    References
    ----------
    Vovk. Competitive on-line statistics. International Statistical Review 69, 2001 (aggregating algorithm).
    Cesa-Bianchi, Lugosi. Prediction, Learning, and Games. Cambridge 2006, chapter 3 (exponentially weighted average).

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(500, seed=0)
    >>> features = nystream.Taylor(nystream.Gaussian(0.5), degree=6)
    >>> grid = [nystream.PKAWV(features, lam=10.0**k) for k in range(-3, 3)]
    >>> model = nystream.Aggregate(grid, bound=1.5)
    >>> p = model.run(X, y)
    >>> losses = [((learner.run(X, y) - y) ** 2).sum() for learner in grid]
    >>> bool(((p - y) ** 2).sum() < min(losses) + model.regret_bound())
    True
    """

    regrets_: Array

    def __init__(
        self,
        learners: Sequence[Learner],
        *,
        bound: float,
        rule: str = "aa",
        prior: ArrayLike | None = None,
        threads: int | None = None,
    ) -> None:
        self.learners = learners
        self.bound = positive("bound", bound, below=1e150)  # its square must be finite
        self.rule = one_of("rule", rule, tuple(SLACK))
        self.prior = prior
        self.threads = checked_threads(threads)
        check_learners(learners, "Aggregate")
        self._log_prior = _logarithms(prior, len(learners))

    def shares(self) -> Array:
        w: Array = special.softmax(self._log_prior + self._eta * self._regrets, axis=1)
        return w[0] if len(w) == 1 else w.T

    def regret(self) -> float:
        """Return the total squared loss minus that of the best learner of each output."""
        return float(self._regrets.max(axis=1).sum())

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return the bound of `regret`: 2 or 8 B^2 ln(1/w) for the prior weight w of the best learner. O(N).

        Infinite once a label was beyond `bound`. It is against one of the learners: norm2 makes no difference.
        """
        self._unchanging(changes)
        self._only_own_parts(against)
        if self.void_:
            return math.inf
        return float(-self._log_prior[self._regrets.argmax(axis=1)].sum() / self._eta)

    def _start(self, d: int, outputs: int) -> None:
        self._begin(d, outputs)
        self.regrets_ = np.zeros((outputs, len(self.learners)))

    def _mixed(self, Q: Array, Y: Array | None = None) -> Array:
        return mix_aggregated(Q, self._log_prior, self.regrets_, *self._how, Y)

    def _compiled(self, learners: list[Any], groups: list[list[int]], told: list[Any]) -> Aggregated:
        return Aggregated(learners, groups, told, self._log_prior, self.regrets_, *self._how)

    @property
    def _how(self) -> tuple[float, float, bool]:
        return self.bound, self._eta, self.rule == "aa"

    @property
    def _regrets(self) -> Array:
        return self.regrets_ if self.d_ else np.zeros((1, len(self.learners)))

    @property
    def _eta(self) -> float:
        return 1 / (SLACK[self.rule] * self.bound**2)


def _logarithms(prior: ArrayLike | None, n: int) -> Array:
    """Return the logarithms (n,) of weights that sum to 1."""
    if prior is None:
        return np.full(n, -math.log(n))
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (n,) or not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(f"prior must be {n} positive numbers, one for each learner, got {prior!r}")
    return np.log(weights / weights.sum())
