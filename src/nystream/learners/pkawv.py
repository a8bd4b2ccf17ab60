"""PKAWV and PKRR: kernel Vovk-Azoury-Warmuth and kernel ridge regression on a fixed set of features."""

from __future__ import annotations

import copy
import math
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from nystream.data.inputs import as_block, as_labels, as_weights
from nystream.features.base import FeatureMap, checked_map
from nystream.features.taylor import Taylor
from nystream.learners.bounds import BoundTerms, fixed_price, missed_by, moving_price
from nystream.learners.families.averaging import Averaging
from nystream.learners.families.bulk import BULK, BulkLearning
from nystream.learners.families.feature import BLOCK, FeatureLearner
from nystream.learners.families.least_squares import LeastSquares
from nystream.runtime.params import Params, boolean, positive
from nystream.runtime.types import Array
from nystream.solvers.awv import AWV
from nystream.solvers.meter import Meter
from nystream.solvers.moments import Moments

__all__ = ["PKAWV", "PKRR"]


class PKAWV(LeastSquares, FeatureLearner, Averaging, BulkLearning):
    """Kernel Vovk-Azoury-Warmuth regression on a fixed basis.

    The forecaster counts x_t in its regulariser when it predicts; with z_t = z(x_t)::

        A_t = A_{t-1} + z_t z_t'            b_t = b_{t-1} + y_t z_t              A_0 = lam I
        p_t = b_{t-1}' A_t^-1 z_t = b_{t-1}' A_{t-1}^-1 z_t / (1 + z_t' A_{t-1}^-1 z_t)

    Cost per step O(r^2) time, O(r^2) memory for r features; nothing grows with t. Several outputs (Y of two
    dimensions) share the factor of A; a row of weight w counts as w rows. `merge` and `unlearn` are exact; `fit_bulk`
    learns a file at once.
    Guarantee: regret at most B^2 log det(A_t/lam) against every function f of the features, whose norm is charged
    lam |f|^2, with B >= |y| unknown; `regret_bound` is the live, sharper form. It says nothing about functions of the
    kernel that the features cannot express; `regret_bound(against="kernel")` does, for Taylor features and Nystrom with
    given landmarks: it adds B^2 n mu/(mu + lam), where mu is the `missed` of the features.

    Parameters
    ----------
    features : FeatureMap
        A map that does not move, e.g. `Taylor(Gaussian(0.5), degree=6)`, or one that only appends features,
        `GrowingTaylor(Gaussian(0.5))`. It is copied. A fitted map, e.g. `Nystrom(kernel, 100).fit(X)` on a warm-up
        sample, keeps its state.
    lam : float, default 1.0
        Ridge; the paper's lambda. Must be positive.
    clip : float or None
        Predictions are clipped to [-clip, clip]; this never hurts if |y| <= clip.
    average : bool, default False
        Keep the mean of the functions f_t of all rounds, for `averaged` (online to batch, Remark 2.1 of the paper), in
        r more numbers an output and about twice the time. f_t = A_t^-1 b_{t-1} has counted x_t, as in the paper; its
        mean is clipped at the end. For independent rows the mean of `PKRR`, f_t = A_{t-1}^-1 b_{t-1}, has an excess
        risk of at most regret / n in expectation. For `PKAWV` the remark holds for the mean of the predictions that
        the rounds would have made, r_t(x)/(1 + s_t(x)), which no fixed memory keeps; `KernelAWV.averaged` is that one.

    Deviations from the paper: its listing keeps A^-1 and updates it inside `predict`; this keeps A = L D L', which is
    exact, and `predict` is pure.

    References
    ----------
    Jezequel, Gaillard, Rudi. Efficient online learning with kernels for adversarial large scale problems.
    NeurIPS 2019, arXiv:1902.09917.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(500, seed=0)
    >>> model = nystream.PKAWV(nystream.Taylor(nystream.Gaussian(0.5), degree=6), lam=0.1)
    >>> p = model.run(X, y)
    >>> bool(((p - y) ** 2).mean() < 0.5 * y.var()), model.regret() <= model.regret_bound()
    (True, True)
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True
    vovk: ClassVar[bool] = True

    solver_: AWV

    def __init__(
        self, features: FeatureMap, *, lam: float = 1.0, clip: float | None = None, average: bool = False
    ) -> None:
        self.features = checked_map(features)
        self.lam = positive("lam", lam)
        self.clip = None if clip is None else positive("clip", clip)
        self.average = boolean("average", average)

    def log_det(self) -> float:
        """Return log det(A_t / lam)."""
        return self.solver_.log_det() if self.d_ else 0.0

    def effective_dimension(self) -> float:
        """Return r - lam tr A_t^-1, the number of directions in which the data outweigh the ridge. O(r^3)."""
        return self.solver_.effective_dimension(self._prior) if self.d_ else 0.0

    def _projection_price(self, energy: float) -> float:
        price = moving_price if self.features_.appends else fixed_price
        return price(energy, missed_by(self.features_, type(self).__name__), self.lam)

    def why_not(self, ability: str) -> str | None:
        if ability in ("merge", "unlearn") and self.features.appends:
            return f"{type(self.features).__name__} features depend on the order of the rows"
        return super().why_not(ability)

    def published_bound(self, norm2: float, *, radius: float | None = None) -> BoundTerms:
        """Return the terms of the paper's bound against every f of the kernel's space with |f|^2 <= norm2.

        Theorem 3, for any features that are a projection: lam norm2 + B^2 log det(A/lam) + B^2 (mu + lam) n mu/lam^2,
        where mu is replaced by `features_.missed`, which bounds it. With `radius`, a bound on |x - centre|, Theorem 4
        for Taylor features: lam norm2 + 3/2 B^2 log det(I + K/lam), if their degree is at least
        max(8 R^2/sigma^2, 2 log(n/min(lam/k(x, x), 1))) (else a ValueError); log det(I + K/lam) is replaced by
        log det(A/lam) + missed/lam, which bounds it. `bound_terms(norm2, against="kernel")` is never larger than
        Theorem 3. For `PKAWV` without clipping, one output and one stream of rows of weight 1.
        """
        if not self.vovk or self.outputs_ > 1 or self.clip is not None or (self.d_ and not self._meter.is_plain):
            raise ValueError(
                "the theorems of the paper are about PKAWV with one output, clip=None and one stream of rows of weight "
                "1; see bound_terms"
            )
        ridge = self.lam * positive("norm2", norm2, zero=True)
        if not self.d_:
            return BoundTerms(ridge, 0.0, 0.0)
        mu, n, B2 = missed_by(self.features_, type(self).__name__), self.n_seen_, self._meter.largest**2
        if radius is None:
            tail = B2 * (mu + self.lam) * n * mu / self.lam**2
            return BoundTerms(ridge, B2 * self.log_det(), tail)
        features = self.features_
        if not isinstance(features, Taylor):
            raise ValueError(f"Theorem 4 is about Taylor features, got {features!r}; leave radius out for Theorem 3")
        top = float(features.kernel.diag(np.zeros((1, self.d_)))[0])  # the theorem has k(x, x) = 1
        needed = max(8 * (radius / features.width) ** 2, 2 * math.log(max(n, 1) / min(self.lam / top, 1.0)))
        if features.degree_ < needed:
            raise ValueError(
                f"Theorem 4 needs a degree of at least {math.ceil(needed)} for {n} rows within radius={radius:g}, got "
                f"{features.degree_}; leave radius out for Theorem 3"
            )
        return BoundTerms(ridge, 1.5 * B2 * (self.log_det() + mu / self.lam), 0.0)

    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are combinations (K, new) of those of the present outputs. Exact."""
        self.solver_.add_outputs(combination)
        self._gained(combination.shape[1])

    def merge(self, other: Self) -> Self:
        """Become the model of both streams, exactly as if this one had also learnt the rows of the other.

        Both must have the same features, drawn alike (give a seed). The regret of the merged model is the sum of losses
        minus the best of the pooled data; its bound is the sum of both plus lam |f|^2 for that best f, since each
        stream had its own regulariser.
        """
        self._require("merge")
        if type(other) is not type(self) or self._settings() != other._settings():
            raise ValueError(f"merge needs two learners with equal parameters; got {self!r} and {other!r}")
        if not _same_map(self.features, other.features, state=False):
            raise ValueError(f"merge needs equal features; got {self.features!r} and {other.features!r}")
        if not other.d_:
            return self
        if not self.d_:
            self._restore(copy.deepcopy(other._state()))
            return self
        if not _same_map(self.features_, other.features_, state=True):
            raise ValueError(
                "merge: the two feature maps were drawn or fitted differently; give both the same seed or landmarks"
            )
        if self.outputs_ != other.outputs_:
            raise ValueError(f"merge needs equal outputs; got {self.outputs_} and {other.outputs_}")
        self.solver_.merge(other.solver_, self._prior)
        self.features_.pool(other.features_)
        self.n_seen_ += other.n_seen_
        return self

    def unlearn(self, X: Any, Y: Any, weights: Any = None) -> Self:
        """Remove learnt rows exactly: the model becomes the one without them.

        O(r^2) per row, in any order, with their labels and weights. For rows that cannot have been learnt an error is
        raised and nothing is changed. `regret` is not known afterwards.
        """
        self._require("unlearn")
        if not self.d_:
            raise ValueError(f"this {type(self).__name__} has learnt no row yet")
        X = as_block(X, self.d_)
        Y = as_labels(Y, "real", len(X))
        w = as_weights(weights, len(X))
        if Y.shape[1] != self.outputs_:
            raise ValueError(f"y has {Y.shape[1]} columns, but the learner was started with {self.outputs_}")
        if w is not None and not w.all():  # rows of weight 0 were never learnt
            X, Y, w = X[w > 0], Y[w > 0], w[w > 0]
        if len(X) > self.n_seen_:
            raise ValueError(f"{len(X)} rows cannot be unlearnt: only {self.n_seen_} were learnt")
        trial = copy.deepcopy(self.solver_)
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            trial.unlearn(self.features_.transform(X[part]), Y[part], None if w is None else w[part])
        self.solver_ = trial
        self.features_.unnote(X, w)
        self.n_seen_ -= len(X)
        return self

    def _settings(self) -> tuple[Any, ...]:
        """Return the parameters that must agree in learners that merge, besides the features."""
        return self.lam, self.clip, self.average

    def _parts(self) -> tuple[FeatureMap, AWV]:
        solver = AWV(self.lam, vovk=self.vovk, clip=self.clip, average=self.average)
        return self.features._as_parameter(), solver

    def _averaged(self, X: Array) -> Array:
        W, P = self.solver_.averaged(), np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            P[i : i + BLOCK] = self.features_.transform(X[i : i + BLOCK]) @ W
        return P if self.clip is None else np.clip(P, -self.clip, self.clip)

    def _start(self, d: int, outputs: int) -> None:
        super()._start(d, outputs)
        prior = self._prior
        if prior is not None:
            self.solver_.start_from(prior)

    def _check_features(self, features: FeatureMap) -> None:
        if not features.dim or not (features.settled or features.appends):
            raise ValueError(
                f"{type(self).__name__} needs a map that does not move, but {features!r} still takes points from the "
                "stream; fit it on a warm-up sample first, give it the landmarks, or use NystromPKAWV"
            )

    def predict_features(self, X: Array, Z: Array) -> Array:
        if self.features_.settled or not self.vovk:
            return self.solver_.predict(Z)
        return self.solver_.predict(Z, self.features_.growth(X, Z))

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        change = self.features_.observe(x)
        if change is not None:
            self.solver_.rebase(change, self.features_.dim)
        z = self.features_.row(x)
        p = self.solver_.step(z, y, weight)
        self.features_.note(x, z, None if weight == 1.0 else np.array([weight]))
        return p

    def _learn_bulk(self, X: Array, Y: Array, weights: Array | None) -> None:
        features, moments = copy.deepcopy(self.features_), Moments(self.solver_.dim_, self.outputs_)
        for i in range(0, len(X), BULK):
            part = slice(i, i + BULK)
            sizes = None if features.settled else _observed(features, X[part])
            Z = features.transform(X[part])
            if sizes is not None:
                Z[np.arange(features.dim) >= sizes[:, None]] = 0.0
            w = None if weights is None else weights[part]
            moments.add(Z, Y[part], w)
            features.note(X[part], Z, w)
        self.solver_.widen(features.dim)
        self.solver_.learn_moments(moments, self._prior)
        self.features_ = features

    def _leverage(self, X: Array) -> Array:
        parts = [self.solver_.leverage(self.features_.transform(X[i : i + BLOCK])) for i in range(0, len(X), BLOCK)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @property
    def _meter(self) -> Meter:
        return self.solver_.meter_

    @property
    def _prior(self) -> Array | None:
        """The initial matrix, if it is not lam I."""
        penalty = self.features_.penalty
        return None if penalty is None else self.lam * penalty

    @property
    def _solver(self) -> AWV:
        return cast(AWV, super()._solver)


class PKRR(PKAWV):
    """Online kernel ridge regression on a fixed basis: `PKAWV` that predicts with the ridge function itself.

    p_t = b_{t-1}' A_{t-1}^-1 z_t, the ridge function of the examples before t. Same cost, parameters and methods as
    `PKAWV`. It does not shrink predictions for unusual rows: usually a little better on independent data, with a worse
    worst case. Guarantee: regret at most max_t (y_t - p_t)^2 d_onl; with clipping to [-B, B] and |y| <= B hence at most
    4 B^2 d_onl.

    References
    ----------
    Zhdanov, Kalnishkan. An Identity for Kernel Ridge Regression. ALT 2010.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(500, seed=0)
    >>> model = nystream.PKRR(nystream.Taylor(nystream.Gaussian(0.5), degree=6), lam=0.1)
    >>> p = model.run(X, y)
    >>> bool(((p - y) ** 2).mean() < 0.5 * y.var())
    True
    """

    vovk: ClassVar[bool] = False


def _observed(features: FeatureMap, X: Array) -> NDArray[np.intp]:
    """Return (n,) how many features each row has in its own round; the map observes the rows."""
    sizes = np.empty(len(X), dtype=np.intp)
    for i, x in enumerate(X):
        features.observe(x)
        sizes[i] = features.dim
    return sizes


def _same_map(a: Params, b: Params, *, state: bool) -> bool:
    """Return whether two maps have equal parameters or, with `state`, equal arrays (counters may differ)."""
    if type(a) is not type(b):
        return False
    first, second = (a._state(), b._state()) if state else (a.get_params(deep=False), b.get_params(deep=False))
    return first.keys() == second.keys() and all(_same(v, second[k], state=state) for k, v in first.items())


def _same(a: Any, b: Any, *, state: bool) -> bool:
    if isinstance(a, Params) or isinstance(b, Params):
        return isinstance(a, Params) and isinstance(b, Params) and _same_map(a, b, state=state)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    if isinstance(a, (list, tuple)):
        pairs = zip(a, b, strict=False)
        return type(a) is type(b) and len(a) == len(b) and all(_same(x, y, state=state) for x, y in pairs)
    if isinstance(a, np.random.Generator) or state:
        return True  # the numbers of a generator are in the arrays
    return bool(a == b)
