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
from nystream.solvers.stacker import ROUNDING, RidgeStacker

__all__ = ["Correction", "Inputs", "Mixture"]

KEEP, RIDGE = 0.998, 1.0
"""Of the line: what a row keeps of its weight per row, and the ridge."""
FIRST_AGE = (100, 10)
"""Shares begin as if so many rows had been mixed, without and with a candidate; with more rows they move less."""
RATE = 0.05
"""Rate of the running means of squared losses."""
EXACT = 1e-12
"""Losses count as at least this part of the labels' variance when likelihoods are compared."""
LEAST = 1e-6
"""Probabilities below this count as this in losses."""


class Correction(RidgeStacker):
    """Least squares with weights that shrink to 0: a correction that is added to a prediction."""

    total: ClassVar[float] = 0.0

    def run(self, F: Array, Y: Array, weights: Array | None = None) -> Array:
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

    - The incumbent and the candidate.
    - For targets a line: a slope times the prediction of the incumbent's experts that never forget, plus a constant.
      Both begin at 0 and are updated at every row. It helps where a sensor is replaced or a sign turns.
    - A `FewRowRidge`.
    - A recalled model, if there is one.

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
        groups, members = (1, 2) if self.classes else (outputs, 3)
        members += self.has_candidate + self.recalled
        self.line_ = None
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
            predictions = _classes_of(inputs, self.few_row_.run(inputs.X, Y, weights))
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
            predictions = _classes_of(inputs, self.few_row_.predict(inputs.X))
        else:
            predictions = together(self._targets_of(inputs), *inputs.old.shape)
        shares = np.broadcast_to(self.shares_, (len(inputs.old), *self.shares_.shape))
        return self._mixed(predictions, shares), (shares * self._of_old).sum(axis=-1)

    def carried(self) -> float:
        """Return the incumbent's part of the next prediction, the mean over targets.

        It is its own share and that of the line.
        """
        return float((self.shares_ * self._of_old).sum(axis=1).mean())

    def part(self) -> None:
        """Go on without the recalled model."""
        self.recalled = False
        self.shares_ = self.shares_[:, :-1] / self.shares_[:, :-1].sum(axis=1, keepdims=True)
        self.powers_ = self.powers_[:, :-1].copy()

    def grow(self, outputs: int) -> None:
        """Add classes."""
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
        if B is not None:
            members += [B]
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
        line = 0 if self.line_ is None else self.line_.nbytes
        return self.few_row_.nbytes + line + 2 * self.shares_.nbytes + 2 * self.shift_.nbytes


@cache
def _parts_of_old(has_candidate: bool, recalled: bool, line: bool) -> Array:
    """Return (M,) which members are the incumbent's: itself and the line."""
    return np.array([1.0, *[0.0] * has_candidate, *[1.0] * line, 0.0, *[0.0] * recalled])


def _classes_of(inputs: Inputs, few_row_ridge: Array) -> Array:
    """Return the members' probabilities (n, M, K)."""
    before = [np.exp(P) for P in (inputs.old, inputs.candidate) if P is not None]
    after = [] if inputs.recalled is None else [np.exp(inputs.recalled)]
    return np.stack([*before, few_row_ridge, *after], axis=1)
