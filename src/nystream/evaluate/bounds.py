"""Regret bounds of second-order learners, term by term, from numbers that they or `Hindsight` report.

Every function takes numbers and returns `BoundTerms`: the terms of the comparator's norm, of the dimension, and others.
Regret is total loss minus that of a comparator f with |f|^2 = norm2; B bounds |y|.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from nystream.learners.bounds import BoundTerms

__all__ = [
    "BoundTerms",
    "a_priori",
    "awv",
    "clipped_ridge",
    "fixed_features",
    "frozen_nystrom",
    "kons",
    "newton",
    "nystrom",
    "sketched_kons",
    "taylor",
    "taylor_degree",
]


def newton(norm2: float, *, lam: float, gradients: float, excess: float = 0.0) -> BoundTerms:
    """Return the sharp bound of ONS and KONS, exact or sketched, against |f(x_t)| <= clip: half of each term.

    gradients = sum g' A_t^-1 g, excess = sum (eta_t - sigma) (g'(w_t - w))^2, or a bound on it; 0 for eta_t = sigma.
    With a sketch, A_t is the sketch's metric; where rounds are left out of it, eta_t counts as 0 there.
    """
    return BoundTerms(0.5 * lam * norm2, 0.5 * gradients, 0.5 * excess)


def kons(
    norm2: float, *, lam: float, dimension: float, eta: ArrayLike, sigma: float, clip: float, lipschitz: float
) -> BoundTerms:
    """Return Theorem 1 of KONS: lam norm2 + d_onl/eta_T + 4 clip^2 L^2 sum (eta_t - sigma), for step sizes eta (T,).
    eta_T is the smallest.

    dimension: d_onl of the kernel rescaled by l'_t sqrt(eta_t), or `a_priori` with the raw kernel's d_eff at the ridge
    lam/(eta_1 L^2). It is twice the sharp bound, or more.
    """
    steps = np.asarray(eta, dtype=np.float64)
    excess = 4 * (clip * lipschitz) ** 2 * float(np.maximum(steps - sigma, 0.0).sum())
    return BoundTerms(lam * norm2, dimension / float(steps.min()), excess)


def sketched_kons(
    norm2: float,
    *,
    lam: float,
    effective: float,
    rounds: int,
    sigma: float,
    lipschitz: float,
    eps: float,
    least: float,
) -> BoundTerms:
    """Return Theorem 3 of KONS, for curved losses and the beta of the theorem.

    lam norm2 + 2 d_eff log(2 sigma L^2 T/lam) / ((1 - eps) sigma least), where effective = d_eff at the ridge
    lam/(sigma L^2), the logarithm counts as 1 at least, and least = max(gamma, beta min tau) is the smallest
    probability that a round is sketched with. The factors 1/lam and 1/(1 - eps), which the proof needs, are missing
    from the printed form.
    """
    growth = 2 * effective * math.log(max(2 * sigma * lipschitz**2 * rounds / lam, math.e))
    return BoundTerms(lam * norm2, growth / ((1 - eps) * sigma * least), 0.0)


def a_priori(effective: float, *, ridge: float, top: float) -> float:
    """Return d_eff (1 + log(1 + top/ridge)), a bound on d_onl and log det of a Gram matrix of norm `top`."""
    return effective * (1 + math.log1p(top / ridge))


def awv(norm2: float, *, lam: float, B: float, dimension: float) -> BoundTerms:
    """Return the bound of Kernel-AWV, and of PKAWV against functions of its features: lam norm2 + B^2 d_onl. With log
    det in the place of d_onl it is weaker.
    """
    return BoundTerms(lam * norm2, B**2 * dimension, 0.0)


def clipped_ridge(norm2: float, *, lam: float, B: float, dimension: float) -> BoundTerms:
    """Return the bound of kernel ridge regression clipped to [-B, B]: lam norm2 + 4 B^2 d_onl."""
    return BoundTerms(lam * norm2, 4 * B**2 * dimension, 0.0)


def fixed_features(norm2: float, *, lam: float, B: float, dimension: float, rounds: int, residual: float) -> BoundTerms:
    """Return the bound of PKAWV on fixed features against every function of the kernel that they approximate (Theorem
    3).

    lam norm2 + B^2 d_onl + B^2 (mu + lam) n mu/lam^2: dimension is that of the features or of the kernel, and
    residual = mu = |(I - P) C_n (I - P)|, the largest eigenvalue of K - Z Z' (`Hindsight.residual`), P the projection
    on the span. The running sum of `tail` of Taylor features is an upper bound on it.
    """
    return BoundTerms(lam * norm2, B**2 * dimension, B**2 * (residual + lam) * rounds * residual / lam**2)


def taylor(norm2: float, *, lam: float, B: float, log_det: float) -> BoundTerms:
    """Return the bound of PKAWV on Taylor features of degree `taylor_degree` (Theorem 4): lam norm2 + 3/2 B^2 log det(I
    + K/lam).
    """
    return BoundTerms(lam * norm2, 1.5 * B**2 * log_det, 0.0)


def taylor_degree(rounds: int, *, lam: float, radius: float, sigma: float) -> int:
    """Return M = ceil(max(8 R^2/sigma^2, 2 log(n/min(lam, 1)))) for |x| <= R; in practice a third of it is enough."""
    return math.ceil(max(8 * (radius / sigma) ** 2, 2 * math.log(rounds / min(lam, 1.0))))


def nystrom(
    norm2: float, *, lam: float, B: float, effective: float, rounds: int, top: float, atoms: int, mu: float
) -> BoundTerms:
    """Return the bound of PKAWV with KORS's dictionary and all past rows, for the theorem's beta, eps = 1/2 and mu <=
    lam (Theorem 6).

    lam norm2 + B^2 d_eff(lam) log(e + e n kappa^2/lam) + 2 B^2 (atoms + 1) n mu/lam, with kappa^2 = top >= k(x, x).
    """
    growth = effective * math.log(math.e + math.e * rounds * top / lam)
    return BoundTerms(lam * norm2, B**2 * growth, 2 * B**2 * (atoms + 1) * rounds * mu / lam)


def frozen_nystrom(norm2: float, *, lam: float, B: float, dimension: float, loss: float, missed: float) -> BoundTerms:
    """Return the bound, against every function f of the kernel, of PKAWV in a growing span where past points keep their
    coordinates.

    It is AWV on the features P_t phi_t, of online dimension `dimension`. The total squared loss `loss` of f becomes at
    most (sqrt(loss) + |f| sqrt(Delta))^2 there, with missed = Delta = sum of k(x, x) - |z|^2 as the rows arrived.
    """
    return BoundTerms(lam * norm2, B**2 * dimension, 2 * math.sqrt(norm2 * loss * missed) + norm2 * missed)
