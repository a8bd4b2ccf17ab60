"""ONS: the online Newton step, linear or on any features."""

from __future__ import annotations

from typing import cast

from nystream.features.base import FeatureMap, Identity, checked_map
from nystream.learners.bounds import AGAINST, BoundTerms, convex_price, missed_by
from nystream.learners.families.feature import FeatureLearner
from nystream.learners.families.loss import LossLearner
from nystream.losses import Loss, as_loss
from nystream.runtime.params import one_of, positive
from nystream.solvers.newton import NewtonSolver
from nystream.solvers.ons import ONS as NewtonStep

__all__ = ["ONS"]


class ONS(LossLearner, FeatureLearner):
    """Online Newton step with clipped predictions: regret O(r log T) on r features for curved losses.

    A_t = lam I + sum_s eta_s g_s g_s' is the metric of the gradients g_s = l'(y_s, p_s) z_s. Each round projects the
    weights on the predictions that are allowed, then takes a Newton-like step::

        w_t = argmin { (w - u_t)' A_{t-1} (w - u_t) : |w'z_t| <= clip },     p_t = w_t'z_t = clip(u_t'z_t)
        u_{t+1} = w_t - A_t^-1 g_t

    Cost per step O(r^2) time, O(r^2) memory for r features, and nothing grows with t; whole streams are learnt in
    exact blocks, by matrix products. Guarantee: with eta_t = sigma, the curvature of the loss on [-clip, clip], regret
    against any w with |w'z_t| <= clip is at most (lam |w|^2 + sum_t g_t' A_t^-1 g_t) / 2, see `regret_bound`. It is
    against functions of the features, and for the squared loss it assumes |y| <= clip.

    Parameters
    ----------
    features : FeatureMap, optional
        A map of the inputs, e.g. `Taylor(Gaussian(0.5), degree=6)`; None is the linear model. It is copied; one that
        was fitted already keeps its state.
    loss : str or Loss, default "squared"
        A loss of one score; curved ones (squared, squared_hinge, logistic) have logarithmic regret.
    clip : float, default 1.0
        Bound on predictions, and for the squared loss on |y|. It must not be the kink of a hinge loss; use e.g. 1.5.
    lam : float, default 1.0
        Ridge of the metric; the papers' alpha or epsilon.
    eta : "auto" or float
        "auto": sigma, or 1 / (L clip sqrt(t)) where the loss has no curvature (hinge, absolute).

    Deviations from the papers: the step size is sigma itself, which makes the bound twice as good as the usual sigma/2.

    References
    ----------
    Hazan, Agarwal, Kale. Logarithmic regret algorithms for online convex optimization. Machine Learning 69, 2007.
    Luo, Agarwal, Cesa-Bianchi, Langford. Efficient second order online learning by sketching. NeurIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.learners import ONS
    >>> y = np.resize([-1.0, 1.0], 200)  # the same point with alternating labels; w = 0 is the best in hindsight
    >>> model = ONS()
    >>> p = model.run(np.ones((200, 1)), y)
    >>> round(float(((p - y) ** 2).sum() - 200), 6), round(model.regret_bound(norm2=0.0), 6)
    (16.072607, 17.009407)
    """

    def __init__(
        self,
        features: FeatureMap | None = None,
        *,
        loss: str | Loss = "squared",
        clip: float = 1.0,
        lam: float = 1.0,
        eta: str | float = "auto",
    ) -> None:
        self.features = None if features is None else checked_map(features)
        self.loss = loss
        self.clip = clip
        self.lam = lam
        self.eta = eta
        self._loss = as_loss(loss)
        self._template = self._parts()[1]  # checks the values here, not at the first row

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return a bound on the regret so far against every w with |w|^2 <= norm2 and |w'z_t| <= clip in all rounds.

        These are functions of the features. against="kernel" adds the largest advantage of functions f of
        the kernel's space with |f|^2 <= norm2 over their projections, if both are within clip: L |f| sqrt(n mu), with
        the Lipschitz constant L of the loss and the `missed` mu of the features.
        Infinite once a real label of a curved loss was beyond clip.
        """
        return self.bound_terms(self._norm2(norm2, changes), against=against).total

    def bound_terms(self, norm2: float, *, against: str = "features") -> BoundTerms:
        """Return the terms of `regret_bound`."""
        terms = BoundTerms(*self._solver.bound_terms(positive("norm2", norm2, zero=True)))
        if one_of("against", against, AGAINST) == "features" or not self.d_:
            return terms
        missed = missed_by(self.features_, type(self).__name__)
        price = convex_price(norm2, self.n_seen_, missed, self._loss.lipschitz(self.clip))
        return terms._replace(excess=terms.excess + price)

    def log_det(self) -> float:
        """Return log det(A_t / lam)."""
        return self._solver.log_det()

    def _parts(self) -> tuple[FeatureMap, NewtonSolver]:
        features = Identity() if self.features is None else self.features._as_parameter()
        return features, self._newton()

    def _newton(self) -> NewtonSolver:
        return NewtonStep(self.loss, clip=self.clip, lam=self.lam, eta=self.eta)

    @property
    def _solver(self) -> NewtonSolver:
        return cast(NewtonSolver, super()._solver)
