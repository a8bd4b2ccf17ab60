"""The automatic learner from sums: views and landmarks of a sample, ridges from sums over all rows, one stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from nystream._core.linalg import add_gram
from nystream.auto.expert_set import NARROWER, NARROWEST, WORSE, combined
from nystream.auto.experts import LaplacianRidge, Ridge
from nystream.auto.recipe import CANDIDATES, WIDE
from nystream.auto.views import LaplacianView, View
from nystream.data.inputs import as_block, as_levels
from nystream.learners.base import Learner
from nystream.runtime.incremental import CALL, Task, run_to_completion
from nystream.runtime.params import at_least, checked_ahead, one_of, positive
from nystream.runtime.types import Array, LabelKind
from nystream.scaling import GlobalScale, LogScale, StandardScale
from nystream.scaling.spread import fences, moments
from nystream.solvers.awv import AWV
from nystream.solvers.stacker import RidgeStacker, SoftmaxStacker

__all__ = ["PooledAuto", "Sums"]

Sums: TypeAlias = tuple[Array, Array]
"""Z'WZ, its lower triangle, and Z'WT of some rows, for one member."""

VIEWS = {"std": StandardScale(), "ag": StandardScale(), "glob": GlobalScale(), "log": LogScale()}
LEARNT = ("ag", "log")
"""Views with a learnt metric."""
LAMS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Ridges of which the held-back rows choose one for each member."""
BLOCK = 512
"""Rows whose features are held at a time."""
MARGIN = 1.5
"""Scores of classes are clipped to these."""
ROUNDING = 1e-9
"""By which (n + 1) coverage may miss a whole number."""


