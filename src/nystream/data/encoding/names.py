"""The names of the levels and words that occur most, in fixed memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.tables import Names
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["FrequentNames"]


class FrequentNames(Params):
    """Names of one column by their hashes, each place kept by a majority vote (Boyer, Moore 1981).

    A name that has more than half of the rows of its place is always kept; of a name 80 bytes at most.

    Parameters
    ----------
    places : int, default 256
        A power of 2.
    """

    hashes_: npt.NDArray[np.uint32]
    votes_: Array
    names_: list[str]

    def __init__(self, places: int = 256) -> None:
        self.places = at_least("places", places, 1)
        if places & (places - 1):
            raise ValueError(f"places must be a power of 2, got {places!r}")

    def start(self) -> None:
        self.hashes_ = np.zeros(self.places, dtype=np.uint32)
        self.votes_ = np.zeros(self.places)
        self.names_ = [""] * self.places
        self.bound = Names(self.hashes_, self.votes_, self.names_)

    def by_hash(self) -> dict[int, str]:
        """Return names by their hashes, the one with the most votes first."""
        kept = np.flatnonzero(self.votes_ > 0)
        order = kept[np.argsort(-self.votes_[kept], kind="stable")]
        return {int(self.hashes_[i]): self.names_[i] for i in order}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "hashes_" in state:
            self.bound = Names(self.hashes_, self.votes_, self.names_)

    @property
    def nbytes(self) -> int:
        return self.hashes_.nbytes + self.votes_.nbytes + sum(len(name.encode()) for name in self.names_)
