"""The mixture that predicts around a change: incumbent, candidate, and learners that need few rows."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, NamedTuple

import numpy as np

from nystream._core.auto.drift import fading_shares, mix_fading, standardised, together
from nystream._core.auto.stack import moving_rounds
from nystream.auto.drift.few_row_ridge import FewRowRidge
from nystream.runtime.params import Params
from nystream.runtime.types import Array
from nystream.solvers.stacker import ROUNDING, RidgeStacker, SoftmaxStacker

__all__ = ["Correction", "Inputs", "Mixture"]

KEEP, RIDGE = 0.998, 1.0
"""Of the stack: what a row keeps of its weight per row, and the ridge, which draws the stack to the candidate."""
FIRST_AGE = (100, 10)
"""Shares begin as if so many rows had been mixed, without and with a candidate; with more rows they move less."""
RATE = 0.05
"""Rate of the running means of squared losses."""
TINY = 1e-300
EXACT = 1e-12
"""Losses count as at least this part of the labels' variance when likelihoods are compared."""
LEAST = 1e-6
"""Probabilities below this count as this in losses and in the stack."""


class Correction(RidgeStacker):
    """Least squares with weights that shrink to 0: a correction that is added to a prediction."""

    total: ClassVar[float] = 0.0

    def run(self, F: Array, Y: Array, weights: Array | None = None) -> Array:
        if self.block > 1:
            return super().run(F, Y, weights)
        known = (self.weights_, self.gram_, self.sums_, self._decay, self._lam, self.total, ROUNDING)
        return moving_rounds(F, Y, *known, weights)


class Inputs(NamedTuple):
    """The inputs of the mixture for some rows, known before their labels."""

    X: Array
    """(n, D) rows."""
    old: Array
    """(n, K) predictions of the incumbent."""
    core: Array | None
    """(n, K) for targets, predictions of its experts that never forget."""
    candidate: Array | None
    """(n, K) predictions of the candidate, if there is one."""
    recalled: Array | None = None
    """(n, K) predictions of a recalled model, if there is one."""


