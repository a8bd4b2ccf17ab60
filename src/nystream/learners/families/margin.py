"""The base class of the second-order perceptron and NAROW: margins phi' A^-1 theta on a growing factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream._core.landmarks import MarginRow, margin_rounds
from nystream.dictionary.gram_factor import GramFactor
from nystream.dictionary.rows import Rows
from nystream.features.base import LARGEST, refuse_large
from nystream.kernels.base import Kernel
from nystream.learners.base import Learner
from nystream.runtime.types import Array, LabelKind

__all__ = ["MarginLearner"]

BLOCK = 64
"""Rows that share one kernel block and one triangular solve."""
ENTERED, OUTSIDE = 1, 2
"""Codes of the outcome of a round in `margin_rounds` and `MarginRow`."""


class MarginLearner(Learner):
    """Margins with theta = sum y phi over the rounds that learnt, and A = lam I + sum d^2 phi phi' over stored rows.

    With L L' = D K D + lam I over the rows that entered and l(x) = L^-1 (d_i k(x_i, x))_i::

        phi' A^-1 theta = l(x).f + sum over rows outside y_j k(x_j, x) / lam

    A row that enters with scale d appends (y/d - d margin)/pivot to f; one that stays outside subtracts y l / lam from
    it. A block takes one kernel product and one triangular solve. Its rounds use the residual Gram matrix K - T T' and
    give the same results as single rows. Subclasses have `kernel` and `lam`, and set `_b` (see `margin_rounds`).
    """

    kernel: Kernel
    lam: float

    factor_: GramFactor
    f_: Rows
    outside_: Rows
    signs_: Rows
    mistakes_: int = 0
    _row: MarginRow | None = None

    @property
    def labels(self) -> LabelKind:
        return "sign"

    @property
    def _b(self) -> float:
        """NAROW's b, or 0 for the second-order perceptron."""
        raise NotImplementedError

    @property
    def mistakes(self) -> int:
        """Number of rounds in which the sign of the margin (0 read as +1) was not the label."""
        return self.mistakes_

    def log_det(self) -> float:
        """Return log det(A / lam)."""
        return self.factor_.log_det if self.d_ else 0.0

    def _start(self, d: int, outputs: int) -> None:
        self.factor_ = GramFactor(self.kernel, self.lam)
        self.factor_.start(d)
        self.f_, self.outside_, self.signs_ = Rows(1), Rows(d), Rows(1)
        self._row = None

    def _check(self, X: Array, learnt: int) -> None:
        refuse_large(self.kernel.diag(X), "k(x, x)", "scale the inputs")

    def _predict(self, X: Array) -> Array:
        P = np.empty((len(X), 1))
        for i in range(0, len(X), BLOCK):
            part = X[i : i + BLOCK]
            P[i : i + BLOCK, 0] = self._margins(part, self.factor_.whiten(part))
        return P

    def _margins(self, X: Array, T: Array) -> Array:
        alone = self._bound() if len(X) == 1 else None
        if alone is not None:  # the same bits as `step`
            return alone.alone(X[0])
        margins: Array = T @ self.f_.view[:, 0]
        if self.outside_.n:
            margins += self.kernel(X, self.outside_.view) @ self.signs_.view[:, 0] / self.lam
        return margins

    def _step_one(self, x: Any, y: Any) -> float | None:
        row = self._row or self._bound()
        p = None if row is None else row.one(x, y, self.factor_.trace_)
        if row is None or p is None:
            return super()._step_one(x, y)
        if row.did:
            self._learn(row, x, y)
            self.mistakes_ += (p >= 0) != (y > 0)
        return p

    def _learn(self, row: MarginRow, x: Array, y: float) -> None:
        """Update the model by the round of x, which was just predicted."""
        factor = self.factor_
        if row.did == ENTERED:
            factor.points_.append(x)
            factor.scale_.append(row.scale)
            factor.trace_ += row.gained
            self.f_.append(row.entry)
        else:
            self.outside_.append(x)
            self.signs_.append(y)
        row.learn(*self._memory)

    @property
    def _memory(self) -> tuple[Array, ...]:
        factor = self.factor_
        return factor.points_.view, factor.scale_.view, self.f_.view, self.outside_.view, self.signs_.view

    def _bound(self) -> MarginRow | None:
        """Return the present model in compiled form, or None if only Python can evaluate the kernel."""
        form = self.kernel.compiled if self._row is None else None
        if form is not None:
            row = MarginRow(form, self.factor_.factor, self.lam, self._b, LARGEST)
            row.hold(*self._memory)
            self._row = row
        return self._row

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        self._check(x[None], 1)
        return super()._step(x, y, weight)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = np.empty((len(X), 1))
        for i in range(0, len(X), BLOCK):
            P[i : i + BLOCK, 0] = self._block(X[i : i + BLOCK], Y[i : i + BLOCK])
        self.mistakes_ += int(np.count_nonzero((P >= 0) != (Y > 0)))
        return P

    def _block(self, X: Array, Y: Array) -> Array:
        row = self._bound() if len(X) == 1 else None
        alone = None if row is None else row.one(X[0], float(Y[0, 0]), self.factor_.trace_)
        if row is not None and alone is not None:  # a row gives the same bits as in the compiled single-row code
            if row.did:
                self._learn(row, X[0], float(Y[0, 0]))
            return np.array([alone])
        T, K = self.factor_.whiten(X), self.kernel(X, X)
        margins = self._margins(X, T)
        G = np.ascontiguousarray(K - T @ T.T)
        did, scale, f = margin_rounds(margins, G, K.diagonal().copy(), Y, self.lam, self.factor_.trace_, self._b)
        outside, entered = did == OUTSIDE, did == ENTERED
        if did.any():
            self._row = None
        if outside.any():
            self.f_.view[:, 0] -= Y[outside, 0] @ T[outside] / self.lam
            self.outside_.extend(X[outside])
            self.signs_.extend(Y[outside])
        if entered.any():
            self.factor_.border(X[entered], T[entered], scale)
            self.f_.extend(f[:, None])
        return margins

    def _widen(self, d: int) -> None:
        self.factor_.widen(d)
        self.outside_ = self.outside_.widened(d)
        self._row = None

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._row = None

    @property
    def size(self) -> int:
        """Stored points."""
        return self.factor_.n + self.outside_.n if self.d_ else 0

    @property
    def nbytes(self) -> int:
        parts = (self.factor_, self.f_, self.outside_, self.signs_) if self.d_ else ()
        return sum(part.nbytes for part in parts)
