"""Atoms sampled by leverage scores (KORS), with nested coordinates of every row in its own round."""

from __future__ import annotations

import math

import numpy as np

from nystream._core.atoms import KnownAtoms, toss
from nystream._core.kernels import KernelRows
from nystream.dictionary.growing import BLOCK, LARGEST, NONE, Growing, Indices, Mask
from nystream.dictionary.kors import KORS, RESOLVED, unseen
from nystream.runtime.types import Array

__all__ = ["SampledAtoms"]


class SampledAtoms(Growing):
    """Leverage sampling: x enters with probability min(beta tau, 1), see `KORS`, and if it is outside the span.

    One uniform is consumed per round, whatever the probability: the coins of T rounds are `rng.random(T)`. The pending
    one is part of the state, so that `ask` knows the coin of the next round.

    Parameters
    ----------
    kors : KORS
        Ridge, accuracy, oversampling and largest number of atoms.
    """

    kors_: KORS
    where_: Indices
    """Positions of the atoms among those of `kors_`, which also has atoms that added nothing to the span."""
    rng_: np.random.Generator
    u_: float

    def __init__(self, kors: KORS) -> None:
        super().__init__(kors.kernel, kors.max_atoms)
        self.kors = kors

    def start(self, d: int, rng: np.random.Generator) -> None:
        super().start(d, rng)
        self.kors_ = self.kors.clone()
        self.kors_.start(d)
        self.where_ = NONE
        self.rng_ = rng
        self.u_ = rng.random()

    @property
    def settled(self) -> bool:
        return self.kors_.full

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return super().nbytes + self.kors_.nbytes + self.where_.nbytes

    def widen(self, d: int) -> None:
        super().widen(d)
        self.kors_.factor_.widen(d)

    def _chosen(self, X: Array, k: Array, offered: Mask | None) -> tuple[Indices, Array]:
        u = np.append(self.u_, self.rng_.random(len(X)))
        self.u_ = float(u[-1])
        if self.settled:
            return NONE, self.nested_.values(X)
        T, values = self._whitened(X)
        # leverage only shrinks as atoms are added: a row that is rejected now stays rejected
        likely = self._likely(k, T, u[:-1])
        rows = np.flatnonzero(likely if offered is None else likely & offered)
        if len(rows):
            kors, T, c = self.kors_, T[rows], np.ones(len(rows))
            G = np.ascontiguousarray(self.kernel(X[rows], X[rows]) - T @ T.T)
            room = len(rows) if kors.max_atoms is None else kors.max_atoms - kors.n
            _, p, kept = toss(G, k[rows], c, u[:-1][rows], kors.ridge, kors.eps, kors.beta, room)
            rows = rows[kept]
            if len(rows):
                kors.extend(X[rows], c[kept], p[kept], T[kept])
        return rows, values

    def _look(self, x: Array, k: float) -> tuple[Array, float, bool]:
        kors = self.kors_
        if kors.full:
            return super()._look(x, k)
        if not kors.n:
            return np.zeros(self.width), 0.0, True
        row = np.ascontiguousarray(kors.kernel.row(kors.points, x), dtype=np.float64)
        t = kors.factor_.whiten_values(row[None])[0]
        outside = k - float(t.dot(t))
        s = outside / kors.ridge if outside > RESOLVED * k else 0.0
        z, inside = self.nested_.forward_row(row if self.n == kors.n else row[self.where_])
        return z, inside, s > 0 and self.u_ * (1 + s) < kors.beta * (1 + kors.eps) * s

    def _wanted(self, X: Array, k: Array) -> tuple[Mask, Array]:
        if self.settled:
            return super()._wanted(X, k)
        T, values = self._whitened(X)
        return self._likely(k, T, np.full(len(X), self.u_)), values

    def _pass(self) -> None:
        self.u_ = self.rng_.random()

    def _compiled(self, form: KernelRows, combined: bool) -> KnownAtoms:
        if self.settled:
            return super()._compiled(form, combined)
        kors = self.kors_
        weighed = kors.factor_.factor, kors.factor_.scale, kors.ridge, kors.beta * (1 + kors.eps), RESOLVED
        places = None if self.n == kors.n else self.where_
        parts = form, kors.points, self.nested_.factor, LARGEST, math.inf, self.__dict__
        return KnownAtoms(*parts, places, weighed, combined)

    def _take(self, other: Growing) -> None:
        """Add the atoms of the other dictionary. The weighted atoms of both estimate the covariance of both streams."""
        if not isinstance(other, SampledAtoms):
            raise TypeError(f"a dictionary sampled by KORS cannot be merged with one of {type(other).__name__}")
        theirs = other.kors_
        room = theirs.n if self.kors_.max_atoms is None else min(theirs.n, self.kors_.max_atoms - self.kors_.n)
        for i in range(0, room, BLOCK):
            part = slice(i, min(i + BLOCK, room))
            X, odds = theirs.points[part], theirs.odds[part]
            self.kors_.extend(X, np.ones(len(X)), odds, self.kors_.factor_.whiten(X))
            self._enter(X, np.arange(len(X)), self._share)

    def _enter(self, X: Array, rows: Indices, share: float) -> Indices:
        """Add atoms; `rows` are the latest atoms of `kors_`."""
        entered = super()._enter(X, rows, share)
        self.where_ = np.append(self.where_, self.kors_.n - len(rows) + np.searchsorted(rows, entered))
        return entered

    def _whitened(self, X: Array) -> tuple[Array, Array]:
        """Return whitened rows for the scores and kernel values for the coordinates, from one kernel block."""
        if not self.kors_.n:
            return np.zeros((len(X), 0)), np.zeros((len(X), 0))
        values = np.ascontiguousarray(self.kernel(X, self.kors_.points), dtype=np.float64)
        T = self.kors_.factor_.whiten_values(values)
        return T, values if self.n == self.kors_.n else np.ascontiguousarray(values[:, self.where_])

    def _likely(self, k: Array, T: Array, u: Array) -> Mask:
        """Return which rows their uniforms would keep, each for the present dictionary."""
        s = unseen(k, np.einsum("ij,ij->i", T, T)) / self.kors_.ridge
        with np.errstate(invalid="ignore"):  # infinite beta times s = 0
            return np.asarray((s > 0) & (u * (1 + s) < self.kors_.beta * (1 + self.kors_.eps) * s))
