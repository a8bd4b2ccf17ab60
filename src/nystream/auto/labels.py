"""Label filter: where the noise has heavy tails, labels far from their predictions are winsorised.

With squared loss, one label that is far off outweighs all others. `LabelFilter` finds targets whose noise has heavy
tails and gives the learner winsorised labels for them. Before a full refit, `winsorize_kept_labels` winsorises the kept
labels again, around better predictions: those from all other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.drift import cuts, medians, weighed, with_residuals
from nystream._core.kernels import KernelRows
from nystream.auto.ensemble import Ensemble
from nystream.auto.expert_set import ExpertSet
from nystream.auto.experts import Ridge
from nystream.auto.rows import RowBuffer, Rows
from nystream.auto.targets import USUAL, Targets
from nystream.auto.views import View
from nystream.runtime.blas import single_threaded
from nystream.runtime.incremental import kernel_cost
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array
from nystream.scaling import StandardScale, median_distance
from nystream.scaling.ring import Ring
from nystream.scaling.spread import fences

__all__ = ["FILTER", "LabelFilter", "LeaveOneOut", "winsorize_again", "winsorize_kept_labels"]


@dataclass(frozen=True)
class FilterRules:
    """Thresholds of `LabelFilter`, chosen with benchmarks/accuracy/auto_stress.py. A median is that of |residual|."""

    fewest: int = 10
    """Residuals that a median needs."""
    far: float = 8.0
    """Medians beyond which a label may be an outlier."""
    gain: float = 3.0
    """A label is an outlier only if it makes the mean so many times less precise than Huber's estimate."""
    extreme: float = 0.1
    """A prediction may have foreseen the outlier if it is among this outermost part of the last predictions."""
    rate: float = 0.1
    """Rate of the running share of outliers that were foreseen."""
    half: float = 0.5
    """Tails are noise if a smaller share of the outliers was foreseen. Also the least share of unclipped residuals."""
    shifted: float = 10.0
    """Medians beyond which residuals show that the labels have a new level or scale."""
    last: int = 10
    """The last residuals that are counted for this."""
    most: int = 7
    """Labels are trusted if so many of the `last` residuals lie beyond `shifted`."""
    alike: int = 3
    """Labels are trusted if so many residuals in a row lie beyond `shifted` on one side and have similar sizes."""
    times: float = 2.0
    """Sizes are similar if none is more than so many times as large as another."""
    skewed: float = 3.0
    """The clipped part of the labels is signal if its mean is so many standard errors from 0."""
    followed: float = 0.2
    """Outliers move other labels if the labels before and after one differ by more than this part of its residual."""
    serial: float = 0.5
    """Labels follow each other if their median step is less than this part of their median deviation."""
    alarm: float = 6.0
    """Medians to which residuals are clipped for drift alarms."""
    least: float = 0.1
    """No residual is clipped to less than this part of the labels' deviation, so that rare values can be learnt."""


FILTER = FilterRules()
REACHES = np.array([1.5, 3.0, 6.0, 12.0])
"""Residuals are clipped to one of these numbers of medians: the one with the smallest estimated variance."""


