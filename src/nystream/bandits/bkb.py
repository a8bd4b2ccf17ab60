"""BKB: budgeted kernel bandits, whose dictionary of arms is sampled anew by how uncertain the arms are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.bandits.base import Bandit
from nystream.dictionary.nested import Nested
from nystream.dictionary.rows import Rows
from nystream.kernels.base import Kernel
from nystream.runtime.params import positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Seed
from nystream.solvers.awv import AWV

__all__ = ["BKB"]


class BKB(Bandit):
    """Kernel bandit on a small dictionary of the arms that were pulled; with `batch` > 1 its batched form, BBKB.

    z(x) are the Nystrom coordinates of x in the span of m atoms, A = lam I + sum z_s z_s' over all rounds::

        mean(x) = z(x)' A^-1 sum r_s z_s        width(x)^2 = z(x)' A^-1 z(x) + (k(x, x) - |z(x)|^2)/lam
        after a round:  every arm pulled so far becomes an atom with probability min(q width(x_s)^2, 1), n times if it
                        was pulled n times; coordinates, A and means are computed anew from all rounds

    What the atoms do not see of x counts as unknown, so that no arm is forgotten for being outside. m follows the
    effective dimension of the arms that are pulled, and falls when uncertainty does. batch=1 samples after every round,
    as published for BKB. With batch = C > 1 the atoms stay until 1 + sum of width^2 over the rounds since passes C: the
    same guarantee up to a factor of C, and nearly all rounds cost O(m^2) only.

    Cost: O(n m^2) to sample again for n different arms pulled so far, else O(m^2) to learn; O(m^2 + m d) to choose, for
    every arm. Memory O(n d + m^2): n is at most the number of arms where these are finitely many.

    Parameters
    ----------
    kernel, lam, beta, norm, noise, delta
        As in `KernelUCB`. beta="theory" is noise sqrt(log det(A/lam) + missed/lam + 2 log(1/delta)) + (sqrt(lam) +
        sqrt(missed)) norm, where missed is the sum of k(x_s, x_s) - |z_s|^2 over all rounds.
    q : float, default 5.0
        Oversampling: the larger, the more atoms, and the smaller what they miss. 2 to 20 do alike in practice.
    batch : float, default 1.0
        C, at least 1: when to sample again. 2 is nearly as good as 1 and many times as fast.
    seed : int, Generator or None
        Of the sampling.

    Deviations from the papers: arms that were pulled n times are drawn once, with the probability that any of n draws
    succeeds; the coordinates depend on the span alone. The radius of the theory is derived here (page of the bandits)
    and holds for any atoms, so that it needs no condition on q. The papers' radius, which holds if the atoms are
    accurate, is 2 noise sqrt(sum of log(1 + 3 width^2) + log(1/delta)) + (1 + sqrt 2) sqrt(lam) norm, given from
    memory.

    References
    ----------
    Calandriello, Carratino, Lazaric, Valko, Rosasco. Gaussian process optimization with adaptive sketching: scalable
    and no regret. COLT 2019, arXiv:1903.05594. Same authors. Near-linear time Gaussian process optimization with
    adaptive batching and resparsification. ICML 2020, arXiv:2002.09954 (the batched form).

    Examples
    --------
    >>> import numpy as np
    >>> from nystream import BKB, Gaussian
    >>> rng, arms = np.random.default_rng(0), np.random.default_rng(1).uniform(size=(200, 2))
    >>> bandit = BKB(Gaussian(0.3), lam=0.01, beta=0.5, batch=2.0, seed=0)
    >>> for _ in range(200):
    ...     arm = arms[bandit.choose(arms)]
    ...     bandit.learn(arm, np.exp(-10 * ((arm - 0.6) ** 2).sum()) + 0.1 * rng.normal())
    >>> best = arms[np.argmax(bandit.predict(arms))]
    >>> bool(np.abs(best - 0.6).max() < 0.15), bandit.size < 60
    (True, True)
    """

    points_: Rows
    """Different arms pulled so far."""
    totals_: Rows
    """How often each was pulled, and the sum of its rewards."""
    nested_: Nested
    solver_: AWV
    _places: dict[bytes, int]  # row of `points_` by the bytes of the arm
    since_: float
    """Sum of squared widths since the atoms were sampled."""
    missed_: float
    """Sum over all rounds of k(x, x) - |z(x)|^2."""
    rng_: np.random.Generator
    _kept: tuple[Array, Array, Array] | None = None  # the arms asked about last, and `_seen_from_atoms` of them

    def __init__(
        self,
        kernel: Kernel,
        *,
        lam: float = 1.0,
        beta: Any = "theory",
        norm: float = 1.0,
        noise: float = 0.1,
        delta: float = 0.05,
        q: float = 5.0,
        batch: float = 1.0,
        seed: Seed = None,
    ) -> None:
        self.kernel, self.lam, self.beta = kernel, lam, beta
        self.norm, self.noise, self.delta = norm, noise, delta
        self._check()
        self.q = positive("q", q)
        self.batch = positive("batch", batch)
        if self.batch < 1:
            raise ValueError(f"batch must be at least 1, got {batch!r}")
        self.seed = checked_seed(seed)

    def _start(self, d: int) -> None:
        self.points_, self.totals_ = Rows(d), Rows(2)
        self.nested_ = Nested(self.kernel)
        self.nested_.start(d)
        self.solver_ = self._new_solver(1)
        self.since_, self.missed_ = 0.0, 0.0
        self.rng_ = generator(self.seed)
        self._places = {}
        self._kept = None

    def _new_solver(self, dim: int) -> AWV:
        solver = AWV(self.lam, vovk=False)
        solver.start(dim, 1)
        return solver

    def _ask(self, X: Array) -> tuple[Array, Array]:
        Z, outside = self._seen_from_atoms(X)
        if not self.nested_.n:
            return np.zeros(len(X)), outside
        mean, inside = self.solver_.engine.query(Z)
        return mean[:, 0], inside + outside

    def _seen_from_atoms(self, X: Array) -> tuple[Array, Array]:
        """Coordinates of rows, and what the atoms miss of them over lam; kept for the next round on the same arms."""
        if self._kept is not None and np.array_equal(self._kept[0], X):
            return self._kept[1:]
        Z = self.nested_.coordinates(X)
        outside = np.maximum(self.kernel.diag(X) - np.einsum("ij,ij->i", Z, Z), 0.0) / self.lam
        if len(X) > 1:  # `learn` asks for one row
            self._kept = X.copy(), Z, outside
        return Z, outside

    def _learn(self, x: Array, reward: float, square: float) -> None:
        place = self._place_of(x)
        self.totals_.view[place] += (1.0, reward)
        self._follow(x, reward, square)
        if self._is_stale():
            self._sample()

    def _follow(self, x: Array, reward: float, square: float) -> None:
        """Learn a round on the atoms that are there."""
        self.missed_ += float(self.kernel.diag(x[None])[0])
        if self.nested_.n:
            z = self.nested_.row(x)
            self.missed_ -= float(z @ z)
            self.solver_.step(z, np.array([reward]))
        self.since_ += square

    def _pretend(self, x: Array, mean: float, square: float) -> None:
        if not self.d_:
            self._start(len(x))
            self.d_ = len(x)
        self._follow(x, mean, square)

    def _place_of(self, x: Array) -> int:
        """Return the row of `points_` that is x, which is added where it is new."""
        key = (x + 0.0).tobytes()  # -0.0 is 0.0
        if key not in self._places:
            self._places[key] = self.points_.n
            self.points_.append(x)
            self.totals_.append(np.zeros(2))
        return self._places[key]

    def _is_stale(self) -> bool:
        return bool(self.d_) and 1 + self.since_ > self.batch

    def _sample(self) -> None:
        """Choose the atoms anew among all arms pulled so far, and compute A and the means for them."""
        X, (counts, sums) = self.points_.view, self.totals_.view.T
        odds = np.minimum(self.q * self._ask(X)[1], 1.0)
        kept = self.rng_.random(len(X)) < -np.expm1(counts * np.log1p(-np.minimum(odds, 1 - 1e-16)))
        self.nested_.start(self.d_)
        self.nested_.extend(X[kept])
        self._kept = None
        self.since_ = 0.0
        self.solver_ = self._new_solver(max(self.nested_.n, 1))
        Z = self.nested_.coordinates(X)
        self.missed_ = float(counts @ self.nested_.residual(X, Z))
        if self.nested_.n:
            self.solver_.run(Z, (sums / counts)[:, None], np.ascontiguousarray(counts))

    def _radius(self) -> float:
        return self.noise * math.sqrt(self.information() + 2 * math.log(1 / self.delta)) + self._bias

    def information(self) -> float:
        """Return log det(A/lam) + missed/lam, at least log det(I + K/lam) for the Gram matrix K of the arms pulled."""
        if not self.d_:
            return 0.0
        return (self.solver_.log_det() if self.nested_.n else 0.0) + max(self.missed_, 0.0) / self.lam

    @property
    def _bias(self) -> float:
        missed = max(self.missed_, 0.0) if self.d_ else 0.0
        return super()._bias + math.sqrt(missed) * self.norm

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._kept = None
        if self.d_:
            self._places = {(x + 0.0).tobytes(): i for i, x in enumerate(self.points_.view)}

    @property
    def size(self) -> int:
        """Atoms."""
        return self.nested_.n if self.d_ else 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the bandit holds."""
        if not self.d_:
            return 0
        kept = sum(part.nbytes for part in self._kept or ())
        return self.points_.nbytes + self.totals_.nbytes + self.nested_.nbytes + self.solver_.nbytes + kept
