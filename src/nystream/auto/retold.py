"""Labels with long tails, cut anew: around what all other rows say, not what was said when they came."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from nystream.auto.bank import Bank
from nystream.auto.experts import Ridge
from nystream.auto.generation import Generation, Rows
from nystream.auto.tails import LEAST, Tails
from nystream.blas import single_threaded
from nystream.scaling.ring import Ring
from nystream.types import Array

__all__ = ["retold", "tell_anew"]

FEWEST = 400
"""Rows of a rebuild from which on labels are cut anew for it: with fewer, what others say is no better."""
LANDMARKS = 200
"""At most: what the rows are compared by is seen in a pause of a few slices."""
LAMS = (0.01, 0.1, 1.0)
"""Ridges, of which the one with the least estimated variance is taken."""
ROUNDS = 3
"""Newton's steps."""
MOST = 0.95
"""A row of more leverage counts as one of this: what others say of it is not known any better."""
JITTER, CONSTANT = 1e-6, 1e-3
"""Penalties beside the kernel matrix: for rounding, and of the constant."""


def tell_anew(
    old: Generation,
    tails: Tails,
    kept: Ring,
    last: Callable[[int], Rows],
    alone: Callable[[], AbstractContextManager[None]],
) -> bool:
    """Before a rebuild of many rows that is due: what is `kept` of labels whose tails are long is `retold`.

    What is under way looks at it, and is taken up before, as it would be: whether that was so is returned.
    """
    n, recipe = old.count_, old.bank_.recipe
    if n < FEWEST or n not in recipe.rebuilds or old.targets_ is None or not tails.long.any():
        return False
    taken = old.begun_ > 0
    old.finish(last)
    with alone():
        old.settle(last)
    X, told, w = last(min(n, tails.kept))
    start = old.targets_.tamed(told)
    with single_threaded():  # the same bits with any number of threads
        found = retold(old.bank_, X, w, start, tails, LEAST * old.targets_.scale_)
    kept.replace(np.where(found == start, told, found))
    return taken


def retold(bank: Bank, X: Array, w: Array | None, told: Array, tails: Tails, least: Array) -> Array:
    """What is told (n, K) of the labels of rows X, in place of `told`: where tails are long, and where it is better.

    Predictions are those of a ridge on the landmarks of "ag" that leaves out the row itself, f_i = (g_i - h_i t_i) /
    (1 - h_i) with g the fit, t what is told and h the leverages; then labels are cut around f, by `Tails`, and fitted
    again. A row told when little was known, around a prediction that was far off, would else keep that for good. Where
    the estimate's variance over the rows that `tails` remembers is not less than it was around the predictions that
    were made, nothing changes. `least` (K,): no residual is cut to less. O(n m^2) for m landmarks, at most 200.
    """
    ridge = bank.experts_.get("ag")
    if not isinstance(ridge, Ridge) or tails.labels_ is None:
        return told
    root = np.ones((len(X), 1)) if w is None else np.sqrt(w / w.mean())[:, None]
    V, S = _directions(bank, ridge, X, root)
    labels, recent = tails.labels_.last(len(X)), tails.variance(least)
    found = told.copy()
    for k in np.flatnonzero(tails.long):
        best, part = recent[k], slice(k, k + 1)
        shift = np.median(told[:, k])
        for lam in LAMS:
            h = np.minimum(np.einsum("ij,ij,j->i", V, V, 1.0 / (S + lam))[:, None], MOST)
            t = told[:, part] - shift
            for _ in range(ROUNDS):
                fit = V @ ((V.T @ (root * t)) / (S + lam)[:, None]) / root
                p = (fit - h * t) / (1.0 - h) + shift
                t, variance = tails.cut(labels[:, part], p, least[part], tails.window)
                t -= shift
            if variance[0] < best:
                best, found[:, part] = variance[0], t + shift
    return found


def _directions(bank: Bank, ridge: Ridge, X: Array, root: Array) -> tuple[Array, Array]:
    """(n, m + 1) orthogonal features of rows times root (n, 1), of penalty 1 each, and their squared lengths."""
    view = bank.views_[bank.seen_in_["ag"]]
    points = np.ascontiguousarray(ridge.points_[:: -(-len(ridge.points_) // LANDMARKS)])
    m = len(points)
    Z, A = np.ones((m + 1, len(X))), np.zeros((m + 1, m + 1))
    Z[:m] = ridge._kernel.block(points, view(bank._augmented(X)))
    A[:m, :m] = ridge._kernel.block(points, points)
    A.flat[:: m + 2] += JITTER
    A[m, m] = CONSTANT
    W = np.linalg.solve(np.linalg.cholesky(A), Z)
    W *= root.T
    S, U = np.linalg.eigh(W @ W.T)
    return W.T @ U, np.maximum(S, 0.0)
