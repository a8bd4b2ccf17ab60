"""A table of the inferred kinds of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from nystream.cli.source import ParsedSource
from nystream.data.kinds import KINDS
from nystream.data.reading import Table
from nystream.data.values import convert

__all__ = ["check_kinds", "kinds_table"]

MOST = 30
"""Largest number of columns that are shown one by one."""


def kinds_table(source: ParsedSource) -> list[str]:
    """Return lines that say how every column is read and how to change that; none for rows without kinds."""
    schema, rows = source.schema, source.raw[0][0]
    if source.rows.numeric or schema.width is not None or not isinstance(rows, Table):
        return []
    looks, ids = getattr(schema, "looks_", {}), set(schema.ids)
    cells = [("column", "kind", "first value", "")]
    for name, kind in list(schema.columns.items())[:MOST]:
        example, missing, note = looks.get(name, ("", 0.0, ""))
        shown = "id" if name in ids else kind
        cells.append((name, shown, example, _about(missing, note)))
    hidden = Counter(list(schema.columns.values())[MOST:])
    if hidden:
        counts = ", ".join(f"{count:,} of kind {kind}" for kind, count in hidden.items())
        cells.append(("...", f"and {sum(hidden.values()):,} more columns: {counts}", "", ""))
    cells += _targets(source)
    widths = [max(len(row[j]) for row in cells if row[0] != "...") for j in range(3)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]).rstrip() for row in cells]
    if not source.rows.named:
        lines.insert(
            0, f"{source.name} has no header, so columns are named by their places (--header if the first line is one)"
        )
    return [*lines, f"to read a column in another way: --kind NAME={'|'.join(KINDS)}"]


def check_kinds(source: ParsedSource, kinds: Mapping[str, str]) -> None:
    """Refuse the first rows if cells of a column are not of the kind that was asked for; a BadCell names the first."""
    schema = source.schema
    asked = [name for name in kinds if schema.columns.get(name, "ignored") != "ignored"]
    tables = [rows for rows, _ in source.raw]
    if not asked or not isinstance(tables[0], Table):
        return
    whole = Table.joined(tables)
    for name in asked:
        format = schema.format_of(name, whole)
        convert(whole.columns[name], schema.columns[name], name, place=whole.place, format=format)


def _targets(source: ParsedSource) -> list[tuple[str, str, str, str]]:
    """Return a line for each target: its name, "target", an example, and notes."""
    found = []
    for name, look in zip(source.rows.targets, source.target_looks, strict=False):
        note = look.note if source.task == "regression" else ""
        found.append((name, "target", look.example, _about(look.missing, f"{source.task}; {note}".rstrip("; "))))
    return found


def _about(missing: float, note: str) -> str:
    parts = [f"{missing:.0%} missing"] if missing > 0 else []
    return ", ".join([*parts, *([note] if note else [])])
