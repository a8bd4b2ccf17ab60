"""GAF: multiclass logistic regression by Gaussian aggregation, linear or on any features."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from nystream.features.base import FeatureMap, Identity, checked_map
from nystream.learners.bounds import AGAINST, BoundTerms, convex_price, missed_by
from nystream.learners.families.feature import BLOCK, FeatureLearner
from nystream.learners.families.loss import LossLearner
from nystream.losses import Softmax
from nystream.runtime.params import one_of, positive
from nystream.runtime.types import Array, Seed
from nystream.solvers.gaf import GAF as Aggregation

__all__ = ["GAF"]


class GAF(LossLearner, FeatureLearner):
    """Online multiclass logistic regression whose regret has no factor exponential in the scores.

    Gaussian aggregating forecaster, the successor of `AIOLI` for the softmax of K classes. Its prediction is the mean
    of the class probabilities under the Gaussian exp(-L_{t-1}), where L_{t-1} = lam |W|^2 + quadratic surrogates of the
    past losses l_s, for W (K, r)::

        p_t = E softmax(W z_t),   W ~ exp(-L_{t-1})
        W_t = the minimiser of L_{t-1} + l_t,   L_t = L_{t-1} + l_t(W_t) + l_t'(W_t)'(. - W_t) + c/2 |. - W_t|^2
                                                with the last norm in the Hessian of l_t at W_t

    Cost per step O(K^3 r^2) time and O(K^2 r^2) memory for r features: for many classes use `Classifier(AIOLI(...))`,
    one class against the rest. Predictions are log probabilities of the classes. Guarantee: against every W with
    |w_k'z_t| <= clip in all rounds, regret at most lam |W|^2 + sum_t Z_t, see `regret_bound`.

    Parameters
    ----------
    features : FeatureMap, optional
        A map of the inputs, e.g. `Fourier(Gaussian(0.5), 100)`; `KORS(kernel, mu)` or `Nystrom(kernel, 50)` for a
        dictionary that grows with the stream. None: the linear model.
    clip : float, default 3.0
        C, the bound on the scores |w_k'z| of the functions to compare with.
    lam : float, default 1.0
        Ridge lam |W|^2. For two classes lam is that of `AIOLI` with half of it, because W has two rows.
    curvature : float, optional
        c. None: 2 (M + exp(-M) - 1)/M^2 with M = log(1 + (K - 1) exp(2 clip)), for which the bound holds.
    samples : int, default 100
        Points of the mean over the Gaussian for more than two classes; two classes have a quadrature of 40 nodes.
    seed : int, Generator or None, default 0
        Of these points, which are the same in all rounds.

    Deviations from the paper: it is written from a specification made without the paper's full text. The constant c and
    the bound are derived here (page of the algorithm) and hold for any number of points in the mean; the published
    rate O(clip log n) is not claimed for them.

    References
    ----------
    Jezequel, Gaillard, Rudi. Mixability made efficient: fast online multiclass logistic regression. NeurIPS 2021,
    arXiv:2110.03960.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.learners import GAF
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])  # three classes
    >>> model = GAF(clip=5.0, lam=0.01)
    >>> log_p = model.run(np.column_stack([X, np.ones(300)]), y)
    >>> bool((log_p.argmax(axis=1) == y)[100:].mean() > 0.9)
    True
    """

    def __init__(
        self,
        features: FeatureMap | None = None,
        *,
        clip: float = 3.0,
        lam: float = 1.0,
        curvature: float | None = None,
        samples: int = 100,
        seed: Seed = 0,
    ) -> None:
        self.features = None if features is None else checked_map(features)
        self.clip = clip
        self.lam = lam
        self.curvature = curvature
        self.samples = samples
        self.seed = seed
        self._loss = Softmax()
        self._template = self._parts()[1]  # checks the values here, not at the first row

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return a bound on the regret so far against every W with |W|^2 <= norm2 and |w_k'z_t| <= clip in all rounds.

        These are functions of the features. The bound is for classes that are declared with `reserve` before the first
        row. The first row of another class was predicted without it, at an infinite loss; the bound counts this row as
        if the class had been declared just before.
        against="kernel": against all f_1, ..., f_K of the kernel's space with sum |f_k|^2 <= norm2 that are within
        clip, as are their projections on the features; it adds sqrt(2 norm2 n mu), where mu is the `missed` of the
        features. Infinite with a `curvature` of your own.
        """
        return self.bound_terms(self._norm2(norm2, changes), against=against).total

    def bound_terms(self, norm2: float, *, against: str = "features") -> BoundTerms:
        """Return the terms of `regret_bound`."""
        one_of("against", against, AGAINST)
        positive("norm2", norm2, zero=True)
        if self.curvature is not None:
            return BoundTerms(self.lam * norm2, math.inf, 0.0)
        if not self.d_:
            return BoundTerms(self.lam * norm2, 0.0, 0.0)
        terms = BoundTerms(*self._solver.bound_terms(norm2))
        if against == "features":
            return terms
        missed = missed_by(self.features_, type(self).__name__)
        return terms._replace(excess=convex_price(norm2, self.n_seen_, missed, math.sqrt(2.0)))

    def log_det(self) -> float:
        """Return log det(A / (2 lam)) of the Hessian A of the surrogates and the ridge."""
        return self._solver.log_det() if self.d_ else 0.0

    def _predict(self, X: Array) -> Array:
        return self._log_probabilities(X, next_row=True)

    def _predict_later(self, X: Array) -> Array:
        return self._log_probabilities(X, next_row=False)

    def _log_probabilities(self, X: Array, *, next_row: bool) -> Array:
        """Return predictions (n, K). The next row may add a coordinate to the map, which increases its variance."""
        P = np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            x = X[i : i + BLOCK]
            Z = self.features_.transform(x)
            P[i : i + BLOCK] = self._solver.predict(Z, self.features_.growth(x, Z) if next_row else None)
        return P

    def _parts(self) -> tuple[FeatureMap, Aggregation]:
        features = Identity() if self.features is None else self.features._as_parameter()
        options = {"curvature": self.curvature, "samples": self.samples, "seed": self.seed}
        return features, Aggregation(clip=self.clip, lam=self.lam, **options)  # type: ignore[arg-type]

    @property
    def _solver(self) -> Aggregation:
        return cast(Aggregation, super()._solver)
