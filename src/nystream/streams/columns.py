"""The choice of features and targets among the columns of a table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

__all__ = ["Choice", "Column", "Target", "choose"]

Column: TypeAlias = int | str
"""A name, or a position counted from 0 (negative: from the end)."""
Target: TypeAlias = Column | Sequence[Column] | None


class Choice(NamedTuple):
    """Positions of features and targets; `single` says that Y is (n,) and not (n, K)."""

    features: tuple[int, ...]
    targets: tuple[int, ...]
    single: bool

    @property
    def used(self) -> tuple[int, ...]:
        """Features, then targets."""
        return self.features + self.targets


def choose(
    names: Sequence[str], target: Target, drop: Column | Iterable[Column], keep: Iterable[Column] | None, source: str
) -> Choice:
    """Choose targets and features. Features are `keep` in its order, or all other columns without `drop`."""
    single = target is None or isinstance(target, (int, str, np.integer))
    asked = [] if target is None else [target] if isinstance(target, (int, str, np.integer)) else list(target)
    targets = tuple(_position(column, names, source) for column in asked)
    if not single and not targets:
        raise ValueError("target is an empty list; use target=None for a stream without targets")
    if len(set(targets)) < len(targets):
        raise ValueError(f"target names a column twice: {asked!r}")
    dropped = [drop] if isinstance(drop, (int, str, np.integer)) else list(drop)
    gone = {_position(column, names, source) for column in dropped}
    if gone & set(targets):
        raise ValueError(f"column {names[min(gone & set(targets))]!r} is both a target and dropped")
    wanted: Iterable[int] = range(len(names))
    if keep is not None:
        wanted = [_position(column, names, source) for column in ([keep] if isinstance(keep, str) else keep)]
        if len(set(wanted)) < len(wanted):
            raise ValueError("columns names a column twice")
        if set(wanted) & set(targets):
            raise ValueError(f"column {names[min(set(wanted) & set(targets))]!r} is both a target and a feature")
    features = tuple(j for j in wanted if j not in gone and j not in targets)
    if not features:
        raise ValueError(
            f"{source} has {len(names)} column{'s' * (len(names) != 1)}, of which none is left as a feature; "
            "check target, drop, columns, the delimiter, and that the file begins with its header or its first row"
        )
    return Choice(features, targets, single)


def _position(column: Column, names: Sequence[str], source: str) -> int:
    if isinstance(column, str):
        if names.count(column) > 1:
            raise ValueError(f"{source} has {names.count(column)} columns named {column!r}; give the position instead")
        if column in names:
            return names.index(column)
        if not column.lstrip("-").isdecimal():  # a position may be given as text, as command lines do
            close = difflib.get_close_matches(column, names, 1, cutoff=0.6)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ValueError(f"{source} has no column {column!r}; {hint}it has {_listed(names)}")
    place = int(column)
    if not -len(names) <= place < len(names):
        by_place = list(names) == [str(j) for j in range(len(names))]
        hint = "; if its first line has the names of the columns, say --header (header=True)" if by_place else ""
        raise ValueError(f"{source} has no column {place}: it has {len(names)} columns, 0 to {len(names) - 1}{hint}")
    return place % len(names)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:30])
    return shown if len(names) <= 30 else f"{shown}, ... ({len(names)} in all)"
