"""What kernel bandits share: arms are rows, the arm with the largest upper confidence bound is chosen."""

from __future__ import annotations

import copy
import math
import os
from typing import Any

import numpy as np

from nystream import persist
from nystream.data.inputs import as_block, as_row
from nystream.kernels.base import Kernel, checked_kernel
from nystream.runtime.params import Params, at_least, positive
from nystream.runtime.types import Array

__all__ = ["Bandit"]


class Bandit(Params):
    """Chooses among arms by mean + beta width, and learns the reward of the arm that was pulled.

    Arms are the rows of a matrix, which may be other rows in every round: for a context, put its columns before those
    that describe the arm. `choose` changes nothing; only `learn` does.

    Subclasses implement `_start(d)`, `_ask(arms) -> mean (n,), width^2 (n,)`, `_learn(arm, reward, width^2)` and
    `_radius()`, the beta of the theory.
    """

    kernel: Kernel
    lam: float
    beta: Any
    norm: float
    noise: float
    delta: float
    d_: int = 0
    n_seen_: int = 0
    price_: float = 0.0
    """Sum over rounds of 2 beta width of the arm that was pulled."""

    def _check(self) -> None:
        """Refuse bad parameters."""
        checked_kernel(self.kernel)
        positive("lam", self.lam)
        positive("norm", self.norm)
        positive("noise", self.noise)
        positive("delta", self.delta, below=1.0)
        is_number = isinstance(self.beta, (int, float)) and not isinstance(self.beta, bool)
        if self.beta != "theory" and not (is_number and 0 <= self.beta < math.inf):
            raise ValueError(f"beta must be 'theory' or a number of at least 0, got {self.beta!r}")

    # -- what users call ---------------------------------------------------------------------------------------------
    def choose(self, arms: Any) -> int:
        """Return the index of the arm (row) with the largest upper confidence bound; the first of equal ones."""
        return int(np.argmax(self.upper_bound(arms)))

    def choose_batch(self, arms: Any, size: int) -> list[int]:
        """Return indices of up to `size` arms to pull before the next reward is known, in order; an arm may come twice.

        Means stay as they are. Widths shrink as if the arms chosen before had been pulled, so that the next one is
        elsewhere. `BKB` ends the batch early, when it would sample its atoms again; `KernelUCB` does not, because its
        bounds hold for arms that are chosen one by one.
        """
        arms = self._arms(arms)
        twin = copy.deepcopy(self)
        chosen: list[int] = []
        mean, square = self._ask_any(arms)
        while len(chosen) < at_least("size", size, 1):
            best = int(np.argmax(mean + self._beta() * np.sqrt(square)))
            chosen.append(best)
            twin._pretend(arms[best], float(mean[best]), float(square[best]))
            if twin._is_stale():
                break
            square = twin._ask_any(arms)[1]
        return chosen

    def learn(self, arm: Any, reward: Any) -> None:
        """Learn the reward of an arm, given as its row (d,)."""
        if np.ndim(arm) != 1:
            raise ValueError(
                f"arm must be the row of one arm (d,), got shape {np.shape(arm)}; learn rewards one by one"
            )
        arm = as_row(arm, self.d_ or None, "arm")
        if isinstance(reward, (str, bytes)) or np.ndim(reward) != 0 or not math.isfinite(float(reward)):
            raise ValueError(f"reward must be a finite number, got {reward!r}")
        if not self.d_:
            self._start(len(arm))
            self.d_ = len(arm)
        square = float(self._ask(arm[None])[1][0])
        price = 2 * self._beta() * math.sqrt(square)
        self._learn(arm, float(reward), square)
        self.price_ += price
        self.n_seen_ += 1

    def predict(self, arms: Any) -> Array:
        """Return the estimated mean rewards of arms, (n,)."""
        return self._ask_any(self._arms(arms))[0]

    def width(self, arms: Any) -> Array:
        """Return sqrt(phi(x)' A^-1 phi(x)) of arms, (n,): how little was learnt about them."""
        return np.sqrt(self._ask_any(self._arms(arms))[1])

    def upper_bound(self, arms: Any) -> Array:
        """Return mean + beta width of arms, (n,), which `choose` maximises."""
        mean, square = self._ask_any(self._arms(arms))
        return np.asarray(mean + self._beta() * np.sqrt(square))

    def regret_bound(self) -> float:
        """Bound on the regret so far: the sum over rounds of 2 beta width of the arm that was pulled.

        With beta="theory" it holds with probability 1 - delta if every arm was that of `choose`, the mean reward is a
        function of norm at most `norm` in the kernel's space, and the noise is sub-Gaussian with deviation at most
        `noise`. Infinite with another beta.
        """
        return self.price_ if isinstance(self.beta, str) else math.inf

    @property
    def n_seen(self) -> int:
        """Rewards learnt."""
        return self.n_seen_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bandit to one file, atomically; `nystream.load` goes on bit for bit."""
        persist.save(self, path)

    def to_bytes(self) -> bytes:
        """Return the bandit in the format of `save`; `nystream.from_bytes` reads it."""
        return persist.to_bytes(self)

    # -- what subclasses implement -------------------------------------------------------------------------------------
    def _start(self, d: int) -> None:
        raise NotImplementedError

    def _ask(self, X: Array) -> tuple[Array, Array]:
        """Return means and squared widths of clean rows, once started."""
        raise NotImplementedError

    def _learn(self, x: Array, reward: float, square: float) -> None:
        """Learn one round; `square` is the squared width before it."""
        raise NotImplementedError

    def _radius(self) -> float:
        """Return the present beta of the theory."""
        raise NotImplementedError

    def _is_stale(self) -> bool:
        """Return whether too much was chosen since the last reward that counts."""
        return False

    def _pretend(self, x: Array, mean: float, square: float) -> None:
        """Learn the width of x alone."""
        if not self.d_:
            self._start(len(x))
            self.d_ = len(x)
        self._learn(x, mean, square)

    # -- shared machinery ----------------------------------------------------------------------------------------------
    def _arms(self, arms: Any) -> Array:
        arms = as_block(arms, self.d_ or None, name="arms")
        if not len(arms):
            raise ValueError("arms has 0 rows; choose needs at least one arm")
        return arms

    def _ask_any(self, X: Array) -> tuple[Array, Array]:
        return self._ask(X) if self.d_ else (np.zeros(len(X)), self.kernel.diag(X) / self.lam)

    def _beta(self) -> float:
        if not isinstance(self.beta, str):
            return float(self.beta)
        return self._radius() if self.d_ else self.noise * math.sqrt(2 * math.log(1 / self.delta)) + self._bias

    @property
    def _bias(self) -> float:
        """The largest bias of the ridge estimate of a function of norm `norm`, in units of the width."""
        return math.sqrt(self.lam) * self.norm
