"""The base class of losses of a score vector: multi-class hinge, structured hinge, softmax."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from nystream._core.losses import CompiledLoss
from nystream.losses.base import Loss
from nystream.runtime.params import one_of
from nystream.runtime.types import Array, LabelKind

__all__ = ["Labels", "VectorLoss"]

Labels = npt.NDArray[np.intp]
RULES = ("exact", "runner_up")


class VectorLoss(Loss):
    """A loss of K scores and a class number 0..K-1.

    y a number and p (K,) give one value, a gradient (K,), a Hessian (K, K), a step (K,), through the compiled forms;
    y (n,) and p (n, K) give n of each, through the NumPy forms `_value`, `_grad`, `_second`, `_exact`, which are the
    definition. With `classes=None` any K is understood, so that the scores may grow with the labels. Constructors
    set `_form`.
    """

    labels: ClassVar[LabelKind] = "class"
    multiclass: ClassVar[bool] = True

    _form: CompiledLoss

    def value(self, y: Any, p: Any) -> Any:
        """Return L(y, p): a float, or (n,)."""
        if np.ndim(p) == 1:
            return self._form.multi_value(int(y), p)
        return self._value(*self._block(y, p))

    def grad(self, y: Any, p: Any) -> Any:
        """Return a subgradient in p: (K,), or (n, K). Its entries sum to 0."""
        if np.ndim(p) == 1:
            return self._form.multi_grad(int(y), p)
        return self._grad(*self._block(y, p))

    def second(self, y: Any, p: Any) -> Any:
        """Return the Hessian in p: (K, K), or (n, K, K)."""
        if np.ndim(p) == 1:
            return self._second(*self._block([y], np.asarray(p)[None]))[0]
        return self._second(*self._block(y, p))

    def implicit(self, y: Any, p: Any, s: Any, c: Any, *, rule: str = "exact", scores: Any = None) -> Any:
        """Return coefficients (K,), or (n, K), of the proximal step: argmin_a s/2 |a|^2 + c L(p + s a). They sum to 0.

        rule : "exact" for that minimiser; "runner_up" moves only y and its strongest rival (hinges only).
        scores : the scores that choose the rival of "runner_up", if they are not p.
        """
        self.check_rule(one_of("rule", rule, RULES))
        if np.ndim(p) == 1:
            return self._form.multi_implicit(rule, int(y), p, scores, s, c)
        y, p = self._block(y, p)
        s, c = (np.broadcast_to(np.asarray(v, dtype=np.float64), (len(p),))[:, None] for v in (s, c))
        live = (s > 0) & (c > 0)
        if p.shape[1] < 2:
            return np.zeros_like(p)
        s, c = np.where(live, s, 1.0), np.where(live, c, 1.0)
        if rule == "exact":
            alpha = self._exact(y, p, s, c)
        else:
            alpha = self._runner_up(y, p, s, c, p if scores is None else np.asarray(scores, dtype=np.float64))
        return np.where(live, alpha, 0.0)

    def lipschitz(self, clip: float, bound: float | None = None) -> float:
        """Return sqrt(2), which bounds the Euclidean norm of the gradient."""
        return math.sqrt(2.0)

    @property
    def compiled(self) -> CompiledLoss:
        return self._form

    def _block(self, y: Any, p: Any) -> tuple[Labels, Array]:
        p = np.asarray(p, dtype=np.float64)
        if p.ndim != 2:
            raise ValueError(f"scores must be (K,) or (n, K), got shape {p.shape}")
        y = np.asarray(y).reshape(len(p)).astype(np.intp)
        if len(y) and (y.min() < 0 or y.max() >= p.shape[1]):
            bad = y[(y < 0) | (y >= p.shape[1])][0]
            raise ValueError(f"label {bad} has no score; there are {p.shape[1]} scores")
        if self.label_margins is not None and len(self.label_margins) != p.shape[1]:
            raise ValueError(f"{p.shape[1]} scores do not fit a label table of shape {self.label_margins.shape}")
        return y, p

    def _value(self, y: Labels, p: Array) -> Array:
        raise NotImplementedError

    def _grad(self, y: Labels, p: Array) -> Array:
        raise NotImplementedError

    def _second(self, y: Labels, p: Array) -> Array:
        raise NotImplementedError

    def _exact(self, y: Labels, p: Array, s: Array, c: Array) -> Array:
        """Return the step for K >= 2 and columns s > 0, c > 0."""
        raise NotImplementedError

    def _runner_up(self, y: Labels, p: Array, s: Array, c: Array, scores: Array) -> Array:
        raise NotImplementedError