class LabelFilter(Params):
    r"""Winsorises the labels of targets whose noise has heavy tails, each target by itself. Other labels stay.

    With the prediction p and the residual r = y - p, the learner gets Huber's pseudo-observation::

        p + min(max(r, -k), k) / q        q: the share of the last |r| that are at most k

    Least squares on it is Newton's step for Huber's loss. k is 1.5, 3, 6 or 12 medians of the last |r|, whichever makes
    the variance of the estimate, mean(min(|r|, k)^2) / q^2, the smallest.

    A label is an outlier if it lies outside the usual range (`Targets.usual_`), is more than 8 medians from p, and
    makes the variance of the mean 3 times that of Huber's estimate. An outlier is noise, or a far value of the
    function, for which squared loss is right. A far value is foreseen: p is in the outer tenth of the last predictions
    on that side, and at least a tenth of the way from their median to y. If less than half of the outliers are foreseen
    (a running share), tails are heavy for the next 1,000 rows. `winsorize_again` may `suspect` heavy tails earlier.
    While tails are not heavy, every label is learnt as it is.

    Labels are trusted, and tails are no longer heavy, in two cases. First, the clipped part of the labels is signal:
    the noise is skewed, or outliers move the labels after them (`_is_signal`). Second, the labels themselves have
    changed: 7 of the last 10 residuals are beyond 10 medians, three in a row are alike on one side, or a drift alarm
    says that residuals measure an outdated function.

    Parameters
    ----------
    outputs : int
        Targets.
    window : int, default 500
        Predictions and residuals that are kept.
    lasting : int, default 1000
        Rows after an outlier in which tails count as heavy. Each of these rows is predicted before it is learnt, which
        more than doubles its cost. With 1, only outliers are winsorised.
    kept : int, default 1
        Original labels that are kept for `winsorize_again`.

    References
    ----------
    Huber, Ronchetti. Robust Statistics, 2nd edition. Wiley 2009 (modified residuals).
    """

    past_: Ring
    """(n, 2 K) predictions and residuals of the last rows."""
    outlier_: NDArray[np.int64]
    """(K,) tails are heavy until row `outlier_ + lasting`: the row of the last outlier, or -lasting."""
    foreseen_: Array
    """(K,) running share of outliers that were foreseen."""
    labels_: Ring
    """(n, K) the last original labels."""
    began_: NDArray[np.int64]
    """(K,) rows seen when tails last became heavy."""
    suspected_: NDArray[np.bool_]
    """(K,) whether heavy tails were found by `winsorize_again`, without an outlier."""
    limit_: Array
    """(K,) size to which residuals are clipped for drift alarms while tails are heavy."""
    _restart: int | None = None
    """After a drift alarm: how many of the rows recorded next came after it; the filter restarts with them."""

    def __init__(self, outputs: int, window: int = 500, lasting: int = 1000, kept: int = 1) -> None:
        self.outputs = at_least("outputs", outputs, 1)
        self.window = at_least("window", window, FILTER.last)
        self.lasting = at_least("lasting", lasting, 1)
        self.kept = at_least("kept", kept, 1)

    def start(self) -> None:
        self.past_ = Ring(self.window, 2 * self.outputs)
        self.outlier_ = np.full(self.outputs, -self.lasting)
        self.began_ = np.zeros(self.outputs, dtype=np.int64)
        self.foreseen_ = np.full(self.outputs, FILTER.half)
        self.labels_ = Ring(self.kept, self.outputs)
        self.suspected_ = np.zeros(self.outputs, dtype=bool)
        self.limit_ = np.full(self.outputs, np.inf)

    @staticmethod
    def window_for(budget: float, outputs: int, most: int = 500, least: int = 100) -> int:
        """Return the number of rows that so many bytes can hold."""
        return int(max(least, min(most, budget / (16 * outputs))))

    @property
    def is_heavy(self) -> NDArray[np.bool_]:
        """(K,) whether tails are heavy now."""
        return self.past_.seen_ - self.outlier_ < self.lasting

    def count_plain(self, Y: Array, low: Array, high: Array) -> int:
        """Return how many of the next labels (n, K) are learnt as they are; 0 if the first needs `winsorize`.

        `low` and `high` (K,): the usual range. No label after the first one that is counted lies outside it.
        """
        if self.past_.seen_ < FILTER.fewest:
            return max(1, _count_inside(Y[: FILTER.fewest - self.past_.seen_], low, high))
        if self.past_.seen_ - max(self.outlier_.tolist()) < self.lasting:  # `is_heavy` for any target
            return 0
        if Y.size == 1:  # the most frequent case, without temporary arrays
            return int(not (low.item() > Y.item() or high.item() < Y.item()))
        return _count_inside(Y, low, high)

    def winsorize(self, y: Array, p: Array, outside: NDArray[np.bool_], deviation: Array) -> Array:
        """Return the label (K,) to learn instead of y.

        `p` (K,) is the prediction for the row; `outside` says which labels lie outside the usual range.
        """
        ring, before = self.past_, self.is_heavy
        oldest = max(0, ring.seen_ - ring.capacity) % ring.capacity
        rules = (REACHES, FILTER.half, FILTER.far, FILTER.gain, FILTER.shifted)
        found = weighed(ring.store_[: len(ring)], oldest, FILTER.last, y, p, FILTER.least * deviation, *rules)
        reach, unclipped, far, beyond, median = found
        if outside.any() and (far * outside).any():
            self._note_outliers(y, p, outside & (far > 0.0))
        trusted = (beyond >= FILTER.most) | self._are_alike(y - p, FILTER.shifted * median)
        if self.is_heavy.any():
            trusted |= self._is_signal(y, p, FILTER.far * median, reach, unclipped)
        if trusted.any():
            self.outlier_[trusted] = -self.lasting
        heavy = self.is_heavy
        self._note_beginning(heavy & ~before)
        self.limit_ = np.minimum(self.limit_, np.maximum(FILTER.alarm * median, FILTER.least * deviation))
        return np.where(heavy, p + np.minimum(np.maximum(y - p, -reach), reach) / unclipped, y)

    def alarm_label(self, y: Array, p: Array) -> Array | None:
        """Return the label (K,) by which drift alarms measure the loss of p; nan where tails are not heavy.

        Winsorised labels depend on the last residuals, so losses measured by them rise and fall without any drift.
        Here residuals are clipped to 6 times the smallest median since tails became heavy. Call this after
        `winsorize`. The result is None if no target has heavy tails.
        """
        if not self.is_heavy.any():
            return None
        return np.where(self.is_heavy, np.clip(y, p - self.limit_, p + self.limit_), np.nan)

    def _are_alike(self, residual: Array, least: Array) -> NDArray[np.bool_]:
        """Return (K,) whether the last residuals and this one exceed `least` on one side, and are of similar size."""
        side = np.sign(residual)
        if not (side * residual > least).any():
            return np.zeros(self.outputs, dtype=bool)
        sizes = side * np.vstack((self.past_.last(FILTER.alike - 1)[:, self.outputs :], residual))
        return (sizes.min(axis=0) > least) & (sizes.max(axis=0) <= FILTER.times * sizes.min(axis=0))

    def _is_signal(self, y: Array, p: Array, far: Array, reach: Array, unclipped: Array) -> NDArray[np.bool_]:
        """Return (K,) whether the part of the labels that winsorising takes away is signal, so that labels must stay.

        It is signal if its mean over the kept rows and this one is not 0: the noise is skewed, and the mean of the
        labels is wanted. It is also signal if labels follow each other and outliers move the labels after them. A
        single outlier makes neither true, so labels are winsorised where the noise has no mean.
        """
        P, R = np.split(np.vstack((self.past_.last(self.window), np.concatenate((p, y - p)))), 2, axis=1)
        taken = R - np.clip(R, -reach, reach) / unclipped
        skewed = np.abs(taken.sum(axis=0)) > FILTER.skewed * np.sqrt((taken**2).sum(axis=0))
        Y, outliers = P + R, np.where(np.abs(R) > far, R, 0.0)
        moved = (outliers[1:-1] * (Y[2:] - Y[:-2])).sum(axis=0) - FILTER.followed * (outliers**2).sum(axis=0)
        steps, spread = medians(np.abs(np.diff(Y, axis=0))), medians(np.abs(Y - medians(Y)))
        return skewed | (moved > 0.0) & (steps < FILTER.serial * spread)

    def _note_beginning(self, new: NDArray[np.bool_]) -> None:
        self.began_[new] = self.past_.seen_
        self.limit_[new] = np.inf

    def _note_outliers(self, y: Array, p: Array, far: NDArray[np.bool_]) -> None:
        """Count outliers (K,). Tails become heavy unless predictions foresaw most outliers."""
        P = self.past_.last(self.window)[:, : self.outputs]
        middle = medians(P)
        beyond = np.where(y > middle, p < P, p > P).mean(axis=0)
        foreseen = (beyond < FILTER.extreme) & (np.abs(p - middle) > FILTER.extreme * np.abs(y - middle))
        self.foreseen_[far] += FILTER.rate * (foreseen[far] - self.foreseen_[far])
        self.outlier_[far] = np.where(self.foreseen_ < FILTER.half, self.past_.seen_, -self.lasting)[far]

    def suspect(self, target: int, rows: int) -> None:
        """Treat the tails of a target as heavy for the next `rows` rows, without an outlier; with 0, no longer."""
        self.suspected_[target] = rows > 0
        self._note_beginning(~self.is_heavy & self.suspected_ & (np.arange(self.outputs) == target))
        self.outlier_[target] = self.past_.seen_ - self.lasting + min(rows, self.lasting)

    def trust_since_change(self, rows: int, unseen: int, after: int) -> bool:
        """Note a drift alarm. Return whether the labels since the change point are trusted as they came.

        The change point is `rows` rows ago; `unseen` rows are recorded next, and `after` of them came after the alarm.
        Residuals between change point and alarm are those of an outdated function. Unless tails were heavy before the
        change, the filter forgets them and restarts with the residuals since the alarm.
        """
        before = self.past_.seen_ + unseen - rows
        if (self.is_heavy & (self.began_ < before)).any():
            return False
        self._restart = after
        return True

    def record(self, P: Array, Y: Array) -> None:
        """Add the next predictions and original labels, (n, K), in order."""
        self.past_.extend(with_residuals(P, Y))
        if self._restart is not None:
            rows, self.past_ = self.past_.last(self._restart), Ring(self.window, 2 * self.outputs)
            self.past_.extend(rows)
            self.outlier_[:], self.foreseen_[:] = -self.lasting, FILTER.half
            self._restart = None
        self.labels_.extend(Y)

    def variance(self, least: Array) -> Array:
        """Return the (K,) estimated variance of Huber's estimate of the last residuals; it clips only above `least`."""
        sizes = np.abs(self.past_.last(self.window)[:, self.outputs :])
        return cuts(sizes, medians(sizes), least, REACHES, FILTER.half)[2]

    @staticmethod
    def winsorize_block(Y: Array, P: Array, least: Array, window: int) -> tuple[Array, Array]:
        """Return winsorised labels (n, K) around predictions P, and the variance (K,) over the last `window` rows."""
        sizes = np.abs(Y - P)
        reach, unclipped, _ = cuts(sizes, medians(sizes), least, REACHES, FILTER.half)
        last = sizes[-window:]
        variance = cuts(last, medians(last), least, REACHES, FILTER.half)[2]
        return P + np.clip(Y - P, -reach, reach) / unclipped, variance

    @property
    def nbytes(self) -> int:
        return self.past_.nbytes + self.outlier_.nbytes + self.foreseen_.nbytes + self.labels_.nbytes


