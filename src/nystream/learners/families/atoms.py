"""Learners that combine a growing dictionary with a solver in its coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.dictionary.growing import Growing
from nystream.learners.base import Learner
from nystream.runtime.types import Array

__all__ = ["AtomLearner"]


class AtomLearner(Learner):
    """A learner with a growing dictionary and a solver. Subclasses set `atoms_` and `solver_` in `_start`."""

    atoms_: Growing
    solver_: Any

    @property
    def atoms(self) -> Array:
        """The dictionary, (size, d)."""
        return self.atoms_.points if self.d_ else np.zeros((0, 0))

    @property
    def size(self) -> int:
        """Number of atoms."""
        return self.atoms_.n if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return self.atoms_.nbytes + self.solver_.nbytes if self.d_ else 0
