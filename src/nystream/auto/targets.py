"""The scale of real labels: standardised targets, outlier bounds, and the range of the labels so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.stack import all_inside, entered, lagged
from nystream.auto.stack import Frame
from nystream.runtime.params import Params
from nystream.runtime.types import Array
from nystream.scaling.spread import fences, moments

__all__ = ["Targets", "within"]

FAR = 1e75
"""Targets beyond this, or below one over it, have squares, or squares of ratios, that are no numbers."""

OUTSIDE, SHIFTED = 0.05, 0.25
"""Rate of the running share of labels beyond the fences, and the share from which on they are no accident."""
NOTHING = 100.0
"""A label so many times as far from the middle between the fences as they are tells nothing: the middle is told."""
LOST = 10.0
"""A scale that falls by more than this factor was that of an accident."""
USUAL = {"trimmed": 0.1, "reach": 1.0}
"""Fences of the usual range: one range from tenth to tenth to both sides."""
AROUND = 0.5
"""Predictions may lie outside the range of the labels so far by this part of it."""


class Targets(Params):
    """Standardises K real targets: T = (y - shift) / scale, with y moved within outlier bounds.

    A label so far out that it can only be an accident would, squared, outweigh all others: what the learner is told
    instead is the fence, see `scaling.spread.fences`, computed from the rows so far at every rebuild and from the
    last rows at every refresh. One a hundred times as far out as a fence does not even tell on which side it would have
    been: in its place the middle between the fences is told. Where labels beyond the fences are no longer rare, one in
    four or so of the last twenty, the level has changed: they pass as they are until the next refresh has moved them.
    Of labels without wild values nothing changes. All of it depends on labels and row counts alone, not on how blocks
    are cut.
    """

    shift_: Array
    scale_: Array
    known_: NDArray[np.bool_]
    """(K,) whether the scale comes from labels that differ."""
    low_: Array
    """(K,) the least label so far, fenced; inf before the first."""
    high_: Array
    fences_: Array
    """(2, K)"""
    usual_: Array
    """(2, K) fences close by, for `Tails`."""
    outside_: Array
    """(1, K) running share of labels beyond the fences."""

    def __init__(self, outputs: int) -> None:
        self.outputs = outputs

    def start(self) -> None:
        K = self.outputs
        self.shift_, self.scale_ = np.zeros(K), np.ones(K)
        self.known_ = np.zeros(K, dtype=bool)
        self.low_, self.high_ = np.full(K, np.inf), np.full(K, -np.inf)
        self.fences_ = np.array([[-np.inf], [np.inf]]) * np.ones(K)
        self.usual_ = self.fences_.copy()
        self.outside_ = np.zeros((1, K))

    def standardised(self, Y: Array) -> Array:
        return (Y - self.shift_) / self.scale_

    def fenced(self, Y: Array) -> Array:
        """Move past labels (n, K) within the outlier bounds."""
        return np.clip(Y, self.fences_[0], self.fences_[1])

    def tamed(self, Y: Array) -> Array:
        """Do the same, but put labels without information in the middle of the bounds."""
        low, high = np.where(np.isfinite(self.fences_), self.fences_, 0.0)
        middle, reach = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
        nothing = (np.abs(Y - middle) > NOTHING * reach) & (reach > 0.0)
        return np.where(nothing, middle, self.fenced(Y))

    def admitted(self, Y: Array) -> Array:
        """Move the next labels (n, K), in order, within the bounds, and count them."""
        if all_inside(Y, self.fences_, self.outside_):
            return Y
        outside = (self.fences_[0] > Y) | (self.fences_[1] < Y)
        before = lagged(outside.astype(np.float64), self.outside_, np.array([OUTSIDE]))[:, 0]
        return np.where(before < SHIFTED, self.tamed(Y), Y)

    def entered(self, Y: Array) -> tuple[Array, Frame]:
        """Standardise the next, admitted labels. Return them and the range before each of them, and extend the
        range.
        """
        T, low, high = entered(Y, self.low_, self.high_, self.shift_, self.scale_, AROUND)
        return T, Frame(low, high, self.shift_, self.scale_)

    def frame(self) -> Frame:
        """Return the range before the next label: predictions lie within the range of the labels so far and half of
        it to both sides, (1, K), standardised; 0 before the first.
        """
        shift, scale = self.shift_, self.scale_
        _, low, high = entered(shift[None], self.low_.copy(), self.high_.copy(), shift, scale, AROUND)
        return Frame(low, high, shift, scale)

    def locate(self, Y: Array, w: Array | None) -> tuple[Array, NDArray[np.intp]]:
        """Compute bounds, scale and range from all labels so far.

        Returns how many times larger targets are now, (K,), and for which of them what had been taken for the scale
        was an accident.
        """
        self.enclose(Y, w)
        Y, before, known = self.tamed(Y), self.scale_, self.known_
        self.shift_, self.scale_ = moments(Y, w)
        self.known_ = self.scale_ > 0.0
        self.scale_[~self.known_] = 1.0
        self.low_, self.high_ = Y.min(axis=0), Y.max(axis=0)
        factor = before / self.scale_
        return factor, np.flatnonzero(known & (factor > LOST))

    def enclose(self, Y: Array, w: Array | None) -> None:
        """Compute the bounds and the usual range from these labels."""
        self.fences_, self.usual_ = fences(Y, w), fences(Y, w, **USUAL)
        self.outside_[:] = 0.0

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in self._state().values())


def within(Y: Array) -> Array:
    """Clip targets beyond FAR to FAR, and set those below 1/FAR to 0."""
    if Y.size == 1 and 1 / FAR <= abs(Y.item()) <= FAR:  # the common round
        return Y
    return np.where(np.abs(Y) < 1 / FAR, 0.0, np.clip(Y, -FAR, FAR))
