"""Named features as rows of numbers."""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from nystream._core.inputs import all_finite
from nystream.runtime.types import Array

__all__ = ["BLANK", "Columns", "Features", "is_number", "number_of"]

Features: TypeAlias = Mapping[Hashable, Any]
BLANK = "(none)"
"""The column of a stream that has shown no feature yet."""


class Columns:
    """Maps names of features to columns of the learner, in order of appearance (within a row: by name).

    Parameters
    ----------
    blank : float
        The value of a feature that is absent, None or NaN: nan for a learner that accepts missing values, else 0. A
        feature that appears late counts as 0 in every earlier row.
    """

    def __init__(self, blank: float) -> None:
        self.blank = blank
        self.places: dict[Hashable, int] = {}

    def width(self, new: int = 0) -> int:
        """Return the number of columns after `new` names are added; one blank column while there is no name."""
        return max(1, len(self.places) + new)

    def new(self, names: Iterable[Hashable]) -> list[Hashable]:
        """Return the names without a column, in an order that does not depend on the order given."""
        return sorted((n for n in names if n not in self.places), key=lambda n: (type(n).__name__, str(n)))

    def add(self, names: list[Hashable]) -> None:
        for name in names:
            self.places[name] = len(self.places)

    def texts(self, new: Iterable[Hashable] = ()) -> list[str]:
        """Return the names, with `new` ones after them, as different strings; one for the blank column while there is
        no name.
        """
        found: dict[str, None] = {}
        for name in (*self.places, *new):
            text = str(name)
            while text in found:
                text += "'"
            found[text] = None
        return list(found) or [BLANK]

    def named(self, x: Features) -> dict[str, Any]:
        """Return the values of x by strings: the names of their columns, and for new features their own names."""
        known = dict(zip(self.places, self.texts(), strict=False))
        new = self.new(x)
        known |= dict(zip(new, self.texts(new)[len(self.places) :], strict=True))
        return {known[name]: value for name, value in x.items()}

    def row(self, x: Features) -> Array:
        """Return the numbers of x in their columns. Names without a column are left out."""
        if x.keys() == self.places.keys():
            try:
                row = np.frombuffer(array("d", map(x.__getitem__, self.places)))
            except TypeError:
                row = np.array([math.nan])  # a None or a string among them: the loop below tells which
            if len(row) and all_finite(row):
                return row
        row = np.full(self.width(), self.blank)
        for name, value in x.items():
            number = number_of(name, value, self.blank)
            if name in self.places:
                row[self.places[name]] = number
        return row

    def block(self, X: Array, names: list[Hashable]) -> Array:
        """Return the columns of X, which have these names and perhaps nan, in their places."""
        block = np.full((len(X), self.width()), self.blank)
        for name, column in zip(names, X.T, strict=True):
            if name in self.places:
                block[:, self.places[name]] = np.where(np.isnan(column), self.blank, column)
        return block


def is_number(value: Any) -> bool:
    """Return whether a value of a feature is a number or missing, and not a string or a time."""
    return value is None or (hasattr(value, "__float__") and not isinstance(value, (str, bytes)))


def number_of(name: Hashable, value: Any, missing: float | None) -> float:
    """Return a finite number, or `missing` for a missing value. Raise an error for strings, infinities and
    missing=None.
    """
    if value is None or value != value:
        if missing is None:
            raise ValueError(f"{name} is missing ({value!r})")
        return missing
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise ValueError(f"{name!r} must be a number, got {value!r}; encode it first, e.g. with river's OneHotEncoder")
    number = float(value)
    if math.isinf(number):
        raise ValueError(f"{name!r} is {value!r}; numbers must be finite")
    return number
