"""Dictionaries that take atoms from the stream: whole blocks of rows get the coordinates of their own rounds."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from nystream.dictionary.nested import TOLERANCE, Nested
from nystream.kernels.base import Kernel
from nystream.params import Params, at_least, positive
from nystream.types import Array

__all__ = ["BLOCK", "DistantAtoms", "GivenAtoms", "Growing", "Indices", "Mask"]

Indices: TypeAlias = npt.NDArray[np.intp]
Mask: TypeAlias = npt.NDArray[np.bool_]

BLOCK = 512
"""Rows to admit at once: they share a kernel block and a triangular solve, the candidates among them a Gram matrix."""
LARGEST = 1e150
"""Of k(x, x): beyond, its square overflows."""


class Growing(Params):
    """Nested coordinates over atoms that a rule chooses from the stream, before the label of a row is known.

    Atoms depend on the rows alone, never on labels, so a whole block can be decided at once: one kernel block, one
    triangular solve, and only among the few rows that might enter their own Gram matrix. Coordinates are nested: what
    a row has in the round it comes are the first coordinates of the final ones. `admit` therefore gives all rows of a
    block the same width, with 0 for atoms that came after a row. For a linear model that is exact: a feature that was
    0 so far is a feature that is not there yet.

    `width`, the number of columns, is a multiple of 8 and leaves at least one to spare: linear models are then widened
    for one atom in eight, and `ask` can answer for a row that would become an atom.

    Subclasses are the rules. O(m^2 + m d) a row and in memory for m atoms.

    Parameters
    ----------
    kernel : Kernel
    max_atoms : int or None
        When reached, nothing more enters.
    """

    nested_: Nested
    missed_: float

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
        return 8 * (self.n // 8 + 1)

    @property
    def settled(self) -> bool:
        """Whether no atom will ever enter again."""
        return self._room == 0

    @property
    def missed(self) -> float:
        """Sum over the rows admitted of (weight times) k(x, x) - |z(x)|^2, what their dictionaries missed of them."""
        return self.missed_

    @property
    def nbytes(self) -> int:
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

        The atoms that are in the span already are left out. A row of weight 0 is not offered and not counted.
        """
        Z, seen = self._look(X)
        squared = np.maximum(k - np.einsum("ij,ij->i", Z, Z), 0.0)
        rows = self._candidates(X, k, squared, seen, None if weights is None else weights > 0)
        atoms, new = self._enter(X, Z, rows, self._floor * k) if len(rows) else (rows, np.zeros((len(X), 0)))
        if len(atoms):
            squared = np.maximum(squared - np.einsum("ij,ij->i", new, new), 0.0)
            squared[atoms] = 0.0
        self.missed_ += float(squared.sum() if weights is None else weights @ squared)
        return _padded(self.width, Z, new), atoms

    def admit_row(self, x: Array) -> tuple[Array, bool]:
        """`admit` for one row: its coordinates (width,) and whether it became an atom."""
        k = float(self.kernel.diag(x[None])[0])
        if not abs(k) < LARGEST:
            self.squares(x[None])  # raises
        row, wanted = self._look_at(x, k)
        if wanted:
            Z, atoms = self.admit(x[None], np.array([k]))
            return Z[0], len(atoms) > 0
        self._pass()
        missed = k - float(row.dot(row))
        if missed > 0:
            self.missed_ += missed
        z = np.zeros(self.width)
        z[: len(row)] = row
        return z, False

    def ask(self, X: Array, k: Array) -> tuple[Array, Mask]:
        """What `admit` would give each row if it came next, and whether it would become an atom. Changes nothing."""
        Z, seen = self._look(X)
        squared = np.maximum(k - np.einsum("ij,ij->i", Z, Z), 0.0)
        grows = self._wanted(k, squared, seen) & (squared > self._floor * k)
        out = _padded(self.width, Z)
        out[grows, self.n] = np.sqrt(squared[grows])
        return out, grows

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

    # -- what the rules give ---------------------------------------------------------------------------------------
    @property
    def _floor(self) -> float:
        """Share of k(x, x) that must lie outside the span for x to become an atom."""
        return TOLERANCE

    @property
    def _room(self) -> int | None:
        """Atoms that may still enter; None: any number."""
        return None if self.max_atoms is None else max(self.max_atoms - self.n, 0)

    def _look(self, X: Array) -> tuple[Array, Any]:
        """Coordinates (n, m) in the present span, and whatever else the rule judges rows by."""
        return self.nested_.coordinates(X), None

    def _look_at(self, x: Array, k: float) -> tuple[Array, bool]:
        """Coordinates (m,) of one row in the present span, and whether the rule may want it."""
        return self.nested_.row(x), False

    def _wanted(self, k: Array, squared: Array, seen: Any) -> Mask:
        """Which rows the rule wants, each as the next one."""
        return np.zeros(len(k), dtype=bool)

    def _candidates(self, X: Array, k: Array, squared: Array, seen: Any, offered: Mask | None) -> Indices:
        """Rows that the rule wants, in order; those in the span or beyond the room are sorted out afterwards."""
        return np.zeros(0, dtype=np.intp)

    def _pass(self) -> None:
        """A round went by without a candidate."""

    def _entered(self, chosen: Indices, among: int) -> None:
        """Which of the latest candidates, so many of them, became atoms."""

    def _take(self, other: Growing) -> None:
        if other.n:
            self._include(other.points)

    # -- machinery -------------------------------------------------------------------------------------------------
    def _include(self, X: Array) -> None:
        """Make atoms of all rows that are outside the span, as far as there is room, whatever the rule."""
        for i in range(0, len(X), BLOCK):
            part = X[i : i + BLOCK]
            self._enter(part, self.nested_.coordinates(part), np.arange(len(part)), TOLERANCE * self.squares(part))

    def _enter(self, X: Array, Z: Array, rows: Indices, floor: Array) -> tuple[Indices, Array]:
        """Make atoms of candidate rows, in order; those rows, and the new coordinates of all rows (n, new atoms).

        Z (n, m) are the coordinates so far; floor (n,): squared distances to the span at which a row counts as inside.
        """
        H = self.kernel(X[rows], X[rows]) - Z[rows] @ Z[rows].T
        chosen, C = _independent(H, floor[rows], self._room)
        self._entered(chosen, len(rows))
        atoms = rows[chosen]
        if not len(atoms):
            return atoms, np.zeros((len(X), 0))
        new = self.kernel(X, X[atoms]) - Z @ Z[atoms].T
        new = np.ascontiguousarray(solve_triangular(C, new.T, lower=True, overwrite_b=True).T)
        new[atoms] = C
        new[np.arange(len(X))[:, None] < atoms] = 0.0  # a row knows the atoms up to its own round
        self.nested_.border(X[atoms], Z[atoms], C)
        return atoms, new


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
        self._include(self.atoms)
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
    def _floor(self) -> float:
        return max(self.nu, TOLERANCE)

    def _look_at(self, x: Array, k: float) -> tuple[Array, bool]:
        row = self.nested_.row(x)
        return row, not self.settled and k - float(row @ row) > self._floor * k

    def _wanted(self, k: Array, squared: Array, seen: Any) -> Mask:
        return np.full(len(k), not self.settled)

    def _candidates(self, X: Array, k: Array, squared: Array, seen: Any, offered: Mask | None) -> Indices:
        # distances only shrink as atoms enter: a row that is near now needs no second look
        far = (squared > self._floor * k) & self._wanted(k, squared, seen)
        return np.flatnonzero(far if offered is None else far & offered)


def _padded(width: int, *parts: Array) -> Array:
    """Columns side by side, zeros up to `width`."""
    out = np.zeros((len(parts[0]), width))
    start = 0
    for part in parts:
        out[:, start : start + part.shape[1]] = part
        start += part.shape[1]
    return out


def _independent(H: Array, floor: Array, room: int | None) -> tuple[Indices, Array]:
    """Rows of a Gram matrix H, in order, whose squared distance to those chosen before is more than their floor.

    Also their Cholesky factor C. O(n g) for each of g rows chosen out of n.
    """
    n = len(H)
    most = n if room is None else min(n, room)
    left, E, i = H.diagonal().copy(), np.zeros((n, most)), 0
    chosen: list[int] = []
    while len(chosen) < most:
        ahead = np.flatnonzero(left[i:] > floor[i:])
        if not len(ahead):
            break
        i += int(ahead[0])
        g, delta = len(chosen), math.sqrt(left[i])
        e = (H[i:, i] - E[i:, :g] @ E[i, :g]) / delta
        e[0] = delta
        E[i:, g] = e
        left[i:] -= e * e
        chosen.append(i)
        i += 1
    return np.array(chosen, dtype=np.intp), E[chosen, : len(chosen)]
