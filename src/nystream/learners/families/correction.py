"""Learners that change only after a mistake or a margin error, by adding a correction."""

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
    """A learner with updates f <- f + alpha k(x, .), where alpha is a correction.

    Subclasses set `kernel` and `_loss`. A rule other than the perceptron's is defined by `_alpha`, and compiled by
    `_correction`. Learners with a budget define `_keep`, and compiled `_loop`, for corrections beyond the budget.
    """

    multi_output: ClassVar[bool] = False
    weighted: ClassVar[bool] = False

    @classmethod
    def _declares(cls, ability: str) -> bool:
        return ability != "probabilities" and super()._declares(ability)  # none of their losses has probabilities

    def _round(self, f: PlainExpansion, y: Array, weight: float, t: int) -> Array:
        p = self._scored(f.scores(f.k))
        if f.kxx > 0:  # otherwise k(x, .) is the zero function
            alpha = self._alpha(y, p, f.kxx, weight)
            if alpha.any():
                self._keep(f, alpha, t)
        return p

    def _alpha(self, y: Array, p: Array, s: float, weight: float) -> Array:
        """Return the coefficients (K,) of a round for the scores and s = k(x, x); here the perceptron's."""
        margin, direction, square = self._margin(y, p)
        return direction if margin <= 0 and square > 0 else np.zeros(len(p))

    def _keep(self, f: PlainExpansion, alpha: Array, t: int) -> None:
        """Store the correction. Subclasses with a budget override it."""
        f.append(f.x, alpha, t)

    def _margin(self, y: Array, p: Array) -> tuple[float, Array, float]:
        """Return the margin of p, the direction that increases it (y or e_label - e_rival), and its squared norm.

        The rival is the strongest other label, the first of equals. With label similarities M the norm is that of the
        joint kernel.
        """
        if not self._loss.multiclass:
            return float(y[0] * p[0]), y.copy(), 1.0
        label, others = int(y[0]), np.array(p)
        others[label] = -np.inf
        rival, direction = int(others.argmax()), np.zeros(len(p))
        direction[label], direction[rival] = 1.0, -1.0
        return float(p[label] - p[rival]), direction, float(direction @ self._scored(direction))

    def _correction(self) -> Correction:
        """Return the compiled rule for the present number of outputs. It is called again when outputs are added."""
        return Correction(self._loss, "perceptron", self.expansion_.outputs)


class UnboundedCorrections(CorrectionLearner):
    """A learner that stores every correction, or d weights per output with the linear kernel, W <- W + alpha x'.

    The linear case costs O(d K) time per round and O(d K) memory, and nothing grows. (With label similarities M, M
    alpha replaces alpha.)
    """

    W_: Array
    past_: Array

    @property
    def _linear(self) -> bool:
        # once started, the state decides
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
        """Return the number of columns of the arrays of the state."""
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
    """Return the loss as an object if it is one of these kinds, else raise a ValueError."""
    found = as_loss(loss)
    if not isinstance(found, kinds):
        raise ValueError(f"loss must be one of {', '.join(repr(kind.name) for kind in kinds)}; got {found.name!r}")
    return found
