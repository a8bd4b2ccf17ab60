"""Outputs of experts become one prediction: label lags, stackers, plain aggregation, and the mixture of them all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.lags import lagged
from nystream._core.auto.members import mix_classes, mix_targets
from nystream.auto.repeats import Repeats
from nystream.params import Params
from nystream.solvers.stacker import RidgeStacker, SoftmaxStacker
from nystream.types import Array

__all__ = ["Stack"]

RATES = (1.0, 0.1, 0.01)
"""Of the label lags: the last label and two running means."""
PACES = np.array(RATES)
LAGS = len(RATES) + 1
"""With the label before the last: where labels swing, both tell which way."""
RECENT = 0.002
"""Rate of the running means of losses that `explain` shows."""
SHARE = 0.001
"""Of both mixtures: about one change in a thousand rows."""
ETA_SQUARED = 0.5
"""Learning rate for the squared loss of standardised targets, a practical choice; that of the log loss is 1, exact."""


class Stack(Params):
    """E experts' outputs F (n, E, C), and what others say (n, M, C) -> predictions (n, K).

    Regression: C = K standardised targets. Classes: scores of the code +1 against -1, C = 1 for two classes, else K;
    predictions are probabilities. Members of the final mixture are the stackers, with lags the last label as it is
    (`Repeats` for classes), and, last, the aggregation. What others say is heard by the stackers alone: the aggregation
    weighs codes.

    Parameters
    ----------
    classes : bool
        Whether labels are classes.
    lags : bool
        Whether the last two labels and running means of all are stack inputs too.
    """

    stacker_: RidgeStacker | SoftmaxStacker
    lags_: Array
    """(4, C) the last target, running means and the target before the last; nan before the first. (3, C) in models of
    before: without the one before the last."""
    expert_shares_: Array
    """(G, E) weights of the aggregation; G = 1 for classes, else K."""
    member_shares_: Array
    """(G, S + 1) weights of the mixture, or S + 2 with the last label."""
    recent_: Array
    """(1, E) running means of the experts' squared losses, nan before the first row."""
    more_: int = 0
    """M."""
    repeats_: Repeats | None = None
    """Of classes, where the last label is a member."""
    aside_: int = 0
    """The last so many experts do not count in the disagreement of all: they look at labels, not at rows."""

    def __init__(self, classes: bool, lags: bool) -> None:
        self.classes = classes
        self.lags = lags

    def start(self, experts: int, outputs: int, more: int = 0, aside: int = 0) -> None:
        self.outputs_ = outputs
        self.more_, self.aside_ = more, aside
        self.stacker_ = SoftmaxStacker() if self.classes else RidgeStacker()
        self.stacker_.start(experts + more + LAGS * self.lags, outputs)
        groups = 1 if self.classes else outputs
        members = len(self.stacker_.members) + 1 + self.lags
        self.repeats_ = Repeats() if self.lags and self.classes else None
        if self.repeats_ is not None:
            self.repeats_.start(outputs)
        self.expert_shares_ = np.full((groups, experts), 1 / experts)
        self.member_shares_ = np.full((groups, members), 1 / members)
        self.lags_ = np.full((LAGS, self._columns), np.nan)
        self.recent_ = np.full((1, experts), np.nan)

    @property
    def _columns(self) -> int:
        return 1 if self.classes and self.outputs_ == 2 else self.outputs_

    def predict(self, F: Array, answers: Array | None, shift: Array, scale: Array) -> Array:
        """Pure. Lags are kept in the units of the labels; (label - shift) / scale are the standardised ones."""
        lags = np.broadcast_to(self.lags_, (len(F), *self.lags_.shape))
        stacked = self.stacker_.predict(self._inputs(F, answers, lags, shift, scale))
        if self._last_is_member:
            same = (self.lags_[:1] - shift) / scale if self.repeats_ is None else self.repeats_.predict()[None]
            stacked = _with_member(stacked, np.broadcast_to(same, (len(F), same.shape[1])))
        shares = (self.expert_shares_, self.member_shares_, ETA_SQUARED, SHARE)
        return mix_classes(F, stacked, *shares) if self.classes else mix_targets(F, stacked, *shares)[0]

    def run(
        self, F: Array, answers: Array | None, T: Array, labels: Array, w: Array | None, shift: Array, scale: Array
    ) -> tuple[Array, Array | None]:
        """Targets T (n, C), standardised or codes, and for classes their numbers `labels` (n,).

        Returns predictions and, for targets, the experts' disagreement (n, K).
        """
        lags = self._past(T if self.classes else T * scale + shift)
        stacked = self.stacker_.run(self._inputs(F, answers, lags, shift, scale), labels if self.classes else T, w)
        if self._last_is_member:
            same = (lags[:, 0] - shift) / scale if self.repeats_ is None else self.repeats_.run(labels)
            stacked = _with_member(stacked, same)
        shares = (self.expert_shares_, self.member_shares_, ETA_SQUARED, SHARE)
        if self.classes:
            return mix_classes(F, stacked, *shares, T, labels, w, self.recent_, RECENT), None
        P, spread = mix_targets(F, stacked, *shares, T, w, self.recent_, RECENT)
        return P, self.disagreement(F) if self.aside_ else spread

    def disagreement(self, F: Array) -> Array:
        """(n, K) standard deviations over the experts."""
        experts = F.shape[1] - self.aside_
        some = F[:, :experts]
        some = some - some.sum(axis=1, keepdims=True) / experts
        return np.sqrt((some * some).sum(axis=1) / experts)

    @property
    def _last_is_member(self) -> bool:
        return self.member_shares_.shape[1] > len(self.stacker_.members) + 1  # not in models of before

    def remember(self, lags: Array) -> None:
        """Go on with the lags of another; where it was of models of before, the last label is the one before it too."""
        self.lags_ = np.vstack([lags, np.repeat(lags[:1], LAGS - len(lags), axis=0)])

    def grow(self, outputs: int) -> None:
        """More classes: every label so far had the code -1 in the new columns."""
        known = np.hstack([-self.lags_, self.lags_]) if self.outputs_ == 2 else self.lags_
        new = np.where(np.isnan(known[:, :1]), np.nan, -1.0)
        self.lags_ = np.hstack([known, np.repeat(new, outputs - self.outputs_, axis=1)])
        assert isinstance(self.stacker_, SoftmaxStacker)
        self.stacker_.grow(outputs)
        if self.repeats_ is not None:
            self.repeats_.grow(outputs)
        self.outputs_ = outputs

    def rescale(self, factor: Array, lost: NDArray[np.intp]) -> None:
        """Standardised targets are from now on so many times larger, (K,); those of `lost` start anew."""
        assert isinstance(self.stacker_, RidgeStacker)
        self.stacker_.rescale(factor)
        if len(lost):
            self.stacker_.restart(lost)
            self.expert_shares_[lost] = 1 / self.expert_shares_.shape[1]
            self.member_shares_[lost] = 1 / self.member_shares_.shape[1]
            self.lags_[:, lost] = np.nan

    def weights(self) -> Array:
        """(inputs, G) what the stack inputs count for in the next prediction, the members weighed by the mixture."""
        E = self.expert_shares_.shape[1]
        inner = self.stacker_.weights_
        inputs = E + self.more_ + len(self.lags_) * self.lags
        own = inner[:, None, :inputs] if inner.ndim == 2 else inner  # (S, G, inputs)
        total = np.einsum("gs,sgi->ig", self.member_shares_[:, : len(inner)], own)
        if self._last_is_member:
            total[E + self.more_] += self.member_shares_[:, -2]
        total[:E] += (self.member_shares_[:, -1:] * self.expert_shares_).T
        return total

    @staticmethod
    def nbytes_for(experts: int, outputs: int, *, codes: bool = False) -> float:
        """Bytes for so many experts and targets or, with `codes`, classes, moves of the weights included."""
        if codes:
            return 8.0 * (64 * (outputs + 1) + 20 * min(outputs, 64) ** 2)
        return RidgeStacker.nbytes_for(experts + LAGS, outputs)

    @property
    def nbytes(self) -> int:
        return self.stacker_.nbytes + self.lags_.nbytes + self.expert_shares_.nbytes + self.member_shares_.nbytes

    def _inputs(self, F: Array, answers: Array | None, lags: Array, shift: Array, scale: Array) -> Array:
        parts = [F] if answers is None else [F, answers]
        if not self.lags:
            return F if answers is None else np.concatenate(parts, axis=1)
        known = lags if self.classes else (lags - shift) / scale
        if np.isnan(known[0, 0, 0]):
            known = np.nan_to_num(known, nan=0.0)
        return np.concatenate([*parts, known], axis=1)

    def _past(self, T: Array) -> Array:
        """(n, 4, C) the lags that held before each of these rows; and bring them up to date."""
        if not self.lags:
            return np.empty((len(T), *self.lags_.shape))
        return lagged(np.ascontiguousarray(T), self.lags_, PACES)


def _with_member(stacked: Array, same: Array) -> Array:
    """(n, S + 1, K): one more member, which says the same as the last label; 0 before the first."""
    if math.isnan(same.item()) if same.size == 1 else np.isnan(same).any():
        same = np.nan_to_num(same, nan=0.0)
    return np.ascontiguousarray(np.concatenate([stacked, same[:, None]], axis=1))
