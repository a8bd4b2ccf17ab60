"""The second-order perceptron on a kernel: mistake-driven kernel ridge regression on the signs."""

from __future__ import annotations

from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.families.margin import MarginLearner
from nystream.runtime.params import positive

__all__ = ["SecondOrderPerceptron"]


class SecondOrderPerceptron(MarginLearner):
    """A perceptron whose inputs are whitened by those of past mistakes.

    M are the rounds of past mistakes (the sign of the margin, 0 read as +1, was not the label)::

        A = lam I + sum over M phi phi'        theta = sum over M y phi        margin(x) = phi' A^-1 theta

    That is kernel ridge regression on the labels of M. Cost per step O(m^2) time, O(m^2) memory for m mistakes: m
    stays small if the classes are separable, and grows with t if they overlap.

    Parameters
    ----------
    kernel : Kernel
    lam : float, default 1.0
        Ridge of the correlation matrix; the paper's a.

    Deviations from the paper: its margin counts x_t itself, phi' (A + phi phi')^-1 theta, which is this one divided by
    1 + phi' A^-1 phi > 0; signs, hence mistakes and the model, are the same.

    References
    ----------
    Cesa-Bianchi, Conconi, Gentile. A second-order perceptron algorithm. SIAM Journal on Computing 34, 2005.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.checkerboard(2000, noise=0.0, seed=0)
    >>> model = nystream.SecondOrderPerceptron(nystream.Gaussian(0.2), lam=0.1)
    >>> p = model.run(X, y)
    >>> model.mistakes == model.size == int(((p >= 0) != (y > 0)).sum())
    True
    """

    def __init__(self, kernel: Kernel, *, lam: float = 1.0) -> None:
        self.kernel = checked_kernel(kernel)
        self.lam = positive("lam", lam)

    @property
    def _b(self) -> float:
        return 0.0
