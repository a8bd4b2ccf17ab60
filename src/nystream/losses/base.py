"""What every loss offers, and how a loss is found by name."""

from __future__ import annotations

from typing import Any, ClassVar

from nystream.params import Params
from nystream.types import LabelKind

__all__ = ["Loss"]


class Loss(Params):
    """l(y, p): how much the prediction p costs when the label is y.

    Scalar losses take and return numbers or arrays (broadcast against each other); vector losses (`classes` is not a
    ClassVar None) take a class number y and scores p of shape (K,), or y (n,) and p (n, K).
    The implicit solve is alpha = argmin_a s/2 a^2 + c l(p + s a), i.e. alpha = -c l'(p + s alpha); s = 0 gives 0.
    """

    name: ClassVar[str]
    labels: ClassVar[LabelKind] = "real"
    multiclass: ClassVar[bool] = False

    def value(self, y: Any, p: Any) -> Any:
        """l(y, p)."""
        raise NotImplementedError

    def grad(self, y: Any, p: Any) -> Any:
        """Derivative in p; a fixed subgradient at kinks."""
        raise NotImplementedError

    def second(self, y: Any, p: Any) -> Any:
        """Second derivative in p; 0 at kinks and on linear pieces."""
        raise NotImplementedError

    def implicit(self, y: Any, p: Any, s: Any, c: Any) -> Any:
        """The coefficient of the proximal step: argmin_a s/2 a^2 + c l(p + s a)."""
        raise NotImplementedError

    def curvature(self, clip: float, bound: float | None = None) -> float:
        """Largest sigma with l(a) >= l(b) + l'(b)(a-b) + sigma/2 (l'(b)(a-b))^2 on |a|, |b| <= clip; labels |y| <= bound (clip)."""
        raise NotImplementedError

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        """Bound on |l'(p)| over |p| <= clip."""
        raise NotImplementedError

    @property
    def compiled(self) -> tuple[int, float, float] | None:
        """(code, first constant, second constant) of the compiled scalar form; None: only Python knows this loss."""
        return None
