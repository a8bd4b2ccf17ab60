"""KRLS: kernel recursive least squares with approximate linear dependence."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream.dictionary.growing import BLOCK, DistantAtoms
from nystream.kernels.base import Kernel
from nystream.learners.families.atoms import AtomLearner
from nystream.losses import Loss, Squared
from nystream.runtime.params import positive
from nystream.runtime.seeds import generator
from nystream.runtime.types import Array
from nystream.solvers.nested_awv import NestedAWV

__all__ = ["KRLS"]


class KRLS(AtomLearner):
    """Kernel recursive least squares without a ridge. Its dictionary has only points that are not nearly dependent.

    x becomes an atom if its squared distance to the span of the atoms is more than nu k(x, x). A row is replaced by
    the nearest combination a = K_mm^-1 k of atoms, an atom by itself, and f is least squares on a::

        w = argmin sum_s (y_s - a_s'w)^2,       f(x) = a(x)'w       (w: the values of f at the atoms)

    A new atom appends a row e_i to the problem, which fits its label: w <- (w, y), after the prediction.

    Cost per step O(m^2 + m d) time and memory for m atoms, of which there are finitely many on a bounded domain; whole
    streams are learnt in exact blocks. Without a ridge there is no guarantee, and for small nu predictions reach
    several times max |y|: `NystromPKRR(kernel, dictionary="ald")` is this algorithm with a ridge.

    Parameters
    ----------
    kernel : Kernel
    nu : float, default 0.1
        Share of k(x, x) that must lie outside the span, > 0.
    max_atoms : int or None
        No atom is added beyond this number.

    Deviations from the paper: nu is relative to k(x, x), where the paper's is absolute (the same for kernels with
    k(x, x) = 1); K_mm^-1 and the covariance of w are kept as triangular factors, not as inverses; several outputs.

    References
    ----------
    Engel, Mannor, Meir. The kernel recursive least-squares algorithm. IEEE Transactions on Signal Processing 52, 2004.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(500, seed=0)
    >>> model = nystream.KRLS(nystream.Gaussian(0.5), nu=0.1)
    >>> p = model.run(X, y)
    >>> bool(((p[250:] - y[250:]) ** 2).mean() < 0.5 * y.var()), model.size < 30
    (True, True)
    """

    multi_output: ClassVar[bool] = True

    atoms_: DistantAtoms
    solver_: NestedAWV

    def __init__(self, kernel: Kernel, *, nu: float = 0.1, max_atoms: int | None = None) -> None:
        self.kernel = kernel
        self.nu = positive("nu", nu)
        self.max_atoms = max_atoms
        self._dictionary()  # checks the values here, not at the first row

    def _dictionary(self) -> DistantAtoms:
        return DistantAtoms(self.kernel, self.nu, self.max_atoms)

    @property
    def objective(self) -> Loss | None:
        return Squared()

    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are combinations (K, new) of those of the present outputs. Exact."""
        self.solver_.add_outputs(combination)
        self._gained(combination.shape[1])

    def _start(self, d: int, outputs: int) -> None:
        atoms = self._dictionary()
        atoms.start(d, generator(None))
        solver = NestedAWV(1.0, vovk=False)  # A = I + sum a a': an atom's own row is the 1 on the diagonal
        solver.start(atoms.width, outputs)
        self.atoms_, self.solver_ = atoms, solver

    def _check(self, X: Array, learnt: int) -> None:
        self.atoms_.squares(X)

    def _predict(self, X: Array) -> Array:
        k, P = self.atoms_.squares(X), np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            Z, _ = self.atoms_.ask(X[i : i + BLOCK], k[i : i + BLOCK])
            P[i : i + BLOCK] = self.solver_.predict(self._combinations(Z))
        return P

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        k, P, row = self.atoms_.squares(X), np.empty_like(Y), 0
        while row < len(X):
            part = slice(row, row + BLOCK)
            first = self.size
            Z, entered = self.atoms_.admit(X[part], k[part])
            self.solver_.widen(self.atoms_.width)
            Z[entered, first + np.arange(len(entered))] = 0.0  # an atom is predicted before it enters
            P[part] = self._learn(self._combinations(Z), Y[part], entered.tolist(), first)
            row = part.stop
        return P

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        first = self.size
        z, entered = self.atoms_.admit_row(x)
        if not entered:
            return self.solver_.step(self._combinations(z[None])[0], y)
        self.solver_.widen(self.atoms_.width)
        z[first] = 0.0  # an atom is predicted before it enters
        p = self.solver_.predict(self._combinations(z[None]))[0]
        self.solver_.border_alone(first, 1.0, y)
        return p

    def _step_one(self, x: Any, y: Any) -> float | None:
        known = self.atoms_.engine or self.atoms_.known(combined=True)
        p = None if known is None else self.solver_.one(known, x, y)
        return super()._step_one(x, y) if p is None else p

    def _learn(self, A: Array, Y: Array, entered: list[int], first: int) -> Array:
        """Do rounds on combinations A (n, width); the rows `entered` become atoms first, first + 1, ..."""
        P, start = np.empty_like(Y), 0
        for i, stop in enumerate([*entered, len(A)], start=first):
            P[start:stop] = self.solver_.run(A[start:stop], Y[start:stop])
            if stop < len(A):
                P[stop] = self.solver_.predict(A[stop : stop + 1])[0]
                self.solver_.border_alone(i, 1.0, Y[stop])
            start = stop + 1
        return P

    def _combinations(self, Z: Array) -> Array:
        """Return a = K_mm^-1 k = R^-T z. Zeros in the last coordinates of z stay zeros: R' is upper triangular."""
        return self.atoms_.nested_.coefficients(Z)

    def _widen(self, d: int) -> None:
        self.atoms_.widen(d)
