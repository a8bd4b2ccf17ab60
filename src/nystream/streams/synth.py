"""Stationary synthetic streams: sine, checkerboard, bumps."""

from __future__ import annotations

import numpy as np

from nystream.runtime.params import at_least, positive
from nystream.runtime.types import Array, Seed
from nystream.streams.cutting import Block
from nystream.streams.generated import Draw, Generated

__all__ = ["Bumps", "bumps", "checkerboard", "sine"]


def sine(n: int | None = None, *, periods: float = 1.0, noise: float = 0.1, seed: Seed = 0) -> Generated:
    """Return a stream of a sine of one variable: x uniform on [-1, 1], y = sin(pi periods x) + noise N(0, 1).

    Parameters
    ----------
    n : int or None
        Rows; None: endless.
    periods : float
        Periods of the sine in [-1, 1].
    noise : float
        Standard deviation of the noise.
    seed : int, Generator or None

    Examples
    --------
    >>> X, y = sine(500, seed=0)
    >>> X.shape, y.shape
    ((500, 1), (500,))
    """
    positive("periods", periods)
    positive("noise", noise, zero=True)

    def recipe(rng: np.random.Generator) -> Draw:
        def draw(t: Array) -> Block:
            X = rng.uniform(-1.0, 1.0, (len(t), 1))
            return X, np.sin(np.pi * periods * X[:, 0]) + noise * rng.standard_normal(len(t))

        return draw

    return Generated("sine", recipe, n, 1, "regression", seed)


def checkerboard(n: int | None = None, *, cells: int = 4, noise: float = 0.0, seed: Seed = 0) -> Generated:
    """Generate labels -1/+1 like a chessboard: x uniform on [0, 1]^2, +1 where the cell's row plus column is even.

    Parameters
    ----------
    n : int or None
        Rows; None: endless.
    cells : int
        Cells along each side.
    noise : float
        Probability that a label is flipped.
    seed : int, Generator or None

    Examples
    --------
    >>> X, y = checkerboard(4, cells=2)
    >>> (np.where((X > 0.5).sum(axis=1) % 2 == 0, 1.0, -1.0) == y).tolist()
    [True, True, True, True]
    """
    at_least("cells", cells, 1)
    positive("noise", noise, zero=True, below=1.0)

    def recipe(rng: np.random.Generator) -> Draw:
        def draw(t: Array) -> Block:
            X = rng.random((len(t), 2))
            even = np.floor(cells * X).sum(axis=1) % 2 == 0
            return X, np.where(even ^ (rng.random(len(t)) < noise), 1.0, -1.0)

        return draw

    return Generated("checkerboard", recipe, n, 2, "classification", seed)


def bumps(
    n: int | None = None,
    *,
    d: int = 2,
    count: int = 20,
    width: float = 0.3,
    noise: float = 0.1,
    seed: Seed = 0,
) -> Generated:
    """Return a stream of a sum of Gaussian bumps: x uniform on [-1, 1]^d, y = f(x) + noise N(0, 1).

    The function is ``f(x) = sum_k a_k exp(-|x - c_k|^2 / (2 width^2))`` with `count` centres c_k uniform on [-1, 1]^d
    and heights a_k from N(0, 1), drawn from the seed too: it lies in the space of the Gaussian kernel of that width,
    with a known norm, which makes it the friendly case for kernel learners.

    Parameters
    ----------
    n : int or None
        Rows; None: endless.
    d, count : int
        Variables; bumps.
    width : float
        Standard deviation of a bump.
    noise : float
        Standard deviation of the noise.
    seed : int, Generator or None

    Examples
    --------
    >>> X, y = bumps(100, d=3)
    >>> X.shape
    (100, 3)
    """
    positive("noise", noise, zero=True)
    shape = (at_least("count", count, 1), at_least("d", d, 1))
    positive("width", width)

    def recipe(rng: np.random.Generator) -> Draw:
        f = Bumps(rng, shape, width)

        def draw(t: Array) -> Block:
            X = rng.uniform(-1.0, 1.0, (len(t), d))
            return X, f(X) + noise * rng.standard_normal(len(t))

        return draw

    return Generated("bumps", recipe, n, d, "regression", seed)


class Bumps:
    """A random sum of Gaussian bumps on [-1, 1]^d; `shape` is (bumps, d)."""

    def __init__(self, rng: np.random.Generator, shape: tuple[int, int], width: float) -> None:
        self.centres = rng.uniform(-1.0, 1.0, shape)
        self.heights = rng.standard_normal(shape[0])
        self.width = width

    def __call__(self, X: Array) -> Array:
        squared = (X * X).sum(axis=1)[:, None] + (self.centres * self.centres).sum(axis=1) - 2.0 * X @ self.centres.T
        values: Array = np.exp(-np.maximum(squared, 0.0) / (2.0 * self.width**2)) @ self.heights
        return values
