"""A sentence about the columns and parts that a model relies on."""

from __future__ import annotations

from collections.abc import Sequence

from nystream.explain import Importance

__all__ = ["sentence"]

MOSTLY = 0.8
"""Total share up to which columns are named."""
MOST_NAMED = 4
"""Largest number of named columns."""


def sentence(importance: Importance, recent: float | None, alarms: Sequence[int] | None) -> str:
    """Return a sentence such as "mostly dep_delay and carrier; relies on the last 100 rows for 20 percent; one drift
    alarm at row 8,120".
    """
    parts = [_columns(importance)]
    if recent is not None:
        parts.append(f"relies on the last 100 rows for {100 * recent:.0f} percent")
    if alarms:
        count = {1: "one drift alarm", 2: "two drift alarms", 3: "three drift alarms"}.get(
            len(alarms), f"{len(alarms):,} drift alarms"
        )
        where = _listed([f"{row:,}" for row in alarms[:3]])
        parts.append(f"{count}, the first at rows {where}" if len(alarms) > 3 else _at(count, where, len(alarms)))
    return "; ".join(parts)


def _at(count: str, where: str, number: int) -> str:
    return f"{count} at row{'s' if number > 1 else ''} {where}"


def _columns(importance: Importance) -> str:
    sure = [c for c in importance.columns if c.low > 0]
    if not sure:
        return f"no column is sure to matter on the last {importance.rows:,} rows"
    named: list[str] = []
    total = 0.0
    for column in sure[:MOST_NAMED]:
        named.append(f"{column.column} ({100 * column.share:.0f} percent)")
        total += column.share
        if total >= MOSTLY:
            break
    whole = total >= MOSTLY or len(named) == len(importance.columns)
    return f"{'mostly' if whole else 'above all'} {_listed(named)}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
