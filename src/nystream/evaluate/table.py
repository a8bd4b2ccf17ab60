"""Text tables with aligned columns and one precision per column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

__all__ = ["align", "figures"]

DIGITS = 5
"""Significant digits of the largest number of a column."""

SPREAD = 1e5
"""Columns whose numbers differ by more than this factor are written in scientific notation where it is shorter."""


def figures(values: Iterable[float]) -> list[str]:
    """Return the numbers of a column as text: integers in full, others with equal decimals."""
    numbers = [float(v) for v in values]
    sizes = [abs(v) for v in numbers if math.isfinite(v) and v != 0]
    if all(v == math.floor(v) for v in sizes) and all(v < 1e15 for v in sizes):
        return [f"{v:.0f}" if math.isfinite(v) else _special(v) for v in numbers]
    if max(sizes) / min(sizes) > SPREAD or max(sizes) >= 1e9 or max(sizes) < 1e-4:
        return [f"{v:.{DIGITS - 1}g}" if math.isfinite(v) else _special(v) for v in numbers]
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(max(sizes))))
    return [f"{v:.{min(decimals, 6)}f}" if math.isfinite(v) else _special(v) for v in numbers]


def align(header: Sequence[str], columns: Sequence[Sequence[str]], left: int = 0) -> str:
    """Return the text of a table: the first `left` columns are aligned to the left, the others to the right."""
    widths = [max(map(len, (name, *cells))) for name, cells in zip(header, columns, strict=True)]

    def line(cells: Iterable[str]) -> str:
        pairs = zip(cells, widths, strict=True)
        return "  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(pairs)).rstrip()

    rule = "  ".join("-" * w for w in widths)
    return "\n".join([line(header), rule, *(line(row) for row in zip(*columns, strict=True))])


def _special(value: float) -> str:
    return "-" if math.isnan(value) else str(value)
