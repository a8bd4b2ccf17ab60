"""DoublySGD: doubly stochastic functional gradients, with random directions that are drawn again instead of stored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from nystream._core.features import FourierFeatures
from nystream.dictionary.rows import Rows
from nystream.features.demands import sampler_of
from nystream.features.seeds import checked_seed, generator
from nystream.kernels.base import Kernel
from nystream.learners.base import Learner
from nystream.losses import Loss, as_loss
from nystream.params import at_least, positive
from nystream.types import Array, LabelKind, Seed

__all__ = ["DoublySGD"]

BLOCK = 128
"""Rows that share one regeneration of the directions so far."""
CHUNK = 64
"""Rounds whose directions are held at once."""
TINY = 1e-100
"""A lazy scale below this is multiplied into the coefficients."""


class DoublySGD(Learner):
    """Gradient descent in the kernel's space that replaces k(x_t, .) by a few random features in every round.

    Round t draws B directions omega_i from the kernel's spectral density and phases b_i from U[0, 2 pi], by a generator
    that is a function of (seed, t) alone: they are never stored, and drawn again whenever they are needed. With
    phi_i(x) = sqrt(2) cos(omega_i'x + b_i) (times sqrt(k(x, x))) and s_t = step / (t0 + t)::

        p = sum_{s<t} sum_i a_si phi_si(x)        a *= 1 - s_t lam        a_ti = -s_t l'(y, p) phi_ti(x) / B

    so that f is an unbiased estimate of functional gradient descent, and converges to the kernel's own function at
    rate O(1/t), however large the data: memory is B numbers a round (and output), none for points or directions.
    Time is O(t B d) a round; a block of rows draws the past directions once. In a single pass it is weak by
    construction; fixed features (`FOGD`) learn faster from the same rows.

    Parameters
    ----------
    kernel : Kernel
        One with a `spectral_sample` method: Gaussian, Laplacian, Matern, and their sums, products and multiples.
    loss : str or Loss, default "hinge"
        Any loss.
    lam : float, default 1e-4
        Ridge.
    step, t0 : float, default 1.0
        s_t = step / (t0 + t); step lam < t0 + 1.
    block : int, default 16
        B, features drawn each round; more lower the variance.
    max_features : int, optional
        No learning once this many features are stored: the model is frozen. (To go on updating the coefficients would
        be another algorithm.) None never stops; memory then grows with t.
    seed : int, Generator or None
        Of the directions.

    Deviations from the paper: a block of features per round instead of one; rounds without a gradient store nothing.

    References
    ----------
    Dai, Xie, He, Liang, Raj, Balcan, Song. Scalable Kernel Methods via Doubly Stochastic Gradients. NIPS 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import DoublySGD
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(800, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = DoublySGD(Gaussian(0.5), step=20.0, t0=20.0, seed=0)
    >>> p = model.run(X, y)
    >>> bool(np.mean(p[400:] * y[400:] > 0) > 0.85), model.size % 16
    (True, 0)
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    seed_: int
    widths_: list[int]
    """Columns at the start, then after each widening: directions are drawn in this order."""
    rounds_: Rows
    """(stored, 1): the rounds that left coefficients."""
    coef_: Rows
    """(stored, B K): their coefficients over the scale, output by output."""
    scale_: float
    t_: int

    def __init__(
        self,
        kernel: Kernel,
        *,
        loss: str | Loss = "hinge",
        lam: float = 1e-4,
        step: float = 1.0,
        t0: float = 1,
        block: int = 16,
        max_features: int | None = None,
        seed: Seed = None,
    ) -> None:
        sampler_of(kernel)
        self.kernel = kernel
        self.loss = loss
        self.lam = positive("lam", lam, zero=True)
        self.step_size = positive("step", step)
        self.t0 = positive("t0", t0, zero=True)
        self.block = at_least("block", block, 1)
        self.max_features = None if max_features is None else at_least("max_features", max_features, block)
        self.seed = checked_seed(seed)
        self._loss = as_loss(loss)
        if step * lam >= t0 + 1:
            raise ValueError(f"step * lam must be less than t0 + 1, got step={step!r}, lam={lam!r}, t0={t0!r}")
