"""Dictionaries that take atoms from the stream and give nested coordinates to whole blocks of rows."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nystream._core.atoms import KnownAtoms
from nystream._core.kernels import KernelRows
from nystream.dictionary.nested import TOLERANCE, Nested
from nystream.kernels.base import Kernel, checked_kernel
from nystream.runtime.params import Params, at_least, positive
from nystream.runtime.types import Array

__all__ = ["BLOCK", "DistantAtoms", "GivenAtoms", "Growing", "Indices", "Mask"]

Indices: TypeAlias = npt.NDArray[np.intp]
Mask: TypeAlias = npt.NDArray[np.bool_]

BLOCK = 512
"""Rows that are admitted at once. They share a kernel block and a triangular solve."""
LARGEST = 1e150
"""Largest k(x, x). The square of a larger one overflows."""
NONE = np.zeros(0, dtype=np.intp)
FIRST = np.zeros(1, dtype=np.intp)


class Growing(Params):
    """Nested coordinates over atoms that a rule chooses from the stream, before the label of a row is known.

    Atoms depend on the rows only, not on labels, so a whole block is chosen first and solved at once. Coordinates are
    nested: the coordinates of a row in its own round are the first coordinates of its final ones. `admit` therefore
    gives all rows of a block the same width, with 0 for atoms that came after a row. This is exact for a linear model,
    in which a feature that was always 0 does not count. Blocks and single rows give the same bits.

    `width`, the number of columns, is a multiple of 8 and leaves at least one to spare: linear models are then widened
    for one atom in eight, and `ask` can answer for a row that would become an atom.

    Subclasses define the rules. This class admits no atom. O(m^2 + m d) per row and in memory for m atoms.

    Parameters
    ----------
    kernel : Kernel
    max_atoms : int or None
        No atom is added beyond this number.
    """

    nested_: Nested
    missed_: float
    engine: KnownAtoms | None = None
    """The last result of `known`; None if it has to be computed."""

    def __init__(self, kernel: Kernel, max_atoms: int | None = None) -> None:
        self.kernel = checked_kernel(kernel)
        self.max_atoms = None if max_atoms is None else at_least("max_atoms", max_atoms, 1)

    def start(self, d: int, rng: np.random.Generator) -> None:
        """Start without atoms, for rows of d columns. This object owns `rng` from now on."""
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
        """Columns of the coordinates that `admit` and `ask` return now."""
        return self.nested_.width

    @property
    def settled(self) -> bool:
        """Whether no atom will be added any more."""
        return self._full

    @property
    def missed(self) -> float:
        """Weighted sum over the admitted rows of k(x, x) - |z(x)|^2, the part outside the span."""
        return self.missed_

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.nested_.nbytes

    def squares(self, X: Array) -> Array:
        """Return k(x, x) for every row, or raise a ValueError if it is too large or not a number."""
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
        """Process the rows of X, with `squares` k. Return coordinates (n, width) and the rows that became atoms.

        A row in the span does not become an atom. A row of weight 0 is ignored.
        """
        first = self.n
        rows, values = self._chosen(X, k, None if weights is None else weights > 0)
        atoms = self._enter(X, rows, self._share) if len(rows) else NONE
        if len(atoms):
            values = np.hstack([values, self.kernel(X, X[atoms])])
        Z, inside = self.nested_.forward(values)
        if len(atoms):
            new = Z[:, first : self.n]
            new[np.arange(len(X))[:, None] < atoms] = 0.0  # a row has coordinates for the atoms up to its own round
            inside = np.einsum("ij,ij->i", Z, Z)
            inside[atoms] = k[atoms]
        missed = np.maximum(k - inside, 0.0)
        self.missed_ += float(missed.sum() if weights is None else weights @ missed)
        return Z, atoms

    def admit_row(self, x: Array) -> tuple[Array, bool]:
        """Do `admit` for one row. Return its coordinates (width,) and whether it became an atom."""
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
        """Return compiled code for the coordinates (`combined`: the combination of atoms) of one row. It leaves a row
        that may become an atom to `admit_row`; for other rows it replaces `admit_row`. None without atoms, or if only
        Python can evaluate the kernel."""
        if self.engine is None and self.n:
            form = self.kernel.compiled
            self.engine = None if form is None else self._compiled(form, combined)
        return self.engine

    def ask(self, X: Array, k: Array) -> tuple[Array, Mask]:
        """Return what `admit` would return for each row as the next one, without any change."""
        wanted, values = self._wanted(X, k)
        Z, inside = self.nested_.forward(values)
        outside = k - inside
        grows = wanted & (outside > self._share * k)
        Z[grows, self.n] = np.sqrt(outside[grows])
        return Z, grows

    # -- models of several streams ---------------------------------------------------------------------------------
    def unite(self, other: Growing) -> Array:
        """Add the atoms of `other`, up to `max_atoms`. Return T (n, other.n) with z = T z_other for its rows.

        T has orthonormal columns if the union contains the other's span; otherwise T z is the projection.
        """
        self._take(other)
        return self.nested_.embedding(other.nested_)

    def widen(self, d: int) -> None:
        """Add columns that were 0 in all rows so far, up to d."""
        self.nested_.widen(d)
        self.engine = None

    # -- methods of the rules --------------------------------------------------------------------------------------
    @property
    def _share(self) -> float:
        """Return the share of k(x, x) that must lie outside the span for x to become an atom."""
        return TOLERANCE

    def _chosen(self, X: Array, k: Array, offered: Mask | None) -> tuple[Indices, Array]:
        """Return the rows that the rule wants, in order, before the test of the span; and the `values` of X."""
        return NONE, self.nested_.values(X)

    def _look(self, x: Array, k: float) -> tuple[Array, float, bool]:
        """Return coordinates (width,) and |z|^2 of one row in the present span, and whether the rule may want it."""
        z, inside = self.nested_.forward_row(self.nested_.values_row(x))
        return z, inside, False

    def _admit_wanted(self, x: Array, k: float) -> tuple[Array, bool]:
        """Do `admit_row` for a row that the rule may want."""
        Z, atoms = self.admit(x[None], np.array([k]))
        return Z[0], len(atoms) > 0

    def _wanted(self, X: Array, k: Array) -> tuple[Mask, Array]:
        """Return which rows the rule would want as the next one, and the `values` of X."""
        return np.zeros(len(X), dtype=bool), self.nested_.values(X)

    def _pass(self) -> None:
        """Count a round without a wanted row."""

    def _compiled(self, form: KernelRows, combined: bool) -> KnownAtoms:
        """Compute `known`."""
        return KnownAtoms(form, self.points, self.nested_.factor, LARGEST, math.inf, self.__dict__, combined=combined)

    def _take(self, other: Growing) -> None:
        self._enter(other.points, np.arange(other.n), TOLERANCE)

    # -- machinery -------------------------------------------------------------------------------------------------
    @property
    def _full(self) -> bool:
        return self.max_atoms is not None and self.n >= self.max_atoms

    def _enter(self, X: Array, rows: Indices, share: float) -> Indices:
        """Add the rows of X outside the span as atoms, in order, up to `max_atoms`. Return which were added."""
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
    """Atoms that are given in advance. Those in the span of earlier ones are skipped.

    Parameters
    ----------
    kernel : Kernel
    atoms : array (m, d)
    max_atoms : int or None
        Largest number of atoms.
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
        # distances only shrink as atoms are added: a row that is near now stays near
        far = k - self.nested_.forward(values)[1] > self._share * k
        return np.flatnonzero(far if offered is None else far & offered), values

    def _look(self, x: Array, k: float) -> tuple[Array, float, bool]:
        z, inside, _ = super()._look(x, k)
        return z, inside, not self.settled and k - inside > self._share * k

    def _admit_wanted(self, x: Array, k: float) -> tuple[Array, bool]:
        self._enter(x[None], FIRST, self._share)  # `_look` has found that it is far from the span
        return self.nested_.forward_row(self.nested_.values_row(x))[0], True

    def _wanted(self, X: Array, k: Array) -> tuple[Mask, Array]:
        return np.full(len(X), not self.settled), self.nested_.values(X)

    def _compiled(self, form: KernelRows, combined: bool) -> KnownAtoms:
        far = math.inf if self.settled else self._share
        return KnownAtoms(form, self.points, self.nested_.factor, LARGEST, far, self.__dict__, combined=combined)
