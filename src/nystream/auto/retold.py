"""Labels with long tails, cut anew: around what all other rows say, not what was said when they came."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from nystream._core.kernels import KernelRows
from nystream.auto.bank import Bank
from nystream.auto.experts import Ridge
from nystream.auto.generation import Generation
from nystream.auto.rows import Rows
from nystream.auto.tails import LEAST, Tails
from nystream.auto.targets import USUAL
from nystream.auto.view import View
from nystream.runtime.blas import single_threaded
from nystream.runtime.incremental import pairs
from nystream.runtime.types import Array
from nystream.scaling import StandardScale, median_distance
from nystream.scaling.ring import Ring
from nystream.scaling.spread import fences

__all__ = ["Others", "retold", "tell_anew"]

FEWEST, EARLY, LATE = 50, 200, 800
"""Rows of a rebuild from which on labels are cut anew for it, up to which it is asked whether tails are long, and from
which on the experts know enough."""
LANDMARKS, PRODUCTS, VALUES = 200, 4e7, 6e7
"""Rows that all rows are seen through, at most; and operations of a matrix product, and of all kernel values, which
with many rows or columns bound them further."""
LEARNT = 200
"""Rows from which on the kernel of "ag" has a metric that was learnt."""
WIDTH, LAM, MOST, ROUNDS = 3.0, 0.01, 0.9, 10
"""Of early fits: the rough kernel's width in median distances, ridge, and Newton's steps. A row of more leverage counts
as one of this: where others tell little of it, its own label counts too."""
LATE_LAMS, LATE_MOST, LATE_ROUNDS = (0.01, 0.1, 1.0), 0.95, 3
"""Of late ones; of the ridges the one with the least estimated variance is taken."""
FIRST = 4.0
"""Medians of their distances from their median that labels are cut to before an early fit."""
LAMS, SURELY = (0.03, 0.1, 0.3, 1.0), 1.0 - 1e-9
"""Ridges of the fits that are judged, and what leverages stay below there."""
CLIPPED, SURE, APART = 3.0, 1.5, 6.0
"""Tails are long where labels that were cut tell others better: by mean losses, cut to so many medians, that are so
many standard errors apart; and where the largest residuals of both signs are so many medians."""
BOTH = {"trimmed": 0.1, "reach": 0.1}
"""Fences that labels must then be beyond on both sides."""
JITTER, CONSTANT = 1e-6, 1e-3
"""Penalties beside the kernel matrix: for rounding, and of the constant."""


def tell_anew(
    old: Generation,
    tails: Tails,
    kept: Ring,
    last: Callable[[int], Rows],
    alone: Callable[[], AbstractContextManager[None]],
) -> bool:
    """Before a rebuild that is due now: what is `kept` of labels whose tails are long is `retold`.

    What is under way looks at it, and is taken up before, as it would be: whether that was so is returned.
    """
    n = old.count_
    if n < FEWEST or old.targets_ is None:
        return False
    rows = last(min(n, tails.kept))
    some = tails.long | tails.suspected_
    if n <= EARLY:
        some |= _far(tails.labels_.last(len(rows.X)), rows.w)
    if not some.any():
        return False
    with single_threaded():  # the same bits with any number of threads
        found = retold(old.bank_, rows, tails, LEAST * old.targets_.scale_, some)
    if np.array_equal(found, rows.Y):
        return False
    taken = old.begun_ > 0
    old.finish(last)
    with alone():
        old.settle(last)
    kept.replace(found)
    return taken


def retold(bank: Bank, rows: Rows, tails: Tails, least: Array, some: NDArray[np.bool_]) -> Array:
    """What is told (n, K) of the labels of rows, in place of what was told of them, for `some` targets.

    Labels are cut, by `Tails`, around what `Others` say of each, which are then told the cut ones, again and again. A
    row told when little was known, around a prediction that was far off, would else keep that for good. Where the
    estimate's variance over the rows that `tails` remembers is not less than it was around the predictions that were
    made, nothing changes. `least` (K,): no residual is cut to less.

    Where tails are not known to be long, labels that were cut must tell others better than those that were only fenced.
    Then tails are long for as many rows as there were, and are asked again at the next rebuild; else labels are told as
    they came.
    """
    X, told, w = rows
    labels, long, late = tails.labels_.last(len(X)), tails.long, len(X) >= LATE
    found, fenced = told.copy(), np.clip(labels, *fences(labels, w))
    others, recent = Others(bank, X, w, late=late), tails.variance(least)
    for k in np.flatnonzero(some).tolist():
        y, g = labels[:, k], fenced[:, k]
        if long[k] and late:
            t, variance = _late(others, tails, y, told[:, k], least[k : k + 1])
            better = variance < recent[k]
        else:
            t, said, plain = _early(others, tails, y, g, least[k : k + 1])
            if long[k]:
                better = _cut(tails, y, said, least[k : k + 1])[1] < recent[k]
            else:
                better = _tell_better(g - said, g - plain)
                tails.suspect(k, len(X) if better else 0)
                found[:, k] = y
        if better:
            found[:, k] = t
    return found


def _late(others: Others, tails: Tails, y: Array, told: Array, least: Array) -> tuple[Array, float]:
    """What is told of labels y, beginning with what was told, and the estimate's variance."""
    shift, ways = np.median(told), []
    for lam in LATE_LAMS:
        t, leverages = told, others.leverages(lam, LATE_MOST)
        for _ in range(LATE_ROUNDS):
            t, variance = _cut(tails, y, others.say(t - shift, lam, leverages) + shift, least)
        ways.append((t, variance))
    return min(ways, key=lambda way: way[1])


