"""NAROW on a kernel: confidence-weighted updates whose confidence never rises beyond what is needed."""

from __future__ import annotations

from nystream.kernels.base import Kernel
from nystream.learners.families.margin import MarginLearner
from nystream.runtime.params import positive

__all__ = ["NAROW"]


class NAROW(MarginLearner):
    """Second-order classification that counts an input only as far as its direction is still uncertain.

    With A = lam I and theta = 0 at the start, a round with y margin < 1 does::

        margin = phi' A^-1 theta        chi = phi' A^-1 phi
        A += max(0, b - 1/chi) phi phi'        theta += y phi

    after which phi' A^-1 phi = min(chi, 1/b): what is known well enough leaves the metric alone, so that later labels
    still move the model. Cost per step O(m^2 + t') time and memory, m the rounds that changed A (as many as it takes
    to cover the inputs at resolution 1/b) and t' the others that learnt.

    Parameters
    ----------
    kernel : Kernel
    lam : float, default 1.0
        Ridge of the metric.
    b : float, default 2.0
        The uncertainty that is left alone is 1/b. For b <= lam / k(x, x) the metric never changes.

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
        if not isinstance(kernel, Kernel):
            raise ValueError(f"kernel must be a kernel such as Gaussian(1.0), got {kernel!r}")
        self.kernel = kernel
        self.lam = positive("lam", lam)
        self.b = positive("b", b)

    @property
    def _b(self) -> float:
        return float(self.b)
