"""Atoms kept by leverage coins (KORS), with the nested coordinates of every row in its own round."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream._core.kors import toss
from nystream.dictionary.growing import BLOCK, Growing, Indices, Mask
from nystream.dictionary.kors import KORS
from nystream.types import Array

__all__ = ["SampledAtoms"]


class SampledAtoms(Growing):
    """Leverage sampling: x enters with probability min(beta tau, 1), see `KORS`, and if it is outside the span.

    One uniform is consumed per round, whatever the probability: the coins of T rounds are `rng.random(T)`. The pending
    one is part of the state, so that `ask` knows the coin of the next round.

    Parameters
    ----------
    kors : KORS
        Ridge, accuracy, oversampling and the most atoms.
    """

    kors_: KORS
    where_: Indices
    """Where the atoms are among those of `kors_`, which has the ones that added nothing to the span as well."""
    rng_: np.random.Generator
    u_: float

    def __init__(self, kors: KORS) -> None:
        super().__init__(kors.kernel, kors.max_atoms)
        self.kors = kors

    def start(self, d: int, rng: np.random.Generator) -> None:
        super().start(d, rng)
        self.kors_ = self.kors.clone()
        self.kors_.start(d)
        self.where_ = np.zeros(0, dtype=np.intp)
        self.rng_ = rng
        self.u_ = rng.random()

    @property
    def settled(self) -> bool:
        return self.kors_.full

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.kors_.nbytes + self.where_.nbytes

    def widen(self, d: int) -> None:
        super().widen(d)
        self.kors_.factor_.widen(d)

    def _look(self, X: Array) -> tuple[Array, Array | None]:
        if self.settled:
            return self.nested_.coordinates(X), None
        K = self.kernel(X, self.kors_.points) if self.kors_.n else np.zeros((len(X), 0))
        K = np.ascontiguousarray(K, dtype=np.float64)
        T = self._whitened(K)
        return self.nested_.whiten(K if self.n == self.kors_.n else np.ascontiguousarray(K[:, self.where_])), T

    def _look_at(self, x: Array, k: float) -> tuple[Array, bool]:
        kors = self.kors_
        if kors.full:
            return self.nested_.row(x), False
        if not kors.n:
            return np.zeros(0), True
        row = np.ascontiguousarray(kors.kernel.row(kors.points, x), dtype=np.float64)[None]
        t = self._whitened(row)[0]
        s = (k - float(t.dot(t))) / kors.ridge
        wanted = s > 0 and self.u_ * (1 + s) < kors.beta * (1 + kors.eps) * s
        return self.nested_.whiten(row if self.n == kors.n else row[:, self.where_])[0], wanted

    def _wanted(self, k: Array, squared: Array, seen: Array | None) -> Mask:
        return np.zeros(len(k), dtype=bool) if seen is None else self._likely(k, seen, np.full(len(k), self.u_))

    def _candidates(self, X: Array, k: Array, squared: Array, seen: Any, offered: Mask | None) -> Indices:
        u = np.append(self.u_, self.rng_.random(len(X)))
        self.u_ = float(u[-1])
        if seen is None:
            return np.zeros(0, dtype=np.intp)
        # leverage only shrinks as atoms enter: a row that its coin rejects now is rejected for good
        likely = self._likely(k, seen, u[:-1])
        rows = np.flatnonzero(likely if offered is None else likely & offered)
        if not len(rows):
            return rows
        kors, T, c = self.kors_, seen[rows], np.ones(len(rows))
        G = np.ascontiguousarray(self.kernel(X[rows], X[rows]) - T @ T.T)
        room = len(rows) if kors.max_atoms is None else kors.max_atoms - kors.n
        _, p, kept = toss(G, c, u[:-1][rows], kors.ridge, kors.eps, kors.beta, room)
        if kept.any():
            kors.extend(X[rows[kept]], c[kept], p[kept], T[kept])
        return rows[kept]

    def _likely(self, k: Array, T: Array, u: Array) -> Mask:
        s = np.maximum(k - np.einsum("ij,ij->i", T, T), 0.0) / self.kors_.ridge
        with np.errstate(invalid="ignore"):  # infinite beta times s = 0
            return np.asarray((s > 0) & (u * (1 + s) < self.kors_.beta * (1 + self.kors_.eps) * s))

    def _pass(self) -> None:
        self.u_ = self.rng_.random()

    def _entered(self, chosen: Indices, among: int) -> None:
        self.where_ = np.append(self.where_, self.kors_.n - among + chosen)

    def _take(self, other: Growing) -> None:
        """The weighted atoms of either estimate its covariance: together they estimate that of both streams."""
        if not isinstance(other, SampledAtoms):
            raise TypeError(f"a dictionary sampled by KORS cannot take in one of {type(other).__name__}")
        theirs = other.kors_
        room = theirs.n if self.kors_.max_atoms is None else min(theirs.n, self.kors_.max_atoms - self.kors_.n)
        for i in range(0, room, BLOCK):
            part = slice(i, min(i + BLOCK, room))
            X, odds = theirs.points[part], theirs.odds[part]
            self.kors_.extend(X, np.ones(len(X)), odds, self.kors_.factor_.whiten(X))
            self._include(X)

    def _whitened(self, K: Array) -> Array:
        """`kors_.factor_.whiten` for kernel rows that are known already; they serve the coordinates as well."""
        return self.kors_.factor_._factor.solve(K * self.kors_.factor_.scale)
