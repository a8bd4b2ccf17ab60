"""Learners that are kernel expansions: a rule changes points and coefficients, a budget bounds their number."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np

from nystream.dictionary.budget import Budget
from nystream.dictionary.expansion import Expansion
from nystream.dictionary.plain import PlainExpansion
from nystream.kernels.base import Kernel
from nystream.learners.families.averaging import Averaging
from nystream.learners.families.loss import LossLearner
from nystream.runtime.params import one_of
from nystream.runtime.types import DTYPES, Array

__all__ = ["ExpansionLearner", "Loop", "checked_dtype"]


class Loop(Protocol):
    """The compiled rounds of a rule; t is the number of the first round, from 1."""

    def step(self, x: Array, y: Array, weight: float, t: int) -> Array: ...
    def run(self, X: Array, Y: Array, weights: Array | None, t: int) -> Array: ...
    def one_row(self, x: Any, y: Any, t: int) -> float | None: ...


class PythonRounds:
    """Rounds by the Python method `_round` of a learner, one after the other."""

    def __init__(self, learner: ExpansionLearner) -> None:
        self.learner = learner

    def step(self, x: Array, y: Array, weight: float, t: int) -> Array:
        f = self.learner.expansion_
        assert isinstance(f, PlainExpansion)
        f.open(x[None])
        f.begin(0)
        return self.learner._round(f, y, weight, t)

    def run(self, X: Array, Y: Array, weights: Array | None, t: int) -> Array:
        w = np.ones(len(X)) if weights is None else weights
        return np.array([self.step(X[i], Y[i], float(w[i]), t + i) for i in range(len(X))])

    def one_row(self, x: Any, y: Any, t: int) -> float | None:
        return None


class ExpansionLearner(LossLearner, Averaging):
    """A learner made of a kernel, a rule and a budget. Subclasses set `kernel` and `_loss` in their constructor.

    A subclass defines one round in Python, `_round`, the specification as in the paper. `_loop` returns the compiled
    rounds on the same arrays, which are used in practice. It is called whenever the arrays are new (start, growth,
    restore). `tests/helpers/reference.py` runs the Python rounds, and tests compare both. A block gives the same as the
    loop of `step`: its kernel rows come from one product and are corrected for points that enter or leave inside the
    block. Without `_loop` the rounds run in Python, many times slower. `_limits` returns the budget. Learners with
    single precision set `dtype` (`checked_dtype`).
    """

    weighted: ClassVar[bool] = True

    kernel: Kernel
    dtype: str = "float64"
    expansion_: Expansion
    budget_: Budget
    _in_python: bool = False  # set by tests that compare with the Python rounds

    @property
    def multi_output(self) -> bool:
        return True

    def _limits(self) -> Budget:
        """Return a new budget."""
        return Budget(None)

    def _round(self, f: PlainExpansion, y: Array, weight: float, t: int) -> Array:
        """Do round t (from 1) for the row that f has begun: return the prediction (K,), then learn y.

        y (K,) are targets or signs, or (1,) a class number.
        """
        raise NotImplementedError

    def _loop(self) -> Loop:
        """Return the compiled rounds. Without this method the rounds run in Python, on a `PlainExpansion`."""
        return PythonRounds(self)

    @property
    def _runs_in_python(self) -> bool:
        return self._in_python or type(self)._loop is ExpansionLearner._loop

    @property
    def size(self) -> int:
        """Number of stored points."""
        return self.expansion_.n if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return self.expansion_.nbytes + self.budget_.nbytes if self.d_ else 0

    def _start(self, d: int, outputs: int) -> None:
        budget = self._limits()
        kind = PlainExpansion if self._runs_in_python else Expansion
        expansion = kind(self.kernel, limit=budget.size, dtype=self.dtype)
        expansion.start(d, outputs)
        self.expansion_, self.budget_ = expansion, budget
        self._bind()

    def _bind(self) -> None:
        if self._runs_in_python:
            self._rounds: Loop = PythonRounds(self)
            return
        self.budget_.start(self.expansion_)
        self._rounds = self._loop()

    # -- the loss, for rounds in Python --------------------------------------------------------------------------
    def _gradient(self, y: Array, p: Array) -> Array:
        """Return l'(y, p), (K,)."""
        g = self._loss.grad(int(y[0]) if self._loss.multiclass else y, p)
        return np.asarray(g, dtype=np.float64)

    def _proximal(self, y: Array, p: Array, s: float, c: float, **rule: Any) -> Array:
        """Return argmin_a s/2 |a|^2 + c l(y, p + s a), (K,). `rule` is for losses of several classes."""
        alpha = self._loss.implicit(int(y[0]) if self._loss.multiclass else y, p, s, c, **rule)
        return np.asarray(alpha, dtype=np.float64)

    def _predict(self, X: Array) -> Array:
        return self._scored(self.expansion_.predict(X))

    def _averaged(self, X: Array) -> Array:
        return self._scored(self.expansion_.averaged(X))

    def _scored(self, P: Array) -> Array:
        """Return the scores of labels from the outputs of the expansion, mixed by a label similarity M."""
        M = self._loss.label_similarity
        return P if M is None else P @ M

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        return self._rounds.step(x, y, weight, self.n_seen_ + 1)

    def _step_one(self, x: Any, y: Any) -> float | None:
        return self._rounds.one_row(x, y, self.n_seen_ + 1)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        return self._rounds.run(X, Y, weights, self.n_seen_ + 1)

    def _grow(self, outputs: int) -> None:
        self.expansion_.grow(outputs)
        if not self._runs_in_python:
            self.budget_._restore(self.budget_._state())  # the points are the same
        self._bind()

    def _widen(self, d: int) -> None:
        self.expansion_.widen(d)
        self._bind()

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "expansion_" in state:
            self._bind()


def checked_dtype(dtype: Any, kernel: Kernel) -> str:
    """Return dtype, or raise a ValueError if it is float32 and the kernel has no form in single precision."""
    if one_of("dtype", dtype, DTYPES) == "float32" and not kernel.single:
        raise ValueError(
            f"dtype='float32' needs Gaussian, Laplacian without scales or Matern as kernel, got {kernel!r}; "
            f"use dtype='float64'"
        )
    return str(dtype)
