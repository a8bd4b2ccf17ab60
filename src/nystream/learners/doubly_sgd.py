"""DoublySGD: doubly stochastic functional gradients. Random directions are drawn again instead of stored."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from nystream._core.features import SLACK, DirectionRounds, cosine_sums, cosines
from nystream._core.linalg import aligned_zeros
from nystream.dictionary.rows import Rows
from nystream.features.demands import sampler_of
from nystream.kernels.base import Kernel
from nystream.learners.families.averaging import Averaging
from nystream.learners.families.loss import LossLearner
from nystream.losses import Loss, as_loss
from nystream.runtime.params import at_least, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Seed

__all__ = ["DoublySGD"]

BLOCK = 128
"""Rows that share one pass over the directions so far."""
CHUNK = 128
"""Approximate number of directions that are processed at a time."""
DRAWN = 64
"""Chunks that are drawn at once if they are not kept."""
KEPT = 1 << 24
"""Largest number of bytes of directions that are kept between calls; others are drawn again."""
TINY = 1e-100
"""A lazy scale below this is multiplied into the factors of the coefficients."""
LONG = 1e4
"""Sum of the scale, relative to the scale, above which it is settled; the mean loses at most 4 of 16 digits."""

_Kept: TypeAlias = tuple[Array, int]
_Source: TypeAlias = tuple[np.random.Generator, Any]


class DoublySGD(LossLearner, Averaging):
    """Gradient descent in the kernel's space that replaces k(x_t, .) by a few random features in every round.

    Round t draws B directions omega_i from the kernel's spectral density and phases b_i from U[0, 2 pi], by a generator
    that depends on (seed, t) only. They are drawn again when they are needed, except for the first 16 MB, which are
    kept in memory but not in model files. With
    phi_i(x) = sqrt(2) cos(omega_i'x + b_i) (times sqrt(k(x, x))) and s_t = step / (t0 + t)::

        p = sum_{s<t} sum_i a_si phi_si(x)        a *= 1 - s_t lam        a_ti = -s_t l'(y, p) phi_ti(x) / B

    so that f is an unbiased estimate of functional gradient descent, and converges to the kernel's own function at rate
    O(1/t), however large the data: memory is B numbers a round (and output), none for points or directions. Time is O(t
    B d) per round. A block of rows draws missing directions once, and a round without a gradient draws none. In a
    single pass it is weak; fixed features (`FOGD`) learn faster from the same rows. With label similarities M the
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
        Learning stops when this many features are stored. None never stops; memory then grows with t.
    seed : int, Generator or None
        Seed of the directions.

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
    """Number of columns at the start and after each widening, the order in which directions are drawn."""
    rounds_: Rows
    """(stored, 3): the round that stored each coefficient; the factor f by which the coefficient has changed since,
    divided by the scale; and a number `past` such that f cum + past is the sum of all its values so far, in units of
    the coefficient."""
    coef_: Rows
    """(stored, B K): their coefficients when they were stored, output by output."""
    scale_: float
    cum_: float
    """The sum of the scale over the rounds since it was settled."""
    t_: int
    _together: int  # rounds in a chunk
    _most: int  # rounds that are kept at most: whole chunks of them
    _gain: float  # of the cosines: sqrt(2 k(x, x)), the same everywhere
    _kept: _Kept  # chunks of directions of the first stored rounds, and of how many of them
    _engine: DirectionRounds | None
    _source: _Source  # of the directions of rounds that are learnt, one by one

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
        """Return the parameters by name. `deep` adds the parameters of parts as `part__name`."""
        return {**super().get_params(deep), "step": self._theta}

    @property
    def size(self) -> int:
        """Number of stored features."""
        return self.block * len(self.coef_) if self.d_ else 0

    @property
    def frozen(self) -> bool:
        """Whether `max_features` is reached, so that learning has stopped."""
        return self.max_features is not None and self.size + self.block > self.max_features

    @property
    def nbytes(self) -> int:
        if not self.d_:
            return 0
        return self.rounds_.nbytes + self.coef_.nbytes + self._kept[0].nbytes

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
        return self.scale_ * self._past(_with_phase(X), self.rounds_.view[:, 1])

    def _averaged(self, X: Array) -> Array:
        sums = self.rounds_.view[:, 1] * self.cum_ + self.rounds_.view[:, 2]
        return self._past(_with_phase(X), sums / max(self.n_seen_, 1))

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            rows = _with_phase(X[part])
            F = self._past(rows, self.rounds_.view[:, 1])
            if not self.frozen:
                self._learn(rows, Y[part], None if weights is None else weights[part], F, P[part])
            else:
                P[part] = self.scale_ * F
                self._count(len(F))
        return P

    def _learn(self, rows: Array, Y: Array, weights: Array | None, F: Array, P: Array) -> None:
        """Learn rounds and write predictions to P; F (n, K) is the function before the block over the scale."""
        engine, row = self._rounds(), 0
        while row < len(rows):
            room = len(rows) if self.max_features is None else (self.max_features - self.size) // self.block
            try:
                row, left, coef = engine.run(rows, Y, weights, F, P, row, self.scale_, self.cum_, self.t_, room)
                self.scale_, self.cum_, self.t_ = engine.scale, engine.cum, engine.t
                self.rounds_.extend(left)
                self.coef_.extend(coef)
            finally:  # if a loss that is asked in Python raises, rounds that are not stored have been drawn
                self._kept = self._kept[0], min(self._kept[1], self.rounds_.n)
            F *= self._rescaled()

    def _step_one(self, x: Any, y: Any) -> float | None:
        chunks, known = self._at_hand()
        if self.frozen or known < self.rounds_.n:  # nothing to learn, or directions to draw again
            return super()._step_one(x, y)
        engine, now = self._rounds(), (self.scale_, self.cum_, self.t_)
        p = engine.one(x, y, chunks, self.rounds_.view, self.coef_.view, *now)
        if p is None:
            return super()._step_one(x, y)
        self.scale_, self.cum_, self.t_ = engine.scale, engine.cum, engine.t
        if engine.stored:
            self.rounds_.append(engine.left)
            self.coef_.append(engine.coef)
        self._rescaled()
        return p

    def _rescaled(self) -> float:
        """Fold a scale that became too small, or a sum that became too long, into the stored factors.

        Return the factor by which functions that were divided by the old scale must be multiplied.
        """
        factor = 1.0
        if self.scale_ < TINY:
            self._settle()
            factor, self.scale_ = self.scale_, 1.0
            self.rounds_.view[:, 1] *= factor
        elif self.cum_ > LONG * self.scale_:
            self._settle()
        return factor

    def _rounds(self) -> DirectionRounds:
        """Return the compiled recursion, for as many columns and outputs as there are."""
        if self._engine is None:
            own = _chunks(1, self.block, self._columns + 1)[0]
            numbers = self._theta, self.t0, self.lam, self._gain
            self._engine = DirectionRounds(self._loss, self.outputs_, *numbers, own, self._draw_next, LONG, TINY)
        return self._engine

    def _draw_next(self, t: int, own: Array) -> None:
        """Draw the directions of the present round t."""
        self._draw(t, self._source, own)
        self._remember(own)

    def _count(self, rounds: int) -> None:
        """Add the present hypothesis to the mean for this number of rounds."""
        if self.cum_ > LONG * self.scale_:
            self._settle()
        self.cum_ += rounds * self.scale_

    def _settle(self) -> None:
        self.rounds_.view[:, 2] += self.rounds_.view[:, 1] * self.cum_
        self.cum_ = 0.0

    def _past(self, rows: Array, factors: Array) -> Array:
        """Return the values (n, K) of the stored rounds, with coefficients times these factors (stored,)."""
        F = np.zeros((len(rows), self.outputs_))
        kept, known = self._at_hand()
        first, several = 0, DRAWN * self._together
        while first < len(factors):
            last = known if first < known else min(first + several, len(factors))
            chunks = kept if first < known else self._directions(self.rounds_.view[first:last, 0])
            part = slice(first, last)
            cosine_sums(rows, chunks, self.block, self.coef_.view[part], factors[part].copy(), self._gain, F)
            first = last
        return F

    def _features(self, X: Array, rounds: Iterable[int]) -> Array:
        """Return phi of all directions of these rounds, (n, rounds B)."""
        rows, source, B = _with_phase(X), self._new_source(), self.block
        own = _chunks(1, B, rows.shape[1])
        Phi = []
        for t in rounds:
            self._draw(t, source, own[0])
            Phi.append(cosines(rows, own[0], B, self._gain, np.empty((len(X), B))))
        return np.hstack(Phi)

    # -- directions ------------------------------------------------------------------------------------------------
    def _at_hand(self) -> _Kept:
        """Return the kept directions, after drawing more if there is room (after loading, or with new columns)."""
        chunks, known = self._kept
        stored = min(self.rounds_.n, self._most)
        if known < stored:
            chunks, known = self._directions(self.rounds_.view[:stored, 0]), stored
            self._kept = chunks, known  # in one assignment, for concurrent readers
        return chunks, known

    def _remember(self, own: Array) -> None:
        """Store the directions (d + 1, B) of the next round, unless earlier ones are missing because room is short."""
        chunks, known = self._kept
        if known >= self._most:
            return
        chunk, place = divmod(known, self._together)
        if chunk == len(chunks):
            more = min(max(2 * chunk, 1), self._most // self._together)
            chunks = _chunks(more, self._together * self.block, len(own))
            chunks[:chunk] = self._kept[0]
        chunks[chunk, :, place * self.block : (place + 1) * self.block] = own
        self._kept = chunks, known + 1

    def _directions(self, rounds: Array) -> Array:
        """Yield chunks of the directions of these rounds, drawn again."""
        source, B, together = self._new_source(), self.block, self._together
        chunks = _chunks(-(-len(rounds) // together), together * B, self._columns + 1)
        for i, t in enumerate(rounds.astype(np.int64).tolist()):
            chunk, place = divmod(i, together)
            self._draw(t, source, chunks[chunk, :, place * B : (place + 1) * B])
        return chunks

    def _forget(self) -> None:
        """Forget the kept directions, so that they are drawn again."""
        self._together = max(CHUNK // self.block, 1)
        columns = self._together * self.block
        self._most = max(KEPT - 8 * SLACK, 0) // (8 * columns * (self._columns + 1)) * self._together
        self._gain = math.sqrt(2 * float(self.kernel.diag(np.zeros((1, self._columns)))[0]))
        self._kept = _chunks(0, columns, self._columns + 1), 0
        self._key = np.random.SeedSequence(self.seed_).generate_state(2, np.uint64)
        self._source, self._engine = self._new_source(), None

    @property
    def _columns(self) -> int:
        return self.widths_[-1]

    def _new_source(self) -> _Source:
        """Return a generator and its initial state."""
        bits = np.random.Philox(key=self._key)
        return np.random.Generator(bits), bits.state

    def _draw(self, t: int, source: _Source, out: Array) -> None:
        """Return (d + 1, B): directions of round t and, in the last row, their phases. Later columns are drawn last,
        so that the others do not change."""
        rng, fresh = source
        fresh["state"]["counter"][:] = 0, t, 0, 0  # a counter has 2^64 blocks for each round
        rng.bit_generator.state = fresh
        W = sampler_of(self.kernel)(self.block, self.widths_[0], rng)
        b = rng.uniform(0.0, 2 * math.pi, self.block)
        for d in self.widths_[1:]:
            W = np.hstack([W, self._extend(W, d - W.shape[1], rng)])
        out[:-1], out[-1] = W.T, b

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
        self.coef_, self._engine = Rows(self.block * outputs), None
        self.coef_.extend(coef.reshape(len(coef), self.block * outputs))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = super().__deepcopy__(memo)
        if self.d_:  # directions at hand are at hand for a copy too, which goes on with others
            chunks = _chunks(*(self._kept[0].shape[i] for i in (0, 2, 1)))
            chunks[:] = self._kept[0]
            twin._kept = chunks, self._kept[1]
        return twin

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "seed_" in state:
            self._forget()


def _with_phase(X: Array) -> Array:
    """Return rows (x, 1), whose products with directions and phases are the angles."""
    rows = np.empty((len(X), X.shape[1] + 1))
    rows[:, :-1], rows[:, -1] = X, 1.0
    return rows


def _chunks(count: int, columns: int, d: int) -> Array:
    """Return zeros (count, d, columns), aligned to a cache line, with spare memory behind for the compiled sums."""
    return aligned_zeros(count * d * columns + SLACK)[: count * d * columns].reshape(count, d, columns)
