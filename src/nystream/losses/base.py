"""The base class of losses."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from nystream._core.losses import CompiledLoss
from nystream.runtime.params import Params
from nystream.runtime.types import Array, LabelKind, Link

__all__ = ["Loss"]

HALVINGS = 200
"""Enough to shrink any bracket of float64 numbers to neighbours."""


class Loss(Params):
    """l(y, p), the cost of the prediction p for the label y. It is convex in p.

    Scalar losses take and return numbers or arrays (broadcast against each other). Vector losses (`multiclass`) take a
    class number y and scores p of shape (K,), or y (n,) and p (n, K).

    Your own scalar loss needs `value` and `grad`; `second` for SVMD, `lipschitz` (and `curvature`, where it is
    not 0) for the second-order learners. `implicit` is then found by bisection.

    Examples
    --------
    >>> from nystream.losses import Loss
    >>> class Quartic(Loss):
    ...     name = "quartic"
    ...     def value(self, y, p):
    ...         return (p - y) ** 4
    ...     def grad(self, y, p):
    ...         return 4 * (p - y) ** 3
    >>> alpha = Quartic().implicit(1.0, 0.0, s=1.0, c=1.0)
    >>> bool(abs(alpha + Quartic().grad(1.0, 0.0 + alpha)) < 1e-12)
    True
    """

    name: ClassVar[str]
    labels: ClassVar[LabelKind] = "real"
    multiclass: ClassVar[bool] = False
    classes: int | None = None
    """Classes that a multi-class loss fixes; None where they grow with the labels or do not apply."""
    link: ClassVar[Link | None] = None
    """The function that turns predictions into class probabilities; None if predictions are not log-odds."""
    estimates_mean: ClassVar[bool] = False
    """Whether the best prediction of real labels is their mean: of labels -1/+1 then 2 P(+1) - 1."""
    adaptable: ClassVar[Literal["margin", "tube"] | None] = None
    """The constant that can be learnt with the predictor from a target share of violations (`NORMA(nu=...)`)."""
    tail_curvature: ClassVar[float] = 0.0
    """Second derivative far from the label where the first grows without bound; 0 where |l'| is bounded."""

    @property
    def symmetric(self) -> bool:
        """Whether l(-y, -p) = l(y, p), so that neither sign of an error is favoured."""
        return True

    @property
    def margin(self) -> float | None:
        """The signed score from which on the loss is 0; None if there is no such score."""
        return None

    @property
    def label_margins(self) -> Array | None:
        """(K, K) margins D that the loss asks for between labels; None: 1 off the diagonal, or no margins at all."""
        return None

    @property
    def label_similarity(self) -> Array | None:
        """(K, K) matrix M of the joint kernel k(x, x') M[y, y']; None: the identity."""
        return None

    def value(self, y: Any, p: Any) -> Any:
        """Return l(y, p)."""
        raise NotImplementedError

    def grad(self, y: Any, p: Any) -> Any:
        """Return the derivative in p; a fixed subgradient at kinks."""
        raise NotImplementedError

    def second(self, y: Any, p: Any) -> Any:
        """Return the second derivative in p; 0 at kinks and on linear pieces."""
        raise NotImplementedError

    def implicit(self, y: Any, p: Any, s: Any, c: Any) -> Any:
        """Return the coefficient of the proximal step, argmin_a s/2 a^2 + c l(p + s a); 0 where s <= 0 or c <= 0.

        Equivalently alpha = -c l'(p + s alpha). Here by bisection in z = p + s alpha, which is exact to the rounding
        of z, i.e. about 1e-16 |z| / s in alpha; the losses of this package have closed forms or Newton steps.
        """
        y, p, s, c = (np.asarray(v, dtype=np.float64) for v in (y, p, s, c))
        live = (s > 0) & (c > 0)
        sc = np.where(live, s * c, 0.0)
        end = p - sc * self.grad(y, p)  # the implicit step is never longer than the explicit one
        lo, hi = np.minimum(p, end), np.maximum(p, end)
        for _ in range(HALVINGS):
            z = 0.5 * (lo + hi)
            above = z - p + sc * self.grad(y, z) > 0  # increasing in z, 0 at the proximal point
            lo, hi = np.where(above, lo, z), np.where(above, z, hi)
            if np.all((z == lo) & (z == hi)):
                break
        return np.where(live, (0.5 * (lo + hi) - p) / np.where(live, s, 1.0), 0.0)[()]

    def check_rule(self, rule: str) -> None:
        """Raise a ValueError for a rule of the implicit step ("exact", "runner_up") that the loss does not have."""

    def curvature(self, clip: float, bound: float | None = None) -> float:
        """Return the largest sigma with l(a) >= l(b) + l'(b)(a-b) + sigma/2 (l'(b)(a-b))^2 for all a, b in [-clip,
        clip].

        Real labels are in [-bound, bound] (None: [-clip, clip]). 0, the answer of this base class, holds for every
        convex loss and is exact where the loss has linear pieces.
        """
        return 0.0

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        """Return a bound on |l'(p)| over |p| <= clip, for labels as in `curvature`."""
        raise NotImplementedError

    @property
    def compiled(self) -> CompiledLoss | None:
        """The compiled form of the loss; None if only Python can evaluate it, row by row."""
        return None
