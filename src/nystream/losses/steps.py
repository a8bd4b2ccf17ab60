"""Step sizes of Newton-type learners, computed from the constants of the loss."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from nystream.losses.base import Loss
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["NewtonSteps", "checked_eta", "newton_steps", "warn_if_on_kink"]


Eta: TypeAlias = str | float | Callable[[int], float]


class NewtonSteps(NamedTuple):
    """Step sizes: eta_t = rule(t) if there is a rule, else the constant if it is positive, else scale / sqrt(t)."""

    sigma: float
    """Curvature of the loss on [-clip, clip]; 0 where it has linear pieces."""
    constant: float
    scale: float
    limit: float
    """Bound on |y| that the curvature relies on; infinite if it does not depend on |y|."""
    rule: Callable[[int], float] | None = None

    def of(self, t: int) -> float:
        """Return eta_t of one round. A rule must give a number above 0."""
        return float(positive(f"eta({t})", self.rule(t)) if self.rule is not None else self.at(t))

    def at(self, t: Any) -> Array:
        """Return eta_t of rounds t = 1, 2, ..."""
        t = np.asarray(t, dtype=np.float64)
        if self.rule is not None:
            return np.array([self.of(int(s)) for s in t.ravel()]).reshape(t.shape)
        return np.full_like(t, self.constant) if self.constant > 0 else self.scale / np.sqrt(t)


def checked_eta(eta: Eta, *, functions: bool = False) -> Eta:
    """Return "auto", "sqrt", a number > 0 or, if allowed, a function of t as it is; else raise a ValueError."""
    if (isinstance(eta, str) and eta in ("auto", "sqrt")) or (functions and callable(eta)):
        return eta
    wanted = "a number, 'auto', 'sqrt' or a function of the round" if functions else "a number, 'auto' or 'sqrt'"
    return cast(Eta, positive(f"eta ({wanted})", eta))


def newton_steps(loss: Loss, clip: float, eta: Eta, d_eff: float = 1.0) -> NewtonSteps:
    """Return the step sizes for predictions in [-clip, clip].

    "auto" is sigma if sigma > 0, otherwise "sqrt"; "sqrt" is sqrt(d_eff/t) / (L clip), where L bounds the derivative of
    the loss. A number, or a function of t, is taken as it is.
    """
    sigma = loss.curvature(clip)
    limit = clip if sigma > 0 and loss.labels == "real" else math.inf
    if callable(eta):
        return NewtonSteps(sigma, 0.0, 0.0, limit, eta)
    if not isinstance(eta, str):
        return NewtonSteps(sigma, float(eta), 0.0, limit)
    if sigma > 0 and eta == "auto":
        return NewtonSteps(sigma, sigma, 0.0, limit)
    try:
        return NewtonSteps(sigma, 0.0, math.sqrt(d_eff) / (loss.lipschitz(clip) * clip), limit)
    except NotImplementedError:
        raise ValueError(
            f"eta={eta!r} needs loss.lipschitz(clip), which {loss!r} does not define; define it or give eta a number"
        ) from None


def warn_if_on_kink(loss: Loss, clip: float) -> None:
    """Warn if the derivative jumps at p = clip, for labels -1/+1 (the kink of a real label moves with it)."""
    if loss.labels == "real":
        return
    nearby = 1e-9 * clip
    if abs(loss.grad(1.0, clip + nearby) - loss.grad(1.0, clip - nearby)) > 1e-3:
        warnings.warn(
            f"clip={clip!r} lies on the kink of {loss!r}: rounding will decide its subgradient there; "
            "choose a larger clip, e.g. 1.5 times as large",
            UserWarning,
            stacklevel=3,
        )
