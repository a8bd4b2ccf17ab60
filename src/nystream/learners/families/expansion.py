"""Learners that are a kernel expansion: stored points and coefficients, changed by a rule, bounded by a budget."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from nystream.dictionary.budget import Budget
from nystream.dictionary.expansion import Expansion
from nystream.kernels.base import Kernel
from nystream.learners.families.averaging import Averaging
from nystream.learners.families.loss import LossLearner
from nystream.types import Array

__all__ = ["ExpansionLearner", "Loop", "checked_kernel"]


class Loop(Protocol):
    """The compiled rounds of a rule: t is the number of the first round, counted from 1."""

    def step(self, x: Array, y: Array, weight: float, t: int) -> Array: ...
    def run(self, X: Array, Y: Array, weights: Array | None, t: int) -> Array: ...


class ExpansionLearner(LossLearner, Averaging):
    """kernel + rule + budget. Subclasses set `kernel` and `_loss` in their constructor and give `_loop` and `_limits`.

    `_loop` is called whenever the arrays of the state are new (start, growth, restore) and returns the compiled rounds
    that work on them. Blocks equal the loop of `step`: kernel rows of a block come from one product, and points that
    enter or leave inside the block correct them.
    """

    weighted: ClassVar[bool] = True

    kernel: Kernel
    expansion_: Expansion
    budget_: Budget

    @property
    def multi_output(self) -> bool:
        return True

    def _limits(self) -> Budget:
        """A fresh budget."""
        return Budget(None)

    def _loop(self) -> Loop:
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Stored points."""
        return self.expansion_.n if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return self.expansion_.nbytes + self.budget_.nbytes if self.d_ else 0

    def _start(self, d: int, outputs: int) -> None:
        budget = self._limits()
        expansion = Expansion(self.kernel, limit=budget.size)
        expansion.start(d, outputs)
        self.expansion_, self.budget_ = expansion, budget
        self._bind()

    def _bind(self) -> None:
        self.budget_.start(self.expansion_)
        self._rounds = self._loop()

    def _predict(self, X: Array) -> Array:
        return self._scored(self.expansion_.predict(X))

    def _averaged(self, X: Array) -> Array:
        return self._scored(self.expansion_.averaged(X))

    def _scored(self, P: Array) -> Array:
        """Scores of labels from the outputs of the expansion: a label similarity M mixes them."""
        M = self._loss.label_similarity
        return P if M is None else P @ M

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        return self._rounds.step(x, y, weight, self.n_seen_ + 1)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        return self._rounds.run(X, Y, weights, self.n_seen_ + 1)

    def _grow(self, outputs: int) -> None:
        self.expansion_.grow(outputs)
        self.budget_._restore(self.budget_._state())  # the points are the same
        self._bind()

    def _widen(self, d: int) -> None:
        self.expansion_.widen(d)
        self._bind()

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "expansion_" in state:
            self._bind()


def checked_kernel(kernel: Any) -> Kernel:
    """The kernel itself, or a ValueError."""
    if not isinstance(kernel, Kernel):
        raise ValueError(f"kernel must be a kernel such as Gaussian(1.0), got {kernel!r}")
    return kernel
