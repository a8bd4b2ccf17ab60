"""FOGD: online gradient descent on random Fourier features."""

from __future__ import annotations

from nystream.features.base import FeatureMap
from nystream.features.fastfood import Fastfood
from nystream.features.fourier import Fourier
from nystream.kernels.base import Kernel
from nystream.learners.families.gradient import GradientLearner
from nystream.losses import Loss, as_loss
from nystream.runtime.params import at_least, one_of
from nystream.runtime.types import Seed
from nystream.solvers.ogd import OGD

__all__ = ["FOGD"]

MAPS = ("fourier", "orthogonal", "fastfood")


class FOGD(GradientLearner):
    """Fourier online gradient descent: a linear model on random features of a shift-invariant kernel.

    With directions omega_i drawn once from the kernel's spectral density and D = dim / 2::

        z(x) = (cos omega_1'x, ..., cos omega_D'x, sin omega_1'x, ..., sin omega_D'x) / sqrt(D)
        p_t = w_t'z(x_t),      w_{t+1} = (1 - eta_t lam) w_t - eta_t l'(y_t, p_t) z(x_t),      w_1 = 0

    z(x)'z(x') is an unbiased estimate of k(x, x') with error O(D^-1/2), so this is functional gradient descent (NORMA)
    at a fixed cost: O(dim (d + K)) time per step, O(dim (d + K)) memory for K outputs; nothing grows with t. Classes
    are native: with "softmax" or "multiclass_hinge" there is one column of weights per class, also for classes that
    appear late. Real losses take several targets.

    Parameters
    ----------
    kernel : Kernel
        A shift-invariant kernel, e.g. `Gaussian(sigma)`.
    dim : int, default 200
        Number of features, two per direction.
    loss : str or Loss, default "hinge"
        Any loss.
    eta : float, default 0.3
        Step size; |z(x)| = 1, so it does not depend on dim.
    schedule : {"constant", "sqrt"}
        eta_t = eta, or eta t^(-1/2).
    lam : float, default 0.0
        Ridge; eta lam < 1 with method "sgd".
    features : {"fourier", "orthogonal", "fastfood"}
        The directions: independent; orthogonal in blocks of d (lower variance); or structured, with
        O(dim log d) time and O(dim) memory.
    method : {"sgd", "adagrad", "adam", "implicit"}
        The step, see `nystream.solvers.OGD`.
    average : bool, default False
        Keep the mean of the weights of all rounds, for `averaged`.
    seed : int, Generator or None
        Seed of the directions.
    dtype : {"float64", "float32"}
        Of directions, features and weights. Single precision takes half the memory (structured directions stay as they
        are) and less time the more features there are; predictions are float64 and agree to some five digits.

    Deviations from the paper: `method`, `schedule`, `lam`, `dtype` and the two other ways to draw directions are
    additions; the paper takes plain steps without ridge.

    References
    ----------
    Lu, Hoi, Wang, Zhao, Liu. Large scale online kernel learning. JMLR 17, 2016.
    Rahimi, Recht. Random features for large-scale kernel machines. NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import FOGD
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> p = FOGD(Gaussian(0.5), dim=200, seed=0).run(X, y)
    >>> bool(np.mean(p[1000:] * y[1000:] > 0) > 0.9)
    True
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        dim: int = 200,
        loss: str | Loss = "hinge",
        eta: float = 0.3,
        schedule: str = "constant",
        lam: float = 0.0,
        features: str = "fourier",
        method: str = "sgd",
        average: bool = False,
        seed: Seed = None,
        dtype: str = "float64",
    ) -> None:
        self.kernel = kernel
        self.dim = at_least("dim", dim, 2)
        self.loss = loss
        self.eta = eta
        self.schedule = schedule
        self.lam = lam
        self.features = one_of("features", features, MAPS)
        self.method = method
        self.average = average
        self.seed = seed
        self.dtype = dtype
        self._loss = as_loss(loss)
        self._template = self._parts()[1]  # the parts check the values here, not at the first row

    def _parts(self) -> tuple[FeatureMap, OGD]:
        if self.features == "fastfood":
            features: FeatureMap = Fastfood(self.kernel, self.dim, seed=self.seed, dtype=self.dtype)
        else:
            orthogonal = self.features == "orthogonal"
            features = Fourier(self.kernel, self.dim, orthogonal=orthogonal, seed=self.seed, dtype=self.dtype)
        return features, self._descent(self.method)

    @property
    def separable(self) -> bool:
        return isinstance(self.seed, int)  # else a clone draws other directions
