"""Any learner of -1/+1 labels with a decision threshold that recent predictions have chosen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nystream.compose.wrapper import Wrapper
from nystream.inputs import as_block, as_labels, as_weights
from nystream.learners.base import Learner
from nystream.losses import Loss
from nystream.params import at_least, one_of
from nystream.params import positive as above_zero
from nystream.threads import checked_threads, side_by_side, threads
from nystream.types import Array, LabelKind

__all__ = ["Thresholded", "best_threshold"]

CRITERIA = ("accuracy", "balanced_accuracy", "f1", "precision", "recall")
AIMED = ("precision", "recall")
"""Criteria that are a demand, with a `target`; the other one of the two is then maximised."""
RARE = "rare"
CHOICES = 4
"""Choices that are worth a thread."""


class Thresholded(Wrapper):
    """Predicts f(x) - theta, so that the sign (0 is +1) decides by the threshold theta that serves the criterion best.

    theta is chosen by the predictions f_s(x_s) of the last `window` rounds, each made before its label was read: they
    are held out by construction. It is chosen anew after every `refresh` rounds, whatever the blocks; before that, and
    while only one label has been among them, it stays as it is, at first 0. Every cut between two of those scores is
    compared; of equally good ones the one nearest to 0 is taken, and 0 itself unless the best is better than that by
    more than chance would have it (`caution`): with few rows of a rare label the best cut is often worse on the rows to
    come. `tune` chooses it by other held-out rows instead; with
    window = 0 nothing else does. O(window log window) time for each refresh, 3 window numbers of memory.

    With labels that are rare, or mistakes that are not alike, a learner whose loss counts every round the same puts its
    0 at the wrong place; this moves it without touching the learner: its regret, deviations and probabilities (of a
    learner that has them) are told as they are. `Classifier` and the facades take it like any learner of two classes
    (more have no single threshold); their probabilities are 1/2 at the threshold. `merge`
    and `unlearn` are exact, and offered, with window = 0: else the predictions of past rounds have chosen theta.

    Parameters
    ----------
    learner : Learner
        The pattern, of -1/+1 labels or of one real target; it is cloned, never trained itself.
    criterion : {"accuracy", "balanced_accuracy", "f1", "precision", "recall"}
        What theta maximises over the stretch: the share of right answers; the mean of the
        shares within each label; 2 TP / (2 TP + FP + FN); "precision": the recall among cuts whose precision
        TP / (TP + FP) is at least `target` (the most precise cut, if none is); "recall": the precision among cuts whose
        recall TP / (TP + FN) is at least `target`. Weights of rounds count.
    target : float, optional
        For "precision" and "recall", in (0, 1].
    window : int, default 5000
        Rounds that choose; 0 leaves the choice to `tune`.
    refresh : int, default 50
        Rounds between choices.
    positive : "rare", 1 or -1
        The label that "f1", "precision" and "recall" are of. "rare": the one that weighs less in the stretch (+1 of
        equals), whatever the classes are called and in whatever order they come.
    caution : float, default 1.0
        For "accuracy", "balanced_accuracy" and "f1": standard errors by which a cut must be better than 0.
    threads : int, optional
        Choices within one block that `run` makes at the same time, once the learner has given its scores; None:
        NYSTREAM_THREADS, or all cores of the process (1 in a worker of joblib, Spark or pytest-xdist). It changes no
        bit.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.compose import Thresholded
    >>> from nystream.learners import FOGD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> y = np.where(X[:, 0] + 0.5 * rng.normal(size=4000) > 2, 1.0, -1.0)  # 4 in 100 are +1
    >>> def f1(p):
    ...     right = np.sum((p[2000:] >= 0) & (y[2000:] > 0))
    ...     return 2 * right / (np.sum(p[2000:] >= 0) + np.sum(y[2000:] > 0))
    >>> plain = FOGD(Gaussian(1.0), loss="logistic", seed=0)
    >>> bool(f1(Thresholded(plain, criterion="f1").run(X, y)) > f1(plain.run(X, y)) + 0.05)
    True
    """

    recent_: Array
    """(window, 3): scores, labels and weights of the last rounds; round t is in row t mod window."""
    threshold_: float = 0.0

    def __init__(
        self,
        learner: Learner,
        *,
        criterion: str = "accuracy",
        target: float | None = None,
        window: int = 5000,
        refresh: int = 50,
        positive: str | int = RARE,
        caution: float = 1.0,
        threads: int | None = None,
    ) -> None:
        self.learner = learner
        self.criterion = one_of("criterion", criterion, CRITERIA)
        self.target = _checked_target(criterion, target)
        self.window = at_least("window", window, 0)
        self.refresh = at_least("refresh", refresh, 1)
        if isinstance(positive, bool) or positive not in (RARE, 1, -1):
            raise ValueError(f"positive must be 'rare', 1 or -1, got {positive!r}")
        self.positive = positive
        self.caution = above_zero("caution", caution, zero=True)
        self.threads = checked_threads(threads)
        if learner.labels not in ("sign", "real"):
            raise ValueError(
                f"learner={learner!r} does not learn -1/+1 labels, and a threshold decides between two; use a loss of "
                "one score, such as 'hinge'"
            )

    @property
    def labels(self) -> LabelKind:
        return "sign"

    @property
    def classes(self) -> int | None:
        return 2

    @property
    def multi_output(self) -> bool:
        return False

    @property
    def objective(self) -> Loss | None:
        return None  # f - theta minimises nothing, and is no log odds

    @property
    def link(self) -> str | None:
        return None

    @property
    def separable(self) -> bool:
        return False

    def for_classes(self) -> Learner:
        return self.clone()

    def why_not(self, ability: str) -> str | None:
        if ability == "add_outputs":
            return "a threshold decides between two labels"
        if ability in ("merge", "unlearn") and self.window and self.learner.can(ability):
            return "its threshold was chosen by the predictions of past rounds; window=0 leaves that to `tune`"
        return super().why_not(ability)

    @property
    def threshold(self) -> float:
        """theta as it is now."""
        return self.threshold_

    def tune(self, X: Any, Y: Any, weights: Any = None) -> float:
        """Choose theta by rows that are not learnt from, and return it; the next refresh chooses again."""
        X = as_block(X, self.d_ or None, missing=self.missing)
        labels, counts = as_labels(Y, "sign", len(X))[:, 0], as_weights(weights, len(X))
        if self.d_:
            weighed = np.ones(len(X)) if counts is None else counts
            self._take(self._chosen(self.learner_.predict_clean(X)[:, 0], labels, weighed))
        return self.threshold_

    def _start(self, d: int, outputs: int) -> None:
        super()._start(d, outputs)
        self.recent_ = np.zeros((self.window, 3))

    def _shown(self, P: Array) -> Array:
        return P - self.threshold_

    def _merge_inner(self, other: Self) -> None:
        if self.threshold_ != other.threshold_:
            raise ValueError(
                f"merge needs equal thresholds, got {self.threshold_!r} and {other.threshold_!r}; `tune` both alike"
            )
        super()._merge_inner(other)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = self.learner_.run_clean(X, Y, weights)
        if not self.window:
            return P - self.threshold_
        seen = np.column_stack([P[:, 0], Y[:, 0], np.ones(len(X)) if weights is None else weights])
        stops = range(self.refresh - self.n_seen_ % self.refresh, len(X) + 1, self.refresh)
        row = 0
        for stop, theta in zip(stops, self._choices(seen, stops), strict=True):
            P[row:stop] -= self.threshold_
            self._take(theta)
            row = stop
        P[row:] -= self.threshold_
        self._keep(self.recent_, seen, 0, len(X))
        return P

    def _choices(self, seen: Array, stops: Sequence[int]) -> list[float | None]:
        """What is chosen after so many rows of the block: by its scores, so that no choice waits for another."""
        if len(stops) < 2 * CHOICES:
            return self._choices_at(seen, stops) if stops else []
        count = min(len(stops) // CHOICES, self.threads or threads())
        bounds = [len(stops) * i // count for i in range(count + 1)]
        stretches = [stops[a:b] for a, b in pairwise(bounds)]
        made = side_by_side([partial(self._choices_at, seen, stretch) for stretch in stretches], count)
        return [theta for some in made for theta in some]

    def _choices_at(self, seen: Array, stops: Sequence[int]) -> list[float | None]:
        ring, row, made = self.recent_.copy(), 0, []
        for stop in stops:
            self._keep(ring, seen, row, stop)
            made.append(self._chosen(*ring[: self.n_seen_ + stop].T))
            row = stop
        return made

    def _keep(self, ring: Array, seen: Array, row: int, stop: int) -> None:
        """Rows row..stop-1 of the block enter the last `window` rounds."""
        kept = np.arange(max(row, stop - self.window), stop)
        ring[(self.n_seen_ + kept) % self.window] = seen[kept]

    def _take(self, theta: float | None) -> None:
        if theta is not None:
            self.threshold_ = theta

    def _chosen(self, scores: Array, labels: Array, weights: Array) -> float | None:
        """The best theta; None where these rows cannot choose."""
        if not (np.isfinite(scores).all() and weights[labels > 0].any() and weights[labels < 0].any()):
            return None
        rare = 1 if weights[labels > 0].sum() <= weights[labels < 0].sum() else -1
        label = rare if self.positive == RARE else int(self.positive)
        return best_threshold(
            scores, labels, weights, self.criterion, self.target, positive=label, caution=self.caution
        )

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
    """The theta for which "score >= theta" serves the criterion best over rows of both labels -1 and +1.

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
    now = int(np.searchsorted(cuts, 0.0))  # the cut that 0 makes
    if caution > 0 and criterion not in AIMED and best != now:
        squares = [_sums_from(place, len(cuts), weights**2 * kind) for kind in kinds]
        moved = [abs(part[best] - part[now]) for part in squares]
        gains = _gains(true[best], false[best], totals, criterion)
        error = np.sqrt(sum(n * gain**2 for n, gain in zip(moved, gains, strict=True)))
        if value[best] - value[now] <= caution * error:
            return 0.0
    return float(thetas[best])


