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
"""Sizes of targets are kept between 1 / FAR and FAR, because squares of targets and of their ratios must be finite."""

OUTSIDE, SHIFTED = 0.05, 0.25
"""Rate of the running share of labels outside the outlier bounds, and the share at which the level has changed."""
NOTHING = 100.0
"""A label so many times as far from the middle of the bounds as the bounds are is replaced by the middle."""
LOST = 10.0
"""If the scale falls by more than this factor, the old one came from an outlier."""
USUAL = {"trimmed": 0.1, "reach": 1.0}
"""Bounds of the usual range: the range between the outer tenths of the labels, extended by its width on both sides."""
AROUND = 0.5
"""Predictions may lie outside the range of the labels so far by this part of its width."""


class Targets(Params):
    """Standardises K real targets: T = (y - shift) / scale, with y moved within outlier bounds.

    With squared loss, a label far beyond all others outweighs them. So the learner gets the outlier bound in place of a
    label outside the bounds. The bounds (`scaling.spread.fences`) are computed from all rows at every full refit, and
    from the last rows at every partial refit. A label a hundred times as far out as a bound says nothing, not even on
    which side it should have been: it is replaced by the middle of the bounds. If about a quarter of the last twenty
    labels lie outside, the level has changed: labels are learnt as they are until the next refit moves the bounds.
    Labels inside the bounds are never changed. Everything depends on labels and row counts alone, not on how blocks are
    cut.
    """

    shift_: Array
    scale_: Array
    known_: NDArray[np.bool_]
    """(K,) whether the scale comes from labels that differ."""
    low_: Array
    """(K,) smallest label so far, within the bounds; inf before the first."""
    high_: Array
    fences_: Array
    """(2, K) outlier bounds."""
    usual_: Array
    """(2, K) usual range of the labels, for `LabelFilter`."""
    outside_: Array
    """(1, K) running share of labels outside the bounds."""

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
        """Do the same, but replace labels that say nothing by the middle of the bounds."""
        low, high = np.where(np.isfinite(self.fences_), self.fences_, 0.0)
        middle, reach = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
        nothing = (np.abs(Y - middle) > NOTHING * reach) & (reach > 0.0)
        return np.where(nothing, middle, self.fenced(Y))

    def admitted(self, Y: Array) -> Array:
        """Move the next labels (n, K), in order, within the bounds, and update the share of labels outside."""
        if all_inside(Y, self.fences_, self.outside_):
            return Y
        outside = (self.fences_[0] > Y) | (self.fences_[1] < Y)
        before = lagged(outside.astype(np.float64), self.outside_, np.array([OUTSIDE]))[:, 0]
        return np.where(before < SHIFTED, self.tamed(Y), Y)

    def entered(self, Y: Array) -> tuple[Array, Frame]:
        """Standardise the next admitted labels, and extend the range by them. Return them and the range before each."""
        T, low, high = entered(Y, self.low_, self.high_, self.shift_, self.scale_, AROUND)
        return T, Frame(low, high, self.shift_, self.scale_)

    def frame(self) -> Frame:
        """Return the standardised range (1, K) of the next prediction: that of the labels so far, extended by half of
        its width on both sides; 0 before the first label.
        """
        shift, scale = self.shift_, self.scale_
        _, low, high = entered(shift[None], self.low_.copy(), self.high_.copy(), shift, scale, AROUND)
        return Frame(low, high, shift, scale)

    def locate(self, Y: Array, w: Array | None) -> tuple[Array, NDArray[np.intp]]:
        """Compute bounds, scale and range from all labels so far.

        Return how many times as large standardised targets are now, (K,), and the targets whose old scale came from an
        outlier.
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
    """Clip targets beyond FAR to FAR, and set those closer to 0 than 1 / FAR to 0."""
    if Y.size == 1 and 1 / FAR <= abs(Y.item()) <= FAR:  # the common round
        return Y
    return np.where(np.abs(Y) < 1 / FAR, 0.0, np.clip(Y, -FAR, FAR))
