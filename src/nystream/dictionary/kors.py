"""KORS, kernel online row sampling: a dictionary kept by coins whose odds are online ridge leverage scores."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nystream.dictionary.gram_factor import GramFactor
from nystream.kernels.base import Kernel
from nystream.params import Params, at_least, positive
from nystream.types import Array

__all__ = ["KORS", "Scores", "theory_beta"]


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
    """Keeps psi = c phi with probability p = min(beta tau, 1) and weight 1/p.

    tau = (1+eps) psi' (sum over atoms psi psi'/p + psi psi' + ridge I)^-1 psi = (1+eps) s/(1+s): the score with the
    row itself counted once needs no temporary dictionary. With `theory_beta` for beta, with probability 1 - delta at
    every round: the weighted atoms are within 1 +- eps of the whole covariance, tau is between the true leverage and
    (1+eps)/(1-eps) times it, and there are at most 3 beta (1+eps)/(1-eps) d_onl atoms. beta of 1 to 4 is the useful
    range for Nystrom learners; then eps only scales tau. O(m^2) time a row and memory for m atoms.

    Parameters
    ----------
    kernel : Kernel
    ridge : float
        alpha or mu of the papers, > 0.
    eps, beta : float
        Accuracy, in (0, 1), and oversampling, > 0 (`math.inf` keeps everything).
    max_atoms : int or None
        When reached, nothing more is kept (the guarantee is lost, everything stays well defined).

    Deviations from the paper: an atom's scale is 1/sqrt(p), its weight 1/p; a published listing stores 1/p as the
    scale, which weighs atoms by 1/p^2 and destroys the accuracy.

    References
    ----------
    Calandriello, Lazaric, Valko. Second-Order Kernel Online Convex Optimization with Adaptive Sketching. ICML 2017.
    """

    def __init__(
        self, kernel: Kernel, ridge: float, *, eps: float = 0.5, beta: float = 1.0, max_atoms: int | None = None
    ) -> None:
        self.kernel = kernel
        self.ridge = positive("ridge", ridge)
        self.eps = positive("eps", eps, below=1.0)
        self.beta = beta if beta == math.inf else positive("beta", beta)
        self.max_atoms = None if max_atoms is None else at_least("max_atoms", max_atoms, 1)

    def start(self, d: int) -> None:
        self.factor_ = GramFactor(self.kernel, self.ridge)
        self.factor_.start(d)

    @property
    def n(self) -> int:
        """Atoms."""
        return self.factor_.n

    @property
    def points(self) -> Array:
        return self.factor_.points

    @property
    def nbytes(self) -> int:
        return self.factor_.nbytes

    @property
    def full(self) -> bool:
        return self.max_atoms is not None and self.n >= self.max_atoms

    def scores(self, X: Array, c: Array | None = None) -> Scores:
        """Scores of the rows of X, with scales c (ones), each against the present dictionary alone."""
        T, k = self.factor_.whiten(X), self.kernel.diag(X)
        if c is not None:
            T, k = c[:, None] * T, c * c * k
        s = np.maximum(k - np.einsum("ij,ij->i", T, T), 0.0) / self.ridge
        return self._scored(T, s)

    def _scored(self, T: Array, s: Array) -> Scores:
        tau = (1 + self.eps) * s / (1 + s)
        # beta may be infinite: 0 stays 0, everything else is kept
        p = np.where(tau > 0, np.minimum(self.beta * np.maximum(tau, np.finfo(float).tiny), 1.0), 0.0)
        return Scores(tau, np.zeros_like(p) if self.full else p, T, s)

    def append(self, x: Array, c: float, p: float, t: Array) -> Array:
        """Keep psi = c phi(x), met with probability p; t is its row of `Scores.T`. Returns the new row of the factor."""
        C = self.factor_.border(x[None], t[None] / c, np.array([c / math.sqrt(p)]))
        return np.append(t / math.sqrt(p), C[0, 0])

    def step(self, x: Array, u: float, c: float = 1.0) -> tuple[float, float, bool]:
        """One round with the uniform u: (tau, p, kept)."""
        score = self.scores(x[None], np.array([c]))
        p = float(score.p[0])
        kept = u < p
        if kept:
            self.append(x, c, p, score.T[0])
        return float(score.tau[0]), p, kept

    def extended(self, scores: Scores, X: Array, row: Array, c: Array | None = None) -> Scores:
        """`scores` of the rows of X brought up to date after one atom was appended; `row` is what `append` returned.

        Each row gains one coordinate: O(n m) for n rows instead of a new triangular solve.
        """
        k = self.kernel(X, self.points[-1:])[:, 0] * self.factor_.scale[-1]
        if c is not None:
            k = c * k
        new = (k - scores.T @ row[:-1]) / row[-1]
        s = np.maximum(scores.s - new * new / self.ridge, 0.0)
        return self._scored(np.column_stack([scores.T, new]), s)


def theory_beta(horizon: int, delta: float, eps: float) -> float:
    """beta = 3 log(T/delta)/eps^2, with which the three guarantees hold for T rounds with probability 1 - delta."""
    return 3 * math.log(horizon / delta) / eps**2
