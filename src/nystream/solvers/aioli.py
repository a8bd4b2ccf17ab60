"""AIOLI on explicit features: logistic regression that adds the row to be predicted with both labels."""

from __future__ import annotations

import math

import numpy as np

from nystream.runtime.params import one_of, positive
from nystream.runtime.types import Array, Change, LabelKind
from nystream.solvers.awv import AWV
from nystream.solvers.base import Solver

__all__ = ["AIOLI", "CURVATURES", "curvature", "predicted_log_odds"]

CURVATURES = ("published", "sharp")
STEPS = 60
"""Newton steps of `predicted_log_odds`; it needs at most 19 for m and v from 1e-8 to 1e8."""
DONE = 4e-16
"""Relative step size below which Newton stops."""
LEAST_WEIGHT = 1e-100
"""Smallest weight of a row. It keeps the target p + y S(-y p)/w finite for predictions with certainty."""


def curvature(clip: float, kind: str = "published") -> float:
    """Return c with l(a) >= l(b) + l'(b) (a - b) + c/2 l''(b) (a - b)^2 for all |a| <= clip, every b and both labels.

    l is the logistic loss. "published": 1/(1 + clip), of the paper. "sharp": 2 (exp(-clip) + clip - 1)/clip^2, nearly
    twice as large, from |(log l'')'| <= 1.
    """
    if kind == "published":
        return 1 / (1 + clip)
    if clip < 1e-4:
        return 1 - clip / 3  # of the series 1 - clip/3 + clip^2/12 - ..., where the formula cancels
    return 2 * (math.expm1(-clip) + clip) / clip**2


def predicted_log_odds(m: float, v: float) -> float:
    """Return the root p of p + v tanh(p/2) = m, for v >= 0.

    For m >= 0 the left side is concave in p >= 0, and max(m - v, m/(1 + v/2)) is at most the root: Newton steps from
    there never overshoot.
    """
    size = abs(m)
    p = max(size - v, size / (1 + v / 2))
    for _ in range(STEPS):
        h = math.tanh(p / 2)
        step = (size - p - v * h) / (1 + v / 2 * (1 - h * h))
        if not step > DONE * p:
            break
        p += step
    return math.copysign(p, m)


class AIOLI(Solver):
    """Improper online logistic regression: regret O(clip log n) against |w'z_t| <= clip, with no factor exp(clip).

    State: A, which starts as 2 lam I, and b. With S(p) = 1/(1 + exp(-p)), m = z'A^-1 b and v = z'A^-1 z::

        p = the root of p + v tanh(p/2) = m
        w = c S(p) S(-p),      A <- A + w z z',      b <- b + (w p + y S(-y p)) z

    A round is one of weighted least squares with weight w and target p + y S(-y p)/w, so that `AWV` carries the state.
    A row of features 0 is predicted as 0 and changes nothing. O(r^2) time a round and memory for r features; one
    output, labels -1 and +1, predictions are log-odds and are not clipped.

    Parameters
    ----------
    clip : float, default 3.0
        C: bound on |w'z| of the functions to be compared with.
    lam : float, default 1.0
        The ridge is lam |w|^2, and A starts as 2 lam I; the metric of `ONS` starts as lam I.
    curvature : {"published", "sharp"}
        c, see `nystream.solvers.aioli.curvature`.

    References
    ----------
    Jezequel, Gaillard, Rudi. Efficient improper learning for online logistic regression. COLT 2020, arXiv:2003.08109.
    """

    metric_: AWV
    """A and b."""
    excess_: float = 0.0
    """Sum of Z_t, see `bound_terms`."""
    restarts_: int = 0
    dim_: int

    def __init__(self, *, clip: float = 3.0, lam: float = 1.0, curvature: str = "published") -> None:
        self.clip = positive("clip", clip)
        self.lam = positive("lam", lam)
        self.curvature = one_of("curvature", curvature, CURVATURES)

    @property
    def labels(self) -> LabelKind:
        return "sign"

    @property
    def c(self) -> float:
        """The curvature constant."""
        return curvature(self.clip, self.curvature)

    @property
    def weights(self) -> Array:
        """The vector A^-1 b (dim, 1); predictions are not Z @ weights."""
        return self.metric_.weights

    @property
    def matrix(self) -> Array:
        """The matrix A (dim, dim)."""
        return self.metric_.matrix

    def start(self, dim: int, outputs: int) -> None:
        if outputs != 1:
            raise ValueError(f"AIOLI has one output, got {outputs}")
        self.excess_, self.restarts_ = 0.0, 0
        self._reset(dim)

    def _reset(self, dim: int) -> None:
        self.dim_ = dim
        self.metric_ = AWV(2 * self.lam, vovk=False)
        self.metric_.start(max(dim, 1), 1)  # a growing map may have no feature yet

    def predict(self, Z: Array, growth: Array | None = None) -> Array:
        """Return log-odds (n, 1). growth (n,) holds squares of new coordinates of the rows, 0 in A and b."""
        if not self.dim_:
            return np.zeros((len(Z), 1))
        m, v = self.metric_.engine.query(Z)
        if growth is not None:
            v = v + growth / (2 * self.lam)
        pairs = zip(m[:, 0].tolist(), v.tolist(), strict=True)
        return np.array([predicted_log_odds(*pair) for pair in pairs], dtype=np.float64).reshape(-1, 1)

    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array:
        P, engine, c = np.zeros((len(Z), 1)), self.metric_.engine, self.c
        for i in range(len(Z) if self.dim_ else 0):
            m, v = engine.query(Z[i : i + 1])
            s, y = float(v[0]), float(Y[i, 0])
            P[i] = p = predicted_log_odds(float(m[0, 0]), s)
            if not s > 0.0:
                continue
            right, wrong = _sigmoid(y * p), _sigmoid(-y * p)  # S(y p), S(-y p)
            w = max(c * right * wrong, LEAST_WEIGHT)
            engine.step(Z[i], np.array([p + y * wrong / w]), w)
            self.excess_ += 0.5 * s * (right * right / (1 + w * s) - math.tanh(p / 2) ** 2)
        return P

    def rebase(self, change: Change, dim: int) -> None:
        """Follow a map that appends coordinates (0 in every row so far) or restarts."""
        if change.transport is None:
            self.restarts_ += 1
            self._reset(dim)
        elif not self.dim_:
            self._reset(dim)
        else:
            self.metric_.rebase(change, dim)
            self.dim_ = dim

    def log_det(self) -> float:
        """Return log det(A/(2 lam)) since the last restart."""
        return self.metric_.log_det()

    def bound_terms(self, norm2: float) -> tuple[float, float, float]:
        """Return lam norm2 (also per restart), sum Z_t, 0: their sum bounds the regret against |w|^2 <= norm2.

        Z_t = v_t/2 [ S(y_t p_t)^2/(1 + w_t v_t) - tanh(p_t/2)^2 ] <= (1/c) log(det A_t/det A_{t-1}).
        """
        return self.lam * norm2 * (1 + self.restarts_), self.excess_, 0.0

    @property
    def nbytes(self) -> int:
        return self.metric_.nbytes


def _sigmoid(p: float) -> float:
    return 1 / (1 + math.exp(-p)) if p >= 0 else math.exp(p) / (1 + math.exp(p)) if p > -745 else 0.0
