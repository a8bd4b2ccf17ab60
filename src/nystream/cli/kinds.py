"""The kinds of columns that were inferred from the first rows, as a small table for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from nystream.cli.source import Source
from nystream.data.kinds import KINDS, looked
from nystream.data.reading import Table
from nystream.data.targets import columns_of
from nystream.data.values import converted

__all__ = ["check_kinds", "kinds_table"]

MOST = 30
"""Columns that are shown one by one."""


def kinds_table(source: Source) -> list[str]:
    """Lines that say how every column is read, and how to change that; none for rows that have no kinds."""
    schema, rows = source.schema, source.raw[0].rows
    if source.rows.numeric or schema.width is not None or not isinstance(rows, Table):
        return []
    looks = getattr(schema, "looks_", {})
    cells = [("column", "kind", "first value", "")]
    for name, kind in list(schema.columns.items())[:MOST]:
        example, missing, note = looks.get(name, ("", 0.0, ""))
        shown = "id" if name in schema.ids else kind
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


def check_kinds(source: Source, kinds: Mapping[str, str]) -> None:
    """Refuse the first rows if cells of a column are not of the kind that was asked for; a BadCell names the first."""
    schema = source.schema
    asked = [name for name in kinds if schema.columns.get(name, "ignored") != "ignored"]
    tables = [block.rows for block in source.raw]
    if not asked or not isinstance(tables[0], Table):
        return
    whole = Table.joined(tables)
    for name in asked:
        format = schema.format_of(name, whole)
        converted(whole.columns[name], schema.columns[name], name, place=whole.place, format=format)


def _targets(source: Source) -> list[tuple[str, str, str, str]]:
    block = source.raw[0]
    targets, table = source.rows.targets, block.rows
    found = []
    for name in targets:
        values: Any = table.columns.get(name)
        if values is None:
            values = columns_of(block.labels, len(table))[0]
        kind = "number" if source.task == "regression" else "category"
        look = looked(values, kind, mark=source.schema.format_of(name, table))
        found.append((name, "target", look.example, _about(look.missing, f"{source.task}; {look.note}".rstrip("; "))))
    return found


def _about(missing: float, note: str) -> str:
    parts = [f"{missing:.0%} missing"] if missing > 0 else []
    return ", ".join([*parts, *([note] if note else [])])
