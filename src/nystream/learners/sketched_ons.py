"""SketchedONS: the online Newton step with a Frequent-Directions sketch, for many features."""

from __future__ import annotations

from typing import cast

from nystream.features.base import FeatureMap
from nystream.learners.ons import ONS
from nystream.losses import Loss
from nystream.solvers.sketched_ons import SketchedONS as SketchedNewtonStep

__all__ = ["SketchedONS"]


class SketchedONS(ONS):
    """Online Newton step whose metric is a sketch of the gradients; its cost is linear in the features.

    `ONS` with A_t = lam I + S_t'S_t, where S_t'S_t is the Frequent-Directions sketch of sum_s eta_s g_s g_s': each
    round adds eta_t g_t g_t' and, once there are ell = `sketch` eigenvalues, takes the smallest of them off all::

        w_t = argmin { (w - u_t)' A_{t-1} (w - u_t) : |w'z_t| <= clip },     p_t = w_t'z_t = clip(u_t'z_t)
        u_{t+1} = w_t - A_t^-1 g_t

    Cost per step, amortised, O(ell r + ell^3) time and O(ell r) memory for r features; nothing grows with t. Guarantee:
    with eta_t = sigma, the curvature of the loss on [-clip, clip], regret against any w with |w'z_t| <= clip is at most
    (lam |w|^2 + sum_t g_t' A_t^-1 g_t) / 2, see `regret_bound`. The second term is near that of `ONS` if the
    gradients have few large directions. Otherwise it grows with `lost()` / lam; use a larger sketch or lam.
    With the default sketch it is faster than `ONS` from about 400 features on (benchmarks/speed/sketched_ons.py).

    Parameters
    ----------
    features : FeatureMap, optional
        A map of the inputs, e.g. `Fourier(Gaussian(0.5), 1000)`; None is the linear model.
    sketch : int, default 10
        Rows of the sketch, ell. Above the number of features the learner is `ONS`.
    loss, clip, lam, eta
        As in `nystream.ONS`; lam is the paper's alpha.

    Deviations from the paper: none in the numbers. The usual cheap form collects 2 ell rows and shrinks every ell
    rounds; this one shrinks in every round, as the plain form does, and is as cheap because it works in coordinates.

    References
    ----------
    Luo, Agarwal, Cesa-Bianchi, Langford. Efficient second order online learning by sketching. NeurIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.learners import SketchedONS
    >>> y = np.resize([-1.0, 1.0], 200)  # the same point with alternating labels; w = 0 is the best in hindsight
    >>> model = SketchedONS(sketch=2)  # one direction is enough
    >>> p = model.run(np.ones((200, 1)), y)
    >>> round(float(((p - y) ** 2).sum() - 200), 6), round(model.regret_bound(norm2=0.0), 6), model.lost()
    (16.072607, 17.009407, 0.0)
    """

    def __init__(
        self,
        features: FeatureMap | None = None,
        *,
        sketch: int = 10,
        loss: str | Loss = "squared",
        clip: float = 1.0,
        lam: float = 1.0,
        eta: str | float = "auto",
    ) -> None:
        self.sketch = sketch
        super().__init__(features, loss=loss, clip=clip, lam=lam, eta=eta)

    def lost(self) -> float:
        """Return the sketching error: sum eta g g' exceeds S'S by at most this in every direction."""
        return cast(SketchedNewtonStep, self._solver).lost()

    def _newton(self) -> SketchedNewtonStep:
        return SketchedNewtonStep(self.loss, clip=self.clip, lam=self.lam, eta=self.eta, sketch=self.sketch)
