"""Experts with a Laplacian kernel and learnt column scales: rough functions, and changes since the last label."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream._core.auto.experts import Asked, AskedChange
from nystream._core.kernels import KernelRows
from nystream.auto.big import Big
from nystream.auto.experts import Expert
from nystream.auto.views import SORTED, View
from nystream.runtime.incremental import CALL, Work
from nystream.runtime.types import Array

__all__ = ["Change", "Rough"]

LAM = 0.1
_LAPLACIAN = KernelRows("laplacian", -1.0)


class Rough(Big):
    """Nystrom ridge with the Laplacian kernel exp(-|x - x'|_1), many landmarks; learns at most 64 rows at a time.

    Its functions may bend sharply, as trees do, and a column whose scale is 0 does not count.
    """

    together: ClassVar[int] = 64

    def __init__(self, m: int, first: int = 48) -> None:
        super().__init__(m, lams=(LAM,))
        self.first = first

    @property
    def title(self) -> str:
        return f"rough kernel, {self.m:,} landmarks"

    def placing(self, view: View, X: Array, rng: np.random.Generator) -> Work[None]:
        """Landmarks alone, the scales are the width. Equal ones are left out; others are never nearly dependent."""
        points = view(X[np.sort(rng.choice(len(X), min(self.m, len(X)), replace=False))])
        _, first = np.unique(points, axis=0, return_index=True)
        self.points_ = np.ascontiguousarray(points[np.sort(first)])
        self._bind()
        yield CALL + SORTED * points.size

    def _bind(self) -> None:
        self.kernel_rows = _LAPLACIAN

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._bind()


class Change(Expert):
    """The last label, and what a rough kernel on inputs and last labels adds to it where rows held out want it.

    Rows X of a fit begin with the label lags, the last label of each of the K targets first. Rows U begin with the last
    labels as they are, before what the view makes of the row; where nothing is added, they are all of it.
    """

    asked: ClassVar[type[Asked]] = AskedChange
    kernel_: Rough | None
    """Of the changes since the last label."""

    def __init__(self, m: int, outputs: int) -> None:
        self.m = m
        self.outputs = outputs

    @property
    def title(self) -> str:
        return "no change" if self.helpless else f"change since the last label, {self.m:,} landmarks"

    @property
    def helpless(self) -> bool:
        """Whether it forecasts no change."""
        return getattr(self, "kernel_", None) is None

    def rest(self) -> None:
        """Forecast no change."""
        self.kernel_ = None

    def fitting(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> Work[None]:
        self.kernel_ = Rough(self.m, first=16)
        yield from self.kernel_.fitting(view, X, Y - X[:, : self.outputs], w, rng)

    def freeze(self) -> None:
        if self.kernel_ is not None:
            self.kernel_.freeze()

    def predict(self, U: Array) -> Array:
        last, rows = self._parts(U)
        return last if self.kernel_ is None else last + self.kernel_.predict(rows)

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        last, rows = self._parts(U)
        return last if self.kernel_ is None else last + self.kernel_.run(rows, Y - last, w)

    def widen(self, d: int) -> None:
        if self.kernel_ is not None:
            self.kernel_.widen(d)

    @property
    def nbytes(self) -> int:
        return 0 if self.kernel_ is None else self.kernel_.nbytes

    def _parts(self, U: Array) -> tuple[Array, Array]:
        return U[:, : self.outputs], np.ascontiguousarray(U[:, self.outputs :])
