"""Outputs of experts become one prediction: label lags, stackers, plain aggregation, and the mixture of them all."""

from __future__ import annotations

import numpy as np

from nystream._core.fixed_share import fixed_share
from nystream._core.lags import lagged
from nystream.params import Params
from nystream.solvers.stacker import RidgeStacker, SoftmaxStacker
from nystream.types import Array

__all__ = ["Stack"]

RATES = (1.0, 0.1, 0.01)
"""Of the label lags: the last label and two running means."""
RECENT = 0.002
"""Rate of the running means of losses that `explain` shows."""
SHARE = 0.001
"""Of both mixtures: about one change in a thousand rows."""
ETA_SQUARED, ETA_LOG = 0.5, 1.0
"""Learning rates for the squared loss of standardised targets (a practical choice) and for the log loss (exact)."""
LEAST = 1e-12
"""No probability falls below this."""


class Stack(Params):
    """E experts' outputs F (n, E, C) -> predictions (n, K).

    Regression: C = K standardised targets. Classes: scores of the code +1 against -1, C = 1 for two classes, else K;
    predictions are probabilities. Members of the final mixture are the stackers and, last, the aggregation.

    Parameters
    ----------
    classes : bool
        Whether labels are classes.
    lags : bool
        Whether the last label and its running means are stack inputs too.
    """

    stacker_: RidgeStacker | SoftmaxStacker
    lags_: Array
    """(3, C) the last target and its running means; nan before the first."""
    expert_shares_: Array
    """(G, E) weights of the aggregation; G = 1 for classes, else K."""
    member_shares_: Array
    """(G, S + 1) weights of the mixture."""
    recent_: Array
    """(1, E) running means of the experts' squared losses, nan before the first row."""

    def __init__(self, classes: bool, lags: bool) -> None:
        self.classes = classes
        self.lags = lags

    def start(self, experts: int, outputs: int) -> None:
        self.outputs_ = outputs
        self.stacker_ = SoftmaxStacker() if self.classes else RidgeStacker()
        self.stacker_.start(experts + len(RATES) * self.lags, outputs)
        groups = 1 if self.classes else outputs
        members = len(self.stacker_.members) + 1
        self.expert_shares_ = np.full((groups, experts), 1 / experts)
        self.member_shares_ = np.full((groups, members), 1 / members)
        self.lags_ = np.full((len(RATES), self._columns), np.nan)
        self.recent_ = np.full((1, experts), np.nan)

    @property
    def _columns(self) -> int:
        return 1 if self.classes and self.outputs_ == 2 else self.outputs_

    def predict(self, F: Array, shift: Array, scale: Array) -> Array:
        """Pure. Lags are kept in the units of the labels; (label - shift) / scale are the standardised ones."""
        lags = np.broadcast_to(self.lags_, (len(F), *self.lags_.shape))
        stacked = self.stacker_.predict(self._inputs(F, lags, shift, scale))
        members = self._members(F, stacked, self.expert_shares_[None])
        return self._mixed(members, self.member_shares_[None])

    def run(self, F: Array, T: Array, labels: Array, w: Array | None, shift: Array, scale: Array) -> Array:
        """Targets T (n, C), standardised or codes, and for classes their numbers `labels` (n,)."""
        inputs = self._inputs(F, self._past(T * scale + shift), shift, scale)
        stacked = self.stacker_.run(inputs, labels if self.classes else T, w)
        misses = (F - T[:, None, :]) ** 2
        losses = misses.mean(axis=2)[:, None] if self.classes else misses.transpose(0, 2, 1)
        lagged(losses.mean(axis=1), self.recent_, np.array([RECENT]))
        shares = fixed_share(_weighted(losses, w), self.expert_shares_, ETA_SQUARED, SHARE)
        members = self._members(F, stacked, shares)
        if self.classes:
            right = members[np.arange(len(F)), :, labels.astype(np.intp)]
            losses, eta = -np.log(right)[:, None], ETA_LOG
        else:
            losses, eta = ((members - T[:, None, :]) ** 2).transpose(0, 2, 1), ETA_SQUARED
        return self._mixed(members, fixed_share(_weighted(losses, w), self.member_shares_, eta, SHARE))

    def grow(self, outputs: int) -> None:
        """More classes: every label so far had the code -1 in the new columns."""
        known = np.hstack([-self.lags_, self.lags_]) if self.outputs_ == 2 else self.lags_
        new = np.where(np.isnan(known[:, :1]), np.nan, -1.0)
        self.lags_ = np.hstack([known, np.repeat(new, outputs - self.outputs_, axis=1)])
        assert isinstance(self.stacker_, SoftmaxStacker)
        self.stacker_.grow(outputs)
        self.outputs_ = outputs

    def rescale(self, factor: Array) -> None:
        """Standardised targets are from now on so many times larger, (K,)."""
        assert isinstance(self.stacker_, RidgeStacker)
        self.stacker_.rescale(factor)

    def weights(self) -> Array:
        """(inputs, G) what the stack inputs count for in the next prediction, the members weighed by the mixture."""
        E = self.expert_shares_.shape[1]
        inner = self.stacker_.weights_
        own = inner[:, None, : E + len(RATES) * self.lags] if inner.ndim == 2 else inner  # (S, G, inputs)
        total = np.einsum("gs,sgi->ig", self.member_shares_[:, :-1], own)
        total[:E] += (self.member_shares_[:, -1:] * self.expert_shares_).T
        return total

    @property
    def nbytes(self) -> int:
        return self.stacker_.nbytes + self.lags_.nbytes + self.expert_shares_.nbytes + self.member_shares_.nbytes

    def _inputs(self, F: Array, lags: Array, shift: Array, scale: Array) -> Array:
        if not self.lags:
            return F
        known = np.nan_to_num((lags - shift) / scale, nan=0.0)
        return np.concatenate([F, known], axis=1)

    def _past(self, T: Array) -> Array:
        """(n, 3, C) the lags that held before each of these rows; and bring them up to date."""
        if not self.lags:
            return np.empty((len(T), *self.lags_.shape))
        return lagged(np.ascontiguousarray(T), self.lags_, np.array(RATES))

    def _members(self, F: Array, stacked: Array, shares: Array) -> Array:
        """(n, S + 1, K) predictions of the stackers and, last, of the aggregation with weights (n or 1, G, E)."""
        if not self.classes:
            mean = np.einsum("nek,nke->nk", F, np.broadcast_to(shares, (len(F), *shares.shape[1:])))
            return np.concatenate([stacked, mean[:, None]], axis=1)
        mean = np.einsum("nec,ne->nc", F, np.broadcast_to(shares[:, 0], F.shape[:2]))
        Q = np.clip((mean + 1) / 2, 0.01, 0.99)
        if self.outputs_ == 2:
            Q = np.hstack([1 - Q, Q])
        Q /= Q.sum(axis=1, keepdims=True)
        return np.maximum(np.concatenate([stacked, Q[:, None]], axis=1), LEAST)

    def _mixed(self, members: Array, shares: Array) -> Array:
        """Members (n, S + 1, K) by weights (n or 1, G, S + 1)."""
        if self.classes:
            P: Array = np.einsum("nsk,ns->nk", members, np.broadcast_to(shares[:, 0], members.shape[:2]))
            return P / P.sum(axis=1, keepdims=True)
        return np.einsum("nsk,nks->nk", members, np.broadcast_to(shares, (len(members), *shares.shape[1:])))


def _weighted(losses: Array, w: Array | None) -> Array:
    return np.ascontiguousarray(losses if w is None else losses * w[:, None, None])