class Mixture(Params):
    """Mixes several members by their losses.

    - The incumbent, the candidate, and a stack of both, whose weights are updated every 10 rows.
    - For targets a line: a slope times the prediction of the incumbent's experts that never forget, plus a constant.
      Both begin at 0 and are updated at every row. It helps where a sensor is replaced or a sign turns.
    - A `FewRowRidge`.
    - A recalled model, if there is one. It also takes the incumbent's place in the stack.

    Shares follow the members' losses (`nystream._core.auto.drift.fading_shares`): for each target by itself, for all
    classes together. Predictions are those of `Auto`: targets, or logarithms of probabilities.

    Parameters
    ----------
    classes : bool
    rows : int
        Rows that the few-row ridge learns.
    has_candidate : bool, default True
        Whether there is a candidate.
    recalled : bool, default False
        Whether there is a recalled model.
    """

    stack_: Correction | SoftmaxStacker | None
    line_: Correction | None
    few_row_: FewRowRidge
    shares_: Array
    """(G, M) shares of the members, for each target or for all classes together."""
    powers_: Array
    """(G, M) running means of squared losses."""
    shift_: Array
    scale_: Array

    def __init__(self, classes: bool, rows: int, has_candidate: bool = True, recalled: bool = False) -> None:
        self.classes = classes
        self.rows = rows
        self.has_candidate = has_candidate
        self.recalled = recalled

    def start(self, labels: Array, outputs: int, where: Array, usual: Array | None = None) -> None:
        """Begin. The last labels (n, K) give the scale of targets; for classes they are not used. `where`: location of
        the inputs.

        `usual`: (K,) mean squared losses before the change, which running means begin with. With None they begin with
        the first loss. After a change that loss is far above the loss of a right member, so shares would hardly move.
        """
        groups, members = (
            1 if self.classes else outputs,
            2 + 2 * self.has_candidate + (not self.classes) + self.recalled,
        )
        self.stack_ = self.line_ = None
        if self.has_candidate:
            self.stack_ = SoftmaxStacker([(KEEP, RIDGE)]) if self.classes else Correction([(KEEP, RIDGE)])
            self.stack_.start(2, outputs)
        if not self.classes:
            self.line_ = Correction([(KEEP, RIDGE)], block=1)
            self.line_.start(2, outputs)
        self.few_row_ = FewRowRidge(self.classes, self.rows)
        self.few_row_.start(outputs, where)
        self.shares_ = np.full((groups, members), 1 / members)
        self.powers_ = np.full((groups, members), np.nan)
        self.shift_, self.scale_ = np.zeros(outputs), np.ones(outputs)
        if not self.classes:
            self.shift_, deviation = labels.mean(axis=0), labels.std(axis=0)
            self.scale_ = np.where(deviation > 0, deviation, 1.0)
        if usual is not None:
            self.powers_[:] = (usual / self.scale_**2)[:, None]
        self.age_ = FIRST_AGE[self.has_candidate]

    def doubt(self, odds: float) -> None:
        """Set the shares at the beginning of a hedge by the odds of a change alone: the rows so far were selected by
        the incumbent's losses, so they prove nothing about it.
        """
        others = odds / (1 + odds)
        self.shares_[:, 0], self.shares_[:, 1:] = 1 - others, others / (self.shares_.shape[1] - 1)

    def run(self, inputs: Inputs, Y: Array, weights: Array | None) -> tuple[Array, Array]:
        """Return predictions (n, K), each before its label in Y (n, K) or (n, 1), and the incumbent's part (n, G)."""
        if not len(Y):
            return inputs.old, np.empty((0, len(self.shares_)))
        if self.classes:
            labels = np.ascontiguousarray(Y[:, 0])
            members = [np.exp(inputs.old)]
            if inputs.candidate is not None and self.stack_ is not None:
                stacked = self.stack_.run(_scores(_known(inputs), inputs.candidate), labels, weights)[:, 0]
                members += [np.exp(inputs.candidate), stacked]
            members += [self.few_row_.run(inputs.X, Y, weights)]
            predictions = np.stack(members if inputs.recalled is None else [*members, np.exp(inputs.recalled)], axis=1)
            right = np.take_along_axis(predictions, labels.astype(np.intp)[:, None, None], axis=2)
            losses = np.ascontiguousarray(-np.log(np.maximum(right, LEAST)).transpose(0, 2, 1))
            shares = fading_shares(losses, self.shares_, self.powers_, self.age_, 0.0, weights)
            P, carried = self._mixed(predictions, shares), (shares * self._of_old).sum(axis=-1)
        else:
            T = self._standardised(Y)
            assert T is not None
            known = (self.shares_, self.powers_, self.age_, RATE, self.shift_, self.scale_, self._of_old, weights)
            P, carried = mix_fading(self._targets_of(inputs, T, weights), T, *known)
        self.age_ += len(Y)
        return P, carried

    def gains_of_old(self, old: Array, Y: Array, usual: Array | None) -> Array:
        """Return (n,) log likelihoods of the first rows by the incumbent, less those by the few-row ridge.

        old : (n, K) predictions of the incumbent. The ridge predicts each row from the others.
        usual : (K,) mean squared losses of the incumbent before the change.
        """
        missing, variances = self.few_row_.left_out(len(Y))
        if usual is None:
            right = Y.astype(np.intp)
            few_row_ridge = np.take_along_axis(self.few_row_.without(missing, Y[:, 0]), right, axis=1)
            own = np.exp(np.take_along_axis(old, right, axis=1))
            return np.asarray(np.log(np.maximum(own, LEAST) / np.maximum(few_row_ridge, LEAST))[:, 0])
        before = np.maximum(usual / self.scale_**2, EXACT)
        with np.errstate(over="ignore", invalid="ignore"):  # then nothing is clear
            squares = missing**2 / variances[:, None]
            units = np.maximum(squares[len(Y) // 2 :].mean(axis=0), EXACT)
            few_row_ridge = squares / units + np.log(units * variances[:, None])
            own = ((old - Y) / self.scale_) ** 2 / before + np.log(before)
            return np.asarray((few_row_ridge - own).sum(axis=1) / 2)

    def predict(self, inputs: Inputs) -> tuple[Array, Array]:
        """Predict rows whose labels are not known. Pure."""
        if self.classes:
            members = [np.exp(inputs.old)]
            if inputs.candidate is not None and self.stack_ is not None:
                members += [
                    np.exp(inputs.candidate),
                    self.stack_.predict(_scores(_known(inputs), inputs.candidate))[:, 0],
                ]
            members += [self.few_row_.predict(inputs.X)]
            predictions = np.stack(members if inputs.recalled is None else [*members, np.exp(inputs.recalled)], axis=1)
        else:
            predictions = together(self._targets_of(inputs), *inputs.old.shape)
        shares = np.broadcast_to(self.shares_, (len(inputs.old), *self.shares_.shape))
        return self._mixed(predictions, shares), (shares * self._of_old).sum(axis=-1)

    def carried(self) -> float:
        """Return the incumbent's part of the next prediction, the mean over targets.

        It is its own share, that of the line, and a part of the stack's share by the sizes of the stack's weights.
        """
        assert self.stack_ is not None
        weights = self.stack_.weights_[:, :2] if self.classes else self.stack_.weights_[0] + (0.0, 1.0)
        sizes = np.abs(weights)
        part = sizes[:, 0] / np.maximum(sizes.sum(axis=1), TINY)
        shares = self.shares_
        line = 0.0 if self.line_ is None else shares[:, 3]
        stacked = 0.0 if self.recalled else part * shares[:, 2]
        return float((shares[:, 0] + stacked + line).mean())

    def part(self) -> None:
        """Go on without the recalled model."""
        self.recalled = False
        self.shares_ = self.shares_[:, :-1] / self.shares_[:, :-1].sum(axis=1, keepdims=True)
        self.powers_ = self.powers_[:, :-1].copy()

    def grow(self, outputs: int) -> None:
        """Add classes."""
        if isinstance(self.stack_, SoftmaxStacker):
            self.stack_.grow(outputs)
        self.few_row_.grow(outputs)
        self.shift_, self.scale_ = np.zeros(outputs), np.ones(outputs)

    def widen(self, d: int) -> None:
        """Add columns."""
        self.few_row_.widen(d)

    def _targets_of(self, inputs: Inputs, T: Array | None = None, weights: Array | None = None) -> tuple[Array, ...]:
        """Return the members' standardised predictions (n, K). If targets T are given, members then learn them."""
        A, B, C, D = (self._standardised(V) for V in (inputs.old, inputs.candidate, inputs.core, inputs.recalled))
        assert A is not None and C is not None and self.line_ is not None  # noqa: PT018
        members = [A]
        if B is not None and self.stack_ is not None:
            both = together((A if D is None else D, B), *B.shape)
            stacked = self.stack_.predict(both) if T is None else self.stack_.run(both, T - B, weights)
            members += [B, B + stacked[:, 0]]
        lines, X = together((1.0, C), *C.shape), inputs.X
        line = self.line_.predict(lines) if T is None else self.line_.run(lines, T, weights)
        members += [line[:, 0], self.few_row_.predict(X) if T is None else self.few_row_.run(X, T, weights)]
        return tuple(members if D is None else [*members, D])

    def _standardised(self, V: Array | None) -> Array | None:
        return None if V is None else standardised(np.ascontiguousarray(V), self.shift_, self.scale_)

    def _mixed(self, members: Array, shares: Array) -> Array:
        """Return the members (n, M, K) weighted by shares (n, G, M)."""
        if self.classes:
            return np.log((shares[:, 0, :, None] * members).sum(axis=1))
        return (shares.transpose(0, 2, 1) * members).sum(axis=1) * self.scale_ + self.shift_

    @property
    def _of_old(self) -> Array:
        return _parts_of_old(self.has_candidate, self.recalled, self.line_ is not None)

    @property
    def nbytes(self) -> int:
        parts = (self.stack_, self.line_, self.few_row_)
        return sum(part.nbytes for part in parts if part is not None) + 2 * self.shares_.nbytes + 2 * self.shift_.nbytes


@cache
def _parts_of_old(has_candidate: bool, recalled: bool, line: bool) -> Array:
    """Return (M,) which part of each member is the incumbent's: half of the stack and all of the line."""
    stacked = [0.0, 0.0 if recalled else 0.5] if has_candidate else []
    return np.array([1.0, *stacked, *([1.0] if line else []), 0.0, *([0.0] if recalled else [])])


def _known(inputs: Inputs) -> Array:
    """Return the predictions that the candidate is stacked with."""
    return inputs.old if inputs.recalled is None else inputs.recalled


def _scores(old: Array, candidate: Array) -> Array:
    F = 0.5 * np.maximum(np.stack([old, candidate], axis=1), np.log(LEAST))
    return F[..., 1:] - F[..., :1] if F.shape[2] == 2 else F - F.mean(axis=2, keepdims=True)
