"""The encoding of columns that are numbers already."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from nystream._core.inputs import all_finite
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Plain", "matrix_of_dicts"]


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


def matrix_of_dicts(rows: Sequence[Any], names: list[str]) -> Array | None:
    """Several dicts of numbers with just these columns, of which none is infinite, as a matrix (n, d); else None."""
    if len(names) < 2 or len(rows) < 2 or set(map(type, rows)) != {dict} or set(map(len, rows)) != {len(names)}:
        return None
    try:
        numbers = array("d", chain.from_iterable(map(itemgetter(*names), rows)))
    except (KeyError, TypeError, OverflowError):
        return None
    X = np.frombuffer(numbers, dtype=np.float64).reshape(len(rows), -1)
    return X if all_finite(X) or not np.isinf(X).any() else None
