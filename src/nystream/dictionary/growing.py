"""Dictionaries that take atoms from the stream: whole blocks of rows get the coordinates of their own rounds."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nystream._core.atoms import KnownAtoms
from nystream._core.kernels import KernelRows
from nystream.dictionary.nested import TOLERANCE, Nested
from nystream.kernels.base import Kernel
from nystream.runtime.params import Params, at_least, positive
from nystream.runtime.types import Array

__all__ = ["BLOCK", "DistantAtoms", "GivenAtoms", "Growing", "Indices", "Mask"]

Indices: TypeAlias = npt.NDArray[np.intp]
Mask: TypeAlias = npt.NDArray[np.bool_]

BLOCK = 512
"""Rows to admit at once: they share a kernel block and a triangular solve, the candidates among them a Gram matrix."""
LARGEST = 1e150
"""Of k(x, x): beyond, its square overflows."""
NONE = np.zeros(0, dtype=np.intp)
FIRST = np.zeros(1, dtype=np.intp)


class Growing(Params):
    """Nested coordinates over atoms that a rule chooses from the stream, before the label of a row is known.

    Atoms depend on the rows alone, never on labels, so a whole block is decided first and solved at once. Coordinates
    are nested: what a row has in the round it comes are the first coordinates of the final ones. `admit` therefore
    gives all rows of a block the same width, with 0 for atoms that came after a row. For a linear model that is exact:
    a feature that was 0 so far is a feature that is not there yet. Blocks and single rows give the same bits.

    `width`, the number of columns, is a multiple of 8 and leaves at least one to spare: linear models are then widened
    for one atom in eight, and `ask` can answer for a row that would become an atom.

    Subclasses are the rules; this one lets nobody in. O(m^2 + m d) a row and in memory for m atoms.

    Parameters
    ----------
    kernel : Kernel
    max_atoms : int or None
        When reached, nothing more enters.
    """

    nested_: Nested
    missed_: float
    engine: KnownAtoms | None = None
    """What `known` gave last; None where it has to be asked."""

    def __init__(self, kernel: Kernel, max_atoms: int | None = None) -> None:
        if not isinstance(kernel, Kernel):
            raise ValueError(f"kernel must be a kernel such as Gaussian(1.0), got {kernel!r}")
        self.kernel = kernel
        self.max_atoms = None if max_atoms is None else at_least("max_atoms", max_atoms, 1)

    def start(self, d: int, rng: np.random.Generator) -> None:
        """No atoms yet; rows have d columns. `rng` belongs to this object from now on."""
        self.nested_ = Nested(self.kernel)
        self.nested_.start(d)
        self.missed_ = 0.0
        self.engine = None

    @property
    def n(self) -> int:
        """Atoms."""
        return self.nested_.n

    @property
    def points(self) -> Array:
        """The atoms, (n, d)."""
        return self.nested_.points

    @property
    def width(self) -> int:
        """Columns of the coordinates that `admit` and `ask` give now."""
        return self.nested_.width

    @property
    def settled(self) -> bool:
        """Whether no atom will ever enter again."""
        return self._full

    @property
    def missed(self) -> float:
        """Sum over the rows admitted of (weight times) k(x, x) - |z(x)|^2, what their dictionaries missed of them."""
        return self.missed_

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.nested_.nbytes

    def squares(self, X: Array) -> Array:
        """k(x, x) for every row, or one clear error where it is no number to calculate with."""
        k = np.ascontiguousarray(self.kernel.diag(X), dtype=np.float64)
        if not (np.abs(k) < LARGEST).all():
            row = int(np.argmax(~(np.abs(k) < LARGEST)))
            raise ValueError(
                f"k(x, x) = {k[row]:g} at row {row} is too large to calculate with, or not a number; "
                "scale the inputs or the kernel"
            )
        return k

    # -- rounds ----------------------------------------------------------------------------------------------------
    def admit(self, X: Array, k: Array, weights: Array | None = None) -> tuple[Array, Indices]:
        """Rounds of the rows of X in order, k their `squares`: coordinates (n, width) and the rows that became atoms.

        What is in the span already does not become an atom. A row of weight 0 is not offered and not counted.
        """
        first = self.n
        rows, values = self._chosen(X, k, None if weights is None else weights > 0)
        atoms = self._enter(X, rows, self._share) if len(rows) else NONE
        if len(atoms):
            values = np.hstack([values, self.kernel(X, X[atoms])])
        Z, inside = self.nested_.forward(values)
        if len(atoms):
            new = Z[:, first : self.n]
            new[np.arange(len(X))[:, None] < atoms] = 0.0  # a row knows the atoms up to its own round
            inside = np.einsum("ij,ij->i", Z, Z)
            inside[atoms] = k[atoms]
        missed = np.maximum(k - inside, 0.0)
        self.missed_ += float(missed.sum() if weights is None else weights @ missed)
        return Z, atoms

    def admit_row(self, x: Array) -> tuple[Array, bool]:
        """`admit` for one row: its coordinates (width,) and whether it became an atom."""
        k = float(self.kernel.diag(x[None])[0])
        if not abs(k) < LARGEST:
            self.squares(x[None])  # raises
        z, inside, wanted = self._look(x, k)
        if wanted:
            return self._admit_wanted(x, k)
        self._pass()
        if k > inside:
            self.missed_ += k - inside
        return z, False

    def known(self, *, combined: bool = False) -> KnownAtoms | None:
        """What makes the coordinates (`combined`: the combination of atoms) of one row, compiled, and leaves a row
        that may become an atom to `admit_row`; a row that goes through it and is learnt has had its round. None without
        atoms, and where only Python can evaluate the kernel."""
        if self.engine is None and self.n:
            form = self.kernel.compiled
            self.engine = None if form is None else self._compiled(form, combined)
        return self.engine

    def ask(self, X: Array, k: Array) -> tuple[Array, Mask]:
        """What `admit` would give each row if it came next, and whether it would become an atom. Changes nothing."""
        wanted, values = self._wanted(X, k)
        Z, inside = self.nested_.forward(values)
        outside = k - inside
        grows = wanted & (outside > self._share * k)
        Z[grows, self.n] = np.sqrt(outside[grows])
        return Z, grows

    # -- models of several streams ---------------------------------------------------------------------------------
    def unite(self, other: Growing) -> Array:
        """Take in the atoms of `other` as far as there is room; T (n, other.n) with z = T z_other for its rows.

        T has orthonormal columns where the other's span is part of the union; otherwise T z is the projection.
        """
        self._take(other)
        return self.nested_.embedding(other.nested_)

    def widen(self, d: int) -> None:
        """Rows have d columns from now on, the new ones 0 in all rows so far."""
        self.nested_.widen(d)
        self.engine = None

    # -- what the rules give ---------------------------------------------------------------------------------------
    @property
    def _share(self) -> float:
        """Of k(x, x), what must lie outside the span for x to become an atom."""
        return TOLERANCE

    def _chosen(self, X: Array, k: Array, offered: Mask | None) -> tuple[Indices, Array]:
        """Rows that the rule wants, in order, those in the span not sorted out yet; and `values` of X."""
        return NONE, self.nested_.values(X)

    def _look(self, x: Array, k: float) -> tuple[Array, float, bool]:
        """Coordinates (width,) and |z|^2 of one row in the present span, and whether the rule may want it."""
        z, inside = self.nested_.forward_row(self.nested_.values_row(x))
        return z, inside, False

    def _admit_wanted(self, x: Array, k: float) -> tuple[Array, bool]:
        """`admit_row` of a row that the rule may want."""
        Z, atoms = self.admit(x[None], np.array([k]))
        return Z[0], len(atoms) > 0

    def _wanted(self, X: Array, k: Array) -> tuple[Mask, Array]:
        """Which rows the rule wants, each as the next one; and `values` of X."""
        return np.zeros(len(X), dtype=bool), self.nested_.values(X)

    def _pass(self) -> None:
        """A round went by without a row that is wanted."""

    def _compiled(self, form: KernelRows, combined: bool) -> KnownAtoms:
        """`known`, made anew."""
        return KnownAtoms(form, self.points, self.nested_.factor, LARGEST, math.inf, self.__dict__, combined=combined)

    def _take(self, other: Growing) -> None:
        self._enter(other.points, np.arange(other.n), TOLERANCE)

    # -- machinery -------------------------------------------------------------------------------------------------
    @property
    def _full(self) -> bool:
        return self.max_atoms is not None and self.n >= self.max_atoms

    def _enter(self, X: Array, rows: Indices, share: float) -> Indices:
        """Make atoms of rows of X, in order, that are outside the span, while there is room; which did."""
        entered = []
        for i in rows.tolist():
            if self._full:
                break
            if self.nested_.append(X[i], share=share):
                entered.append(i)
        self.engine = None
        return np.array(entered, dtype=np.intp)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.engine = None


class GivenAtoms(Growing):
    """Atoms known beforehand: a sample of the inputs, or all of them. Those in the span of earlier ones are skipped.

    Parameters
    ----------
    kernel : Kernel
    atoms : array (m, d)
    max_atoms : int or None
        Take no more than this.
    """

    def __init__(self, kernel: Kernel, atoms: Array, max_atoms: int | None = None) -> None:
        super().__init__(kernel, max_atoms)
        self.atoms = atoms

    def start(self, d: int, rng: np.random.Generator) -> None:
        if self.atoms.shape[1] != d:
            raise ValueError(f"the dictionary has {self.atoms.shape[1]} columns, but the rows have {d}")
        super().start(d, rng)
        self.squares(self.atoms)
        self._enter(self.atoms, np.arange(len(self.atoms)), TOLERANCE)
        if not self.n:
            raise ValueError("no point of the dictionary can be used: k(a, a) is 0 for all of them")

    @property
    def settled(self) -> bool:
        return True


class DistantAtoms(Growing):
    """Approximate linear dependence: x enters if its squared distance to the span is more than nu k(x, x).

    Parameters
    ----------
    kernel : Kernel
    nu : float
        Share of k(x, x), > 0: for kernels with k(x, x) = 1 the threshold itself.
    max_atoms : int or None

    References
    ----------
    Engel, Mannor, Meir. The kernel recursive least-squares algorithm. IEEE Transactions on Signal Processing 52, 2004.
    """

    def __init__(self, kernel: Kernel, nu: float, max_atoms: int | None = None) -> None:
        super().__init__(kernel, max_atoms)
        self.nu = positive("nu", nu)

    @property
    def _share(self) -> float:
        return max(self.nu, TOLERANCE)

    def _chosen(self, X: Array, k: Array, offered: Mask | None) -> tuple[Indices, Array]:
        values = self.nested_.values(X)
        if self.settled:
            return NONE, values
        # distances only shrink as atoms enter: a row that is near now needs no second look
        far = k - self.nested_.forward(values)[1] > self._share * k
        return np.flatnonzero(far if offered is None else far & offered), values

    def _look(self, x: Array, k: float) -> tuple[Array, float, bool]:
        z, inside, _ = super()._look(x, k)
        return z, inside, not self.settled and k - inside > self._share * k

    def _admit_wanted(self, x: Array, k: float) -> tuple[Array, bool]:
        self._enter(x[None], FIRST, self._share)  # it does: `_look` has seen that it is far
        return self.nested_.forward_row(self.nested_.values_row(x))[0], True

    def _wanted(self, X: Array, k: Array) -> tuple[Mask, Array]:
        return np.full(len(X), not self.settled), self.nested_.values(X)

    def _compiled(self, form: KernelRows, combined: bool) -> KnownAtoms:
        far = math.inf if self.settled else self._share
        return KnownAtoms(form, self.points, self.nested_.factor, LARGEST, far, self.__dict__, combined=combined)
