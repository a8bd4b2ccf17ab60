"""Learners that change only when an answer is wrong or not right enough: a correction, stored or added to weights."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream._core.expansions import Correction, Mistakes
from nystream._core.linear import LinearRounds
from nystream.dictionary.plain import PlainExpansion
from nystream.kernels.linear import Linear
from nystream.learners.families.expansion import ExpansionLearner, Loop
from nystream.losses import Loss, as_loss
from nystream.runtime.types import Array

__all__ = ["CorrectionLearner", "UnboundedCorrections", "checked_loss"]


class CorrectionLearner(ExpansionLearner):
    """f <- f + alpha k(x, .), where alpha is a correction.

    Subclasses set `kernel` and `_loss`, and give the rule, `_alpha` and compiled `_correction`, where it is not the
    perceptron's. Those with a budget give `_keep`, and compiled `_loop`, which decide what becomes of a correction when
    the budget is spent.
    """

    multi_output: ClassVar[bool] = False
    weighted: ClassVar[bool] = False

    @classmethod
    def _declares(cls, ability: str) -> bool:
        return ability != "probabilities" and super()._declares(ability)  # no loss that they take has any

    def _round(self, f: PlainExpansion, y: Array, weight: float, t: int) -> Array:
        p = self._scored(f.scores(f.k))
        if f.kxx > 0:  # else k(x, .) is the zero function
            alpha = self._alpha(y, p, f.kxx, weight)
            if alpha.any():
                self._keep(f, alpha, t)
        return p

    def _alpha(self, y: Array, p: Array, s: float, weight: float) -> Array:
        """The coefficients (K,) that a round asks for, given the scores and s = k(x, x); here the perceptron's."""
        margin, direction, square = self._margin(y, p)
        return direction if margin <= 0 and square > 0 else np.zeros(len(p))

    def _keep(self, f: PlainExpansion, alpha: Array, t: int) -> None:
        """What becomes of a correction: here all are stored."""
        f.append(f.x, alpha, t)

    def _margin(self, y: Array, p: Array) -> tuple[float, Array, float]:
        """How far p is right; the direction that makes it so, y or e_label - e_rival; its squared norm.

        The rival is the strongest, the first of equals. With label similarities M the norm is that of the joint kernel.
        """
        if not self._loss.multiclass:
            return float(y[0] * p[0]), y.copy(), 1.0
        label, others = int(y[0]), np.array(p)
        others[label] = -np.inf
        rival, direction = int(others.argmax()), np.zeros(len(p))
        direction[label], direction[rival] = 1.0, -1.0
        return float(p[label] - p[rival]), direction, float(direction @ self._scored(direction))

    def _correction(self) -> Correction:
        """The rule, compiled, for the present number of outputs; called again when outputs are added."""
        return Correction(self._loss, "perceptron", self.expansion_.outputs)


class UnboundedCorrections(CorrectionLearner):
    """Every correction is stored; with the linear kernel all of them add up to d weights per output, W <- W + alpha x'.

    Then a round costs O(d K) time, the model O(d K) memory, and nothing grows. (With label similarities M, M alpha
    stands for alpha there.)
    """

    W_: Array
    past_: Array

    @property
    def _linear(self) -> bool:
        # once started, what there is decides: the kernel may be one that remembers the values of another
        return "W_" in self.__dict__ if self.d_ else type(self.kernel) is Linear and not self._in_python

    @property
    def size(self) -> int:
        """Stored points; with the linear kernel, the weights of an output."""
        return self.d_ if self._linear else super().size

    @property
    def nbytes(self) -> int:
        if not self._linear:
            return super().nbytes
        return self.W_.nbytes + self.past_.nbytes if self.d_ else 0

    def _start(self, d: int, outputs: int) -> None:
        if not self._linear:
            super()._start(d, outputs)
            return
        self._hold(np.zeros((outputs, d)), np.zeros((outputs, d)))

    def _hold(self, W: Array, past: Array) -> None:
        self.W_, self.past_ = W, past
        self._rounds = self._loop()

    def _loop(self) -> Loop:
        if self._linear:
            return LinearRounds(self.W_, self.past_, self._correction())
        return Mistakes(self.expansion_.terms, self._correction())

    @property
    def _columns(self) -> int:
        """Outputs, as the arrays of the state have them."""
        return len(self.W_) if self._linear else self.expansion_.outputs

    def _predict(self, X: Array) -> Array:
        return X @ self.W_.T if self._linear else super()._predict(X)

    def _averaged(self, X: Array) -> Array:
        if not self._linear:
            return super()._averaged(X)
        return X @ (self.W_ + self.past_ / max(self.n_seen_, 1)).T

    def _grow(self, outputs: int) -> None:
        if self._linear:
            rows = ((0, outputs - len(self.W_)), (0, 0))
            self._hold(np.pad(self.W_, rows), np.pad(self.past_, rows))
        else:
            super()._grow(outputs)

    def _widen(self, d: int) -> None:
        if self._linear:
            columns = ((0, 0), (0, d - self.W_.shape[1]))
            self._hold(np.pad(self.W_, columns), np.pad(self.past_, columns))
        else:
            super()._widen(d)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "W_" in state:
            self._hold(np.ascontiguousarray(self.W_), np.ascontiguousarray(self.past_))


def checked_loss(loss: Any, kinds: tuple[type[Loss], ...]) -> Loss:
    """The loss as an object, or a ValueError: one of these kinds."""
    found = as_loss(loss)
    if not isinstance(found, kinds):
        raise ValueError(f"loss must be one of {', '.join(repr(kind.name) for kind in kinds)}; got {found.name!r}")
    return found
