"""PROS-N-KONS: the online Newton step in a Nystrom space that grows with the stream."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

from nystream.dictionary.growing import BLOCK, Indices
from nystream.dictionary.kors import KORS
from nystream.dictionary.sampled import SampledAtoms
from nystream.kernels.base import Kernel
from nystream.learners.bounds import AGAINST, BoundTerms, convex_price
from nystream.learners.families.atoms import AtomLearner
from nystream.learners.families.loss import LossLearner
from nystream.losses import Loss, as_loss
from nystream.runtime.params import one_of, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Change, Seed
from nystream.solvers.ons import ONS

__all__ = ["ProsNKons"]


class ProsNKons(AtomLearner, LossLearner):
    """Second-order kernel learning at constant cost: online Newton step on Nystrom features of KORS.

    Before y_t is known, x_t becomes an atom with probability min(beta tau, 1), tau its online leverage score. In nested
    Nystrom coordinates z of the atoms::

        u, A <- 0, lam I                     if x_t became an atom                       (the restart)
        u, A <- (u, 0), diag(A, lam)         instead, with warm=True: nothing is lost
        p_t = clip(u'z_t),  then the online Newton step on z_t, see `nystream.ONS`

    Cost per step O(m^2 + m d) time and memory for m atoms; nothing grows with t once the dictionary has settled. Whole
    streams are learnt in exact blocks, also while it grows. Guarantee with warm=True, for eta_t = sigma, the curvature
    of the loss: regret on the features P_t phi_t at most (lam |f|^2 + sum g' A_t^-1 g)/2 against every f with
    |<f, P_t phi_t>| <= clip; with restarts, the first term counts once for each. These are functions of the
    dictionary; `regret_bound(norm2, against="kernel")` is against functions of the kernel's space.

    Parameters
    ----------
    kernel : Kernel
    loss, clip, lam, eta
        As in `nystream.ONS`; lam is the paper's alpha.
    mu : float or None
        Ridge of the leverage scores; smaller keeps more atoms. None: lam.
    eps, beta : float
        Of the sampling, see `nystream.dictionary.KORS`.
    warm : bool, default False
        Keep the weights when an atom is added. Usually far better, because the start of a stream has many restarts.
    max_atoms : int or None
        No atom is added beyond this number.
    seed : int, Generator or None
        Seed of the sampling: one uniform per round.

    Deviations from the paper: the restart comes in the round of the new atom, not one later, so that this round is
    learnt from; the step is sigma, not sigma/2; `warm` is an addition.

    References
    ----------
    Calandriello, Lazaric, Valko. Efficient Second-Order Online Kernel Learning with Adaptive Embedding. NIPS 2017.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.checkerboard(2000, seed=0)
    >>> kernel = nystream.Gaussian(0.3)
    >>> cold = nystream.ProsNKons(kernel, mu=0.5, seed=0).run(X, y)
    >>> warm = nystream.ProsNKons(kernel, mu=0.5, warm=True, seed=0).run(X, y)
    >>> bool(((warm - y) ** 2).sum() < ((cold - y) ** 2).sum())
    True
    """

    multi_output: ClassVar[bool] = False

    atoms_: SampledAtoms
    solver_: ONS

    def __init__(
        self,
        kernel: Kernel,
        *,
        loss: str | Loss = "squared",
        clip: float = 1.0,
        lam: float = 1.0,
        eta: str | float = "auto",
        mu: float | None = None,
        eps: float = 0.5,
        beta: float = 1.0,
        warm: bool = False,
        max_atoms: int | None = None,
        seed: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.clip = clip
        self.lam = lam
        self.eta = eta
        self.mu = None if mu is None else positive("mu", mu)
        self.eps = eps
        self.beta = beta
        self.warm = warm
        self.max_atoms = max_atoms
        self.seed = checked_seed(seed)
        self._loss = as_loss(loss)
        self._newton()  # the parts check the values here, not at the first row
        self._dictionary()

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return a bound on the regret so far against every f with |f|^2 <= norm2 and |<f, P_t phi_t>| <= clip.

        against="features": f predicts with the projected rows too, <f, P_t phi_t>. With restarts there may be another
        f between each two of them. against="kernel": f predicts f(x_t), also within clip, which costs
        L |f| sqrt(n `missed()`) more, with L the Lipschitz constant of the loss. Infinite once a real label of a curved
        loss was beyond clip.
        """
        return self.bound_terms(self._norm2(norm2, changes), against=against).total

    def bound_terms(self, norm2: float, *, against: str = "features") -> BoundTerms:
        """Return the terms of `regret_bound`."""
        one_of("against", against, AGAINST)
        positive("norm2", norm2, zero=True)
        if not self.d_:
            return BoundTerms(0.5 * self.lam * norm2, 0.0, 0.0)
        terms = BoundTerms(*self.solver_.bound_terms(norm2))
        if against == "features":
            return terms
        price = convex_price(norm2, self.n_seen_, self.missed(), self._loss.lipschitz(self.clip))
        return terms._replace(excess=terms.excess + price)

    def log_det(self) -> float:
        """Return log det(A_t / lam), over restarts the sum."""
        return self.solver_.log_det() if self.d_ else 0.0

    def missed(self) -> float:
        """Return Delta = sum over rounds of k(x, x) - |z(x)|^2, the part of each row outside the dictionary."""
        return self.atoms_.missed if self.d_ else 0.0

    def _newton(self) -> ONS:
        return ONS(self.loss, clip=self.clip, lam=self.lam, eta=self.eta)

    def _dictionary(self) -> SampledAtoms:
        mu = self.lam if self.mu is None else self.mu
        return SampledAtoms(KORS(self.kernel, mu, eps=self.eps, beta=self.beta, max_atoms=self.max_atoms))

    def _start(self, d: int, outputs: int) -> None:
        atoms, solver = self._dictionary(), self._newton()
        atoms.start(d, generator(self.seed))
        solver.start(atoms.width, outputs)
        self.atoms_, self.solver_ = atoms, solver

    def _check(self, X: Array, learnt: int) -> None:
        self.atoms_.squares(X)

    def _predict(self, X: Array) -> Array:
        k, P = self.atoms_.squares(X), np.empty((len(X), 1))
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            Z, grows = self.atoms_.ask(X[part], k[part])
            P[part] = self.solver_.predict(Z)
            if not self.warm:
                P[part][grows] = 0.0  # the restart comes before the prediction
        return P

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        k, P, row = self.atoms_.squares(X), np.empty_like(Y), 0
        while row < len(X):
            part = slice(row, row + BLOCK)
            Z, entered = self.atoms_.admit(X[part], k[part])
            self._widen_solver()
            P[part] = self._learn(Z, Y[part], entered)
            row = part.stop
        return P

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        z, entered = self.atoms_.admit_row(x)
        if entered:
            self._widen_solver()
            return self._learn(z[None], y[None], np.zeros(1, dtype=np.intp))[0]
        return self.solver_.step(z, y)

    def _step_one(self, x: Any, y: Any) -> float | None:
        known = self.atoms_.engine or self.atoms_.known()
        p = None if known is None else self.solver_.one(known, x, y)
        return super()._step_one(x, y) if p is None else p

    def _learn(self, Z: Array, Y: Array, entered: Indices) -> Array:
        """Do rounds on coordinates (n, width); the rows `entered` became atoms."""
        if self.warm or not len(entered):
            return self.solver_.run(Z, Y)
        P, cuts = np.empty_like(Y), [*entered.tolist(), len(Z)]
        if cuts[0]:
            P[: cuts[0]] = self.solver_.run(Z[: cuts[0]], Y[: cuts[0]])
        for start, stop in itertools.pairwise(cuts):
            self.solver_.rebase(Change(None), self.atoms_.width)
            P[start:stop] = self.solver_.run(Z[start:stop], Y[start:stop])
        return P

    def _widen_solver(self) -> None:
        """Add features that are 0 until their atom is added."""
        old, new = self.solver_.metric_.dim_, self.atoms_.width
        if new != old:
            self.solver_.rebase(Change(np.eye(new, old)), new)

    def _widen(self, d: int) -> None:
        self.atoms_.widen(d)
