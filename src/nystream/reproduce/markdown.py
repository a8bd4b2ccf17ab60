"""Convert records to Markdown: one section each, or the whole page."""

from __future__ import annotations

from collections.abc import Iterable

from nystream.reproduce.grid import DIFFERENCES, GRID
from nystream.reproduce.outcome import Cell, Table
from nystream.reproduce.record import Record

__all__ = ["page", "section"]

HEAD = """# The papers' tables and figures, computed again

This page is written by `python docs/make_reproduction.py` from `docs/reproduction/*.json`, which
`nystream reproduce --all --out docs/reproduction` writes; the command and the commit of each are below it. Columns
named "published" have the paper's figures; all others were measured. Errors are progressive: every row is predicted
before its label is used.
"""


def page(records: Iterable[Record]) -> str:
    """Return all records under one heading."""
    records = list(records)
    columns = ("paper", "what", "here", "state")
    rows = tuple((i.paper, i.what, ", ".join(f"[{e}](#{e})" for e in i.experiments), i.state) for i in GRID)
    grid = _table(Table("", columns, rows))
    contents = "\n".join(f"- [{r.name}](#{r.name}): {r.title}" for r in records)
    return f"{HEAD}\n{_made(records)}\n\n## All tables and figures\n\n{grid}\n\n{contents}\n\n" + "\n".join(
        section(r, folder="reproduction/") for r in records
    )


def _made(records: list[Record]) -> str:
    """Return the seconds of all records together, and which version of the package made which."""
    by_version: dict[str, list[str]] = {}
    for record in records:
        by_version.setdefault(record.versions.get("nystream", "unknown"), []).append(record.name)
    made = [
        f"Version {v} of nystream made {', '.join(names)}." for v, names in sorted(by_version.items(), reverse=True)
    ]
    total = sum(record.seconds for record in records)
    return " ".join([f"Together they took {total:,.0f} s.", *made])


def section(record: Record, folder: str = "") -> str:
    """Return a record as a section: what it is, its source, the method, the tables, the plot, the remarks."""
    parts = [f"## {record.name}", f"**{record.title}** {record.source}", record.protocol]
    if record.quick:
        parts.append("*A quick run: fewer rows, shuffles or settings than the protocol says; not to be quoted.*")
    if not record.quick:
        differences = tuple((d.published, d.here(record.outcome), d.why) for d in DIFFERENCES.get(record.name, ()))
        parts.append(_table(Table("", ("published", "here", "why they differ"), differences)))
    parts += [f"{table.title}\n\n{_table(table)}" for table in record.outcome.tables]
    if record.outcome.panels:
        parts.append(f"![{record.name}: {record.title}]({folder}{record.name}.png)")
    if record.outcome.remarks:
        parts.append("\n".join(f"- {remark}" for remark in record.outcome.remarks))
    versions = ", ".join(f"{name} {number}" for name, number in record.versions.items())
    option = " --quick" if record.quick else " --whole" if record.whole else ""
    parts.append(
        f"<sub>{record.date}, commit {record.commit or 'unknown'}, {record.seconds:,.0f} s on {record.machine}; "
        f"{versions}; `nystream reproduce {record.name}{option}`</sub>"
    )
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    numeric = [any(isinstance(row[i], int | float) for row in table.rows) for i in range(len(table.columns))]
    lines = [table.columns, tuple("---:" if n else "---" for n in numeric)]
    lines += [tuple(_text(cell, table.digits) for cell in row) for row in table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _text(cell: Cell, digits: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:,.{digits}f}"
    return f"{cell:,}" if isinstance(cell, int) else cell.replace("|", "\\|")
