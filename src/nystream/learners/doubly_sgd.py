"""DoublySGD: doubly stochastic functional gradients, with random directions that are drawn again instead of stored."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, TypeAlias

import numpy as np

from nystream._core.features import FourierFeatures
from nystream.dictionary.rows import Rows
from nystream.features.demands import sampler_of
from nystream.kernels.base import Kernel
from nystream.learners.families.averaging import Averaging
from nystream.learners.families.loss import LossLearner
from nystream.losses import Loss, as_loss
from nystream.params import at_least, positive
from nystream.seeds import checked_seed, generator
from nystream.types import Array, Seed

__all__ = ["DoublySGD"]

BLOCK = 128
"""Rows that share one regeneration of the directions so far."""
CHUNK = 64
"""Rounds whose directions are held at once."""
KEPT = 1 << 24
"""Bytes of directions that are held from call to call; those beyond are drawn again every time."""
TINY = 1e-100
"""A lazy scale below this is multiplied into the factors of the coefficients."""
LONG = 1e4
"""Sum of the scale, in units of it, above which it is settled: the mean hypothesis loses 4 of 16 digits at most."""

_Draw: TypeAlias = tuple[Array, Array]
_Map: TypeAlias = tuple[FourierFeatures, Array, Array]


class DoublySGD(LossLearner, Averaging):
    """Gradient descent in the kernel's space that replaces k(x_t, .) by a few random features in every round.

    Round t draws B directions omega_i from the kernel's spectral density and phases b_i from U[0, 2 pi], by a generator
    that is a function of (seed, t) alone: they are drawn again whenever they are needed, but for the first 16 MB of
    them, which are kept at hand and are no part of the model. With
    phi_i(x) = sqrt(2) cos(omega_i'x + b_i) (times sqrt(k(x, x))) and s_t = step / (t0 + t)::

        p = sum_{s<t} sum_i a_si phi_si(x)        a *= 1 - s_t lam        a_ti = -s_t l'(y, p) phi_ti(x) / B

    so that f is an unbiased estimate of functional gradient descent, and converges to the kernel's own function at
    rate O(1/t), however large the data: memory is B numbers a round (and output), none for points or directions.
    Time is O(t B d) a round; a block of rows draws the past directions that are not at hand once. In a single pass it
    is weak by construction; fixed features (`FOGD`) learn faster from the same rows. With label similarities M the
    derivative l' becomes M l'. The mean of the hypotheses (`averaged`) costs two more numbers for each stored round.

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
    """(stored, 3): the rounds that left coefficients; the factor f that turns those into what they are now, over the
    scale; and past, such that f cum + past is the sum of what they were in all rounds, in units of the coefficients."""
    coef_: Rows
    """(stored, B K): their coefficients when they were stored, output by output."""
    scale_: float
    cum_: float
    """The sum of the scale over the rounds since it was settled."""
    t_: int
    _maps: dict[int, tuple[int, _Map]]  # of chunks of stored rounds: how many, and what `_map` gives
    _last: dict[int, _Draw]  # of the last chunk, while it grows
    _next: dict[int, _Draw]  # of the next rounds

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
        self._theta = positive("step", step)  # `step` is the method; `get_params` gives the parameter
        self.t0 = positive("t0", t0, zero=True)
        self.block = at_least("block", block, 1)
        self.max_features = None if max_features is None else at_least("max_features", max_features, block)
        self.seed = checked_seed(seed)
        self._loss = as_loss(loss)
        if step * lam >= t0 + 1:
            raise ValueError(f"step * lam must be less than t0 + 1, got step={step!r}, lam={lam!r}, t0={t0!r}")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of parts as `part__name` too."""
        return {**super().get_params(deep), "step": self._theta}

    @property
    def size(self) -> int:
        """Features stored."""
        return self.block * len(self.coef_) if self.d_ else 0

    @property
    def frozen(self) -> bool:
        """Whether `max_features` is reached: predictions go on, learning does not."""
        return self.max_features is not None and self.size + self.block > self.max_features

    @property
    def nbytes(self) -> int:
        if not self.d_:
            return 0
        kept = sum(engine.W.nbytes + a.nbytes + b.nbytes for _, (engine, a, b) in self._maps.values())
        return self.rounds_.nbytes + self.coef_.nbytes + kept

    def _start(self, d: int, outputs: int) -> None:
        if self.seed is None:
            self.seed_ = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        elif isinstance(self.seed, np.random.Generator):
            self.seed_ = int(generator(self.seed).integers(2**63))
        else:
            self.seed_ = int(self.seed)
        self.widths_ = [d]
        self.rounds_, self.coef_ = Rows(3), Rows(self.block * outputs)
        self.scale_, self.cum_, self.t_ = 1.0, 0.0, 0
        self._forget()

    def _predict(self, X: Array) -> Array:
        return self.scale_ * self._past(X, self.rounds_.view[:, 1])

    def _averaged(self, X: Array) -> Array:
        sums = self.rounds_.view[:, 1] * self.cum_ + self.rounds_.view[:, 2]
        return self._past(X, sums / max(self.n_seen_, 1))

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            F = self._past(X[part], self.rounds_.view[:, 1])
            if not self.frozen:
                self._learn(X[part], Y[part], None if weights is None else weights[part], F, P[part])
            else:
                P[part] = self.scale_ * F
                self._count(len(F))
        return P

    def _learn(self, X: Array, Y: Array, weights: Array | None, F: Array, P: Array) -> None:
        """Rounds into P. F (n, K): the functions of the rounds before the block, over the scale."""
        B, similar = self.block, self._loss.label_similarity
        Phi = self._features(X, range(self.t_ + 1, self.t_ + len(X) + 1))
        for i in range(len(X)):
            P[i] = self.scale_ * F[i]
            self._count(1)
            if self.frozen:
                continue
            self.t_ += 1
            rate = self._theta / (self.t0 + self.t_)
            label = int(Y[i, 0]) if self._loss.multiclass else Y[i]
            g = np.asarray(self._loss.grad(label, P[i]), dtype=np.float64)
            g = g if similar is None else similar @ g
            self.scale_ *= 1 - rate * self.lam
            if g.any() and (weights is None or weights[i] > 0):
                own = slice(i * B, (i + 1) * B)
                rate *= (1.0 if weights is None else float(weights[i])) / B
                coef = -rate * np.outer(Phi[i, own], g)
                self.rounds_.append(np.array([float(self.t_), 1 / self.scale_, -self.cum_ / self.scale_]))
                self.coef_.append(coef.ravel())
                F[i + 1 :] += Phi[i + 1 :, own] @ coef / self.scale_
            if self.scale_ < TINY:
                self._settle()
                self.rounds_.view[:, 1] *= self.scale_
                F *= self.scale_
                self.scale_ = 1.0

    def _count(self, rounds: int) -> None:
        """The present hypothesis enters the mean, for so many rounds."""
        if self.cum_ > LONG * self.scale_:
            self._settle()
        self.cum_ += rounds * self.scale_

    def _settle(self) -> None:
        self.rounds_.view[:, 2] += self.rounds_.view[:, 1] * self.cum_
        self.cum_ = 0.0

    def _past(self, X: Array, factors: Array) -> Array:
        """(n, K): what the stored rounds give, their coefficients times these factors (stored,)."""
        F = np.zeros((len(X), self.outputs_))
        rounds = self.rounds_.view[:, 0].astype(np.int64)
        for i in range(0, len(rounds), CHUNK):
            engine, cosines, sines = self._stored(i, rounds[i : i + CHUNK].tolist())
            a = (factors[i : i + CHUNK, None] * self.coef_.view[i : i + CHUNK]).reshape(-1, self.outputs_)
            a = np.vstack([cosines[:, None] * a, sines[:, None] * a])
            for j in range(0, len(X), BLOCK):
                Z = np.empty((len(X[j : j + BLOCK]), len(a)))
                engine.map(X[j : j + BLOCK], Z)
                F[j : j + BLOCK] += Z @ a
        return F

    def _features(self, X: Array, rounds: Iterable[int]) -> Array:
        """phi of all directions of these rounds, which are the next ones, round by round, (n, rounds B)."""
        self._next = self._drawn(rounds)
        engine, cosines, sines = self._map(list(self._next.values()))
        Z = np.empty((len(X), 2 * len(cosines)))
        engine.map(X, Z)
        return Z[:, : len(cosines)] * cosines + Z[:, len(cosines) :] * sines

    def _stored(self, first: int, rounds: list[int]) -> _Map:
        """The map of a chunk of stored rounds, of which the first has this number; kept while there is room."""
        kept = self._maps.get(first)
        if kept is not None and kept[0] == len(rounds):
            return kept[1]
        known = self._last | self._next
        draws = {t: known[t] for t in rounds if t in known}
        draws |= self._drawn([t for t in rounds if t not in draws])
        made = self._map([draws[t] for t in rounds])
        if (first + CHUNK) * self.block * (self._columns + 4) * 8 <= KEPT:
            self._maps[first] = len(rounds), made
            self._last = draws if len(rounds) < CHUNK else {}
        return made

    def _forget(self) -> None:
        """Draw all directions again when they are asked for."""
        self._maps, self._last, self._next = {}, {}, {}
        self._key = np.random.SeedSequence(self.seed_).generate_state(2, np.uint64)

    @property
    def _columns(self) -> int:
        return self.widths_[-1]

    def _drawn(self, rounds: Iterable[int]) -> dict[int, _Draw]:
        """Directions and phases, by round."""
        bits = np.random.Philox(key=self._key)
        rng, fresh = np.random.Generator(bits), bits.state
        drawn = {}
        for t in rounds:
            fresh["state"]["counter"][:] = 0, t, 0, 0  # a counter has 2^64 blocks for each round
            bits.state = fresh
            drawn[t] = self._draw(rng)
        return drawn

    def _map(self, drawn: list[_Draw]) -> _Map:
        """The map to (cos, sin) of the rounds' projections, and the factors that make phi of the two.

        cos(u + b) = cos u cos b - sin u sin b.
        """
        W = np.vstack([w for w, _ in drawn])
        b = np.concatenate([phase for _, phase in drawn])
        amplitude = float(self.kernel.diag(np.zeros((1, W.shape[1])))[0])  # k(x, x), the same everywhere
        return FourierFeatures(W.T, math.sqrt(2 * amplitude)), np.cos(b), -np.sin(b)

    def _draw(self, rng: np.random.Generator) -> _Draw:
        """B directions (B, d) and phases (B,). Columns that came later are drawn last, so that the others stay."""
        W = sampler_of(self.kernel)(self.block, self.widths_[0], rng)
        b = rng.uniform(0.0, 2 * math.pi, self.block)
        for d in self.widths_[1:]:
            W = np.hstack([W, self._extend(W, d - W.shape[1], rng)])
        return W, b

    @property
    def _extend(self) -> Any:
        extend = getattr(self.kernel, "spectral_extend", None)
        if extend is None:
            raise TypeError(f"directions of {self.kernel!r} cannot take more columns; name them all at the start")
        return extend

    def _widen(self, d: int) -> None:
        _ = self._extend
        self.widths_ = [*self.widths_, d]
        self._forget()

    def _grow(self, outputs: int) -> None:
        coef = np.zeros((len(self.coef_), self.block, outputs))
        coef[:, :, : self.outputs_] = self.coef_.view.reshape(len(coef), self.block, self.outputs_)
        self.coef_ = Rows(self.block * outputs)
        self.coef_.extend(coef.reshape(len(coef), self.block * outputs))

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "seed_" in state:
            self._forget()
