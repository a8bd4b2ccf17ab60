"""The columns of a table as they are, for a learner that takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nystream.data.encoding import Columns
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Typed"]


class Typed(Params):
    """Typed columns in the order of the names, of the shape of `Plain`: the learner encodes them itself.

    Parameters
    ----------
    kinds : dict of str to str
        The kind of every column.
    """

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self.kinds = kinds

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.kinds)

    @property
    def nbytes(self) -> int:
        return 0

    def encode(self, columns: Mapping[str, Any], n: int) -> Columns:
        """n rows."""
        return Columns(columns, self.kinds, n)

    def run(self, columns: Mapping[str, Any], n: int, Y: Array, weights: Array | None = None) -> Columns:
        """The same."""
        return self.encode(columns, n)