def _early(others: Others, tails: Tails, y: Array, fenced: Array, least: Array) -> tuple[Array, Array, Array]:
    """What is told of labels y; and what others say who are told that, and who are told the fenced labels."""
    middle = np.median(y)
    away = FIRST * np.median(np.abs(y - middle))
    t, leverages = np.clip(y, middle - away, middle + away), others.leverages(LAM, MOST)
    for _ in range(ROUNDS):
        t = _cut(tails, y, others.say(t - middle, LAM, leverages) + middle, least)[0]

    def best(told: Array) -> Array:
        ways = [others.say(told - middle, lam, others.leverages(lam, SURELY)) + middle for lam in LAMS]
        return min(ways, key=lambda p: float(np.minimum(np.abs(fenced - p), away).mean()))

    return t, best(t), best(fenced)


def _far(labels: Array, w: Array | None) -> NDArray[np.bool_]:
    """(K,) whether labels lie far out, on both sides."""
    (low, high), (least, most) = fences(labels, w, **BOTH), fences(labels, w, **USUAL)
    both: NDArray[np.bool_] = (labels < low).any(axis=0) & (labels > high).any(axis=0)
    return both & ((labels < least) | (labels > most)).any(axis=0)


def _cut(tails: Tails, y: Array, p: Array, least: Array) -> tuple[Array, float]:
    told, variance = tails.cut(y[:, None], p[:, None], least, tails.window)
    return told[:, 0], float(variance[0])


def _tell_better(cut: Array, plain: Array) -> bool:
    """Whether residuals of labels that were cut are those of noise with long tails, and surely less than the others."""
    median = np.median(np.abs(cut))
    if not min(cut.max(), -cut.min()) > APART * median or not (plain**2).mean() > (cut**2).mean():
        return False
    gain = np.minimum(np.abs(plain), CLIPPED * median) - np.minimum(np.abs(cut), CLIPPED * median)
    return bool(gain.mean() > SURE * gain.std() / np.sqrt(len(gain)))


class Others:
    """What other rows say of each: a ridge that leaves out the row itself.

    With g the fit, t what is told and h the leverages, that is (g_i - h_i t_i) / (1 - h_i).

    Its kernel is that of "ag" where `late`; before, it is Laplacian on standardised columns, three median distances
    wide, and from 200 rows on the mean of both. O(n m^2) for m landmarks.
    """

    def __init__(self, bank: Bank, X: Array, w: Array | None, *, late: bool) -> None:
        self.root = np.ones(len(X)) if w is None else np.sqrt(w / w.mean())
        kernels, ridge = [], bank.experts_.get("ag")
        if isinstance(ridge, Ridge) and len(X) >= LEARNT:
            kernels.append((ridge.kernel_rows, bank.views_[bank.seen_in_["ag"]](bank._augmented(X))))
        if not late or not kernels:
            view = View(StandardScale())
            view.fit(X, None, w)
            U = view(X)
            kernels.append((KernelRows("laplacian", -1.0 / (WIDTH * median_distance(U, 100, absolute=True))), U))
        most = min(LANDMARKS, (PRODUCTS / len(X)) ** 0.5, VALUES / pairs(len(X), len(kernels), X.shape[1]))
        step = -(-len(X) // max(1, int(most)))
        m = len(X[::step])
        Z, A = np.zeros((m + 1, len(X))), np.zeros((m + 1, m + 1))
        for kernel, rows in kernels:
            points = np.ascontiguousarray(rows[::step])
            Z[:m] += kernel.block(points, rows) / len(kernels)
        A[:m, :m] = Z[:m, ::step]
        Z[m] = 1.0
        A.flat[:: m + 2] += JITTER
        A[m, m] = CONSTANT
        Z *= self.root
        C = np.linalg.inv(np.linalg.cholesky(A))
        S, E = np.linalg.eigh(C @ (Z @ Z.T) @ C.T)
        self.V, self.S = Z.T @ (C.T @ E), np.maximum(S, 0.0)
        self.squares = self.V * self.V

    def leverages(self, lam: float, most: float) -> Array:
        """(n,) at most so much."""
        return np.minimum(self.squares @ (1.0 / (self.S + lam)), most)

    def say(self, t: Array, lam: float, leverages: Array) -> Array:
        """(n,) where rows are told t."""
        fit = self.V @ ((self.V.T @ (self.root * t)) / (self.S + lam)) / self.root
        return (fit - leverages * t) / (1.0 - leverages)
