"""The outcome of an experiment: tables, panels of a plot, and remarks, as plain values that JSON can hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from nystream.runtime.types import Array

__all__ = ["Cell", "Line", "Outcome", "Panel", "Picture", "Table"]

Cell: TypeAlias = "str | int | float | None"


@dataclass(frozen=True)
class Table:
    """Figures in rows. None is a figure that was not published or could not be computed.

    Attributes
    ----------
    title : str
        What the figures are, with their unit.
    columns : tuple of str
        Their names; "published" in a name marks a figure of the paper.
    rows : tuple of tuples
        As many cells each; NumPy numbers become plain ones, what is not finite None.
    digits : int
        After the point, for floats.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    digits: int = 2

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r} has {len(self.columns)} columns; a row has {len(row)}: {row}")
        object.__setattr__(self, "rows", tuple(tuple(map(_plain, row)) for row in self.rows))


@dataclass(frozen=True)
class Line:
    """A line of a panel; `marks`: points that are not joined; `dashed`: a figure of the paper or of theory."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    marks: bool = False
    dashed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", tuple(map(float, self.x)))
        object.__setattr__(self, "y", tuple(map(float, self.y)))
        if len(self.x) != len(self.y):
            raise ValueError(f"line {self.name!r} has {len(self.x)} places and {len(self.y)} values")


@dataclass(frozen=True)
class Panel:
    """One pair of axes; `log` names those that are logarithmic: "", "x", "y" or "xy"."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    log: str = ""


@dataclass(frozen=True)
class Picture:
    """An image of the plot, (height, width) or (height, width, 3); it is not kept in the JSON."""

    title: str
    pixels: Array


@dataclass(frozen=True)
class Outcome:
    """Tables, panels and pictures in their order; remarks in whole sentences, made from the figures where possible."""

    tables: tuple[Table, ...]
    panels: tuple[Panel, ...] = ()
    remarks: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = field(default=(), compare=False)

    def plain(self) -> dict[str, Any]:
        """Return the outcome as JSON can hold it, without the pictures."""
        return {
            "tables": [vars(t) for t in self.tables],
            "panels": [{**vars(p), "lines": [vars(line) for line in p.lines]} for p in self.panels],
            "remarks": list(self.remarks),
        }

    @classmethod
    def read(cls, plain: dict[str, Any]) -> Outcome:
        """Read the output of `plain`."""
        tables = (
            Table(t["title"], tuple(t["columns"]), tuple(map(tuple, t["rows"])), t["digits"]) for t in plain["tables"]
        )
        panels = (Panel(**{**p, "lines": tuple(Line(**line) for line in p["lines"])}) for p in plain["panels"])
        return cls(tuple(tables), tuple(panels), tuple(plain["remarks"]))


def _plain(cell: Any) -> Cell:
    value = cell.item() if isinstance(cell, np.generic) else cell
    return None if isinstance(value, float) and not np.isfinite(value) else value
