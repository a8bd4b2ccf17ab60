"""Metrics of quantiles and intervals: loss, coverage and width."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.evaluate.metrics.base import Direction, Input, Mean
from nystream.runtime.params import positive
from nystream.runtime.types import Array, LabelKind

__all__ = ["CRPS", "Coverage", "OfIntervals", "OfQuantiles", "Pinball", "Width", "Winkler"]

PARTS = 20
"""The levels of `CRPS` are the middles of so many equal parts of (0, 1): .025, .075, ..., .975."""
DEFAULT = 0.9
"""Coverage of intervals."""


class OfQuantiles(Mean):
    """A mean over rows of one number from a label and quantiles of it, (n, Q), or (n, K, Q) for K targets.

    The evaluation loop asks the learner for them (`predict_quantile`) before each label, row by row. Rows whose
    quantiles are not known yet, nan or infinite, do not count.
    """

    takes: Input = "quantile"
    labels: tuple[LabelKind, ...] = ("real",)

    @property
    def levels(self) -> tuple[float, ...]:
        """The quantiles that are wanted, in the order in which they are given."""
        raise NotImplementedError

    def _terms(self, Y: Any, P: Any) -> Array:
        y, q = np.asarray(Y, dtype=np.float64), np.ascontiguousarray(P, dtype=np.float64)
        y = y[:, None] if y.ndim == 1 else y
        q = q[:, None] if q.ndim == 2 else q
        if q.ndim != 3 or y.ndim != 2 or q.shape != (*y.shape, len(self.levels)):
            told = f"{self.name} takes {len(self.levels)} quantiles for each label, in the last axis"
            raise ValueError(f"{told}: got {np.shape(P)} for labels {np.shape(Y)}")
        known = np.asarray(np.isfinite(q).all(axis=(1, 2)))
        with np.errstate(over="ignore", invalid="ignore"):
            terms = self._of(y, np.where(known[:, None, None], q, 0.0)).mean(axis=1)
        return np.where(known, terms, np.nan)[:, None]

    def _of(self, y: Array, q: Array) -> Array:
        """Return an array (n, K) from labels (n, K) and quantiles (n, K, Q)."""
        raise NotImplementedError

    def _absorb(self, T: Array, w: Array) -> None:
        unknown = np.isnan(T[:, 0])
        super()._absorb(np.where(unknown[:, None], 0.0, T), np.where(unknown, 0.0, w))


class Pinball(OfQuantiles):
    """Mean pinball loss of the quantile at level q: q (y - p) where the label is above it, (1 - q) (p - y) below.

    Parameters
    ----------
    q : float, default 0.5

    Examples
    --------
    >>> Pinball(0.9).update([1.0, 3.0], [[2.0], [2.0]]).value
    0.5
    """

    name = "pinball"

    def __init__(self, q: float = 0.5) -> None:
        self.q = positive("q", q, below=1.0)
        super().__init__()

    @property
    def column(self) -> str:
        return self.name if self.q == 0.5 else f"{self.name}({self.q:g})"

    @property
    def levels(self) -> tuple[float, ...]:
        return (self.q,)

    def _of(self, y: Array, q: Array) -> Array:
        return _pinball(y, q[..., 0], self.q)


class CRPS(OfQuantiles):
    """Continuous ranked probability score of the quantiles, in the labels' units: twice the mean pinball loss.

    The score of a forecast with quantile function Q is the integral over levels u of twice the pinball loss of Q(u);
    here it is the mean at the middles of 20 equal parts, .025, .075, ..., .975. Of a forecast that is one number it
    would be the absolute error.

    References
    ----------
    Gneiting, Raftery. Strictly proper scoring rules, prediction, and estimation. JASA 102, 2007.
    """

    name = "crps"

    @property
    def levels(self) -> tuple[float, ...]:
        return tuple((k + 0.5) / PARTS for k in range(PARTS))

    def _of(self, y: Array, q: Array) -> Array:
        return np.asarray(2 * _pinball(y[..., None], q, np.array(self.levels)).mean(axis=-1))


class OfIntervals(OfQuantiles):
    """A mean over rows of one number from a label and the ends of an interval."""

    def __init__(self, coverage: float = DEFAULT) -> None:
        self.coverage = positive("coverage", coverage, below=1.0)
        super().__init__()

    @property
    def column(self) -> str:
        return self.name if self.coverage == DEFAULT else f"{self.name}({self.coverage:g})"

    @property
    def levels(self) -> tuple[float, ...]:
        return (1 - self.coverage) / 2, (1 + self.coverage) / 2


class Coverage(OfIntervals):
    """Share of the labels inside intervals of the given coverage. Neither lower nor higher is better.

    Parameters
    ----------
    coverage : float, default 0.9

    Examples
    --------
    >>> Coverage().update([1.0, 3.0], [[0.0, 2.0], [0.0, 2.0]]).value
    0.5
    """

    name = "coverage"
    direction: Direction | None = None

    def _of(self, y: Array, q: Array) -> Array:
        return ((q[..., 0] <= y) & (y <= q[..., 1])).astype(np.float64)


class Width(OfIntervals):
    """Mean width of intervals of the given coverage.

    Parameters
    ----------
    coverage : float, default 0.9
    """

    name = "width"

    def _of(self, y: Array, q: Array) -> Array:
        return np.asarray(q[..., 1] - q[..., 0])


class Winkler(OfIntervals):
    """Mean interval score: the width, and 2/(1 - coverage) times how far a label is outside. The right ends are best.

    Parameters
    ----------
    coverage : float, default 0.9

    References
    ----------
    Winkler. A decision-theoretic approach to interval estimation. JASA 67, 1972.
    """

    name = "winkler"

    def _of(self, y: Array, q: Array) -> Array:
        low, high = q[..., 0], q[..., 1]
        outside = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
        return np.asarray(high - low + 2 / (1 - self.coverage) * outside)


def _pinball(y: Array, p: Array, q: Any) -> Array:
    away = y - p
    return np.asarray(np.maximum(q * away, (q - 1) * away))
