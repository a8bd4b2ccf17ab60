"""Mixture: a combination of regression learners that follows changes of the best learner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nystream._core.auto.mixtures import Shared, mix_shared
from nystream.compose.ensemble import Ensemble, check_learners
from nystream.learners.base import Learner
from nystream.runtime.params import at_least, positive
from nystream.runtime.threads import checked_threads
from nystream.runtime.types import Array

__all__ = ["Mixture"]


class Mixture(Ensemble):
    """Exponential weights with a fixed share: nearly as good as the best learner in every stretch of the stream.

    Learner i predicts q_i, clipped to [-B, B]; N learners start with weight 1/N each, and after every round::

        p = sum_i v_i q_i        u_i = v_i exp(-eta (q_i - y)^2) / sum_j v_j exp(-eta (q_j - y)^2)
        v_i = (1 - share) u_i + share / N

    No weight falls below share / N, so a learner that was bad recovers within a loss of about ln(N / share) / eta.
    In `Aggregate` it would need to make up its whole deficit.

    Guarantee for labels in [-B, B] and eta <= 1 / (8 B^2), where the squared loss is exp-concave: against any sequence
    of learners with k changes over T rounds, the loss is larger by at most
    (ln N + k ln(N / share) + (T - k) ln(1 / (1 - share))) / eta. A larger eta adapts faster, without a guarantee.
    A round costs as much as in all learners together, and O(N) more. Each of several outputs has its own weights.

    Parameters
    ----------
    learners : list of Learner
        Regression learners. They are cloned and never trained themselves.
    bound : float
        B, a bound on |y|. A label beyond it is learnt, but it voids the guarantee, with one warning.
    share : float, default 0.001
        Share of weight that is spread evenly after every round, 0 < share < 1; about one change in 1 / share rounds.
    eta : float or None
        Learning rate; None: 1 / (8 B^2), the largest with the guarantee.
    threads : int, optional
        Number of learners that learn at the same time in `run`; None: NYSTREAM_THREADS, or all cores of the process (1
        in a worker of joblib, Spark or pytest-xdist). It does not change the results.

    References
    ----------
    Herbster, Warmuth. Tracking the best expert. Machine Learning 32, 1998 (fixed share; there the share goes to the
    other learners only). Bousquet, Warmuth. Tracking a small set of experts by mixing past posteriors. JMLR 3, 2002.
    Cesa-Bianchi, Lugosi. Prediction, Learning, and Games. Cambridge 2006, section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> import nystream
    >>> X, y = nystream.streams.sine(500, seed=0)
    >>> features = nystream.Taylor(nystream.Gaussian(0.5), degree=6)
    >>> model = nystream.Mixture([nystream.PKAWV(features, lam=10.0**k) for k in range(-3, 3)], bound=1.5)
    >>> p = model.run(X, y)
    >>> bool(((p - y) ** 2).sum() < min(model.losses()) + model.regret_bound(changes=0))
    True
    """

    shares_: Array
    """v, (K, N)."""
    losses_: Array
    """Squared losses so far of the learners, (K, N)."""

    def __init__(
        self,
        learners: Sequence[Learner],
        *,
        bound: float,
        share: float = 0.001,
        eta: float | None = None,
        threads: int | None = None,
    ) -> None:
        self.learners = learners
        self.bound = positive("bound", bound, below=1e150)  # its square must be finite
        self.share = positive("share", share, below=1.0)
        self.eta = None if eta is None else positive("eta", eta)
        self.threads = checked_threads(threads)
        check_learners(learners, "Mixture")

    def shares(self) -> Array:
        N = len(self.learners)
        v = self.shares_ if self.d_ else np.full((1, N), 1 / N)
        return v[0].copy() if len(v) == 1 else v.T.copy()

    def losses(self) -> Array:
        """Return the cumulative squared losses of the learners: (N,), or (N, K) for K > 1 outputs."""
        L = self.losses_ if self.d_ else np.zeros((1, len(self.learners)))
        return L[0].copy() if len(L) == 1 else L.T.copy()

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return a bound, per output, on the loss minus that of the best sequence of learners with this many changes.

        Infinite with an eta above 1 / (8 B^2), and once a label was beyond `bound`. norm2 makes no difference.
        """
        self._only_own_parts(against)
        at_least("changes", changes, 0)
        if self._eta > 1 / (8 * self.bound**2) * (1 + 1e-12) or self.void_:
            return math.inf
        N, stays = len(self.learners), max(self.n_seen - changes, 0)
        price = math.log(N) + changes * math.log(N / self.share) - stays * math.log1p(-self.share)
        return price / self._eta

    def _start(self, d: int, outputs: int) -> None:
        self._begin(d, outputs)
        N = len(self.learners)
        self.shares_, self.losses_ = np.full((outputs, N), 1 / N), np.zeros((outputs, N))

    def _mixed(self, Q: Array, Y: Array | None = None) -> Array:
        return mix_shared(Q, self.shares_, self.losses_, self.bound, self._eta, self.share, Y)

    def _compiled(self, learners: list[Any], groups: list[list[int]], told: list[Any]) -> Shared:
        return Shared(learners, groups, told, self.shares_, self.losses_, self.bound, self._eta, self.share)

    @property
    def _eta(self) -> float:
        return 1 / (8 * self.bound**2) if self.eta is None else self.eta