def _count_inside(Y: Array, low: Array, high: Array) -> int:
    """Return how many of the first labels lie within the range."""
    outside = ((low > Y) | (high < Y)).any(axis=1)
    return int(outside.argmax()) if outside.any() else len(Y)


# -- winsorising the kept labels once more, before a full refit --------------------------------------------------------
@dataclass(frozen=True)
class AgainRules:
    """Thresholds of `winsorize_again`, chosen with benchmarks/accuracy/auto_stress.py."""

    fewest: int = 50
    """Rows from which on kept labels are winsorised again."""
    early: int = 200
    """Rows up to which it is tested whether tails are heavy."""
    landmarks: int = 200
    """Landmarks of the leave-one-out ridge, at most."""
    products: float = 4e7
    """Operations of its matrix product, at most: with many rows there are fewer landmarks."""
    values: float = 6e7
    """Operations of all its kernel values, at most: with many columns there are fewer landmarks."""
    learnt: int = 200
    """Rows from which on the kernel of the expert "ag" has a learnt metric."""
    width: float = 3.0
    """Width of the Laplacian kernel, in median distances."""
    lam: float = 0.01
    """Ridge of the fits."""
    leverage: float = 0.9
    """Largest leverage. If other rows say little about a row, its own label counts too."""
    rounds: int = 10
    """Newton steps of the fits."""
    first: float = 4.0
    """Fits begin with labels clipped to so many median deviations."""
    judged_lams: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0)
    """Ridges of the fits that are compared."""
    judged_leverage: float = 1.0 - 1e-9
    """Largest leverage in the fits that are compared."""
    clipped: float = 3.0
    """Losses are clipped to so many medians before they are compared."""
    sure: float = 1.5
    """The losses that are compared must differ by so many standard errors."""
    apart: float = 6.0
    """Heavy tails need residuals of both signs beyond so many medians."""
    jitter: float = 1e-6
    """Added to the diagonal of the kernel matrix against rounding errors."""
    constant: float = 1e-3
    """Penalty of the constant."""


