"""Projectron and Projectron++: perceptrons that project mistakes on the stored points."""

from __future__ import annotations

import math

import numpy as np

from nystream._core.expansions import Projections
from nystream.dictionary.plain import PlainExpansion
from nystream.dictionary.span import Span
from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.families.correction import CorrectionLearner, checked_loss
from nystream.learners.families.expansion import Loop
from nystream.losses import Hinge, Loss, MulticlassHinge
from nystream.runtime.params import at_least, positive
from nystream.runtime.types import Array

__all__ = ["Projectron"]

PIVOT = 1e-10
"""Squared distance to the span, in units of k(x, x), below which a point counts as inside."""


class Projectron(CorrectionLearner):
    """A perceptron that projects a mistake on the stored points if the error is small.

    With d = K^-1 k_t the coefficients of the projection of k(x_t, .) on the span of the stored points, delta its
    distance to that span and m = y f::

        m <= 0:           coefficients += y d      if delta <= tol, or the budget is spent
                          store x_t with y         otherwise
        0 < m < 1, plus:  l = 1 - m,  P = k(x_t, x_t) - delta^2; if l >= delta / tol
                          coefficients += y min(l/P, 2 (l - delta/tol)/P, 1) d

    K^-1 is applied through a Cholesky factor that gains a row with every stored point. A point closer to the span than
    1e-5 sqrt(k(x, x)) is always projected: rounding could not separate it from the span. O(m d) time per round,
    O(m (d + m)) in rounds that change the model, O(m (d + m)) memory for m points. Guarantee: on bounded inputs m is
    bounded without a budget too, since every point is tol away from the span of those before it.

    Parameters
    ----------
    kernel : Kernel
    tol : float, default 0.1
        The paper's eta: largest distance to the span at which a mistake is projected, at least 0. With 0 and no budget
        this is the perceptron.
    budget : int, optional
        Points stored at most; all later mistakes are projected.
    plus : bool, default False
        Projectron++: also update for correct predictions with a margin below 1.
    loss : {"hinge", "multiclass_hinge"} or such a Loss
        Labels -1/+1, or classes: the label and its strongest rival move, and delta and P are those of the pair,
        sqrt(2) delta and 2 P; with label similarities M the 2 is M[y,y] + M[y*,y*] - 2 M[y,y*].

    Deviations from the paper: classes are an addition; a Cholesky factor replaces K^-1, which is inaccurate for small
    tol and smooth kernels. The threshold is on the distance; some public code has it on the square.

    References
    ----------
    Orabona, Keshet, Caputo. Bounded kernel-based online learning. JMLR 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import Projectron
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = Projectron(Gaussian(0.5), plus=True)
    >>> p = model.run(X, y)
    >>> model.size < 40, bool(np.mean(p[1000:] * y[1000:] > 0) > 0.9)
    (True, True)
    """

    span_: Span

    def __init__(
        self,
        kernel: Kernel,
        *,
        tol: float = 0.1,
        budget: int | None = None,
        plus: bool = False,
        loss: str | Loss = "hinge",
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.tol = positive("tol", tol, zero=True)
        self.budget = None if budget is None else at_least("budget", budget, 1)
        self.plus = plus
        self.loss = loss
        self._loss = checked_loss(loss, (Hinge, MulticlassHinge))

    def _start(self, d: int, outputs: int) -> None:
        self.span_ = Span()
        super()._start(d, outputs)

    def _round(self, f: PlainExpansion, y: Array, weight: float, t: int) -> Array:
        p = self._scored(f.scores(f.k))
        margin, direction, square = self._margin(y, p)
        if (margin > 0 and not (self.plus and margin < 1)) or not f.kxx * square > 0:
            return p
        d = np.linalg.solve(f.gram(), f.k)  # the projection of k(x, .) on the span of the stored points
        apart = max(0.0, f.kxx - float(f.k @ d))
        inside, full = apart < PIVOT * f.kxx, self.budget is not None and len(f) >= self.budget
        delta = math.sqrt(square * apart)
        if margin > 0:
            loss, P = 1 - margin, square * (f.kxx - apart)
            far = 0.0 if inside else delta / self.tol if self.tol > 0 else math.inf
            if len(f) and loss >= far and P > 0:
                f.add(min(loss / P, 2 * (loss - far) / P, 1.0) * np.outer(d, direction))
        elif len(f) and (delta <= self.tol or full or inside):
            f.add(np.outer(d, direction))
        else:
            f.append(f.x, direction, t)
        return p

    def _loop(self) -> Loop:
        parts = self.expansion_.terms, self._correction(), self.budget, self.span_.compiled
        return Projections(*parts, self.tol, self.plus)

    @property
    def nbytes(self) -> int:
        return super().nbytes + (self.span_.nbytes if self.d_ else 0)
