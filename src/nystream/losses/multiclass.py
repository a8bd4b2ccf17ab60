"""Hinge losses of several classes: equal margins, or margins and similarities between labels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream._core.losses import CompiledLoss
from nystream.losses.vector import Labels, VectorLoss
from nystream.runtime.params import at_least
from nystream.runtime.types import Array

__all__ = ["MulticlassHinge", "StructuredHinge"]


class MulticlassHinge(VectorLoss):
    """max(0, max_{j != y} (1 + p_j) - p_y): the true score should lead every other by 1.

    Subgradient, where the loss is positive: -1 at y and +1 at the strongest rival (smallest index on ties).
    The `exact` implicit step costs O(K log K): with a_j = (D[y,j] + p_j - p_y)/s the violations of the margins,
    -alpha_j = max(0, a_j - thr), alpha_y = -sum of the others <= c; the threshold follows from sorting a.
    `runner_up` moves y and its strongest rival only; it is the formula of the paper and equals `exact` for K = 2 and
    wherever that rival stays the strongest.

    Parameters
    ----------
    classes : int, optional
        Number of classes; None lets the scores grow with the labels.

    References
    ----------
    Cheng, Vishwanathan, Schuurmans, Wang, Caelli. Implicit Online Learning with Kernels. NIPS 2006 (`runner_up`).

    Examples
    --------
    >>> import numpy as np
    >>> MulticlassHinge().grad(0, np.array([0.5, 0.0, 0.2]))
    array([-1.,  0.,  1.])
    >>> MulticlassHinge().implicit(0, np.zeros(3), s=1.0, c=10.0).round(3)
    array([ 0.667, -0.333, -0.333])
    """

    name: ClassVar[str] = "multiclass_hinge"

    def __init__(self, classes: int | None = None) -> None:
        self.classes = None if classes is None else at_least("classes", classes, 2)
        self._form = CompiledLoss(self.name)

    def _rivals(self, y: Labels, p: Array) -> Array:
        """Return D[y,j] + p_j, and -inf at j = y."""
        D = self.label_margins
        R = (1.0 if D is None else D[y]) + p
        R[np.arange(len(p)), y] = -np.inf
        return R

    def _value(self, y: Labels, p: Array) -> Array:
        value: Array = np.maximum(0.0, self._rivals(y, p).max(axis=1) - p[np.arange(len(p)), y])
        return value

    def _grad(self, y: Labels, p: Array) -> Array:
        rows = np.flatnonzero(self._value(y, p) > 0)
        g = np.zeros_like(p)
        g[rows, self._rivals(y, p)[rows].argmax(axis=1)] = 1.0
        g[rows, y[rows]] = -1.0
        return g

    def _second(self, y: Labels, p: Array) -> Array:
        return np.zeros((*p.shape, p.shape[1]))

    def _exact(self, y: Labels, p: Array, s: Array, c: Array) -> Array:
        # In distances from the strongest rival, e = max(a) - a: a c that is lost in the rounding of a still counts.
        rows = np.arange(len(p))
        R = self._rivals(y, p)
        best = R.max(axis=1, keepdims=True)
        top = (best - p[rows, y][:, None]) / s
        e = (best - R) / s
        ranked = np.sort(e, axis=1)[:, :-1]  # the last is y itself, at infinity
        sums = np.cumsum(ranked, axis=1)
        n = np.arange(1, p.shape[1])
        thr = _threshold(ranked, (top + sums) / (n + 1))
        capped = _threshold(ranked, (c + sums) / n)
        nu = np.maximum(0.0, np.where(top - thr > c, capped, thr) - e)
        nu[top[:, 0] <= 0] = 0.0
        alpha = 0.0 - nu
        alpha[rows, y] = np.minimum(nu.sum(axis=1), c[:, 0])
        return alpha

    def _runner_up(self, y: Labels, p: Array, s: Array, c: Array, scores: Array) -> Array:
        rows = np.arange(len(p))
        rival = self._rivals(y, scores).argmax(axis=1)
        M = self.label_similarity
        both = np.full(len(p), 2.0) if M is None else M[y, y] + M[rival, rival] - 2.0 * M[y, rival]
        room = s[:, 0] * both
        v = (self._rivals(y, p)[rows, rival] - p[rows, y]) / np.where(room > 0, room, 1.0)
        v = np.where(room > 0, np.clip(v, 0.0, c[:, 0]), 0.0)
        alpha = np.zeros_like(p)
        alpha[rows, rival] = 0.0 - v
        alpha[rows, y] = v
        return alpha


class StructuredHinge(MulticlassHinge):
    """max(0, max_{j != y} (D[y,j] + p_j) - p_y): mistakes of different weight between related labels.

    With a similarity M between labels the joint kernel is k(x, x') M[y, y']: coefficients alpha (K,) of a point move
    the scores by k(x, x') M alpha. The implicit step is then `runner_up`, with s (M[y,y] + M[y*,y*] - 2 M[y,y*]) in
    place of 2 s; a rival that the kernel cannot tell from y (that number is <= 0) leaves the round without a step.
    `exact` needs M = I.

    Parameters
    ----------
    margins : (K, K) array
        D[y, j] >= 0, the lead over label j that the true label y should have; zero diagonal.
    similarity : (K, K) array, optional
        M, symmetric and positive semi-definite; None: the identity.

    References
    ----------
    Cheng, Vishwanathan, Schuurmans, Wang, Caelli. Implicit Online Learning with Kernels. NIPS 2006 (`runner_up`).

    Examples
    --------
    >>> import numpy as np
    >>> ordinal = StructuredHinge(np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0))))
    >>> ordinal.classes, ordinal.value(0, np.zeros(3))
    (3, 2.0)
    """

    name: ClassVar[str] = "structured_hinge"

    def __init__(self, margins: Any, similarity: Any = None) -> None:
        D = _square("margins", margins)
        if bool((D < 0).any()) or bool(np.diagonal(D).any()):
            raise ValueError("margins must be at least 0, with a zero diagonal: a label needs no lead over itself")
        M = None if similarity is None else _similarity(similarity, len(D))
        self.margins = margins
        self.similarity = similarity
        self.classes = len(D)
        self._margins = D
        self._similarity = None if M is None or np.array_equal(M, np.eye(len(D))) else M
        self._form = CompiledLoss(self.name, margins=D, similarity=self._similarity)

    @property
    def label_margins(self) -> Array:
        return self._margins

    @property
    def label_similarity(self) -> Array | None:
        return self._similarity

    def check_rule(self, rule: str) -> None:
        if rule == "exact" and self._similarity is not None:
            raise ValueError(
                "rule 'exact' of structured_hinge needs the identity as label similarity; use rule 'runner_up'"
            )


def _threshold(ranked: Array, candidates: Array) -> Array:
    """Return the candidate (rows, 1) of the largest n whose n-th distance is below it. The first always is."""
    below = ranked < candidates
    last = np.maximum(below.sum(axis=1) - 1, 0)  # below is a prefix of ones: the rule is monotone in n
    return candidates[np.arange(len(ranked)), last][:, None]


def _square(name: str, table: Any) -> Array:
    T = np.ascontiguousarray(table, dtype=np.float64)
    if T.ndim != 2 or T.shape[0] != T.shape[1] or len(T) < 2:
        raise ValueError(f"{name} must be a (K, K) table of K >= 2 labels, got shape {T.shape}")
    if not np.isfinite(T).all():
        raise ValueError(f"{name} must be finite")
    return T.copy()


def _similarity(table: Any, K: int) -> Array:
    M = _square("similarity", table)
    if len(M) != K:
        raise ValueError(f"similarity is {M.shape}, but margins has {K} labels; give both one row per label")
    if not np.allclose(M, M.T, rtol=1e-12, atol=0.0):
        raise ValueError("similarity must be symmetric: it is a kernel between labels")
    if float(np.linalg.eigvalsh(M)[0]) < -1e-10 * max(1.0, float(np.abs(M).max())):
        raise ValueError("similarity must be positive semi-definite: it is a kernel between labels")
    return M
