"""StreamingGP: Gaussian process regression on a stream, with a predictive distribution for every row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nystream.data.inputs import as_levels
from nystream.dictionary.growing import DistantAtoms
from nystream.kernels.base import Kernel
from nystream.learners.base import Learner
from nystream.runtime.deferred import linalg, special
from nystream.runtime.params import at_least, checked_ahead, positive
from nystream.runtime.seeds import generator
from nystream.runtime.types import Array
from nystream.solvers.nested_awv import NestedAWV

__all__ = ["StreamingGP"]

BLOCK = 64
"""Rows whose predictive means and variances come from one Cholesky factor."""
SHAPE = 2.0
"""a_0 of the prior of the noise: it weighs as much as four labels, and the first predictions have finite variances."""
NEGLIGIBLE = 1e-12
"""A posterior weight that changes no quantile noticeably."""
BISECTIONS = 60
"""Halvings of the bracket around a quantile; 53 exhaust the digits of a double."""


class StreamingGP(Learner):
    """Gaussian process regression that gives predictive distributions and learns width and noise from the stream.

    A grid of models, one for each width h and ridge lam. In a model, y = f(x) + noise with noise ~ N(0, s2) and
    f ~ GP(0, s2/lam k(x/h, x'/h)): lam is the variance of the noise over that of f. s2 is unknown, with an inverse
    gamma prior. f is approximated in the span of landmarks, rows of the stream; z(x) are a row's coordinates and
    g(x) = k(x, x) - |z(x)|^2 is what they miss, which counts as noise of that row (FITC). With A_0 = lam I::

        r_t = z_t' A_{t-1}^-1 b_{t-1}         V_t = 1 + g_t/lam + z_t' A_{t-1}^-1 z_t
        y_t | past ~ Student t, 2 a_{t-1} degrees of freedom, location r_t, squared scale V_t beta_{t-1}/a_{t-1}
        A_t = A_{t-1} + w_t z_t z_t'          b_t = b_{t-1} + w_t y_t z_t          w_t = 1/(1 + g_t/lam)
        a_t = a_{t-1} + 1/2                   beta_t = beta_{t-1} + (y_t - r_t)^2/(2 V_t)

    The models are mixed by Bayes' rule: the weight of a model is its prior weight 1/N times the product of the
    densities that it gave to the labels so far. The prediction is the mean of the mixture; `std`, `predict_interval`,
    `predict_quantile` and `log_density` are of the mixture too.

    A row becomes a landmark if the landmarks miss more than `tol` of k(x, x), until there are `landmarks` of them; each
    width has its own. Its new coordinate is 0 in all rows before. O(N r^2) a row and memory for N models of r
    landmarks; nothing grows once all landmarks are taken.

    Guarantee: the log loss -sum log p(y_t | past) exceeds that of the best model of the grid by at most ln N, on every
    stream; `regret` and `regret_bound` are these two. Intervals have their coverage if the labels come from a model of
    the grid; `Conformal` holds the coverage on every stream.

    Parameters
    ----------
    kernel : Kernel
        k; the widths multiply its own width.
    widths : float or sequence of float, default (0.25, 0.5, 1, 2, 4)
        h. Any positive numbers; rows are divided by them before k is evaluated.
    lam : float or sequence of float, default (0.001, 0.01, 0.1, 1)
        Ridges: variance of the noise over that of f, for k(x, x) = 1.
    landmarks : int, default 100
        Most landmarks of a width.
    tol : float, default 0.01
        Share of k(x, x) that may be missed by the landmarks.
    scale : float, default 1.0
        Size of the labels, around 0: a priori y^2 is about scale^2. It weighs as much as four labels. Labels of unknown
        size and mean: `StandardizedTarget(StreamingGP(...))`.

    Deviations from the literature: there is no one paper. Snelson and Ghahramani's likelihood is computed one row at
    a time; the landmarks come from the stream, and rows learnt before a landmark came keep the coordinates that they
    had, where a batch method would compute them anew. The grid with Bayes' rule takes the place of gradient ascent on
    the evidence: it needs no gradient, and no row twice.

    References
    ----------
    Csato, Opper. Sparse on-line Gaussian processes. Neural Computation 14, 2002. Snelson, Ghahramani. Sparse Gaussian
    processes using pseudo-inputs. NeurIPS 2006. Kakade, Seeger, Foster. Worst-case bounds for Gaussian process models.
    NeurIPS 2006.

    Examples
    --------
    >>> import numpy as np
    >>> import nystream
    >>> X, y = nystream.streams.sine(1000, seed=0)
    >>> model = nystream.StreamingGP(nystream.Gaussian(1.0))
    >>> p = model.run(X[:800], y[:800])
    >>> low, high = model.predict_interval(X[800:], coverage=0.9)
    >>> bool(0.85 < np.mean((low < y[800:]) & (y[800:] < high)) < 0.95)
    True
    >>> model.log_density(X[800:803], y[800:803]).shape, model.regret() <= model.regret_bound()
    ((3,), True)
    """

    dictionaries_: list[DistantAtoms]
    """One for each width."""
    solvers_: list[NestedAWV]
    """A and b of the models: for each width in order, one for each ridge."""
    shape_: float
    """a: s2 is inverse gamma with this shape."""
    spread_: Array
    """(N,) its scale, beta."""
    scores_: Array
    """(N,) sums of log densities of the models."""

    def __init__(
        self,
        kernel: Kernel,
        *,
        widths: ArrayLike = (0.25, 0.5, 1.0, 2.0, 4.0),
        lam: ArrayLike = (0.001, 0.01, 0.1, 1.0),
        landmarks: int = 100,
        tol: float = 0.01,
        scale: float = 1.0,
    ) -> None:
        self.kernel = kernel
        self.widths = widths
        self.lam = lam
        self.landmarks = at_least("landmarks", landmarks, 1)
        self.tol = positive("tol", tol, below=1.0)
        self.scale = positive("scale", scale, below=1e150)  # its square must be finite
        self._widths, self._ridges = _grid("widths", widths), _grid("lam", lam)
        self._dictionary()  # refuses a bad kernel here, not at the first example

    # -- predictive distribution -------------------------------------------------------------------------------------
    def std(self, X: Any) -> Array:
        """Return standard deviations (n,) of the predictive distributions of the labels, noise included."""
        R, S = self._components(self._asked(X))
        v, dof = self._shares(self.scores_)[:, None], 2 * self.shape_
        mean = (v * R).sum(axis=0)
        return np.sqrt((v * (S**2 * dof / (dof - 2) + (R - mean) ** 2)).sum(axis=0))

    def log_density(self, X: Any, y: Any) -> Array:
        """Return the logarithms (n,) of the predictive densities at the labels y (n,), each row by itself. Changes
        nothing.
        """
        X, y = self._asked(X), np.asarray(y, dtype=np.float64)
        if y.shape != (len(X),):
            raise ValueError(f"y must have {len(X)} numbers, one for each row, got an array of shape {y.shape}")
        R, S = self._components(X)
        scores = special.log_softmax(self.scores_)[:, None] + _log_student(y, R, S, self.shape_)
        return np.asarray(special.logsumexp(scores, axis=0))

    def log_loss(self) -> float:
        """Return -sum over rounds of log p(y_t | past), the log loss of the mixture so far."""
        return math.log(self._models) - float(special.logsumexp(self.scores_)) if self.d_ else 0.0

    def predict_quantile(self, X: Any, q: Any, ahead: int | None = None) -> Array:
        """Return quantiles of the predictive distributions: (n,), or (n, levels) for a list of levels."""
        checked_ahead(ahead)
        levels = as_levels(q)
        found = self._quantiles(*self._components(self._asked(X)), levels)
        return found[:, 0] if np.ndim(q) == 0 else found

    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Return the ends (n,) of the intervals between the quantiles (1 - coverage)/2 and (1 + coverage)/2."""
        tail = (1 - positive("coverage", coverage, below=1.0)) / 2
        ends = self.predict_quantile(X, [tail, 1 - tail], ahead)
        return ends[:, 0], ends[:, 1]

    def weights(self) -> dict[str, float]:
        """Return the posterior weights of the models of the grid, by width and ridge; they sum to 1."""
        v = self._shares(self.scores_) if self.d_ else np.full(self._models, 1 / self._models)
        names = [f"width {h:g}, lam {lam:g}" for h in self._widths for lam in self._ridges]
        return dict(zip(names, v.tolist(), strict=True))

    # -- guarantee ---------------------------------------------------------------------------------------------------
    def regret(self) -> float:
        """Return the log loss of the mixture minus that of the best model of the grid."""
        if not self.d_:
            return 0.0
        return math.log(self._models) + float(self.scores_.max() - special.logsumexp(self.scores_))

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return ln N, an upper bound of `regret` against each of the N models of the grid; norm2 is not used."""
        self._unchanging(changes)
        self._only_own_parts(against)
        return math.log(self._models)

    # -- rounds ------------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        self.dictionaries_, self.solvers_ = [], []
        for _ in self._widths:
            dictionary = self._dictionary()
            dictionary.start(d, generator(0))  # the rule draws nothing
            self.dictionaries_.append(dictionary)
            for lam in self._ridges:
                solver = NestedAWV(lam, vovk=False)
                solver.start(dictionary.width, 1)
                self.solvers_.append(solver)
        share = np.tile([lam / (1 + lam) for lam in self._ridges], len(self._widths))
        self.spread_ = SHAPE * self.scale**2 * share  # noise and f together have variance scale^2
        self.shape_, self.scores_ = SHAPE, np.zeros(self._models)

    def _check(self, X: Array, learnt: int) -> None:
        for dictionary, width in zip(self.dictionaries_, self._widths, strict=True):
            dictionary.squares(X / width)

    def _predict(self, X: Array) -> Array:
        R, _ = self._components(X)
        return (self._shares(self.scores_) @ R)[:, None]

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = np.empty_like(Y)
        for i in range(0, len(X), BLOCK):
            P[i : i + BLOCK, 0] = self._learn(X[i : i + BLOCK], Y[i : i + BLOCK, 0])
        return P

    def _learn(self, X: Array, y: Array) -> Array:
        """Learn a block of rows; their predictions (n,), each made before its label."""
        prior, covariances, updates = [], [], []
        for solver, Z, noise in self._admit(X):
            mean, covariance = _joint(solver, Z)
            prior.append(mean)
            covariance.flat[:: len(X) + 1] += noise
            covariances.append(covariance)
            updates.append((solver, Z, 1 / noise))
        factors = np.linalg.cholesky(np.array(covariances))
        R, E = _innovations(y, np.array(prior), factors)
        for solver, Z, weight in updates:
            solver.run(Z, y[:, None], weight)
        spreads = _accumulated(self.spread_, E**2 / 2)
        shapes = self.shape_ + np.arange(len(X)) / 2
        scales = np.diagonal(factors, axis1=1, axis2=2) * np.sqrt(spreads[:, :-1] / shapes)
        scores = _accumulated(self.scores_, _log_student(y, R, scales, shapes))
        self.shape_ += len(X) / 2
        self.spread_, self.scores_ = spreads[:, -1].copy(), scores[:, -1].copy()
        return np.asarray((self._shares(scores[:, :-1]) * R).sum(axis=0))

    def _admit(self, X: Array) -> Iterator[tuple[NestedAWV, Array, Array]]:
        """Yield for each model its solver, the coordinates (n, width) of the rows, and 1 + g/lam (n,)."""
        solvers = iter(self.solvers_)
        for dictionary, width in zip(self.dictionaries_, self._widths, strict=True):
            k = dictionary.squares(X / width)
            Z, atoms = dictionary.admit(X / width, k)
            missed = np.maximum(k - np.einsum("ij,ij->i", Z, Z), 0.0)
            missed[atoms] = 0.0
            for lam in self._ridges:
                solver = next(solvers)
                solver.widen(dictionary.width)
                yield solver, Z, 1 + missed / lam

    def _components(self, X: Array) -> tuple[Array, Array]:
        """Return locations and scales (N, n) of the models' predictive distributions, with 2 a degrees of freedom.

        They are the same whether or not a row would become a landmark: A is lam I in its new direction, and b is 0.
        """
        means, variances, solvers = [], [], iter(self.solvers_)
        for dictionary, width in zip(self.dictionaries_, self._widths, strict=True):
            nested, k = dictionary.nested_, dictionary.squares(X / width)
            Z, inside = nested.forward(nested.values(X / width))
            for lam in self._ridges:
                r, s = next(solvers).engine.query(Z)
                means.append(r[:, 0])
                variances.append(1 + np.maximum(k - inside, 0.0) / lam + s)
        return np.array(means), np.sqrt(np.array(variances) * (self.spread_ / self.shape_)[:, None])

    def _quantiles(self, R: Array, S: Array, levels: Array) -> Array:
        """Return (n, levels) quantiles of the mixtures, by bisection between the smallest and largest of the
        components.

        R and S (N, n) are the locations and scales of the components.
        """
        v, dof = self._shares(self.scores_), 2 * self.shape_
        heard = v > NEGLIGIBLE
        v, R, S = v[heard, None, None], R[heard, :, None], S[heard, :, None]
        ends = R + S * special.stdtrit(dof, levels)
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(BISECTIONS):
            middle = low + (high - low) / 2
            below = (v * special.stdtr(dof, (middle - R) / S)).sum(axis=0) < levels
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(low + (high - low) / 2)

    @staticmethod
    def _shares(scores: Array) -> Array:
        """Return the posterior weights of the models, from their sums of log densities (N, ...)."""
        return np.asarray(special.softmax(scores, axis=0))

    @property
    def _models(self) -> int:
        return len(self._widths) * len(self._ridges)

    def _dictionary(self) -> DistantAtoms:
        return DistantAtoms(self.kernel, self.tol, self.landmarks)

    def _asked(self, X: Any) -> Array:
        if not self.d_:
            raise ValueError(f"this {type(self).__name__} has learnt no row yet")
        return np.asarray(self._accepted(X))

    def _widen(self, d: int) -> None:
        for dictionary in self.dictionaries_:
            dictionary.widen(d)

    @property
    def size(self) -> int:
        """Number of landmarks of the width that has most."""
        return max(dictionary.n for dictionary in self.dictionaries_) if self.d_ else 0

    @property
    def nbytes(self) -> int:
        if not self.d_:
            return 0
        own = self.spread_.nbytes + self.scores_.nbytes
        return own + sum(part.nbytes for part in self.dictionaries_) + sum(part.nbytes for part in self.solvers_)


def _joint(solver: NestedAWV, Z: Array) -> tuple[Array, Array]:
    """Return the means (n,) of f at rows with coordinates Z, and their covariances over s2, Z A^-1 Z' (n, n)."""
    if len(Z) == 1:
        mean, leverage = solver.engine.query(Z)
        return mean[:, 0], leverage[:, None]
    half = linalg.solve_triangular(solver.factor, Z.T, lower=True, unit_diagonal=True)
    return Z @ solver.weights[:, 0], half.T @ (half / solver.pivots[:, None])


def _innovations(y: Array, prior: Array, factors: Array) -> tuple[Array, Array]:
    """Return predictive means R (N, n) of rows in order, each given the labels before it, and (y - R)/sqrt(V), (N, n).

    prior (N, n) are the means without these labels; factors (N, n, n) are Cholesky factors C of the covariances of
    the labels over s2. The labels are prior + C e with independent e of variance s2, so that V_t = C_tt^2.
    """
    R, E = np.empty_like(prior), np.zeros_like(prior)
    for t in range(prior.shape[1]):
        R[:, t] = prior[:, t] + (factors[:, t, :t] * E[:, :t]).sum(axis=1)
        E[:, t] = (y[t] - R[:, t]) / factors[:, t, t]
    return R, E


def _accumulated(start: Array, increments: Array) -> Array:
    """Return (N, n + 1): the start (N,), then the sums after each increment of (N, n), added one by one."""
    return np.asarray(np.add.accumulate(np.column_stack([start, increments]), axis=1))


def _log_student(y: Array, location: Array, scale: Array, shape: Any) -> Array:
    """Log density at y of Student's t with 2 `shape` degrees of freedom, elementwise."""
    half = np.asarray(shape) + 0.5
    constant = special.gammaln(half) - special.gammaln(shape) - 0.5 * np.log(2 * np.pi * np.asarray(shape))
    return np.asarray(constant - np.log(scale) - half * np.log1p(((y - location) / scale) ** 2 / (2 * half - 1)))


def _grid(name: str, values: ArrayLike) -> Sequence[float]:
    """Return the positive numbers of the grid, in order."""
    grid = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if grid.ndim != 1 or not len(grid) or not (np.isfinite(grid) & (grid > 0)).all():
        raise ValueError(f"{name} must be a positive number or a list of them, got {values!r}")
    found: list[float] = grid.tolist()
    return found
