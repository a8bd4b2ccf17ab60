"""Step sizes of Newton-like learners from the constants of the loss."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from nystream.losses.base import Loss
from nystream.params import positive
from nystream.types import Array

__all__ = ["NewtonSteps", "checked_eta", "newton_steps", "warn_if_on_kink"]


class NewtonSteps(NamedTuple):
    """eta_t = constant where that is positive, else scale / sqrt(t)."""

    sigma: float
    """Curvature of the loss on [-clip, clip]; 0 where it has linear pieces."""
    constant: float
    scale: float
    limit: float
    """Bound on |y| that the curvature relies on; infinite where nothing depends on it."""

    def at(self, t: Any) -> Array:
        """eta_t of rounds t = 1, 2, ..."""
        t = np.asarray(t, dtype=np.float64)
        return np.full_like(t, self.constant) if self.constant > 0 else self.scale / np.sqrt(t)


def checked_eta(eta: str | float) -> str | float:
    """The value itself, or a ValueError: "auto" or a number > 0."""
    return eta if isinstance(eta, str) and eta == "auto" else positive("eta (a number, or 'auto')", eta)


def newton_steps(loss: Loss, clip: float, eta: str | float) -> NewtonSteps:
    """The rule for predictions in [-clip, clip]: "auto" is sigma if sigma > 0, otherwise 1 / (L clip sqrt(t)).

    L bounds the derivative of the loss. A number is taken as it is.
    """
    sigma = loss.curvature(clip)
    limit = clip if sigma > 0 and loss.labels == "real" else math.inf
    if not isinstance(eta, str):
        return NewtonSteps(sigma, float(eta), 0.0, limit)
    if sigma > 0:
        return NewtonSteps(sigma, sigma, 0.0, limit)
    try:
        return NewtonSteps(sigma, 0.0, 1 / (loss.lipschitz(clip) * clip), limit)
    except NotImplementedError:
        raise ValueError(
            f"eta='auto' needs loss.lipschitz(clip), which {loss!r} does not define; define it or give eta a number"
        ) from None


def warn_if_on_kink(loss: Loss, clip: float) -> None:
    """A warning where the derivative jumps at p = clip, for signed labels (the kink of a real label moves with it)."""
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
