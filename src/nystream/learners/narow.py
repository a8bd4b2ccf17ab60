"""NAROW on a kernel: confidence-weighted updates with bounded confidence."""

from __future__ import annotations

from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.families.margin import MarginLearner
from nystream.runtime.params import positive

__all__ = ["NAROW"]


class NAROW(MarginLearner):
    """Second-order classification. A row changes the metric only while its direction is uncertain.

    With A = lam I and theta = 0 at the start, a round with y margin < 1 does::

        margin = phi' A^-1 theta        chi = phi' A^-1 phi
        A += max(0, b - 1/chi) phi phi'        theta += y phi

    after which phi' A^-1 phi = min(chi, 1/b): known directions do not change the metric, so that later labels still
    change the model. Cost per step O(m^2 + t') time and memory, m the rounds that changed A (as many as it takes to
    cover the inputs at resolution 1/b) and t' the others that learnt.

    Parameters
    ----------
    kernel : Kernel
    lam : float, default 1.0
        Ridge of the metric.
    b : float, default 2.0
        The metric does not change below the uncertainty 1/b. For b <= lam / k(x, x) the metric never changes.

    Deviations from the paper: none known; written from the update rule above.

    References
    ----------
    Orabona, Crammer. New adaptive algorithms for online classification. NIPS 2010.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.checkerboard(2000, noise=0.0, seed=0)
    >>> model = nystream.NAROW(nystream.Gaussian(0.2), lam=0.1, b=20.0)
    >>> p = model.run(X, y)
    >>> model.mistakes == int(((p >= 0) != (y > 0)).sum())
    True
    """

    def __init__(self, kernel: Kernel, *, lam: float = 1.0, b: float = 2.0) -> None:
        self.kernel = checked_kernel(kernel)
        self.lam = positive("lam", lam)
        self.b = positive("b", b)

    @property
    def _b(self) -> float:
        return float(self.b)
