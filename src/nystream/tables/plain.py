"""The encoding of columns that are numbers already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nystream.params import Params
from nystream.types import Array

__all__ = ["Plain"]


class Plain(Params):
    """Numbers and booleans as they are: one column each, in the order of the names.

    This is the shape of every encoding: `encode` is pure, `run` gives every row as it stands before the row's own
    label and learns the labels in order, `widen` takes columns that appear late.

    Parameters
    ----------
    names : list of str
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names

    @property
    def columns(self) -> list[str]:
        """Names of the encoded columns."""
        return list(self.names)

    @property
    def nbytes(self) -> int:
        return 0

    def encode(self, columns: Mapping[str, Any], n: int) -> Array:
        """n rows (n, d), with nothing learnt."""
        X = np.empty((n, len(self.names)))
        for j, name in enumerate(self.names):
            X[:, j] = columns[name]
        return X

    def run(self, columns: Mapping[str, Any], n: int, Y: Array, weights: Array | None = None) -> Array:
        """`encode`, each row before its label in Y (n, K) is learnt; a row with nan among its labels is not."""
        return self.encode(columns, n)