AGAIN = AgainRules()
BOTH_SIDES = {"trimmed": 0.1, "reach": 0.1}
"""Bounds that labels must exceed on both sides before heavy tails are tested for."""


def winsorize_kept_labels(
    old: Ensemble,
    labels: LabelFilter,
    buffer: RowBuffer,
    alone: Callable[[], AbstractContextManager[None]],
) -> bool:
    """Winsorise the labels of the buffer again before a full refit that is due now.

    A refit that is under way uses these labels, so it is completed and swapped in first. Return whether there was one.
    """
    n = old.count_
    if n < AGAIN.fewest or old.targets_ is None:
        return False
    rows = buffer.last(min(n, labels.kept))
    some = labels.is_heavy | labels.suspected_
    if n <= AGAIN.early:
        some |= _are_far(labels.labels_.last(len(rows.X)), rows.w)
    if not some.any():
        return False
    with single_threaded():  # the same bits with any number of threads
        found = winsorize_again(old.expert_set_, rows, labels, FILTER.least * old.targets_.scale_, some)
    if np.array_equal(found, rows.Y):
        return False
    was_under_way = old.begun_ > 0
    old.finish(buffer.last)
    with alone():
        old.settle(buffer.last)
    buffer.labels_.replace(found)
    return was_under_way


