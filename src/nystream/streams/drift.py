"""Synthetic streams with drift: rotating Gaussians, Friedman's function, a function that changes sign."""

from __future__ import annotations

import numpy as np

from nystream.runtime.params import at_least, one_of, positive
from nystream.runtime.types import Array, Seed
from nystream.streams.cutting import Block
from nystream.streams.generated import Draw, Generated
from nystream.streams.synth import Bumps

__all__ = ["drifting_gaussians", "friedman", "switching"]

_HORIZON = 2000
"""Rows over which the angle turns if neither `horizon` nor `n` is given."""


def drifting_gaussians(
    n: int | None = _HORIZON, *, turns: float = 1.0, horizon: int | None = None, seed: Seed = 0
) -> Generated:
    """Return a stream of two classes of two Gaussians each, which rotate around the origin.

    In round t = 1, 2, ... a label bit b and a component bit c are tossed, and with T = `horizon`::

        angle = 2 pi turns t / T + (b + 2 c) pi / 2        x = 2 (cos angle, sin angle) + 0.7 N(0, I)

    with y = +1 for b = 0 and -1 for b = 1. After a quarter turn the classes have changed places, so a learner that does
    not forget is wrong.

    Parameters
    ----------
    n : int or None
        Rows; None: endless.
    turns : float
        Turns in `horizon` rounds.
    horizon : int or None
        T; None: n, or 2000 where the stream is endless.
    seed : int, Generator or None

    References
    ----------
    Cheng, Vishwanathan, Schuurmans, Wang, Caelli. Implicit Online Learning with Kernels. NIPS 2006 (the drifting
    stream of its experiments, with 2000 rounds).

    Examples
    --------
    >>> X, y = drifting_gaussians(seed=1)
    >>> X.shape, sorted(set(y.tolist()))
    ((2000, 2), [-1.0, 1.0])
    """
    rounds = at_least("horizon", horizon if horizon is not None else n if n is not None else _HORIZON, 1)
    positive("turns", turns, zero=True)

    def recipe(rng: np.random.Generator) -> Draw:
        def draw(t: Array) -> Block:
            label = rng.integers(0, 2, len(t))
            component = rng.integers(0, 2, len(t))
            angle = 2.0 * np.pi * turns * t / rounds + (label + 2 * component) * (np.pi / 2.0)
            X = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.7 * rng.standard_normal((len(t), 2))
            return X, np.where(label == 0, 1.0, -1.0)

        return draw

    return Generated("drifting_gaussians", recipe, n, 2, "classification", seed)


def friedman(
    n: int | None = None,
    *,
    drift: str = "none",
    at: int = 5000,
    width: int = 1000,
    d: int = 10,
    noise: float = 1.0,
    seed: Seed = 0,
) -> Generated:
    """Return a stream of Friedman's function, optionally with its variables exchanged at some point.

    x is uniform on [0, 1]^d and ``y = 10 sin(pi x_1 x_2) + 20 (x_3 - 1/2)^2 + 10 x_4 + 5 x_5 + noise N(0, 1)``; the
    other variables are irrelevant. After the drift, x_4, x_5, x_1, x_2, x_3 play the parts of x_1..x_5.

    Parameters
    ----------
    n : int or None
        Rows; None: endless.
    drift : "none", "abrupt" or "gradual"
        "abrupt": all rows after row `at` follow the new function. "gradual": row `at` + s follows it with probability s
        / `width`, and always from s = `width` on.
    at, width : int
    d : int
        Variables, at least 5.
    noise : float
        Standard deviation of the noise.
    seed : int, Generator or None

    References
    ----------
    Friedman. Multivariate adaptive regression splines. Annals of Statistics 19(1), 1991.

    Examples
    --------
    >>> X, y = friedman(1000, drift="abrupt", at=500)
    >>> X.shape
    (1000, 10)
    """
    one_of("drift", drift, ("none", "abrupt", "gradual"))
    at_least("at", at, 0)
    at_least("width", width, 1)
    at_least("d", d, 5)
    positive("noise", noise, zero=True)

    def recipe(rng: np.random.Generator) -> Draw:
        def draw(t: Array) -> Block:
            X = rng.random((len(t), d))
            coin = rng.random(len(t))  # drawn without drift too: the inputs do not depend on it
            share = np.clip((t - at) / (width if drift == "gradual" else 1), 0.0, 1.0)
            new = (coin < share) & (drift != "none")
            parts = np.where(new[:, None], X[:, [3, 4, 0, 1, 2]], X[:, :5])
            return X, _friedman(parts) + noise * rng.standard_normal(len(t))

        return draw

    return Generated("friedman", recipe, n, d, "regression", seed)


def switching(
    n: int | None = None,
    *,
    period: int = 500,
    d: int = 2,
    count: int = 20,
    width: float = 0.3,
    noise: float = 0.1,
    seed: Seed = 0,
) -> Generated:
    """Return a stream of the function of `bumps`, whose sign changes every `period` rows: y = f(x), then -f(x), then
    f(x), ...

    The best fixed function is 0, so a learner can only gain by following the changes. Other parameters as `bumps`.

    Examples
    --------
    >>> X, y = switching(200, period=100, noise=0.0)
    >>> _, still = switching(200, period=200, noise=0.0)
    >>> bool((y[:100] == still[:100]).all() and (y[100:] == -still[100:]).all())
    True
    """
    at_least("period", period, 1)
    positive("noise", noise, zero=True)
    shape = (at_least("count", count, 1), at_least("d", d, 1))
    positive("width", width)

    def recipe(rng: np.random.Generator) -> Draw:
        f = Bumps(rng, shape, width)

        def draw(t: Array) -> Block:
            X = rng.uniform(-1.0, 1.0, (len(t), d))
            sign = 1.0 - 2.0 * (np.floor((t - 1.0) / period) % 2)
            return X, sign * f(X) + noise * rng.standard_normal(len(t))

        return draw

    return Generated("switching", recipe, n, d, "regression", seed)


def _friedman(x: Array) -> Array:
    y: Array = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return y
