"""The place of a cell, for messages, and the error for a cell that does not fit its column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["BadCell", "BadRow", "Place"]

LONGEST = 60
"""Characters of a value that a message shows."""


class Place(NamedTuple):
    """A row of a table: its line in a text file, its number in another file, or its number among rows in memory."""

    row: int
    file: str | None = None
    is_line: bool = False

    def __str__(self) -> str:
        if self.file is None:
            return f"row {self.row}"
        return f"{self.file}:{self.row}" if self.is_line else f"{self.file}, row {self.row}"


class BadCell(ValueError):
    """The error for a cell that is not of its column's kind.

    Parameters
    ----------
    place : Place
        The row.
    column : str
    value : object
        The cell as it came.
    wanted : str
        The kind of value that the column holds, in words.
    others : sequence of (Place, value)
        A few more cells of the same column that do not fit.
    count : int
        Cells of this column that do not fit, among the rows that were looked at together.

    Attributes
    ----------
    file : str or None
        Name of the file; None for rows in memory.
    row : int
        Line of a text file (from 1), or row (from 0) of all others.
    """

    def __init__(
        self,
        place: Place,
        column: str,
        value: Any,
        wanted: str,
        others: Sequence[tuple[Place, Any]] = (),
        count: int = 1,
    ) -> None:
        self.place, self.column, self.value, self.wanted = place, column, value, wanted
        self.others, self.count = list(others), count
        super().__init__(f'{self.problem}; mend or drop it, or say on_error="missing"')

    @property
    def file(self) -> str | None:
        return self.place.file

    @property
    def row(self) -> int:
        return self.place.row

    @property
    def problem(self) -> str:
        """The message without a remedy: place, column, value and problem."""
        text = f"{self.place}: column {self.column!r} is {_short(self.value)}, which is no {self.wanted}"
        if self.count > 1:
            more = [f"{_short(value)} at {place}" for place, value in self.others]
            left = self.count - 1 - len(more)
            text += f" (nor is {', '.join(more)}{f', and {left:,} more' if left else ''})"
        return text

    def __reduce__(self) -> tuple[type[BadCell], tuple[Any, ...]]:
        return BadCell, (self.place, self.column, self.value, self.wanted, self.others, self.count)


class BadRow(ValueError):
    """The error for a row that cannot be split into cells."""


def _short(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
