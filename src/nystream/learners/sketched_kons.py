"""Sketched-KONS: kernel online Newton steps with a metric of sampled gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream._core.atoms import KernelNewton, NewtonRow
from nystream._core.inputs import Coins
from nystream._core.landmarks import WhitenedRow
from nystream.dictionary.kors import KORS
from nystream.kernels.base import Kernel
from nystream.learners.bounds import BoundTerms
from nystream.learners.kons import KONS
from nystream.learners.kons_bounds import GAIN, GRAD, ROUND, effective_dimension, leverages
from nystream.losses import Loss
from nystream.losses.steps import Eta
from nystream.runtime.params import one_of, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Seed

__all__ = ["SketchedKONS"]


class SketchedKONS(KONS):
    """KONS with a sampled metric. Fewer sampled gradients give cheaper steps and more regret.

    The metric A_t = lam I + sum_s z_s eta_s g_s g_s' counts round t only if z_t = 1, with probability
    max(p_t, gamma), where p_t = min(beta tau_t, 1) from the leverage score tau_t of the scaled point l'_t sqrt(eta_t)
    phi_t, which KORS estimates on its own dictionary::

        w_t = argmin { (w - u_t)' A_{t-1} (w - u_t) : |w(x_t)| <= clip },     p_t = w_t(x_t) = clip(u_t(x_t))
        u_{t+1} = w_t - A_t^-1 g_t

    Both decisions of a round use the same uniform, so KORS's dictionary is part of the sketch. gamma = 1 is KONS.
    Scores are known only with the label, and fall as predictions improve: the sketch is small where learning is easy.
    Every point with a gradient stays in the function, so memory still grows with t. Cost per round O(B^2 + t) for B
    rounds in the sketch, about beta d_onl + gamma t.

    Parameters
    ----------
    kernel, loss, clip, lam, eta, max_points
        As in `KONS`. Meant for curved losses: without curvature a first-order method is as good.
    gamma : float, default 0.1
        Least probability of entering the sketch, in [0, 1].
    eps, beta : float
        Accuracy, in (0, 1), and oversampling, > 0, of KORS (see `nystream.dictionary.KORS`).
    sketch_weights : None or "inverse"
        None: a round in the sketch counts once, as in Algorithm 3. "inverse": it counts 1/odds times, so that the
        metric is an unbiased estimate of that of `KONS`. Section 6 of the paper argues that this does not help: the
        bias that it causes in the regret is not controlled. `regret_bound` holds for it too, Theorem 3
        does not. Rounds are followed one by one.
    seed : int, Generator or None

    Deviations from the paper: its dual form (Lemma 4) lacks the coin in the term of the metric; the recursion here is
    that of its algorithm.

    References
    ----------
    Calandriello, Lazaric, Valko. Second-Order Kernel Online Convex Optimization with Adaptive Sketching. ICML 2017.

    Examples
    --------
    >>> import nystream
    >>> from nystream.learners import SketchedKONS
    >>> X, y = nystream.streams.sine(400, seed=0)
    >>> model = SketchedKONS(nystream.Gaussian(0.5), clip=2.0, gamma=0.05, seed=0)
    >>> p = model.run(X, y)
    >>> bool(((p[200:] - y[200:]) ** 2).mean() < 0.5 * y.var()), model.sketch_size < 100
    (True, True)
    """

    kors_: KORS
    rng_: np.random.Generator
    u_: float
    _atoms: WhitenedRow | None = None  # KORS's dictionary, compiled, for one row at a time
    _uniforms: Coins  # of `rng_`, for the same
    _enters: bool = False  # whether the present round enters a weighted sketch

    def __init__(
        self,
        kernel: Kernel,
        *,
        loss: str | Loss = "squared",
        clip: float = 1.0,
        lam: float = 1.0,
        eta: Eta = "auto",
        d_eff: float = 1.0,
        max_points: int | None = None,
        gamma: float = 0.1,
        eps: float = 0.5,
        beta: float = 1.0,
        sketch_weights: str | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(kernel, loss=loss, clip=clip, lam=lam, eta=eta, d_eff=d_eff, max_points=max_points)
        self.gamma = positive("gamma", gamma, zero=True)
        if gamma > 1:
            raise ValueError(f"gamma is a probability, at most 1; got {gamma!r}")
        self.eps = eps
        self.beta = beta
        if sketch_weights is not None:
            one_of("sketch_weights", sketch_weights, ("inverse",))
        self.sketch_weights = sketch_weights
        self.seed = checked_seed(seed)
        KORS(kernel, lam, eps=eps, beta=beta)  # checks the values here, not at the first row
        steps = self._steps
        self._newton = KernelNewton(self._loss, clip, lam, steps.constant, steps.scale, gamma=gamma, eps=eps, beta=beta)

    def _start(self, d: int, outputs: int) -> None:
        super()._start(d, outputs)
        self.kors_ = KORS(self.kernel, self.lam, eps=self.eps, beta=self.beta)
        self.kors_.start(d)
        self.rng_ = generator(self.seed)
        self.u_ = self.rng_.random()

    @property
    def sketch_size(self) -> int:
        """Number of rounds in the metric."""
        return self._factor.n if self.d_ else 0

    @property
    def _one_by_one(self) -> bool:
        return super()._one_by_one or self.sketch_weights is not None

    def _single(self, X: Array, Y: Array, t: int) -> KernelNewton:
        eta = self._steps.of(t)
        if self.sketch_weights is None:
            odds = {"gamma": self.gamma, "eps": self.eps, "beta": self.beta}
            return KernelNewton(self._loss, self.clip, self.lam, eta, 0.0, **odds)
        p = float(np.clip(self._kernel_rows(X) @ self.coef, -self.clip, self.clip)[0])
        scale = np.array([float(self._loss.grad(float(Y[0, 0]), p)) * math.sqrt(eta)])
        chance = max(float(self.kors_.scores(X, scale).p[0]), self.gamma)
        self._enters = bool(self.u_ < chance)
        return KernelNewton(self._loss, self.clip, self.lam, eta / chance if self._enters else eta, 0.0)

    def _coins(self, X: Array, gram: Array) -> tuple[Array | None, Array | None]:
        if (
            self.sketch_weights is not None
        ):  # the coin has been tossed: a gradient enters, or a coin above 1 keeps it out
            return (None, None) if self._enters else (gram.copy(), np.full(1, 2.0))
        T = self.kors_.factor_.whiten(X)
        u = np.empty(len(X))
        u[0] = self.u_
        if len(X) > 1:
            u[1:] = self.rng_.random(len(X) - 1)
        return np.ascontiguousarray(gram - T @ T.T), u

    def _sampled(self, X: Array, record: Array, odds: Array) -> None:
        if self.sketch_weights is not None:
            scale = float(record[0, GRAD]) * math.sqrt(self._steps.of(int(record[0, ROUND])))
            if scale:
                self.kors_.step(X[0], self.u_, scale)
            self.u_ = self.rng_.random()
            return
        kept = odds > 0
        if kept.any():
            c = record[kept, GRAD] * np.sqrt(record[kept, GAIN])
            self.kors_.extend(X[kept], c, odds[kept], self.kors_.factor_.whiten(X[kept]))
        self.u_ = self.rng_.random()

    @property
    def _coin(self) -> float:
        return self.u_

    def _sampler(self) -> WhitenedRow | None:
        form = self.kernel.compiled
        if form is not None:
            self._atoms = WhitenedRow(form, self.kors_.factor_.factor)
            self._atoms.hold_row(self.kors_.points, self.kors_.factor_.scale_.view)
            self._uniforms = Coins(self.rng_)
        return self._atoms

    def _tossed(self, row: NewtonRow, x: Array) -> None:
        if row.odds > 0 and self._atoms is not None:
            grad, gain = float(row.record[GRAD]), float(row.record[GAIN])
            self.kors_.enter(x, grad * math.sqrt(gain), row.odds, row.own, self._atoms)
        self.u_ = self._uniforms.toss()

    def _mark(self) -> tuple[Any, ...]:
        return super()._mark(), self.kors_.mark(), self.rng_.bit_generator.state, self.u_

    def _rewind(self, mark: tuple[Any, ...]) -> None:
        exact, kors, self.rng_.bit_generator.state, self.u_ = mark
        super()._rewind(exact)
        self.kors_.rewind(kors)

    def published_bound(self, norm2: float, a_priori: bool = True) -> BoundTerms:
        """Return the bound of the paper's Theorem 3 for curved losses and beta of at least `theory_beta`; O(n^3)::

            lam norm2 + 2 d_eff(lam/(sigma L^2)) log(2 sigma L^2 T/lam) / ((1 - eps) sigma max(gamma, beta tau_min))

        d_eff of the raw kernel, tau_min the least true online leverage. It is about eta = sigma, and about
        sigma L^2 T far above lam; elsewhere it is not a bound, and a ValueError says so.
        """
        sigma, ridge = self._steps.sigma, self.lam * positive("norm2", norm2, zero=True)
        if self.sketch_weights is not None:
            raise ValueError("Theorem 3 is about sketches without weights; see regret_bound")
        if not sigma > 0:
            raise ValueError(f"the published bound needs a curved loss; {self._loss.name} has no curvature on +-clip")
        if self._steps.constant != sigma:
            raise ValueError(f"Theorem 3 is about eta='auto', the curvature {sigma:g} of the loss; see regret_bound")
        points, grad, eta = self._gradients()
        if not len(points):
            return BoundTerms(ridge, 0.0, 0.0)
        ratio = sigma * self._loss.lipschitz(self.clip) ** 2 / self.lam
        top, growing = float(self.kernel.diag(points).max()), ratio * self.n_seen_
        if 2 * math.log(2 * growing) < 1 + math.log1p(top * growing):  # what Theorem 3 has in place of the right side
            raise ValueError(
                f"Theorem 3 is about sigma L^2 T far above lam, and their ratio is {growing:.3g}; see regret_bound"
            )
        tau = leverages(self.kernel, points, grad * np.sqrt(eta), self.lam).min()
        odds = max(self.gamma, self.beta * tau)
        growth = 2 * effective_dimension(self.kernel, points, 1 / ratio) * math.log(2 * ratio * self.n_seen_)
        excess = math.inf if self.void_ else 0.0
        return BoundTerms(ridge, growth / ((1 - self.eps) * sigma * odds), excess)

    def _widen(self, d: int) -> None:
        super()._widen(d)
        self.kors_.factor_.widen(d)

    @property
    def nbytes(self) -> int:
        return super().nbytes + (self.kors_.nbytes if self.d_ else 0)
