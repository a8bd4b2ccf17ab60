"""Terms of regret bounds, and the additional cost against the whole space of a kernel instead of features.

The regret of a learner on features z(x) is against functions of these features. If z(x) are coordinates of P phi(x),
they are projections P f of functions f of the kernel's space. The functions below bound the advantage of f over P f.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nystream.features.base import FeatureMap

__all__ = ["AGAINST", "BoundTerms", "convex_price", "fixed_price", "missed_by", "moving_price"]

AGAINST = ("features", "kernel")
"""Comparators of a bound: functions of the learner's features, or all functions of the kernel's space."""


class BoundTerms(NamedTuple):
    """The parts of a regret bound; `total` is the bound."""

    ridge: float
    """The term of the comparator's norm."""
    dimension: float
    """The term of the dimension of the data or the gradients."""
    excess: float
    """Other terms: steps longer than the curvature of the loss (0 for eta = sigma), and directions of the kernel's
    space outside the features."""

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return self.ridge + self.dimension + self.excess


def fixed_price(energy: float, missed: float, lam: float) -> float:
    """Bound the best of a fixed projection minus the best of the whole space, both with the penalty lam |f|^2.

    With Gram matrices K of the rows and K_P of their projections, 0 <= K - K_P <= mu I, the difference is
    lam y' [(K_P + lam I)^-1 - (K + lam I)^-1] y <= |y|^2 mu/(mu + lam), because the inverse is operator monotone.
    energy is at least |y|^2, and `missed`, the trace of K - K_P, at least mu. Theorem 3 of the PKAWV paper has the
    larger B^2 n mu (mu + lam)/lam^2 here.
    """
    return energy * missed / (missed + lam)


def moving_price(energy: float, missed: float, lam: float) -> float:
    """Bound the same if each row was projected on the dictionary of its own round.

    Their features are F = Phi - E with |E|^2 <= missed. The minimiser f of the whole space has loss a^2 and
    lam |f|^2 = b^2 with a^2 + b^2 <= |y|^2, and costs (a + b sqrt(r))^2 + b^2 on F, r = missed/lam. The excess
    2 a b sqrt(r) + r b^2 is at most the larger eigenvalue of [[0, sqrt(r)], [sqrt(r), r]] times |y|^2; and f = 0 costs
    |y|^2, so that factors above 1 count as 1.
    """
    r = missed / lam
    return energy * min(1.0, (r + math.sqrt(r * r + 4 * r)) / 2)


def convex_price(norm2: float, rounds: int, missed: float, lipschitz: float) -> float:
    """Bound sum l(<f, P_t phi_t>) - sum l(f(x_t)) for |f|^2 <= norm2 and a loss with this Lipschitz constant.

    L sum |<f, (I - P_t) phi_t>| <= L |f| sum_t sqrt(k(x_t, x_t) - |z_t|^2) <= L |f| sqrt(n missed).
    """
    return lipschitz * math.sqrt(norm2 * rounds * missed)


def missed_by(features: FeatureMap, learner: str) -> float:
    """Return `features.missed`, or raise a ValueError if the features are not a projection of a kernel's space."""
    if features.missed is None:
        raise ValueError(
            f"{type(features).__name__} features are not a projection of the kernel's space, so {learner} has no bound "
            "against all functions of that space; use Taylor features or Nystrom with given landmarks"
        )
    return features.missed