def _distinct(scores: Array) -> tuple[Array, npt.NDArray[np.intp]]:
    """The distinct scores in order, and where each score is among them."""
    order = np.argsort(scores)
    ordered = scores[order]
    new = np.append(True, ordered[1:] != ordered[:-1])
    place = np.empty(len(scores), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return ordered[new], place


def _first(keys: tuple[Array, ...]) -> int:
    """The place of the smallest by the first key, of equals by the next, and so on."""
    places = np.flatnonzero(keys[0] == keys[0].min())
    for key in keys[1:]:
        places = places[key[places] == key[places].min()]
    return int(places[0])


def _gains(true: float, false: float, totals: tuple[float, float], criterion: str) -> tuple[float, float]:
    """What the criterion gains, to first order, when a row of weight 1, of either label, is said to be positive."""
    if criterion == "accuracy":
        return 1.0, -1.0
    if criterion == "balanced_accuracy":
        return 1 / totals[0], -1 / totals[1]
    whole = true + false + totals[0]
    f1 = 2 * true / whole
    return (2 - f1) / whole, -f1 / whole


def _sums_from(place: npt.NDArray[np.intp], count: int, weights: Array) -> Array:
    """(count + 1,): the weight of the rows at places i, i + 1, ..., for i = 0..count."""
    per_score = np.bincount(place, weights=weights, minlength=count)
    return np.append(np.cumsum(per_score[::-1])[::-1], 0.0)


def _values(
    true: Array, false: Array, totals: tuple[float, float], criterion: str, target: float
) -> tuple[Array, Array]:
    """What every cut is worth, and what decides between equals; true and false are those it says are positive."""
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
    """A threshold for every cut: below all scores, between neighbours, above all. 0 where it makes that cut."""
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
