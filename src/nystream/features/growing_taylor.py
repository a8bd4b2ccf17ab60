"""Taylor features whose degree grows with the stream."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from nystream.features.base import FeatureMap
from nystream.features.demands import gaussian_of
from nystream.features.taylor import Taylor
from nystream.kernels.base import Kernel
from nystream.runtime.deferred import special
from nystream.runtime.params import at_least, positive
from nystream.runtime.types import Array, Change

__all__ = ["GrowingTaylor"]

FIRST = 16
"""Rows that the first degree is meant for."""
FAR = 1e100
"""The largest difference from the centre that counts. The tail is 1 long before."""


class GrowingTaylor(FeatureMap):
    """`Taylor` features without a horizon: the degree is raised while rows come, and never lowered.

    `Taylor(degree="auto")` takes the smallest M with n tail(R) <= lam/n for n rows within R of the centre, both given
    beforehand. Here n is the number of rows so far, rounded up to a power of two, and R their largest distance so far.
    Features are ordered by degree, so that a larger degree appends features. They count as 0 in all rows before: a
    learner then has the features of each row's own round. The degree stops where `max_features` would be exceeded.

    O(r) time a row and memory for r features.

    Parameters
    ----------
    kernel : Gaussian, or a number times it
    centre : array (d,), optional
        A fixed point that is subtracted from every row; None: no shift.
    lam : float, default 1.0
        Ridge of the learner on top.
    max_features : int, default 1000
        Most features.

    References
    ----------
    Jezequel, Gaillard, Rudi. Efficient online learning with kernels for adversarial large scale problems.
    NeurIPS 2019 (which mentions a degree that grows; the rule is ours).

    Examples
    --------
    >>> import nystream
    >>> from nystream.features import GrowingTaylor
    >>> X, y = nystream.streams.sine(2000, seed=0)
    >>> model = nystream.PKRR(GrowingTaylor(nystream.Gaussian(0.5)), lam=0.1)
    >>> sizes = []
    >>> for part in (slice(0, 20), slice(20, 200), slice(200, 2000)):
    ...     p = model.run(X[part], y[part])
    ...     sizes.append(model.size)
    >>> sizes == sorted(set(sizes)), model.regret() <= model.regret_bound(against="kernel")
    (True, True)
    """

    appends: ClassVar[bool] = True

    taylor_: Taylor
    rows_: int
    radius_: float
    missed_: float

    def __init__(self, kernel: Kernel, centre: Any = None, *, lam: float = 1.0, max_features: int = 1000) -> None:
        gaussian_of(kernel, "GrowingTaylor", "use KORS for any kernel")
        self.kernel = kernel
        self.centre = centre
        self.lam = positive("lam", lam)
        self.max_features = at_least("max_features", max_features, 1)
        self._of_degree(0)  # refuses a bad centre now, not at the first example

    def start(self, d: int) -> None:
        self.taylor_ = self._of_degree(0)
        self.taylor_.start(d)
        self.rows_, self.radius_, self.missed_, self.d_ = 0, 0.0, 0.0, d

    @property
    def degree(self) -> int:
        """The present degree M."""
        return self.taylor_.degree_ if self.d_ else 0

    @property
    def dim(self) -> int:
        return self.taylor_.dim if self.d_ else 0

    @property
    def settled(self) -> bool:
        return bool(self.d_) and math.comb(self.d_ + self.degree + 1, self.d_) > self.max_features

    def observe(self, x: Array) -> Change | None:
        if self.settled:
            return None
        self.rows_ += 1
        self.radius_ = max(self.radius_, float(self._distances(x[None])[0]))
        degree, before = self._wanted(self.radius_, self.rows_), self.dim
        if degree == self.degree:
            return None
        self.taylor_ = self._of_degree(degree)
        self.taylor_.start(self.d_)
        return Change(np.eye(self.dim, before))

    def growth(self, X: Array, Z: Array) -> Array | None:
        if self.settled:
            return None
        squares = np.zeros(len(X))
        far, factor = self._distances(X), self._gaussian[1]
        for i, distance in enumerate(far.tolist()):
            degree = self._wanted(max(self.radius_, distance), self.rows_ + 1)
            if degree > self.degree:
                u2 = (distance / self.taylor_.width) ** 2
                squares[i] = factor * (special.pdtrc(self.degree, u2) - special.pdtrc(degree, u2))
        return squares

    @property
    def missed(self) -> float | None:
        return self.missed_ if self.d_ else 0.0

    def note(self, X: Array, Z: Array | None = None, weights: Array | None = None) -> None:
        X = np.atleast_2d(X)
        if Z is None:
            missed = self.taylor_.tail(X)
        else:  # the features of each row's own round
            Z = Z.reshape(len(X), -1)
            missed = np.maximum(self.kernel.diag(X) - np.einsum("ij,ij->i", Z, Z), 0.0)
        if weights is not None:
            missed = weights * missed
        self.missed_ = float(np.cumsum(np.append(self.missed_, missed))[-1])  # row after row, as in single steps

    def unnote_all(self) -> None:
        self.missed_ = 0.0

    @property
    def nbytes(self) -> int:
        return self.taylor_.nbytes if self.d_ else 0

    def _map(self, X: Array, out: Array) -> None:
        self.taylor_._map(X, out)

    def row(self, x: Array) -> Array:
        return self.taylor_.row(x)

    @property
    def _gaussian(self) -> tuple[Any, float]:
        return gaussian_of(self.kernel, "GrowingTaylor", "use KORS for any kernel")

    def _distances(self, X: Array) -> Array:
        """Return the (n,) distances from the centre. Differences beyond FAR count as FAR: squares stay finite."""
        return np.sqrt(np.square(np.clip(X - self.taylor_.centre_, -FAR, FAR)).sum(axis=1))

    def _of_degree(self, degree: int) -> Taylor:
        return Taylor(self.kernel, degree=degree, centre=self.centre, max_features=self.max_features)

    def _wanted(self, radius: float, rows: int) -> int:
        """Return the smallest degree from the present one on with n tail(R) <= lam/n, or the largest allowed."""
        kernel, factor = self._gaussian
        n, u2, degree = max(FIRST, 2 ** math.ceil(math.log2(rows))), (radius / kernel.sigma) ** 2, self.degree
        while n * factor * float(special.pdtrc(degree, u2)) > self.lam / n:
            if math.comb(self.d_ + degree + 1, self.d_) > self.max_features:
                break
            degree += 1
        return degree
