"""Where a cell of a table is, for messages, and the error for a cell that does not fit its column."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["BadCell", "Place"]

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
    """A cell that is not of its column's kind.

    Parameters
    ----------
    place : Place
        The row.
    column : str
    value : object
        The cell as it came.
    wanted : str
        The kind of value that the column holds, in words.

    Attributes
    ----------
    file : str or None
        Name of the file; None for rows in memory.
    row : int
        Line of a text file (from 1), or row (from 0) of all others.
    """

    def __init__(self, place: Place, column: str, value: Any, wanted: str) -> None:
        self.place, self.column, self.value, self.wanted = place, column, value, wanted
        super().__init__(f'{self.problem}; mend or drop it, or say on_error="missing"')

    @property
    def file(self) -> str | None:
        return self.place.file

    @property
    def row(self) -> int:
        return self.place.row

    @property
    def problem(self) -> str:
        """Place, column, value and what is wrong with it, without a remedy."""
        text = repr(self.value)
        shown = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
        return f"{self.place}: column {self.column!r} is {shown}, which is no {self.wanted}"

    def __reduce__(self) -> tuple[type[BadCell], tuple[Any, ...]]:
        return BadCell, (self.place, self.column, self.value, self.wanted)
