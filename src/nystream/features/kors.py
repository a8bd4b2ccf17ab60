"""Nystrom features whose atoms are sampled from the stream by leverage scores (KORS)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nystream.data.inputs import as_block
from nystream.dictionary.kors import KORS as Dictionary
from nystream.dictionary.nested import Nested
from nystream.features.nested import NestedFeatures
from nystream.kernels.base import Kernel, checked_kernel
from nystream.runtime.params import positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Change, Seed

__all__ = ["KORS"]


class KORS(NestedFeatures):
    """Coordinates in the span of atoms that were kept with probability min(beta tau, 1), tau their online leverage::

        tau_t = (1 + eps) s/(1 + s),     s = phi_t' (sum over kept atoms phi phi'/p + mu I)^-1 phi_t
        R R' = K_mm over the atoms       z(x) = R^-1 (k(a_1, x), ..., k(a_m, x))

    A row that the atoms explain up to mu is rarely kept, so `dim` follows the effective dimension of the data and
    stops growing. The coordinates are nested: when an atom enters, `observe` answers with a `Change` that appends a
    coordinate (the identity with a row of zeros below it), which a solver follows exactly; a row is transformed with
    the atoms that are there, itself included. An atom in the span of the others (a duplicate) counts for the scores
    but adds no coordinate. O(m^2 + m d) a row, O(m^2 + m d) memory for m atoms.

    For a learner whose map must not move, fit on a warm-up sample and freeze: `Nystrom(kernel, features.points)`.
    `shrink` and `merge` sample the atoms again, of one map or of maps fitted on parts of the data; they move the map
    otherwise than by appending, so use them before a learner is trained on it.

    Parameters
    ----------
    kernel : Kernel
        Any kernel, including your own.
    mu : float
        Ridge of the scores, > 0: the smaller, the more atoms.
    eps : float, default 0.5
        Accuracy, in (0, 1).
    beta : float, default 1.0
        Oversampling; 1 to 4 is the useful range for learning, `nystream.dictionary.theory_beta` gives guarantees.
    max_atoms : int or None
        No atom is kept beyond this number.
    seed : int, Generator or None
        One uniform is drawn per row until `max_atoms` is reached.

    References
    ----------
    Calandriello, Lazaric, Valko. Second-Order Kernel Online Convex Optimization with Adaptive Sketching. ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.features import KORS
    >>> from nystream.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 1))
    >>> features = KORS(Gaussian(0.5), mu=0.1, seed=0).fit(X)
    >>> Z = features.transform(X)
    >>> features.dim < 15, bool(np.abs(Z @ Z.T - Gaussian(0.5)(X, X)).max() < 1e-3)
    (True, True)
    """

    sampler_: Dictionary
    rng_: np.random.Generator
    u_: float

    def __init__(
        self,
        kernel: Kernel,
        mu: float,
        *,
        eps: float = 0.5,
        beta: float = 1.0,
        max_atoms: int | None = None,
        seed: Seed = None,
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.mu = positive("mu", mu)
        self.eps = eps
        self.beta = beta
        self.max_atoms = max_atoms
        self.seed = checked_seed(seed)
        self._dictionary()  # checks the values here, not at the first row

    def _dictionary(self) -> Dictionary:
        return Dictionary(self.kernel, self.mu, eps=self.eps, beta=self.beta, max_atoms=self.max_atoms)

    def start(self, d: int) -> None:
        self.sampler_, self.nested_ = self._dictionary(), Nested(self.kernel)
        self.sampler_.start(d)
        self.nested_.start(d)
        self.rng_ = generator(self.seed)
        self.u_ = self.rng_.random()
        self.missed_ = 0.0
        self.d_ = d

    @property
    def settled(self) -> bool:
        """Whether `max_atoms` is reached, so that the map will never move again."""
        return bool(self.d_) and self.sampler_.full

    @property
    def nbytes(self) -> int:
        return self.sampler_.nbytes + self.nested_.nbytes if self.d_ else 0

    def _wants(self, X: Array) -> Any:
        return self.u_ < self.sampler_.scores(X).p

    def observe(self, x: Array) -> Change | None:
        """Draw for this row. The map changes if x is kept and outside the span of the atoms."""
        if self.settled:
            return None
        _, _, kept = self.sampler_.step(x, self.u_)
        self.u_ = self.rng_.random()
        return self._append(x) if kept else None

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Observe more rows, in blocks; the first call fixes the number of columns."""
        X = as_block(X, self.d_ or None)
        if not self.d_:
            self.start(X.shape[1])
        if len(X) and not self.settled:
            u = np.append(self.u_, self.rng_.random(len(X)))
            _, _, kept = self.sampler_.run(X, u[:-1])
            self.u_ = float(u[-1])
            self.nested_.extend(X[kept])
        return self

    def shrink(self) -> Self:
        """Sample the atoms again, each given all others. Fewer atoms have nearly the same span. O(m^3)."""
        return self.merge()

    def merge(self, *others: Self) -> Self:
        """Become the map of all the data that this one and `others` were fitted on; see `nystream.dictionary.KORS`."""
        maps = [self, *others]
        for other in maps:
            if not other.d_:
                raise ValueError(f"merge needs maps that were fitted; {other!r} has seen no data yet")
        atoms = sum(other.sampler_.n for other in maps)
        self.sampler_.merge([other.sampler_ for other in others], self.rng_.random(atoms))
        self.nested_.start(self.d_)
        self.nested_.extend(self.sampler_.points)
        return self

    def widen(self, d: int) -> None:
        self.sampler_.factor_.widen(d)
        self.nested_.widen(d)
        self.d_ = d
