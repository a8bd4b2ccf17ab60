"""KORS, kernel online row sampling: atoms are kept with probabilities from online ridge leverage scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nystream._core.atoms import toss
from nystream._core.landmarks import WhitenedRow
from nystream.dictionary.gram_factor import GramFactor
from nystream.dictionary.rows import Rows
from nystream.kernels.base import Kernel
from nystream.runtime.params import Params, at_least, positive
from nystream.runtime.types import Array

__all__ = ["KORS", "Scores", "theory_beta"]

BLOCK = 128
"""Rows that `run` scores by one triangular solve."""
RESOLVED = 7e-14
"""Share of k(x, x) below which its difference from |l|^2 is rounding; see _core/residual.pxd."""


class Scores(NamedTuple):
    """Leverage estimates of rows against the present dictionary."""

    tau: Array
    """(1 + eps) s/(1 + s), the score with the row itself counted once."""
    p: Array
    """min(beta tau, 1), the probability of being kept."""
    T: Array
    """The whitened kernel rows c L^-1 (S k), (n, atoms)."""
    s: Array
    """psi' A^-1 psi of the dictionary without the row."""


class KORS(Params):
    """A dictionary that keeps psi = c phi with probability p = min(beta tau, 1) and weight 1/p.

    tau = (1+eps) psi' (sum over atoms psi psi'/p + psi psi' + ridge I)^-1 psi = (1+eps) s/(1+s): the score with the
    row itself counted once needs no temporary dictionary. With `theory_beta(T, delta, all_rounds=True)` for beta, with
    probability 1 - delta in all T rounds: the weighted atoms are within 1 +- eps of the covariance, tau is between the
    true leverage and (1+eps)/(1-eps) times it, and there are at most 3 beta (1+eps)/(1-eps) d_onl atoms. beta of 1
    to 4 is the useful range for Nystrom learners; then eps only scales tau. O(m^2) time a row and memory for m atoms;
    `run` shares one triangular solve among the rows of a block.

    `shrink` samples the atoms again, given all of them. This reduces the size from the online dimension to the
    effective dimension. `merge` samples the union of the dictionaries of several streams.

    Parameters
    ----------
    kernel : Kernel
    ridge : float
        alpha or mu of the papers, > 0.
    eps, beta : float
        Accuracy, in (0, 1), and oversampling, > 0 (`math.inf` keeps everything).
    max_atoms : int or None
        No atom is kept beyond this number. The guarantee is then lost.

    Deviations from the paper: an atom's scale is 1/sqrt(p), its weight 1/p; a published listing stores 1/p as the
    scale, which weighs atoms by 1/p^2 and destroys the accuracy. `merge` follows the idea of DISQUEAK with one copy of
    an atom instead of many.

    References
    ----------
    Calandriello, Lazaric, Valko. Second-Order Kernel Online Convex Optimization with Adaptive Sketching. ICML 2017.
    Calandriello, Lazaric, Valko. Distributed Adaptive Sampling for Kernel Matrix Approximation. AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import KORS
    >>> from nystream.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> kors = KORS(Gaussian(0.5), ridge=1.0)
    >>> kors.start(1)
    >>> tau, p, kept = kors.run(rng.uniform(-1, 1, (1000, 1)), rng.random(1000))
    >>> bool(tau[-100:].mean() < 0.1 * tau[:10].mean()), bool(kors.n == kept.sum() < 60)
    (True, True)
    """

    factor_: GramFactor
    odds_: Rows

    def __init__(
        self, kernel: Kernel, ridge: float, *, eps: float = 0.5, beta: float = 1.0, max_atoms: int | None = None
    ) -> None:
        self.kernel = kernel
        self.ridge = positive("ridge", ridge)
        self.eps = positive("eps", eps, below=1.0)
        self.beta = beta if beta == math.inf else positive("beta", beta)
        self.max_atoms = None if max_atoms is None else at_least("max_atoms", max_atoms, 1)

    def start(self, d: int) -> None:
        """Start without atoms, for rows of d columns."""
        self.factor_ = GramFactor(self.kernel, self.ridge)
        self.factor_.start(d)
        self.odds_ = Rows(1)

    @property
    def n(self) -> int:
        """Atoms."""
        return self.factor_.n

    @property
    def points(self) -> Array:
        """(m, d) the atoms."""
        return self.factor_.points

    @property
    def odds(self) -> Array:
        """(n,) probabilities with which the atoms were kept; an atom's weight is 1/p."""
        return self.odds_.view[:, 0]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.factor_.nbytes + self.odds_.nbytes

    @property
    def full(self) -> bool:
        """Whether no atom will be added any more."""
        return self.max_atoms is not None and self.n >= self.max_atoms

    def scores(self, X: Array, c: Array | None = None) -> Scores:
        """Return the scores of the rows of X with scales c (ones), each for the present dictionary."""
        T, k = self.factor_.whiten(X), self.kernel.diag(X)
        if c is not None:
            T, k = c[:, None] * T, c * c * k
        return self._scored(T, unseen(k, np.einsum("ij,ij->i", T, T)) / self.ridge)

    def _scored(self, T: Array, s: Array) -> Scores:
        tau = (1 + self.eps) * s / (1 + s)
        p = np.zeros_like(tau) if self.full else _capped(self.beta, tau, np.ones_like(tau))
        return Scores(tau, p, T, s)

    def append(self, x: Array, c: float, p: float, t: Array) -> Array:
        """Keep psi = c phi(x) of probability p; t is its row of `Scores.T`. Return the new row of the factor."""
        C = self.extend(x[None], np.array([c]), np.array([p]), t[None] / c)
        return np.append(t / c * self.factor_.scale[-1], C[0, 0])

    def extend(self, X: Array, c: Array, p: Array, T: Array) -> Array:
        """Keep rows of probabilities p; T is `factor_.whiten(X)`. Return the new diagonal block of the factor."""
        self.odds_.extend(p[:, None])
        return self.factor_.border(X, T, self.factor_.bounded(c / np.sqrt(p), self.kernel.diag(X)))

    def enter(self, x: Array, c: float, p: float, own: float, row: WhitenedRow) -> None:
        """Keep the row that `row` has just whitened, with k(x, x) = own and probability p."""
        self.odds_.append(p)
        self.factor_.enter(x, c / math.sqrt(p), own, row)

    def step(self, x: Array, u: float, c: float = 1.0) -> tuple[float, float, bool]:
        """Do one round with the uniform u. Return (tau, p, kept)."""
        score = self.scores(x[None], np.array([c]))
        p = float(score.p[0])
        kept = bool(u < p)
        if kept:
            self.append(x, c, p, score.T[0])
        return float(score.tau[0]), p, kept

    def run(self, X: Array, u: Array, c: Array | None = None) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """Do `step` for the rows of X with uniforms u (n,) and scales c. Return (tau, p, kept), each (n,)."""
        c = np.ones(len(X)) if c is None else np.ascontiguousarray(c)
        tau, p, kept = np.empty(len(X)), np.empty(len(X)), np.empty(len(X), dtype=bool)
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            x, T = X[part], self.factor_.whiten(X[part])
            room = len(X) if self.max_atoms is None else self.max_atoms - self.n
            K = self.kernel(x, x)
            G, own = np.ascontiguousarray(K - T @ T.T), np.ascontiguousarray(K.diagonal())
            tau[part], p[part], chosen = toss(G, own, c[part], u[part], self.ridge, self.eps, self.beta, room)
            kept[part] = chosen
            if chosen.any():
                self.extend(x[chosen], c[part][chosen], p[part][chosen], T[chosen])
        return tau, p, kept

    def extended(self, scores: Scores, X: Array, row: Array, c: Array | None = None) -> Scores:
        """Update the `scores` of the rows of X after one atom was appended; `row` is the result of `append`.

        Each row gets one more coordinate: O(n m) for n rows instead of a new triangular solve.
        """
        k = self.kernel(X, self.points[-1:])[:, 0] * self.factor_.scale[-1]
        if c is not None:
            k = c * k
        new = (k - scores.T @ row[:-1]) / row[-1]
        s = np.maximum(scores.s - new * new / self.ridge, 0.0)
        return self._scored(np.column_stack([scores.T, new]), s)

    def shrink(self, u: Array) -> int:
        """Sample the atoms again, given all others, with uniforms u (n,). Return how many stay. O(n^3)."""
        return self.merge([], u)

    def merge(self, others: Sequence[KORS], u: Array) -> int:
        """Become the dictionary of all these streams by sampling the union of atoms. Return how many stay.

        With A = sum psi psi'/p + ridge I over the union, tau_i = (1+eps) psi_i' A^-1 psi_i and p_i' = min(p_i, beta
        tau_i), atom i stays if u_i < p_i'/p_i; u has one uniform for each atom of this dictionary, then of the others.
        Beyond `max_atoms` those of largest p' stay. O(n^3) for n atoms in all: merge in a balanced tree.
        """
        for other in others:
            if repr(other) != repr(self) or other.points.shape[1] != self.points.shape[1]:
                raise ValueError(
                    f"merge needs dictionaries with equal parameters and columns; got {self!r} and {other!r}"
                )
        parts = [self, *others]
        factor = self.factor_
        if others:
            factor = GramFactor(self.kernel, self.ridge)
            factor.start(self.points.shape[1])
            factor.extend(np.vstack([k.points for k in parts]), np.concatenate([k.factor_.scale for k in parts]))
        old = np.concatenate([k.odds for k in parts])
        if u.shape != old.shape:
            raise ValueError(f"merge needs one uniform for each of the {len(old)} atoms, got shape {u.shape}")
        p = _capped(self.beta, (1 + self.eps) * old * factor.own_leverage, old)
        stay = np.flatnonzero(u * old < p)
        if self.max_atoms is not None and len(stay) > self.max_atoms:
            stay = np.sort(stay[np.argsort(-p[stay], kind="stable")[: self.max_atoms]])
        X, scale, p = factor.points[stay], factor.scale[stay] * np.sqrt(old[stay] / p[stay]), p[stay]
        self.start(X.shape[1])
        self.factor_.extend(X, self.factor_.bounded(scale, self.kernel.diag(X)))
        self.odds_.extend(p[:, None])
        return self.n

    def mark(self) -> tuple[int, float]:
        """Return what `rewind` needs to forget the atoms that are kept from now on."""
        return self.factor_.mark()

    def rewind(self, mark: tuple[int, float]) -> None:
        """Go back to the state of `mark`, bit for bit."""
        self.factor_.rewind(mark)
        self.odds_.truncate(self.factor_.n)


