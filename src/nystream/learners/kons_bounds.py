"""Terms of the regret bounds of kernel online Newton steps, and the columns of the record that they are made from."""

from __future__ import annotations

import math

import numpy as np

from nystream.kernels.base import Kernel
from nystream.learners.bounds import BoundTerms
from nystream.runtime.types import Array

__all__ = ["a_priori_dimension", "effective_dimension", "leverages", "sharp_terms"]

OUTSIDE, GRAD, PREDICTION, GAIN, LEVERAGE, ROUND, WIDTH = range(7)
"""Columns of `record_`, which has one row per stored point. The compiled rounds use this order."""


def sharp_terms(
    grad: Array,
    p: Array,
    gain: Array,
    s: Array,
    *,
    lam: float,
    clip: float,
    sigma: float,
    norm2: float,
    f: Array | None,
) -> BoundTerms:
    """Return 1/2 [ lam |w|^2 + sum g' A_t^-1 g + sum (z_t eta_t - sigma) (g'(w_t - w))^2 ] over the rounds with a
    gradient.

    g' A_t^-1 g = dl^2 s/den with den = 1 + z eta dl^2 s; g'(w_t - w) = dl (p_t - f(x_t)) for the comparator's values
    f, and at most |dl| (|p_t| + clip) if they are not known; a negative term then counts as 0.
    """
    gradients = grad**2 * s / (1 + gain * grad**2 * s)
    excess = np.maximum(gain - sigma, 0.0) * (grad * (np.abs(p) + clip)) ** 2
    if f is not None:
        excess = (gain - sigma) * (grad * (p - f)) ** 2
    return BoundTerms(0.5 * lam * norm2, 0.5 * float(gradients.sum()), 0.5 * float(excess.sum()))


def effective_dimension(kernel: Kernel, X: Array, ridge: float) -> float:
    """Return tr K (K + ridge I)^-1 of the rows of X. O(n^3)."""
    if not len(X):
        return 0.0
    values = np.maximum(np.linalg.eigvalsh(kernel(X, X)), 0.0)
    return float((values / (values + ridge)).sum())


def leverages(kernel: Kernel, X: Array, scale: Array, ridge: float) -> Array:
    """Return online leverages s/(1 + s) (n,) of psi = scale phi, each given the rows before it. O(n^3)."""
    if not len(X):
        return np.zeros(0)
    M = scale[:, None] * kernel(X, X) * scale
    M.flat[:: len(M) + 1] += ridge
    pivots = np.linalg.cholesky(M).diagonal()
    return np.asarray(1 - ridge / pivots**2)  # a squared pivot is ridge (1 + s)


def a_priori_dimension(kernel: Kernel, X: Array, ridge: float, rounds: int) -> float:
    """Return d_eff (1 + log(1 + kappa^2 T/ridge)), a bound on the online dimension of these rows."""
    top = float(kernel.diag(X).max(initial=0.0))
    return effective_dimension(kernel, X, ridge) * (1 + math.log1p(top * rounds / ridge))
