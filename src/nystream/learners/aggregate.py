"""Aggregate: many regression learners as one that is nearly as good as the best of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from nystream._core.mixing import mix
from nystream.learners.base import Learner
from nystream.learners.panel import Panel
from nystream.params import one_of, positive
from nystream.types import Array

__all__ = ["Aggregate"]

BLOCK = 256
"""Rows that the learners get at a time: their predictions, and kernel values that they share, are held meanwhile."""
SLACK = {"aa": 2.0, "ewa": 8.0}
"""Regret is at most SLACK B^2 ln N, with eta = 1 / (SLACK B^2)."""


class Aggregate(Learner):
    """Combines learners, e.g. one for each of several ridges or kernel widths, so that none has to be chosen.

    Learner i has the prior weight w_i and predicts q_i, clipped to [-B, B]; its weight falls with its losses::

        W_i = log w_i - eta sum (q_i - y)^2
        "ewa":  p = sum softmax(W)_i q_i,                                                   eta = 1 / (8 B^2)
        "aa":   p = (G(-B) - G(B)) / 4B,  G(y) = -1/eta log sum softmax(W)_i exp(-eta (y - q_i)^2),
                                                                                            eta = 1 / (2 B^2)

    Guarantee for labels in [-B, B]: the total squared loss exceeds that of learner i by at most 2 B^2 ln(1/w_i) with
    the aggregating algorithm ("aa") and 8 B^2 ln(1/w_i) with the exponentially weighted average ("ewa"), whatever the
    learners do; `regret` and `regret_bound` are live. The first has the better worst case; on a given stream either can
    win. Cost: that of the learners; feature maps and kernels that several of them have are evaluated once. Each of
    several outputs has weights of its own.

    Parameters
    ----------
    learners : list of Learner
        The patterns, all of regression; they are cloned, never trained themselves. May hold an `Aggregate`.
    bound : float
        B, a bound on |y|. A label beyond it is learnt all the same, but voids the guarantee (a warning says so once).
    rule : "aa" or "ewa"
    prior : sequence of float, optional
        Positive weights of the learners before the first round; None: all alike.

    Deviations from the papers: none.

    References
    ----------
    Vovk. Competitive on-line statistics. International Statistical Review 69, 2001 (aggregating algorithm).
    Cesa-Bianchi, Lugosi. Prediction, Learning, and Games. Cambridge 2006, chapter 3 (exponentially weighted average).

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(500, seed=0)
    >>> features = nystream.Taylor(nystream.Gaussian(0.5), degree=6)
    >>> grid = [nystream.PKAWV(features, lam=10.0**k) for k in range(-3, 3)]
    >>> model = nystream.Aggregate(grid, bound=1.5)
    >>> p = model.run(X, y)
    >>> losses = [((learner.run(X, y) - y) ** 2).sum() for learner in grid]
    >>> bool(((p - y) ** 2).sum() < min(losses) + model.regret_bound())
    True
    """

    multi_output: ClassVar[bool] = True  # a learner that is not will be named at the start

    experts_: list[Learner]
    regrets_: Array
    largest_: float
    _panel: Panel

    def __init__(
        self, learners: Sequence[Learner], *, bound: float, rule: str = "aa", prior: ArrayLike | None = None
    ) -> None:
        self.learners = learners
        self.bound = positive("bound", bound)
        self.rule = one_of("rule", rule, tuple(SLACK))
        self.prior = prior
        _check(learners)
        self._log_prior = _logarithms(prior, len(learners))

    @property
    def experts(self) -> list[Learner]:
        """The learners as trained so far, in the order of `learners`; empty before the first example."""
        return self.experts_ if self.d_ else []

    def weights(self) -> Array:
        """What the next prediction gives to the learners, summing to 1: (N,), or (N, K) for K > 1 outputs."""
        w: Array = softmax(self._log_prior + self._eta * self._regrets, axis=1)
        return w[0] if len(w) == 1 else w.T

    def regret(self) -> float:
        """Total squared loss minus that of the best learner (for several outputs: the best for each)."""
        return float(self._regrets.max(axis=1).sum())

    def regret_bound(self) -> float:
        """What `regret` cannot exceed: 2 or 8 B^2 ln(1/w) for the prior weight w of the best learner. O(N).

        Infinite once a label was beyond `bound`.
        """
        if self.d_ and self.largest_ > self.bound:
            return math.inf
        return float(-self._log_prior[self._regrets.argmax(axis=1)].sum() / self._eta)

    def _start(self, d: int, outputs: int) -> None:
        experts = [learner.clone() for learner in self.learners]
        for i, expert in enumerate(experts):
            if outputs > 1 and not expert.multi_output:
                kind = type(expert).__name__
                raise ValueError(f"y has {outputs} columns, but learners[{i}], a {kind}, has one output")
            expert.reserve(d, outputs)
        self.experts_, self._panel = experts, Panel(experts)
        self.regrets_ = np.zeros((outputs, len(experts)))
        self.largest_ = 0.0

    def _predict(self, X: Array) -> Array:
        P = np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            P[i : i + BLOCK] = self._mix(self._panel.predict(X[i : i + BLOCK]))
        return P

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        self._admit(1, float(np.abs(y).max()))
        return self._mix(self._panel.step(x, y), y[None])[0]

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        self._admit(len(X), float(np.abs(Y).max()))
        P = np.empty_like(Y)
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            P[part] = self._mix(self._panel.run(X[part], Y[part]), Y[part])
        return P

    def _mix(self, Q: Array, Y: Array | None = None) -> Array:
        return mix(Q, self._log_prior, self.regrets_, self.bound, self._eta, self.rule == "aa", Y)

    def _admit(self, rows: int, largest: float) -> None:
        """Refuse what a learner would refuse, before any of them has learnt; warn at the first label beyond `bound`."""
        self._check_room(rows)
        if largest > self.bound >= self.largest_:
            warnings.warn(
                f"a label is outside [-bound, bound] with bound={self.bound!r}: learning goes on, but the regret "
                "guarantee is void; set bound to a bound on |y|",
                UserWarning,
                stacklevel=4,
            )
        self.largest_ = max(self.largest_, largest)

    def _check_room(self, rows: int) -> None:
        for i, expert in enumerate(self.experts_):
            if isinstance(expert, Aggregate):
                expert._check_room(rows)
            limit = getattr(expert, "max_points", None)
            if limit is not None and expert.size + rows > limit:
                raise ValueError(
                    f"learners[{i}], a {type(expert).__name__}, has room for {limit - expert.size} more points "
                    f"(max_points={limit}), not for {rows}"
                )

    def _widen(self, d: int) -> None:
        for expert in self.experts_:
            expert.widen(d)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "experts_" in state:
            self._panel = Panel(self.experts_)

    @property
    def _regrets(self) -> Array:
        return self.regrets_ if self.d_ else np.zeros((1, len(self.learners)))

    @property
    def _eta(self) -> float:
        return 1 / (SLACK[self.rule] * self.bound**2)

    @property
    def size(self) -> int:
        """Stored points or features, of all learners together."""
        return sum(expert.size for expert in self.experts)

    @property
    def nbytes(self) -> int:
        return self.regrets_.nbytes + sum(expert.nbytes for expert in self.experts) if self.d_ else 0


def _check(learners: Sequence[Learner]) -> None:
    if not isinstance(learners, (list, tuple)) or not learners:
        raise ValueError(f"learners must be a list of at least one learner, got {learners!r}")
    for i, learner in enumerate(learners):
        if not isinstance(learner, Learner):
            raise ValueError(f"learners[{i}] must be a learner such as PKAWV, got {learner!r}")
        if learner.labels != "real":
            raise ValueError(
                f"learners[{i}], {learner!r}, learns labels of kind {learner.labels!r}; Aggregate is for regression: "
                "give it a regression loss"
            )


def _logarithms(prior: ArrayLike | None, n: int) -> Array:
    """(n,) logarithms of weights that sum to 1."""
    if prior is None:
        return np.full(n, -math.log(n))
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (n,) or not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(f"prior must be {n} positive numbers, one for each learner, got {prior!r}")
    return np.log(weights / weights.sum())