def winsorize_again(
    expert_set: ExpertSet, rows: Rows, labels: LabelFilter, least: Array, some: NDArray[np.bool_]
) -> Array:
    """Return new labels (n, K) for rows, for the targets in `some`; the others keep theirs.

    Labels are winsorised around leave-one-out predictions; these are fitted to the winsorised labels, and both steps
    are repeated. Without this, a label that was winsorised around a bad early prediction would stay wrong. Labels
    change only if the estimated variance is smaller than around the predictions made at the time. `least` (K,): the
    smallest size to which a residual is clipped.

    If tails are not known to be heavy, it is tested whether fits to winsorised labels predict other rows better than
    fits to plain labels, which are only moved within the outlier bounds. If they do, tails count as heavy for as many
    rows as there were, and the next full refit tests again. If not, the labels are the original ones.
    """
    X, learnt, w = rows
    originals, heavy = labels.labels_.last(len(X)), labels.is_heavy
    found, targets = learnt.copy(), Targets(originals.shape[1])
    targets.start()
    targets.enclose(originals, w)
    plain_labels = targets.tamed(originals)
    others, recent = LeaveOneOut(expert_set, X, w), labels.variance(least)
    for k in np.flatnonzero(some).tolist():
        y, g = originals[:, k], plain_labels[:, k]
        t, robust, plain = _fit(others, labels, y, g, least[k : k + 1])
        if heavy[k]:
            better = _winsorize_one(labels, y, robust, least[k : k + 1])[1] < recent[k]
        else:
            better = _predicts_better(g - robust, g - plain)
            labels.suspect(k, len(X) if better else 0)
            found[:, k] = y
        if better:
            found[:, k] = t
    return found


def _fit(others: LeaveOneOut, labels: LabelFilter, y: Array, plain: Array, least: Array) -> tuple[Array, Array, Array]:
    """Return winsorised labels for y, and leave-one-out predictions from these and from the plain labels."""
    middle = np.median(y)
    away = AGAIN.first * np.median(np.abs(y - middle))
    t, leverages = np.clip(y, middle - away, middle + away), others.leverages(AGAIN.lam, AGAIN.leverage)
    for _ in range(AGAIN.rounds):
        t = _winsorize_one(labels, y, others.predict(t - middle, AGAIN.lam, leverages) + middle, least)[0]

    def best(learnt: Array) -> Array:
        ways = [
            others.predict(learnt - middle, lam, others.leverages(lam, AGAIN.judged_leverage)) + middle
            for lam in AGAIN.judged_lams
        ]
        return min(ways, key=lambda p: float(np.minimum(np.abs(plain - p), away).mean()))

    return t, best(t), best(plain)


