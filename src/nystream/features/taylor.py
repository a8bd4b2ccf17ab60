"""Taylor features: the monomials of the Gaussian kernel's power series up to a degree."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal, Self

import numpy as np

from nystream._core.features import TaylorFeatures
from nystream.data.inputs import as_block, as_row
from nystream.features.base import FeatureMap
from nystream.features.demands import gaussian_of
from nystream.kernels.base import Kernel
from nystream.runtime.deferred import special
from nystream.runtime.params import at_least, positive
from nystream.runtime.types import Array

__all__ = ["Taylor"]

AUTO_FEATURES = 3_000
"""Default limit of features for degree="auto"."""
MOST_FEATURES = 20_000
"""Default limit of features for a given degree. A second-order learner then uses 3.2 GB."""
WIDE, WIDE_DEGREE = 20, 3
"""Number of columns beyond which this degree is the default limit."""
DEEP = 37.0
"""exp(-u^2 / 2) underflows for slightly larger u, and points have no features."""


class Taylor(FeatureMap):
    """The Gaussian kernel's power series around a centre, cut after degree M: a deterministic map.

    With u = (x - centre) / sigma, one feature for every exponent vector k of total degree at most M::

        z_k(x) = exp(-|u|^2 / 2) prod_i u_i^k_i / sqrt(k_i!)
        z(x)'z(x') = exp(-(|u|^2 + |u'|^2) / 2) sum_{j <= M} (u'u')^j / j!

    ordered by degree, then with larger leading exponents first: C(d + M, M) features, each one product of an earlier
    one. The error is known exactly: k(x, x) - |z(x)|^2 = Prob(Poisson(|u|^2) > M), see `tail`. Around a
    centre far from the data M explodes: give a `centre`, or centre the data. Points beyond sigma sqrt(M) get z near 0
    and predictions near 0; the running sum `tail_` over all rows learnt from shows it. It bounds
    mu = |(I - P) C_n (I - P)|, the part of the data's covariance C_n outside the features.

    O(r) time a row for r features, O(r) memory; a second-order learner on top holds r^2 numbers.

    Parameters
    ----------
    kernel : Gaussian, or a number times it
    degree : int or "auto"
        M. "auto" takes the smallest M with n tail(R) <= lam / n, which keeps the price of the cut (Theorem 3 of the
        paper) at about one squared label for n rows within R of the centre.
    centre : array (d,), optional
        A fixed point that is subtracted from every row; None: no shift.
    radius : float, optional
        R, the largest |x - centre| to expect; needed by "auto", except in `fit` and a first `partial_fit`, which
        measure it on their rows (around their mean if there is no centre; the first rows must be typical).
    lam : float, default 1.0
        Ridge of the learner on top, for "auto".
    horizon : int, default 10 000
        n, the number of rows to expect, for "auto".
    max_features : int, optional
        Most features allowed. None: "auto" stops at 3000, with a warning that says what is missed, and a given degree
        is refused if it has more than 20 000 features or, with more than 20 columns, is above 3. A number replaces
        these limits.

    Attributes
    ----------
    degree_, centre_ : the degree and centre in use.
    tail_ : sum of k(x, x) - |z(x)|^2 over the rows fitted on; in a learner, over the rows learnt from.

    Deviations from the paper: its listing repeats each monomial once for every order of its factors
    (1 + d + ... + d^M features); the same kernel, hence the same predictions, with more features.

    References
    ----------
    Jezequel, Gaillard, Rudi. Efficient online learning with kernels for adversarial large scale problems.
    NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.features import Taylor
    >>> from nystream.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 2))
    >>> taylor = Taylor(Gaussian(1.0), degree=8).fit(X)
    >>> Z = taylor.transform(X)
    >>> Z.shape, bool(abs(Z @ Z.T - Gaussian(1.0)(X, X)).max() <= taylor.error_bound(2**0.5))
    ((100, 45), True)
    >>> Taylor(Gaussian(1.0)).fit(X).degree_
    14
    """

    degree_: int
    centre_: Array
    tail_: float
    engine: TaylorFeatures

    def __init__(
        self,
        kernel: Kernel,
        degree: int | Literal["auto"] = "auto",
        centre: Any = None,
        radius: float | None = None,
        *,
        lam: float = 1.0,
        horizon: int = 10_000,
        max_features: int | None = None,
    ) -> None:
        gaussian_of(kernel, "Taylor", "use Nystrom for any kernel, Fourier for a shift-invariant one")
        if isinstance(degree, str) and degree != "auto":
            raise ValueError(f"degree must be a whole number of at least 0 or 'auto', got {degree!r}")
        self.kernel = kernel
        self.degree = degree if degree == "auto" else at_least("degree", degree, 0)
        if centre is not None:
            as_row(centre, name="centre")
        self.centre = centre
        self.radius = None if radius is None else positive("radius", radius)
        self.lam = positive("lam", lam)
        self.horizon = at_least("horizon", horizon, 1)
        self.max_features = None if max_features is None else at_least("max_features", max_features, 1)

    def start(self, d: int) -> None:
        centre = np.zeros(d) if self.centre is None else as_row(self.centre, name="centre")
        if len(centre) != d:
            raise ValueError(f"centre has {len(centre)} numbers, but rows have {d} columns")
        if self.degree != "auto":
            self._begin(d, centre, self.degree)
        elif self.radius is not None:
            self._begin(d, centre, self._chosen(d, self.radius))
        else:
            raise ValueError(
                "Taylor with degree='auto' needs radius, the largest |x - centre| to expect (or give a degree, "
                "such as degree=2, or call fit on typical rows)"
            )

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add rows to `missed`. The first call sets the columns and, for "auto" without one, the radius."""
        X = as_block(X, self.d_ or None)
        if not self.d_ and self.degree == "auto" and self.radius is None:
            if not len(X):
                raise ValueError("X has 0 rows: nothing to measure a radius on; give radius, or degree")
            centre = X.mean(axis=0) if self.centre is None else as_row(self.centre, X.shape[1], "centre")
            radius = float(np.linalg.norm(X - centre, axis=1).max())
            self._begin(X.shape[1], centre, self._chosen(X.shape[1], radius))
        return super().partial_fit(X, y)

    @property
    def width(self) -> float:
        """sigma of the Gaussian kernel."""
        return float(self._gaussian[0].sigma)

    @property
    def dim(self) -> int:
        return self.engine.dim if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return self.engine.nbytes if self.d_ else 0

    def _map(self, X: Array, out: Array) -> None:
        self.engine.map(X, out)

    def row(self, x: Array) -> Array:
        return self.engine.row(x)

    @property
    def missed(self) -> float | None:
        """The weighted sum of `tail` over the learnt rows. It is exact: the monomials are an orthonormal basis of the
        kernel's space.
        """
        return self.tail_ if self.d_ else 0.0

    def note(self, X: Array, Z: Array | None = None, weights: Array | None = None) -> None:
        if weights is None or (weights == 1.0).all():
            self.tail_ = self.engine.tail(X, self.tail_)
        else:
            self.tail_ += float(weights @ self.tail(np.atleast_2d(X)))

    def unnote(self, X: Array, weights: Array | None = None) -> None:
        gone = self.engine.tail(X, 0.0) if weights is None else float(weights @ self.tail(np.atleast_2d(X)))
        self.tail_ = max(0.0, self.tail_ - gone)

    def unnote_all(self) -> None:
        self.tail_ = 0.0

    def pool(self, other: Self) -> None:
        self.tail_ += other.tail_

    def tail(self, X: Any) -> Array:
        """Return k(x, x) - |z(x)|^2 for every row (n,), between 0 and k(x, x)."""
        self._check_started()
        kernel, factor = self._gaussian
        U = (as_block(X, self.d_) - self.centre_) / kernel.sigma
        missed: Array = factor * special.pdtrc(self.degree_, np.einsum("ij,ij->i", U, U))
        return missed

    def error_bound(self, radius: float) -> float:
        """Return (radius / sigma)^(2M+2) / (M+1)!, a bound of |k(x, x') - z(x)'z(x')| within `radius`."""
        degree = self.degree_ if self.d_ else self.degree
        if degree == "auto":
            raise ValueError("the degree is not chosen yet; call fit or start(d) first, or give a degree")
        positive("radius", radius, zero=True)
        kernel, factor = self._gaussian
        if radius == 0:
            return 0.0
        return float(factor * np.exp((2 * degree + 2) * math.log(radius / kernel.sigma) - special.gammaln(degree + 2)))

    @property
    def _gaussian(self) -> tuple[Any, float]:
        return gaussian_of(self.kernel, "Taylor", "use Nystrom for any kernel")

    def _begin(self, d: int, centre: Array, degree: int) -> None:
        self._refuse_too_many(d, degree)
        self.d_, self.degree_, self.centre_, self.tail_ = d, int(degree), centre.copy(), 0.0
        self._bind()

    def _bind(self) -> None:
        kernel, factor = self._gaussian
        self.engine = TaylorFeatures(self.d_, self.degree_, kernel.sigma, factor, self.centre_)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if self.d_:
            self._bind()

    def _chosen(self, d: int, radius: float) -> int:
        """Return the smallest M with n tail(R) <= lam / n, or the largest allowed M with a warning."""
        kernel, factor = self._gaussian
        limit = AUTO_FEATURES if self.max_features is None else self.max_features
        if radius > DEEP * kernel.sigma:
            raise ValueError(
                f"radius={radius:g} is more than {DEEP:g} times sigma={kernel.sigma:g}, where Taylor features "
                "underflow; use a larger sigma or Nystrom"
            )
        if d + 1 > limit:
            raise ValueError(
                f"rows have {d} columns: degree 1 alone has {d + 1} features, more than the {limit} allowed; "
                "raise max_features, or use Fourier or Nystrom"
            )
        degree, n = 0, self.horizon
        while (missed := n * factor * float(special.pdtrc(degree, (radius / kernel.sigma) ** 2))) > self.lam / n:
            if math.comb(d + degree + 1, d) > limit:
                warnings.warn(
                    f"Taylor stops at degree {degree}, {math.comb(d + degree, d)} features (at most {limit} are "
                    f"allowed): n tail(R) = {missed:.3g} for n = {n}, R = {radius:.3g}, above lam/n = "
                    f"{self.lam / n:.3g}; raise sigma or max_features, or use Nystrom",
                    stacklevel=4,
                )
                break
            degree += 1
        return degree

    def _refuse_too_many(self, d: int, degree: int) -> None:
        r = math.comb(d + degree, d)
        limit = MOST_FEATURES if self.max_features is None else self.max_features
        wide = self.max_features is None and d > WIDE and degree > WIDE_DEGREE
        if r > limit or wide:
            why = f"degrees above {WIDE_DEGREE} need at most {WIDE} columns" if wide else f"the limit is {limit}"
            raise ValueError(
                f"degree={degree} with {d} columns has {r} features, whose second-order state takes {8 * r * r} bytes "
                f"({why}); lower the degree, use Nystrom, or raise max_features"
            )
