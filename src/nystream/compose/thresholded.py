"""A wrapper with a decision threshold for two classes, from recent predictions or from costs of mistakes."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nystream.compose.classifier import Classifier
from nystream.compose.probabilities import Calibration
from nystream.compose.wrapper import Wrapper
from nystream.data.inputs import RawBlock, as_labels, as_weights
from nystream.learners.abilities import Abilities
from nystream.learners.base import Learner
from nystream.losses import Loss
from nystream.runtime.params import at_least, one_of
from nystream.runtime.params import positive as above_zero
from nystream.runtime.threads import checked_threads, run_parallel, threads
from nystream.runtime.types import Array, LabelKind

__all__ = ["Thresholded", "best_threshold"]

CRITERIA = ("accuracy", "balanced_accuracy", "f1", "precision", "recall")
AIMED = ("precision", "recall")
"""Criteria with a `target`; the other one of the two is maximised."""
RARE = "rare"
CHOICES = 4
"""Fewest choices for which another thread saves time."""
TINY = 1e-300
"""Smallest probability in log odds, which keeps them finite."""
LOST = ("predict_interval", "predict_quantile")
"""Abilities of scores that log odds do not have."""


class Thresholded(Wrapper):
    """A wrapper that decides between two classes by a threshold theta on the learner's score.

    There are two ways to choose theta:

    - `criterion`: theta maximises the criterion over the predictions of the last `window` rounds. Each of them was made
      before its label was read, so they are held-out rows. theta is chosen again after every `refresh` rounds, for
      blocks of any size. Before that, and while there is only one label, it does not change; it starts as 0. Every cut
      between two scores is compared. Of equally good cuts, the one nearest to 0 is chosen. It must be better than 0 by
      more than chance explains (`caution`), because with few rows of a rare label the best cut is often worse on later
      rows. `tune` chooses theta from other held-out rows; with window = 0 this is the only way. O(window log window)
      time for each refresh, 3 window numbers of memory.
    - `costs`: theta follows from the learner's probabilities. The class with the lower expected cost is predicted:
      the positive one where P(positive) fn > P(negative) fp. It does not depend on past labels.

    Regret, deviations and probabilities are those of the learner alone.

    A learner of -1/+1 labels or of one real target keeps its labels: predictions are f(x) - theta; 0 decides for +1.
    `Classifier` and the facades accept it as a learner of two classes; their probabilities are 1/2 at the threshold.

    A learner of classes with probabilities (`Auto`, `Classifier`, a softmax loss) learns classes 0 and 1, also where
    the second one appears late. theta then is in log odds, log P(1) - log P(0). Predictions are (n, 2) scores whose
    largest one decides; `probabilities` stay those of the learner. A third class is an error.

    `merge` and `unlearn` are exact and available with window = 0 or with costs. Otherwise theta depends on past rounds.

    Parameters
    ----------
    learner : Learner
        The learner. It is cloned and never trained itself.
    criterion : {"accuracy", "balanced_accuracy", "f1", "precision", "recall"}
        What theta maximises over the last rounds: the share of right answers; the mean of the
        shares within each label; 2 TP / (2 TP + FP + FN); "precision": the recall among cuts whose precision
        TP / (TP + FP) is at least `target` (the most precise cut, if none is); "recall": the precision among cuts whose
        recall TP / (TP + FN) is at least `target`. Weights of rounds count.
    target : float, optional
        For "precision" and "recall", in (0, 1].
    window : int, default 5000
        Number of recent rounds that choose theta; with 0 only `tune` chooses it.
    refresh : int, default 50
        Number of rounds between choices.
    positive : "rare", a label, or None
        The positive label for "f1", "precision", "recall" and `costs`: 1 or -1; for a learner of classes 0 or 1, or the
        name of a class if a `Model` or a facade knows names. "rare": the label that weighs less in the window (the
        second of equals), whatever its name. None: "rare" for a criterion; 1 or True for costs, and an error if the
        classes have other names.
    caution : float, default 1.0
        For "accuracy", "balanced_accuracy" and "f1": standard errors by which a cut must be better than 0.
    costs : dict, optional
        The costs of mistakes, both above 0: {"fp": 1, "fn": 5} says that a positive row that is missed (false negative)
        costs five times as much as a false alarm (false positive). Needs a learner of classes with probabilities.
    threads : int, optional
        Choices within one block that `run` makes at the same time; None:
        NYSTREAM_THREADS, or all cores of the process (1 in a worker of joblib, Spark or pytest-xdist). It changes no
        bit.

    Examples
    --------
    >>> import numpy as np
    >>> import nystream
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> y = np.where(X[:, 0] + 0.5 * rng.normal(size=4000) > 2, 1.0, -1.0)  # 4 in 100 are +1
    >>> def f1(p):
    ...     right = np.sum((p[2000:] >= 0) & (y[2000:] > 0))
    ...     return 2 * right / (np.sum(p[2000:] >= 0) + np.sum(y[2000:] > 0))
    >>> plain = nystream.FOGD(nystream.Gaussian(1.0), loss="logistic", seed=0)
    >>> bool(f1(nystream.Thresholded(plain, criterion="f1").run(X, y)) > f1(plain.run(X, y)) + 0.05)
    True

    A fraud that is missed costs twenty false alarms:

    >>> names = np.where(y > 0, "fraud", "fine")
    >>> def cost(said):
    ...     missed, alarms = (names == "fraud") & (said != "fraud"), (names != "fraud") & (said == "fraud")
    ...     return int(20 * missed.sum() + alarms.sum())
    >>> learner = nystream.Classifier(plain)
    >>> careful = nystream.Thresholded(learner, costs={"fp": 1, "fn": 20}, positive="fraud")
    >>> cost(nystream.Model(careful).run(X, names)) < cost(nystream.Model(learner).run(X, names))
    True
    """

    recent_: Array
    """(window, 3): scores, labels and weights of the last rounds; round t is in row t mod window."""
    threshold_: float = 0.0
    second_: bool | None = None
    """Whether the positive class is number 1; None if not known yet."""

    def __init__(
        self,
        learner: Learner,
        *,
        criterion: str = "accuracy",
        target: float | None = None,
        window: int = 5000,
        refresh: int = 50,
        positive: Any = None,
        caution: float = 1.0,
        costs: Mapping[str, float] | None = None,
        threads: int | None = None,
    ) -> None:
        self.learner = learner
        self.criterion = one_of("criterion", criterion, CRITERIA)
        self.target = _checked_target(criterion, target)
        self.window = at_least("window", window, 0)
        self.refresh = at_least("refresh", refresh, 1)
        self.caution = above_zero("caution", caution, zero=True)
        _check_costs(costs, criterion)
        self.costs = costs
        self.threads = checked_threads(threads)
        self._blank = learner.for_classes()  # predictions before the first row
        self._of_classes = self._blank.labels == "class"
        if not self._of_classes:
            self._blank = learner
        self._check_learner()
        self.positive = positive
        self._check_positive()
        self._rows: Any = None  # the first rows, during the start

    def _check_learner(self) -> None:
        """Raise an error for a learner without two classes, or without the probabilities that costs need."""
        learner = self._blank
        if not self._of_classes and learner.labels not in ("sign", "real"):
            raise ValueError(
                f"learner={learner!r} learns without labels, and a threshold decides between two; use a loss of "
                "labels, such as 'hinge'"
            )
        if not self._of_classes and self.costs is not None:
            raise ValueError(
                f"costs need probabilities, and learner={learner!r} gives scores; use "
                "Thresholded(Classifier(learner), costs=...)"
            )
        if self._of_classes and not (learner.can("probabilities") and (learner.link or _calibration_in(learner))):
            raise ValueError(
                f"learner={learner!r} has no probabilities for a threshold; use Thresholded(Classifier(learner), ...)"
            )
        if self._of_classes and learner.classes not in (None, 2):
            raise ValueError(f"learner={learner!r} is for {learner.classes} classes; a threshold decides between two")

    def _check_positive(self) -> None:
        positive = self.positive
        if self.costs is not None and positive == RARE:
            raise ValueError("costs need a fixed positive class: give positive=<the class>")
        if not self._of_classes and (isinstance(positive, bool) or positive not in (RARE, None, 1, -1)):
            raise ValueError(f"positive must be 'rare', 1 or -1, got {positive!r}")
        if self._of_classes and not (positive is None or isinstance(positive, (str, int, np.integer))):
            raise ValueError(f"positive must be 'rare' or a class, got {positive!r}")

    @property
    def labels(self) -> LabelKind:
        return "class" if self._of_classes else "sign"

    @property
    def classes(self) -> int | None:
        return 2

    @property
    def multi_output(self) -> bool:
        return False

    @property
    def objective(self) -> Loss | None:
        return None  # f - theta has no objective and is not log odds

    @property
    def link(self) -> str | None:
        return None

    @property
    def separable(self) -> bool:
        return False

    def for_classes(self) -> Learner:
        return self.clone()

    @property
    def _inner(self) -> Abilities:
        return self.learner_ if self.d_ else self._blank

    def why_not(self, ability: str) -> str | None:
        if ability == "add_outputs":
            return "a threshold decides between two labels"
        if ability in ("merge", "unlearn") and self._watched and self._blank.can(ability):
            return "its threshold depends on the predictions of past rounds; with window=0 only `tune` sets it"
        if ability in LOST and self._of_classes:
            return "its predictions are log odds of two classes, less the threshold"
        return super().why_not(ability)

    @property
    def _watched(self) -> int:
        """Number of rounds that choose the threshold."""
        return self.window if self.costs is None else 0

    @property
    def threshold(self) -> float:
        """The present theta; for a learner of classes in log odds of class 1."""
        return self.threshold_

    def tune(self, X: Any, Y: Any, weights: Any = None) -> float:
        """Choose theta by held-out rows and return it. The next refresh chooses again."""
        if self.costs is not None:
            raise ValueError("with costs the threshold follows from the probabilities and cannot be tuned")
        X = self._accepted(X)
        labels, counts = as_labels(Y, self.labels, len(X), self.classes)[:, 0], as_weights(weights, len(X))
        if self.d_:
            weighed = np.ones(len(X)) if counts is None else counts
            scores = self._score(self.learner_.predict_clean(X), self._calibration)
            self._take(self._chosen(scores, self._signs(labels), weighed))
        return self.threshold_

    # -- classes -----------------------------------------------------------------------------------------------------
    def name_classes(self, names: Sequence[Any]) -> None:
        """Set the names of the classes 0, 1 that have appeared; `positive` may be one of them."""
        positive = self.positive
        if not names or not self._of_classes or positive == RARE or (positive is None and self.costs is None):
            return
        if positive is None and not all(name in (0, 1, -1) for name in names):  # of numbers and booleans 1 is positive
            raise ValueError(
                f"costs={self.costs!r} need to know which class is the positive one; give positive={names[-1]!r}, or "
                "whichever it is"
            )
        wanted = 1 if positive is None else positive
        other_kind = isinstance(names[0], str) != isinstance(wanted, str)
        if other_kind or (len(names) > 1 and wanted not in names):
            listed = " and ".join(repr(name) for name in names[:2])
            raise ValueError(f"positive={wanted!r} is not a class of this stream; its classes are {listed}")
        self._decide(names[0] != wanted)

    def _decide(self, second: bool) -> None:
        """Set whether the positive class is number 1 or 0."""
        self.second_ = second
        if self.costs is not None:
            theta = math.log(self.costs["fp"] / self.costs["fn"])
            self.threshold_ = theta if second else -theta

    def _check_named(self) -> None:
        """Check, before the first round, a positive class that does not depend on the stream."""
        if self.second_ is not None or not self._of_classes or self.positive == RARE:
            return
        if self.positive is None:
            if self.costs is not None:
                self._decide(True)
        elif self.positive in (0, 1):
            self._decide(bool(self.positive))
        else:
            raise ValueError(
                f"positive={self.positive!r} names a class, and the classes of these rows are the numbers 0 and 1; "
                "give positive=0 or 1, or put Thresholded directly into a Model or a facade, which know names"
            )

    @property
    def _calibration(self) -> Calibration | None:
        """Return the map from class scores to probabilities, if the learner has no `link`."""
        return _calibration_in(self.learner_) if self._of_classes and self._blank.link is None else None

    def _score(self, P: Array, calibration: Calibration | None) -> Array:
        """Return the scores (n,) that theta is compared with: the learner's score, or log odds of class 1."""
        if not self._of_classes:
            return P[:, 0]
        if calibration is None:
            return (P[:, 1] - P[:, 0]) / (2 if self._blank.link == "one_vs_rest" else 1)
        Q = np.log(np.maximum(calibration(P), TINY))
        return Q[:, 1] - Q[:, 0]

    def _scores_of_run(self, P: Array, Y: Array, weights: Array | None, before: Calibration | None) -> Array:
        """Return `_score` of every round, with the map to probabilities before the round."""
        if before is None or not before.learns:
            return self._score(P, before)
        scores = np.empty(len(P))
        for i, label in enumerate(Y[:, 0].tolist()):  # repeat the learning of the map in the learner
            scores[i] = self._score(P[i : i + 1], before)[0]
            before.learn(P[i], int(label), 1.0 if weights is None else float(weights[i]))
        return scores

    def _signs(self, labels: Array) -> Array:
        return 2 * labels - 1 if self._of_classes else labels

    def _answers(self, scores: Array) -> Array:
        """Return scores (n,) minus theta as predictions (n, 1), or (n, 2) for classes."""
        return np.column_stack([-scores / 2, scores / 2]) if self._of_classes else scores[:, None]

    # -- rows that the learner takes ---------------------------------------------------------------------------------
    @property
    def takes_tables(self) -> bool:
        return self._of_classes and self._blank.takes_tables

    @property
    def takes_sparse(self) -> bool:
        return self._of_classes and self._blank.takes_sparse

    def _accepted(self, X: Any) -> Any:
        return (self.learner_ if self.d_ else self._blank)._accepted(X)

    def _unconverted(self, X: Any) -> RawBlock | None:
        return (self.learner_ if self.d_ else self._blank)._unconverted(X)

    @property
    def follows_order(self) -> bool:
        return self.learner.follows_order

    def settle(self) -> None:
        if self.d_:
            self.learner_.settle()

    def widen_columns(self, kinds: Mapping[str, str]) -> None:
        if not self.takes_tables or not self.d_:
            super().widen_columns(kinds)
        self.learner_.widen_columns(kinds)
        self.d_ = self.learner_.d_

    def prepare(self, X: Any, weights: Any = None) -> None:
        if not self.d_:
            self.learner_ = self._blank.clone()
            self.learner_.prepare(X, weights)

    def reserve_for(self, rows: Any, outputs: int) -> None:
        self._rows = rows
        try:
            self.reserve(rows.shape[1], outputs)
        finally:
            self._rows = None

    def run_clean(self, X: Any, Y: Array, weights: Array | None = None) -> Array:
        self._rows = X
        try:
            return super().run_clean(X, Y, weights)
        finally:
            self._rows = None

    # -- rounds ------------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        self._check_named()
        prepared = "learner_" in self.__dict__
        self.learner_ = copy.deepcopy(self.learner_) if prepared else self._blank.clone()
        if self._rows is not None:
            self.learner_.reserve_for(self._rows, outputs)
        else:
            self.learner_.reserve(d, outputs)
        self.recent_ = np.zeros((self._watched, 3))

    def _shown(self, P: Array) -> Array:
        if not self._of_classes:
            return P - self.threshold_
        return self._answers(self._score(P, self._calibration) - self.threshold_)

    def _merge_inner(self, other: Self) -> None:
        if self.threshold_ != other.threshold_:
            raise ValueError(
                f"merge needs equal thresholds, got {self.threshold_!r} and {other.threshold_!r}; `tune` both alike"
            )
        super()._merge_inner(other)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        before = copy.deepcopy(self._calibration)
        scores = self._scores_of_run(self.learner_.run_clean(X, Y, weights), Y, weights, before)
        if not self._watched:
            return self._answers(scores - self.threshold_)
        one = np.ones(len(X)) if weights is None else weights
        seen = np.column_stack([scores, self._signs(Y[:, 0]), one])
        stops = range(self.refresh - self.n_seen_ % self.refresh, len(X) + 1, self.refresh)
        row = 0
        for stop, theta in zip(stops, self._choices(seen, stops), strict=True):
            scores[row:stop] -= self.threshold_
            self._take(theta)
            row = stop
        scores[row:] -= self.threshold_
        self._keep(self.recent_, seen, 0, len(X))
        return self._answers(scores)

    def _choices(self, seen: Array, stops: Sequence[int]) -> list[float | None]:
        """Return the choices of theta after these rows of the block, independently of each other."""
        if len(stops) < 2 * CHOICES:
            return self._choices_at(seen, stops) if stops else []
        count = min(len(stops) // CHOICES, self.threads or threads())
        bounds = [len(stops) * i // count for i in range(count + 1)]
        stretches = [stops[a:b] for a, b in pairwise(bounds)]
        made = run_parallel([partial(self._choices_at, seen, stretch) for stretch in stretches], count)
        return [theta for some in made for theta in some]

    def _choices_at(self, seen: Array, stops: Sequence[int]) -> list[float | None]:
        ring, row, made = self.recent_.copy(), 0, []
        for stop in stops:
            self._keep(ring, seen, row, stop)
            made.append(self._chosen(*ring[: self.n_seen_ + stop].T))
            row = stop
        return made

    def _keep(self, ring: Array, seen: Array, row: int, stop: int) -> None:
        """Store rows row..stop-1 of the block in the window."""
        kept = np.arange(max(row, stop - self.window), stop)
        ring[(self.n_seen_ + kept) % self.window] = seen[kept]

    def _take(self, theta: float | None) -> None:
        if theta is not None:
            self.threshold_ = theta

    def _chosen(self, scores: Array, labels: Array, weights: Array) -> float | None:
        """Return the best theta, or None if these rows have only one label."""
        if not (np.isfinite(scores).all() and weights[labels > 0].any() and weights[labels < 0].any()):
            return None
        rare = 1 if weights[labels > 0].sum() <= weights[labels < 0].sum() else -1
        label = rare if self.positive in (RARE, None) else self._positive_sign
        return best_threshold(
            scores, labels, weights, self.criterion, self.target, positive=label, caution=self.caution
        )

    @property
    def _positive_sign(self) -> int:
        return (1 if self.second_ else -1) if self._of_classes else int(self.positive)

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        return self._run(x[None], y[None], None if weight == 1.0 else np.array([weight]))[0]


def best_threshold(
    scores: Array,
    labels: Array,
    weights: Array,
    criterion: str = "accuracy",
    target: float | None = None,
    *,
    positive: int = 1,
    caution: float = 0.0,
) -> float:
    """Return the theta for which "score >= theta" maximises the criterion on rows with labels -1 and +1.

    All cuts between neighbouring scores are compared. Of equally good ones: for "precision" and "recall" the one best
    by that too; then the one nearest to 0; then the lowest. theta is 0 where 0 makes the same cut, else half way.

    positive : 1 or -1
        The label that the criterion is of.
    caution : float
        0 is returned, except for "precision" and "recall", where the best cut is not better than it by more than so
        many standard errors: those of the criterion's change over the rows between the two cuts, to first order.
    """
    cuts, place = _distinct(scores)
    kinds = [labels * sign > 0 for sign in (positive, -positive)]
    both = [_sums_from(place, len(cuts), weights * kind) for kind in kinds]
    totals = both[0][0], both[1][0]
    true, false = both if positive > 0 else (totals[0] - both[0], totals[1] - both[1])
    value, second = _values(true, false, totals, criterion, 0.0 if target is None else target)
    thetas = _thetas(cuts)
    best = _first((-value, -second, np.abs(thetas), thetas))
    now = int(np.searchsorted(cuts, 0.0))  # the cut at 0
    if caution > 0 and criterion not in AIMED and best != now:
        squares = [_sums_from(place, len(cuts), weights**2 * kind) for kind in kinds]
        moved = [abs(part[best] - part[now]) for part in squares]
        gains = _gains(true[best], false[best], totals, criterion)
        error = np.sqrt(sum(n * gain**2 for n, gain in zip(moved, gains, strict=True)))
        if value[best] - value[now] <= caution * error:
            return 0.0
    return float(thetas[best])


def _distinct(scores: Array) -> tuple[Array, npt.NDArray[np.intp]]:
    """Return the distinct scores in order, and the position of each score among them."""
    order = np.argsort(scores)
    ordered = scores[order]
    new = np.append(True, ordered[1:] != ordered[:-1])
    place = np.empty(len(scores), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return ordered[new], place


def _first(keys: tuple[Array, ...]) -> int:
    """Return the position of the lexicographically smallest keys."""
    places = np.flatnonzero(keys[0] == keys[0].min())
    for key in keys[1:]:
        places = places[key[places] == key[places].min()]
    return int(places[0])


def _gains(true: float, false: float, totals: tuple[float, float], criterion: str) -> tuple[float, float]:
    """Return the first-order gains of the criterion if a row of weight 1 of either label is called positive."""
    if criterion == "accuracy":
        return 1.0, -1.0
    if criterion == "balanced_accuracy":
        return 1 / totals[0], -1 / totals[1]
    whole = true + false + totals[0]
    f1 = 2 * true / whole
    return (2 - f1) / whole, -f1 / whole


def _sums_from(place: npt.NDArray[np.intp], count: int, weights: Array) -> Array:
    """Return (count + 1,) weights of the rows at positions i, i + 1, ..., for i = 0..count."""
    per_score = np.bincount(place, weights=weights, minlength=count)
    return np.append(np.cumsum(per_score[::-1])[::-1], 0.0)


def _values(
    true: Array, false: Array, totals: tuple[float, float], criterion: str, target: float
) -> tuple[Array, Array]:
    """Return the value of every cut and the tie-breaker; true and false are the weights that it calls positive."""
    positive, negative = totals
    recall = true / positive
    flagged = true + false
    precision = np.divide(true, flagged, out=np.zeros_like(true), where=flagged > 0)
    none = np.zeros_like(true)
    if criterion == "accuracy":
        return true + (negative - false), none
    if criterion == "balanced_accuracy":
        return recall + (negative - false) / negative, none
    if criterion == "f1":
        return 2 * true / (flagged + positive), none
    wanted, other = (precision, recall) if criterion == "precision" else (recall, precision)
    enough = wanted >= target
    return np.where(enough, other, -1.0 if enough.any() else wanted), wanted


def _thetas(cuts: Array) -> Array:
    """Return a threshold for every cut: below all scores, between neighbours, above all; 0 if it makes that cut."""
    low, high = np.append(-np.inf, cuts), np.append(cuts, np.inf)
    middle = low / 2 + high / 2
    middle[0], middle[-1] = cuts[0], np.nextafter(cuts[-1], np.inf)
    middle = np.where((middle > low) & (middle <= high), middle, high)  # neighbours in floating point
    return np.where((low < 0) & (high >= 0), 0.0, middle)


def _checked_target(criterion: str, target: float | None) -> float | None:
    if target is None and criterion in AIMED:
        raise ValueError(f"criterion={criterion!r} needs a target in (0, 1], such as target=0.9")
    if target is not None and criterion not in AIMED:
        raise ValueError(f"target={target!r} is for criterion 'precision' or 'recall', got {criterion!r}")
    if target is not None and above_zero("target", target) > 1:
        raise ValueError(f"target must be at most 1, got {target!r}")
    return target


def _check_costs(costs: Mapping[str, float] | None, criterion: str) -> None:
    if costs is None:
        return
    if criterion != "accuracy":
        raise ValueError(f"give costs or criterion={criterion!r}, not both: with costs the expected cost is minimised")
    if not isinstance(costs, Mapping) or set(costs) != {"fp", "fn"}:
        raise ValueError(f"costs must have the keys 'fp' and 'fn', as {{'fp': 1, 'fn': 5}}; got {costs!r}")
    for name in ("fp", "fn"):
        above_zero(f"costs[{name!r}]", costs[name])


def _calibration_in(learner: Learner) -> Calibration | None:
    """Return the map from scores to probabilities of the `Classifier` inside a learner, or None."""
    while isinstance(learner, Wrapper) and not isinstance(learner, Classifier):
        learner = learner.learner_ if learner.d_ else learner.learner
    return learner._inner.calibration_ if isinstance(learner, Classifier) else None