class PooledAuto(Learner):
    """Regression or classes with nothing to tune, for rows that lie in many places: what of `Auto` sums can give.

    It is made in five steps. `design` takes a sample and fixes scales, learnt metrics, widths and landmarks of seven
    ridges, one of them with a Laplacian kernel. `sums` of any rows add up over the places where rows lie. `choose`
    picks the lam of each ridge by held-back rows, and designs one more ridge with more landmarks like the best smooth
    one. `sums` again, of that one. `conclude` learns on the held-back rows how the ridges are stacked. For both choices
    the sums of the held-back rows are subtracted from those of all rows; the final ridges have learnt every row. `fit`
    does all of it for rows in memory. From then on it learns online: ridges exactly, their stack as in `Auto`.

    Unlike `Auto` it has no expert that forgets, no windows and no last labels, since rows in many places have no
    common order; scales, metrics, widths, landmarks and ridges stay what they are.

    Parameters
    ----------
    task : "regression" or "classification"
    landmarks, big, rough : int
        Landmarks of each of the six first ridges, of the large one and of the one with a rough kernel (beyond 100
        columns there is none).
    metric : int
        Rows of the sample that a metric is learnt from.
    seed : int
        Of the landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.auto.pooled import PooledAuto
    >>> X = np.random.default_rng(0).normal(size=(600, 2)) * [1, 1000]
    >>> y = np.sin(X[:, 0]) + X[:, 1] / 1000
    >>> model = PooledAuto(landmarks=50, big=100).fit(X[:500], y[:500])
    >>> bool(np.mean((model.predict(X[500:]) - y[500:]) ** 2) < 0.01 * y.var())
    True
    """

    multi_output: ClassVar[bool] = True

    views_: dict[str, View]
    members_: dict[str, Ridge]
    """By name; without solvers until `conclude`."""
    seen_in_: dict[str, str]
    """Which view each member looks through."""
    lams_: dict[str, float]
    holes_: Array
    """Columns with missing values in the sample, which have an indicator."""
    shift_: Array
    scale_: Array
    fences_: Array
    stacker_: RidgeStacker | SoftmaxStacker
    residuals_: Array
    """(n, K) sizes of the residuals of the held-back rows, in order; of regression only."""

    def __init__(
        self,
        task: str = "regression",
        *,
        landmarks: int = 300,
        big: int = 1000,
        rough: int = 1500,
        metric: int = 2000,
        seed: int = 0,
    ) -> None:
        self.task = one_of("task", task, ("regression", "classification"))
        self.landmarks = at_least("landmarks", landmarks, 1)
        self.big = at_least("big", big, 0)
        self.rough = at_least("rough", rough, 0)
        self.metric = at_least("metric", metric, 2)
        self.seed = at_least("seed", seed, 0)

    # -- what it says of itself --------------------------------------------------------------------------------------
    @property
    def labels(self) -> LabelKind:
        return "class" if self._codes else "real"

    @property
    def classes(self) -> int | None:
        return self.outputs_ if self._codes and self.d_ else None

    @property
    def link(self) -> str | None:
        """What turns predictions into probabilities: of classes they are logarithms."""
        return "softmax" if self._codes else None

    @property
    def missing(self) -> bool:
        return True

    @property
    def _codes(self) -> bool:
        return self.task == "classification"

    def why_not(self, ability: str) -> str | None:
        if ability == "probabilities" and not self._codes:
            return "probabilities are of classes, and this one has task='regression'"
        if ability in ("predict_interval", "predict_quantile") and self._codes:
            return "they are of numbers, and this one has task='classification', where there are probabilities"
        return super().why_not(ability)

    def for_classes(self) -> PooledAuto:
        return type(self)(**{**self.clone().get_params(deep=False), "task": "classification"})

    def probabilities(self, X: Any, ahead: int | None = None) -> Array:
        """Return (n, K) probabilities of the classes; rows sum to 1."""
        self._require("probabilities")
        checked_ahead(ahead)  # rows in many places have no common order: all are later rows
        return np.exp(self.predict_clean(as_block(X, self.d_ or None, missing=True)))

    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Return the ends of intervals, shaped as predictions; their width is a quantile of held-back residuals."""
        self._require("predict_interval")
        checked_ahead(ahead)
        positive("coverage", coverage, below=1.0)
        low, high = self._quantiles(X, np.array([(1 - coverage) / 2, (1 + coverage) / 2]))
        return self._outward(low), self._outward(high)

    def predict_quantile(self, X: Any, q: Any, ahead: int | None = None) -> Array:
        """Return what a share q of labels are below, shaped as predictions: equally far for all rows and to both sides.

        With a list of levels one more axis, the last. See `symmetric`.
        """
        self._require("predict_quantile")
        checked_ahead(ahead)
        found = [self._outward(part) for part in self._quantiles(X, as_levels(q))]
        return found[0] if np.ndim(q) == 0 else np.stack(found, axis=-1)

    def _quantiles(self, X: Any, levels: Array) -> list[Array]:
        """Return (n, K) for every level."""
        if not self.d_:
            raise ValueError("intervals and quantiles need a model that was fitted")
        P = self.predict_clean(as_block(X, self.d_, missing=True))
        return [P + away for away in symmetric(self.residuals_, levels).T]

    def weights(self) -> dict[str, float]:
        """Return how much each ridge moves the prediction: shares by name that sum to 1."""
        if not self.d_:
            return {}
        inner = self.stacker_.weights_[0]
        sizes = np.abs(inner[: len(self.members_)] if inner.ndim == 1 else inner.mean(axis=0))
        return dict(zip(self.members_, (sizes / sizes.sum()).tolist(), strict=True))

    # -- making it ---------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, held: float = 0.1) -> Self:
        """Learn rows in memory; a random share `held` of them makes the choices and is learnt at the end too."""
        X = as_block(X, missing=True)
        Y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        order = np.random.default_rng(self.seed).permutation(len(X))
        cut = max(1, int((1 - positive("held", held, below=1.0)) * len(X)))
        sample, kept = order[:cut][: 10 * self.metric], order[cut:]
        self.design(X[sample], Y[sample], int(Y.max()) + 1 if self._codes else Y.shape[1])
        first = self.sums(X, Y)
        self.choose(X[kept], Y[kept], first)
        more = self.sums(X, Y, self.waiting)
        return self.conclude(X[kept], Y[kept], {**first, **more}, len(X))

    def design(self, X: Array, Y: Array, outputs: int) -> None:
        """Fix scales, metrics, widths and landmarks by a sample: labels (n, K), or (n, 1) numbers of classes."""
        if len(X) < 2:
            raise ValueError(f"at least 2 rows are needed to choose a model, got {len(X)}")
        self.d_, self.outputs_ = X.shape[1], outputs
        self.shift_, self.scale_, self.fences_ = np.zeros(outputs), np.ones(outputs), np.zeros((2, outputs))
        if not self._codes:
            self.fences_ = fences(Y)
            self.shift_, self.scale_ = moments(np.clip(Y, *self.fences_))
            self.scale_[self.scale_ == 0.0] = 1.0
        self.holes_ = np.flatnonzero(np.isnan(X).any(axis=0)).astype(np.float64)
        A, rng = self._augmented(X), np.random.default_rng(self.seed)
        labels = combined(self._targets(Y))
        self.views_, self.members_, self.seen_in_, self.lams_ = {}, {}, {}, {}
        for name, scale in VIEWS.items():
            self.views_[name] = View(scale.clone())
            learnt = labels if name in LEARNT else None
            self.views_[name].fit(A, learnt, rows=min(self.metric, len(A)), rounds=2, seed=self.seed)
        _, distinct = np.unique(A, axis=0, return_index=True)  # repeated rows would be landmarks of no use
        self._sample = A[np.sort(distinct)]
        for name, (view, factor) in CANDIDATES.items():
            self._enter(name, view, Ridge(self.landmarks, factor), rng)
        if self.rough and self.d_ <= WIDE:
            self.views_["rough"] = LaplacianView(StandardScale())
            self.views_["rough"].fit(A, labels, rows=min(self.metric, len(A)), seed=self.seed)
            self._enter("rough", "rough", LaplacianRidge(self.rough), rng)

    def _enter(self, name: str, view: str, member: Ridge, rng: np.random.Generator) -> None:
        run_to_completion(member.placing(self.views_[view], self._sample, rng))
        self.members_[name], self.seen_in_[name] = member, view

    @property
    def waiting(self) -> list[str]:
        """Members whose sums are still to be made."""
        return [name for name in self.members_ if name not in self.lams_]

    def sums(
        self,
        X: Array,
        Y: Array,
        names: Sequence[str] | None = None,
        weights: Array | None = None,
        total: dict[str, Sums] | None = None,
    ) -> dict[str, Sums]:
        """Return Z'WZ (lower triangle) and Z'WT of rows for each of these members, all by default.

        Sums of rows in different places add up to the sums of all rows. With `total`, they are added to it in place.
        """
        A, T = self._augmented(X), self._targets(Y)
        roots = None if weights is None else np.sqrt(weights)[:, None]
        names = list(self.members_ if names is None else names)
        if total is None:
            total = {name: (np.zeros((r, r)), np.zeros((r, k))) for name, (r, k) in self.shapes(names).items()}
        for name in names:
            (G, b), member, view = total[name], self.members_[name], self.views_[self.seen_in_[name]]
            for i in range(0, len(A), BLOCK):
                part = slice(i, i + BLOCK)
                Z, t = member._features(view(A[part])), T[part]
                if roots is not None:
                    Z, t = Z * roots[part], t * roots[part]
                add_gram(Z, G)
                b += Z.T @ t
        return total

    def shapes(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return for each member the number of its features and of the targets that its sums have."""
        width = 1 if self._codes and self.outputs_ == 2 else self.outputs_
        return {name: (len(self.members_[name].points_) + 1, width) for name in names}

    def choose(
        self, X: Array, Y: Array, sums: dict[str, Sums], weights: Array | None = None, *, included: bool = True
    ) -> None:
        """Choose each member's lam by held-back rows, and design the large member like the best one.

        `included`: the sums contain these rows too, which are then subtracted for the choices. Nothing has to
        recognise held-back rows again in a later pass, and none is lost.
        """
        losses = {name: self._pick(name, X, Y, weights, sums[name], included) for name in self.waiting}
        if not self.big or "big" in self.members_:
            return
        winner = min(CANDIDATES, key=lambda name: losses[name])
        view, factor = CANDIDATES[winner]
        half = losses.get(f"{winner}/2")
        if half is None or half <= WORSE * losses[winner]:
            factor = max(NARROWER * factor, NARROWEST)
        self._enter("big", view, Ridge(self.big, factor), np.random.default_rng([self.seed, 1]))

    def _pick(self, name: str, X: Array, Y: Array, weights: Array | None, sums: Sums, included: bool) -> float:
        """Note the best lam of a member on held-back rows; return its loss there."""
        T, Z = self._targets(Y), self._rows(name, X)
        seen = self._without(name, X, Y, weights, sums) if included else sums
        found = {lam: _loss(self._solver(name, lam, seen), Z, T, weights) for lam in LAMS}
        self.lams_[name] = min(found, key=lambda lam: found[lam])
        return found[self.lams_[name]]

    def _without(self, name: str, X: Array, Y: Array, weights: Array | None, sums: Sums) -> Sums:
        """Return the sums of a member without these rows."""
        G, b = self.sums(X, Y, [name], weights)[name]
        return sums[0] - G, sums[1] - b

    def conclude(
        self,
        X: Array,
        Y: Array,
        sums: dict[str, Sums],
        rows: int,
        weights: Array | None = None,
        *,
        included: bool = True,
    ) -> Self:
        """Learn on held-back rows how the members are stacked; then take all sums. `rows` are all, counted.

        Held-back rows that are not `included` in the sums are for the choices alone.
        """
        for name in self.waiting:
            self._pick(name, X, Y, weights, sums[name], included)
        for name, member in self.members_.items():
            seen = self._without(name, X, Y, weights, sums[name]) if included else sums[name]
            member.adopt(self._solver(name, self.lams_[name], seen))
        self.stacker_ = (SoftmaxStacker if self._codes else RidgeStacker)([(1.0, 1.0)])
        self.stacker_.start(len(self.members_), self.outputs_)
        labels = Y[:, 0] if self._codes else self._targets(Y)
        P = self.stacker_.run(self._outputs(X), labels, weights)[:, 0]
        self.residuals_ = np.zeros((0, self.outputs_))
        if not self._codes:
            self.residuals_ = np.sort(np.abs(self._shown(P) - Y), axis=0)
        if included:
            for name, member in self.members_.items():
                member.adopt(self._solver(name, self.lams_[name], sums[name]))
        self.n_seen_ = rows
        del self._sample
        return self

    def _solver(self, name: str, lam: float, sums: Sums) -> AWV:
        return run_to_completion(self.members_[name].solving(lam, lambda: _copied(*sums)))

    # -- rounds --------------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        raise ValueError(
            "PooledAuto does not begin row by row: give it rows at once (fit), or a frame (nystream.spark.fit_auto); "
            "Auto begins with the first row"
        )

    def _predict(self, X: Array) -> Array:
        return np.concatenate([self._answers(self._outputs(X[i : i + BLOCK])) for i in range(0, len(X), BLOCK)] or [X])

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        T = self._targets(Y)
        A = self._augmented(X)
        parts = [m.run(self.views_[self.seen_in_[name]](A), T, weights) for name, m in self.members_.items()]
        F = self._bounded(np.stack(parts, axis=1))
        return self._shown(self.stacker_.run(F, Y[:, 0] if self._codes else T, weights)[:, 0])

    def _outputs(self, X: Array) -> Array:
        """Return the (n, E, C) outputs of the members."""
        A = self._augmented(X)
        return self._bounded(
            np.stack([m.predict(self.views_[self.seen_in_[name]](A)) for name, m in self.members_.items()], axis=1)
        )

    def _bounded(self, F: Array) -> Array:
        if self._codes:
            return np.clip(F, -MARGIN, MARGIN)
        low, high = (self.fences_ - self.shift_) / self.scale_
        return np.clip(F, low, high)

    def _answers(self, F: Array) -> Array:
        return self._shown(self.stacker_.predict(F)[:, 0])

    def _shown(self, P: Array) -> Array:
        return np.log(np.maximum(P, 1e-300)) if self._codes else P * self.scale_ + self.shift_

    def _targets(self, Y: Array) -> Array:
        """Return (n, C) what members learn: standardised labels, or codes -1/+1, of two classes only one."""
        if not self._codes:
            return (np.clip(Y, *self.fences_) - self.shift_) / self.scale_
        codes = np.where(np.arange(self.outputs_) == Y, 1.0, -1.0)
        return np.ascontiguousarray(codes[:, 1:] if self.outputs_ == 2 else codes)

    def _rows(self, name: str, X: Array) -> Array:
        return self.members_[name]._features(self.views_[self.seen_in_[name]](self._augmented(X)))

    def _augmented(self, X: Array) -> Array:
        """Return the columns with indicators of missing values, 0 or 1, before them."""
        if not len(self.holes_):
            return X
        return np.hstack([np.isnan(X[:, self.holes_.astype(np.intp)]).astype(np.float64), X])

    @property
    def size(self) -> int:
        """Landmarks of all members."""
        return sum(len(member.points_) for member in self.members_.values()) if self.d_ else 0

    @property
    def nbytes(self) -> int:
        if not self.d_:
            return 0
        parts = (*self.views_.values(), *self.members_.values(), self.stacker_)
        return self.residuals_.nbytes + sum(part.nbytes for part in parts)


def _loss(solver: AWV, Z: Array, T: Array, weights: Array | None) -> float:
    """Return the (weighted) mean squared error of a solver's predictions, clipped near the targets."""
    wrong = (np.clip(solver.predict(Z), T.min() - MARGIN, T.max() + MARGIN) - T) ** 2
    return float(np.average(wrong.mean(axis=1), weights=weights))


def _copied(G: Array, b: Array) -> Task[Sums]:
    """Return copies of sums, which may be used up."""
    yield CALL
    return G.copy(), b.copy()


def symmetric(sizes: Array, levels: Array) -> Array:
    """Return (K, Q) quantiles of residuals that are distributed alike to both sides, from sorted sizes (n, K).

    Between those of (1 - c)/2 and (1 + c)/2 lies the next with probability c where all are exchangeable, and at most
    1/(n + 1) more: it is the ceil((n + 1) c)-th smallest size, infinite where there are fewer.
    """
    n = len(sizes)
    around = 2 * levels - 1
    places = np.ceil((n + 1) * np.abs(around) - ROUNDING).astype(np.intp)
    known = np.vstack([np.zeros((1, sizes.shape[1])), sizes, np.full((1, sizes.shape[1]), np.inf)])
    return np.asarray(np.sign(around) * known[places].T)