def unseen(k: Array, inside: Array) -> Array:
    """Return k(x, x) - |l|^2, the part of a row outside the dictionary, or 0 if it is rounding."""
    return np.where(k - inside > RESOLVED * k, k - inside, 0.0)


def theory_beta(horizon: int, delta: float, eps: float = 0.5, *, all_rounds: bool = False) -> float:
    """Return the oversampling beta of the paper for T = horizon rounds.

    beta = 3 log(T/delta)/eps^2, as published. The proof then bounds the probability that the guarantees of `KORS` fail
    in one given round t by 2 t delta/T, which is 2 delta in the last round. Over all rounds these sum to (T + 1) delta,
    not delta: "with probability 1 - delta in all T rounds at once" needs all_rounds=True, which is
    beta = 3 log(4 T^2/delta)/eps^2, about twice as large.
    """
    T, delta = at_least("horizon", horizon, 1), positive("delta", delta, below=1.0)
    return 3 * math.log(4 * T * T / delta if all_rounds else T / delta) / positive("eps", eps) ** 2


def _capped(beta: float, tau: Array, most: Array) -> Array:
    """Return min(beta tau, most), also for infinite beta, where 0 stays 0."""
    return np.where(tau > 0, np.minimum(beta * np.maximum(tau, np.finfo(float).tiny), most), 0.0)