def _are_far(labels: Array, w: Array | None) -> NDArray[np.bool_]:
    """Return (K,) whether labels lie far out, on both sides."""
    (low, high), (least, most) = fences(labels, w, **BOTH_SIDES), fences(labels, w, **USUAL)
    both: NDArray[np.bool_] = (labels < low).any(axis=0) & (labels > high).any(axis=0)
    return both & ((labels < least) | (labels > most)).any(axis=0)


def _winsorize_one(labels: LabelFilter, y: Array, p: Array, least: Array) -> tuple[Array, float]:
    winsorized, variance = labels.winsorize_block(y[:, None], p[:, None], least, labels.window)
    return winsorized[:, 0], float(variance[0])


def _predicts_better(robust: Array, plain: Array) -> bool:
    """Return whether `robust` residuals look like heavy-tailed noise and are clearly smaller than `plain` ones."""
    median = np.median(np.abs(robust))
    if not min(robust.max(), -robust.min()) > AGAIN.apart * median or not (plain**2).mean() > (robust**2).mean():
        return False
    limit = AGAIN.clipped * median
    gain = np.minimum(np.abs(plain), limit) - np.minimum(np.abs(robust), limit)
    return bool(gain.mean() > AGAIN.sure * gain.std() / np.sqrt(len(gain)))


class LeaveOneOut:
    """Predictions for each row from all other rows, by kernel ridge regression on landmarks.

    With the fit g, labels t and leverages h, the prediction without row i is (g_i - h_i t_i) / (1 - h_i). The
    kernel is a Laplacian one on standardised columns, three median distances wide; from 200 rows on it is the mean of
    this and of the kernel of the expert "ag". O(n m^2) time for m landmarks.
    """

    def __init__(self, expert_set: ExpertSet, X: Array, w: Array | None) -> None:
        self.root = np.ones(len(X)) if w is None else np.sqrt(w / w.mean())
        kernels, ridge = [], expert_set.experts_.get("ag")
        if isinstance(ridge, Ridge) and len(X) >= AGAIN.learnt:
            kernels.append((ridge.kernel_rows, expert_set.views_[expert_set.seen_in_["ag"]](expert_set._augmented(X))))
        view = View(StandardScale())
        view.fit(X, None, w)
        U = view(X)
        width = AGAIN.width * median_distance(U, 100, absolute=True)
        kernels.append((KernelRows("laplacian", -1.0 / width), U))
        values = AGAIN.values / kernel_cost(len(X), len(kernels), X.shape[1])
        most = min(AGAIN.landmarks, (AGAIN.products / len(X)) ** 0.5, values)
        step = -(-len(X) // max(1, int(most)))
        m = len(X[::step])
        Z, A = np.zeros((m + 1, len(X))), np.zeros((m + 1, m + 1))
        for kernel, rows in kernels:
            points = np.ascontiguousarray(rows[::step])
            Z[:m] += kernel.block(points, rows) / len(kernels)
        A[:m, :m] = Z[:m, ::step]
        Z[m] = 1.0
        A.flat[:: m + 2] += AGAIN.jitter
        A[m, m] = AGAIN.constant
        Z *= self.root
        C = np.linalg.inv(np.linalg.cholesky(A))
        S, E = np.linalg.eigh(C @ (Z @ Z.T) @ C.T)
        self.V, self.S = Z.T @ (C.T @ E), np.maximum(S, 0.0)
        self.squares = self.V * self.V

    def leverages(self, lam: float, most: float) -> Array:
        """Return the (n,) leverages, at most `most`."""
        return np.minimum(self.squares @ (1.0 / (self.S + lam)), most)

    def predict(self, t: Array, lam: float, leverages: Array) -> Array:
        """Return the (n,) leave-one-out predictions for labels t."""
        fit = self.V @ ((self.V.T @ (self.root * t)) / (self.S + lam)) / self.root
        return (fit - leverages * t) / (1.0 - leverages)
