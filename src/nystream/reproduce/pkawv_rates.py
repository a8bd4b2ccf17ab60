"""Rates that follow from the regret bounds when the effective dimension is (n/lam)^gamma, as exponents of n."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.optimize import brentq, minimize_scalar

__all__ = ["GAMMA_MOST", "SUMMARY", "Rate", "least", "minimised", "rates", "regret_of_size"]

GAMMA_MOST = math.sqrt(2) - 1
"""Above it PKAWV, which finds its points on the way, would keep all of them."""


@dataclass(frozen=True)
class Rate:
    """Exponents of n, logarithms aside: regret, and time of a round."""

    regret: float
    cost: float


def rates(gamma: float) -> dict[str, Rate]:
    """Return the least regret that each bound promises, and what a round costs then.

    lam + (n/lam)^gamma is least at lam = n^(gamma/(1+gamma)). PKAWV then needs mu so small that 2 (m + 1) n mu/lam,
    with m = (n/mu)^gamma points, is no larger; with points known beforehand, n mu/lam. PROS-N-KONS pays that regret
    once for each of (n/lam)^gamma restarts; what the projection itself costs is left out, which flatters it.
    Sketched-KONS keeps a share c of the rounds, for 1/c of the regret: here the share that makes it as fast as PKAWV.
    """
    best = gamma / (1 + gamma)
    projected = min(4 * gamma / (1 - gamma**2), 2.0) if gamma < 1 else 2.0
    return {
        "Kernel-AWV, KONS": Rate(best, 2.0),
        "PKAWV": Rate(best, projected),
        "PKAWV, points beforehand": Rate(best, min(4 * best, 2.0)),
        "Sketched-KONS at PKAWV's cost": Rate(min(best + 1 - projected / 2, 1.0), projected),
        "PROS-N-KONS, at best": Rate(min(2 * best, 1.0), 2 * best),
    }


def minimised(gamma: float, n: float) -> tuple[float, float, float]:
    """Return (lam, regret, points) that minimise the bound of PKAWV at n, without the logarithm.

    lam + (n/lam)^gamma is minimised over lam; mu is the largest for which the price of the projection is no more.
    """
    least = minimize_scalar(
        lambda u: math.exp(u) + (n / math.exp(u)) ** gamma, bounds=(-20.0, math.log(n)), options={"xatol": 1e-10}
    )
    lam, regret = math.exp(least.x), float(least.fun)

    def price(u: float) -> float:
        """Return log of n mu m/lam over the regret, at mu = exp(u)."""
        return (1 + gamma) * math.log(n) + (1 - gamma) * u - math.log(lam * regret)

    mu = math.exp(brentq(price, -200.0, math.log(n)))
    return lam, regret, (n / mu) ** gamma


SUMMARY: dict[str, str] = {
    "Sketched-KONS": "lam + (n/m) d_eff(lam)",
    "PROS-N-KONS": "m (lam + d_eff(lam)) + n mu/lam",
    "PKAWV": "lam + d_eff(lam) + m n mu/lam",
    "PKAWV, features beforehand": "lam + d_eff(lam) + n mu/lam",
}
"""The bounds from which the paper draws its Figure 1, for m points."""


def regret_of_size(name: str, gamma: float, size: float) -> float:
    """Return the exponent of n in the least regret that the summary bound promises with m = n^size points.

    d_eff(lam) = (n/lam)^gamma and mu = n m^(-1/gamma). With lam = n^a every term is a power of n that is linear in a,
    and the sum has the largest of them: this is the least over a of the largest, which is where two terms meet. It is
    at most 1, the regret of predicting 0.
    """
    terms = {  # (exponent at a = 0, slope in a)
        "Sketched-KONS": [(0.0, 1.0), (1 - size + gamma, -gamma)],
        "PROS-N-KONS": [(size, 1.0), (size + gamma, -gamma), (2 - size / gamma, -1.0)],
        "PKAWV": [(0.0, 1.0), (gamma, -gamma), (2 + size - size / gamma, -1.0)],
        "PKAWV, features beforehand": [(0.0, 1.0), (gamma, -gamma), (2 - size / gamma, -1.0)],
    }[name]
    (start, rise), *falling = terms
    meets = max((other - start) / (rise - fall) for other, fall in falling)
    return min(start + rise * meets, 1.0)


def least(name: str, gamma: float) -> tuple[float, float]:
    """Return the least size exponent with the least regret exponent of `regret_of_size`, and that regret exponent."""
    best = gamma / (1 + gamma)
    if name == "Sketched-KONS":
        return 1.0, best
    if name == "PROS-N-KONS":
        return 2 * gamma / (1 + gamma) ** 2, gamma * (3 + gamma) / (1 + gamma) ** 2
    if name == "PKAWV" and gamma < 1:
        return min(2 * gamma / (1 - gamma**2), 1.0), best if gamma <= GAMMA_MOST else regret_of_size(name, gamma, 1.0)
    return min(2 * best, 1.0), best
