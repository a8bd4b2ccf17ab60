"""NOGD: online gradient descent on Nystrom features of the stream's first points."""

from __future__ import annotations

import math

from nystream.features.adaptive_nystrom import AdaptiveNystrom
from nystream.kernels.base import Kernel
from nystream.learners.families.landmark import LandmarkLearner
from nystream.losses import Loss
from nystream.runtime.params import one_of

__all__ = ["NOGD"]


class NOGD(LandmarkLearner):
    """Gradient descent on Nystrom features whose landmarks are the first points of the stream, for any kernel.

    With landmarks u_1..u_m, E = (k(u_i, u_j)) and its r leading eigenpairs U, S::

        z(x) = S^(-1/2) U' (k(u_1, x), ..., k(u_m, x))
        p_t = w_t'z(x_t),        w_{t+1} = (1 - eta_t lam) w_t - eta_t l'(y_t, p_t) z(x_t)

    Until there are m landmarks it is functional gradient descent on the points so far, f = sum_i alpha_i k(u_i, .);
    then it continues with w = S^(1/2) U' alpha. O(m d + m r) time per round and
    m d + m r numbers of memory; nothing grows with t. Classes and several real targets are columns of w.

    Parameters
    ----------
    kernel : Kernel
        Any kernel, including your own.
    landmarks : int, default 100
        m.
    rank : int, optional
        r, at most m; None is 0.8 m.
    loss : str or Loss, default "hinge"
        Any loss.
    eta : float, default 0.3
        Step size; |z(x)|^2 <= k(x, x).
    schedule : {"constant", "sqrt"}
        eta_t = eta, or eta t^(-1/2).
    lam : float, default 0.0
        Ridge; eta lam < 1.
    method : {"sgd", "adagrad"}
        Plain steps, or steps divided by the root of the squared gradients so far, feature by feature: weights of small
        eigenvalues, which plain steps change slowly, then change as fast as the others. "adagrad" needs lam = 0.
    select : {"first", "support"}
        Landmarks are the first m points, or the first m with a loss (their gradient is not 0).
    tol : float, default 1e-8
        Features whose eigenvalue is at most tol S_1 are 0.
    average : bool, default False
        Keep the mean of the hypotheses of all rounds, those before there were m landmarks included, for `averaged`.

    Deviations from the paper: it computes the map from the first m points before it learns from them (which moves
    the predictions of those m rounds only, and with r = m not even those); "adagrad" is an addition.

    References
    ----------
    Lu, Hoi, Wang, Zhao, Liu. Large scale online kernel learning. JMLR 17, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import NOGD
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = NOGD(Gaussian(0.5), landmarks=50)
    >>> p = model.run(X, y)
    >>> bool(np.mean(p[1000:] * y[1000:] > 0) > 0.9), model.size
    (True, 50)
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        landmarks: int = 100,
        rank: int | None = None,
        loss: str | Loss = "hinge",
        eta: float = 0.3,
        schedule: str = "constant",
        lam: float = 0.0,
        method: str = "sgd",
        select: str = "first",
        tol: float = 1e-8,
        average: bool = False,
    ) -> None:
        self.select = one_of("select", select, ("first", "support"))
        super().__init__(kernel, landmarks, rank, loss, eta, schedule, lam, method, tol, average)

    def _new_map(self) -> AdaptiveNystrom:
        return AdaptiveNystrom(self.kernel, self.landmarks, self.rank, math.inf, tol=self.tol)
