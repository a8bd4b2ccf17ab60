"""Class names and their numbers 0..K-1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from nystream.data.cells import ABSENT
from nystream.runtime.types import Array

__all__ = ["Labels", "is_missing_field"]

_MOST = 10_000  # more different names than this are not classes, and would be an unbounded list


def is_missing_field(text: str) -> bool:
    """Return whether a field of a text file stands for a missing value."""
    return text.strip().lower() in ABSENT


class Labels:
    """Names of classes in order. The number of a class is its place.

    Parameters
    ----------
    names : iterable or None
        All names. None: names are added as they appear, at most 10,000 of them. Where all names are numbers, text is
        compared by value ("1.0" is 1).
    codes : iterable of float or None
        Numbers other than 0..K-1 to give to the names.
    """

    def __init__(self, names: Iterable[Any] | None = None, codes: Iterable[float] | None = None) -> None:
        given = [] if names is None else list(names)
        if names is not None and not given:
            raise ValueError("labels must name at least one class, got none; leave labels out to find them on the way")
        self._open = names is None
        self._by_value = bool(given) and all(_is_number(name) for name in given)
        self._names: list[Any] = given if self._by_value else [str(name) for name in given]
        keys = [float(name) for name in given] if self._by_value else self._names
        numbers = map(float, range(len(keys))) if codes is None else codes
        self._codes: dict[Any, float] = dict(zip(keys, numbers, strict=True))
        if len(self._codes) != len(given):
            raise ValueError(f"labels must be different from each other, got {given!r}")

    @property
    def names(self) -> tuple[Any, ...]:
        """The names so far."""
        return tuple(self._names)

    def number(self, text: str) -> float:
        """Return the number of a name. A new name gets the next number if new names are allowed, else a ValueError is
        raised.
        """
        key: Any = float(text) if self._by_value else text.strip()
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = self._added(key)
        return code

    def encode(self, values: Any, source: str, start: int = 0) -> Array:
        """Return the numbers of many names, which are rows `start`, `start` + 1, ... of the source."""
        column = np.asarray(values)
        if column.ndim != 1:
            raise ValueError(f"{source}: classes must be one column, got {column.shape[1]} columns")
        codes = np.empty(len(column))
        for row, value in enumerate(column.tolist()):
            try:
                codes[row] = self.number(value.decode() if isinstance(value, bytes) else str(value))
            except ValueError as error:
                raise ValueError(f"{source}, row {start + row}: {error}") from None
        return codes

    def _added(self, name: Any) -> float:
        if not self._open:
            raise ValueError(f"{name!r} is not one of the labels {', '.join(map(str, self._names[:20]))}")
        if is_missing_field(name):
            raise ValueError("a label is missing")
        if len(self._names) == _MOST:
            raise ValueError(f"more than {_MOST} different labels: these are not classes (pass labels= if they are)")
        self._names.append(name)
        return float(len(self._names) - 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
