"""AIOLI: improper online logistic regression, linear or on any features."""

from __future__ import annotations

from typing import cast

import numpy as np

from nystream.features.base import FeatureMap, Identity, checked_map
from nystream.learners.bounds import AGAINST, BoundTerms, convex_price, missed_by
from nystream.learners.families.feature import BLOCK, FeatureLearner
from nystream.learners.families.loss import LossLearner
from nystream.losses import Logistic
from nystream.runtime.params import one_of, positive
from nystream.runtime.types import Array
from nystream.solvers.aioli import AIOLI as Improper

__all__ = ["AIOLI"]


class AIOLI(LossLearner, FeatureLearner):
    """Improper online logistic regression, with logarithmic regret and no factor exponential in the margin.

    A proper learner with logarithmic regret pays exp(clip); `ONS` does. AIOLI predicts with a function that depends on
    the row: the minimiser of quadratic surrogates q_s of the past losses and of the row's loss with either label::

        w_t = argmin_w  lam |w|^2 + sum_{s<t} q_s(w) + l(w'z_t, +1) + l(w'z_t, -1)            p_t = w_t'z_t
        q_s(w) = l(p_s, y_s) + l'(p_s, y_s) (w'z_s - p_s) + c/2 l''(p_s) (w'z_s - p_s)^2

    With A = 2 lam I + sum c l''(p_s) z_s z_s' and v = z'A^-1 z that is one equation, p + v tanh(p/2) = z'A^-1 b. Cost
    per step O(r^2) time and memory for r features. Predictions are log-odds, and are not clipped. Guarantee: against
    every w with |w'z_t| <= clip in all rounds, regret at most
    lam |w|^2 + sum_t Z_t <= lam |w|^2 + (1/c) log det(A/2 lam) with 1/c = 1 + clip, see `regret_bound`; these are
    functions of the features.

    Parameters
    ----------
    features : FeatureMap, optional
        A map of the inputs, e.g. `Fourier(Gaussian(0.5), 200)`; `KORS(kernel, mu)` or `Nystrom(kernel, 100)` for a
        dictionary that grows with the stream, whose new coordinates are 0 in all rows before. None: the linear model.
    clip : float, default 3.0
        C, the bound on |w'z| of the functions to compare with; 3 to 10 for features of norm 1.
    lam : float, default 1.0
        Ridge lam |w|^2: the metric starts as 2 lam I, that of `ONS` as lam I. About 0.01 is best on the streams that
        were tried (benchmarks/accuracy/improper_logistic.py); the bound is smallest near r (1 + clip)/|w|^2.
    curvature : {"published", "sharp"}
        c = 1/(1 + clip) as in the paper, or 2 (exp(-clip) + clip - 1)/clip^2, for which the bound holds too and is
        smaller by a factor of nearly 2.

    Deviations from the paper: the live bound (sum of Z_t) and `curvature="sharp"` are derived here. For K classes use
    it one against the rest (`nystream.Classifier`), which has a bound on the log loss of K classes, also derived here
    (its page); `GAF`, the authors' successor for K classes, needs (K r)^2 numbers.

    References
    ----------
    Jezequel, Gaillard, Rudi. Efficient improper learning for online logistic regression. COLT 2020, arXiv:2003.08109.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.learners import AIOLI, ONS
    >>> for model in (AIOLI(clip=8.0, lam=0.1), ONS(loss="logistic", clip=8.0, lam=0.2)):
    ...     loss, x = 0.0, np.array([2.0])
    ...     for _ in range(500):  # every label is the one that was thought less likely; w = 0 loses 500 log 2
    ...         y = -1.0 if model.predict(x[None])[0] > 0 else 1.0
    ...         loss += np.logaddexp(0, -y * model.step(x, y))
    ...     print(round(float(loss - 500 * np.log(2))))
    17
    1797
    """

    def __init__(
        self,
        features: FeatureMap | None = None,
        *,
        clip: float = 3.0,
        lam: float = 1.0,
        curvature: str = "published",
    ) -> None:
        self.features = None if features is None else checked_map(features)
        self.clip = clip
        self.lam = lam
        self.curvature = curvature
        self._loss = Logistic()
        self._template = self._parts()[1]  # checks the values here, not at the first row

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return a bound on the regret so far against every w with |w|^2 <= norm2 and |w'z_t| <= clip in all rounds.

        These are functions of the features. against="kernel": against every f of the kernel's space with |f|^2 <= norm2
        that is within clip, as is its projection on the features; it adds |f| sqrt(n mu), where mu is the `missed`
        of the features.
        """
        return self.bound_terms(self._norm2(norm2, changes), against=against).total

    def bound_terms(self, norm2: float, *, against: str = "features") -> BoundTerms:
        """Return the terms of `regret_bound`."""
        one_of("against", against, AGAINST)
        positive("norm2", norm2, zero=True)
        if not self.d_:
            return BoundTerms(self.lam * norm2, 0.0, 0.0)
        terms = BoundTerms(*self._solver.bound_terms(norm2))
        if against == "features":
            return terms
        missed = missed_by(self.features_, type(self).__name__)
        return terms._replace(excess=convex_price(norm2, self.n_seen_, missed, 1.0))

    def published_bound(self, norm2: float) -> BoundTerms:
        """Return the terms of the paper's bound: lam norm2 + (1/c) log det(A/(2 lam))."""
        ridge = self.lam * positive("norm2", norm2, zero=True)
        return BoundTerms(ridge, self._solver.log_det() / self._solver.c if self.d_ else 0.0, 0.0)

    def log_det(self) -> float:
        """Return log det(A / (2 lam))."""
        return self._solver.log_det() if self.d_ else 0.0

    def _predict(self, X: Array) -> Array:
        return self._log_odds(X, next_row=True)

    def _predict_later(self, X: Array) -> Array:
        return self._log_odds(X, next_row=False)

    def _log_odds(self, X: Array, *, next_row: bool) -> Array:
        """Return predictions (n, 1). The next row may add a coordinate to the map, which increases its leverage v."""
        P = np.empty((len(X), 1))
        for i in range(0, len(X), BLOCK):
            x = X[i : i + BLOCK]
            Z = self.features_.transform(x)
            P[i : i + BLOCK] = self._solver.predict(Z, self.features_.growth(x, Z) if next_row else None)
        return P

    def _parts(self) -> tuple[FeatureMap, Improper]:
        features = Identity() if self.features is None else self.features._as_parameter()
        return features, Improper(clip=self.clip, lam=self.lam, curvature=self.curvature)

    @property
    def _solver(self) -> Improper:
        return cast(Improper, super()._solver)
