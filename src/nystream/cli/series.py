"""The rows of a series in a file: label, time and known inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from nystream.cli.cleaning import Cleaner
from nystream.cli.rows import Pair, RowSource
from nystream.cli.source import PEEK, first_blocks
from nystream.data.batch import Batch
from nystream.data.kinds import look_at
from nystream.data.reading import Table
from nystream.data.schema import Schema
from nystream.runtime.types import Array

__all__ = ["Part", "Series", "series_of"]

UNITS = ("Y", "M", "D", "h", "m", "s")
"""Of the columns that make up a time: year, month, day, hour, minute, second."""
MICROSECONDS = {"D": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000}
YEARS = (1600, 2400)
"""Whole numbers within which a first part of a time is a year."""


@dataclass
class Part:
    """Consecutive rows."""

    y: Array
    times: Any
    columns: dict[str, Any]
    """Known inputs by name, as arrays of numbers or lists."""

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: slice) -> Part:
        times = None if self.times is None else self.times[rows]
        return Part(self.y[rows], times, {name: values[rows] for name, values in self.columns.items()})

    def followed_by(self, other: Part) -> Part:
        """Return both parts joined."""
        times = None if self.times is None else np.concatenate([self.times, other.times])
        columns = {name: np.concatenate([values, other.columns[name]]) for name, values in self.columns.items()}
        return Part(np.concatenate([self.y, other.y]), times, columns)

    @property
    def labelled(self) -> int:
        """Rows up to the last one with a label."""
        there = np.flatnonzero(~np.isnan(self.y))
        return int(there[-1]) + 1 if len(there) else 0

    def when(self, rows: slice) -> Any:
        """Return the timestamps of some rows, or None."""
        return None if self.times is None else self.times[rows]

    def inputs(self, rows: slice) -> Any:
        """Return the known inputs of some rows as dicts, or None where there are none."""
        if not self.columns:
            return None
        part = [values[rows].tolist() for values in self.columns.values()]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*part, strict=True)]


class Series:
    """The rows of a source as parts of a series. `blocks` gives all of them once.

    Parameters
    ----------
    rows : RowSource
    schema : Schema
        Of the columns that are used, the target among them.
    target, time, known : names of columns
    """

    def __init__(
        self, rows: RowSource, schema: Schema, target: str, time: Sequence[str], known: Sequence[str], policy: str
    ) -> None:
        self.name, self.target, self.time, self.known = rows.name, target, list(time), list(known)
        self._rows, self._schema, self._policy = rows, schema, policy
        self._cleaner = Cleaner(schema, numeric=False, policy=policy, name=rows.name)
        self._pieces: Iterator[Pair] = iter(())
        self._timeless = 0

    def blocks(self, size: int) -> Iterator[Part]:
        """Yield blocks of one pass over the rows; their sizes are those of the source."""
        for rows, _ in self._pieces:
            for batch, _ in self._cleaner.clean(self._used(rows), None):
                part = self._part(batch)
                if len(part):
                    yield part

    def _used(self, rows: Any) -> Table:
        """Return the columns that are used, unchanged."""
        table = as_table(rows, self._rows.columns)
        columns = {name: table.columns[name] for name in self._schema.names if name in table.columns}
        return Table(columns, table.n, table.named, table.kinds, table.places, table.marks)

    def _part(self, batch: Batch) -> Part:
        columns = batch.columns
        y = np.asarray(columns[self.target], dtype=float)
        times = _put_together([columns[name] for name in self.time], self.time) if self.time else None
        known = {name: np.asarray(columns[name], dtype=self._type(name)) for name in self.known}
        part = Part(y, times, known)
        if times is None or not np.isnat(times).any():
            return part
        gone = np.isnat(times)
        if self._policy == "stop":
            place = batch.place(int(gone.argmax()))
            raise ValueError(
                f"{place}: the time ({', '.join(self.time)}) is missing; correct it, or leave such rows out with "
                "--on-error skip"
            )
        self._timeless += int(gone.sum())
        left = np.flatnonzero(~gone)
        return Part(y[left], times[left], {name: values[left] for name, values in known.items()})

    def _type(self, name: str) -> Any:
        return float if self._schema.columns[name] in ("number", "boolean") else object

    def about(self) -> list[str]:
        """Return one line that says how the columns are read."""
        time = f"time in {', '.join(self.time)}" if self.time else "no column of times, rows follow each other"
        known = f"; known ahead: {', '.join(self.known)}" if self.known else ""
        return [f"{self.name}: forecast of {self.target}; {time}{known}"]

    def summary(self) -> list[str]:
        """Return lines about the cells and rows that were not learnt as they are."""
        lines = self._cleaner.summary(self._rows.unreadable)
        if self._timeless:
            rows = "1 row without a time was" if self._timeless == 1 else f"{self._timeless:,} rows without a time were"
            lines.append(f"{rows} left out")
        return lines

    def notes(self) -> dict[str, Any]:
        """Return the description of the columns for a saved forecaster."""
        schema = Schema(**self._schema.get_params(deep=False))  # without the first values of this file
        return {"schema": schema, "target": self.target, "time": self.time, "known": self.known}


def series_of(
    rows: RowSource,
    *,
    target: Sequence[str] | None,
    time: Sequence[str],
    known: Sequence[str],
    kinds: Mapping[str, str],
    day_first: bool,
    policy: str,
    before: Mapping[str, Any] | None = None,
) -> Series:
    """Return the series in a source, whose first rows tell how its columns are read.

    `before` are the notes of a saved forecaster: its columns are read again in the same way.
    """
    if policy != "stop":
        rows.skip_unreadable()
    first, rest = first_blocks(rows.blocks(PEEK if rows.ahead else 256), PEEK if rows.ahead else 1)
    if not first:
        raise ValueError(f"{rows.name} has no rows")
    table = Table.joined([as_table(some, rows.columns) for some, _ in first])
    names = list(table.columns)
    if before is not None:
        asked = {"target": list(target or [])[:1], "time": list(time), "known": list(known)}
        for what, given in asked.items():
            own = [before["target"]] if what == "target" else list(before[what])
            if given and given != own:
                raise ValueError(f"the saved forecaster has --{what} {','.join(own) or 'none'}; leave --{what} out")
        chosen, time, known, schema = before["target"], before["time"], before["known"], before["schema"]
        _check_columns([chosen, *time], names, rows.name)
    else:
        chosen = _target(target, names, rows.name)
        _check_columns([*time, *known], names, rows.name)
        time = list(time) or _only_time([name for name in names if name not in (chosen, *known)], table, day_first)
        twice = [name for name in [*time, *known] if name == chosen]
        if twice:
            raise ValueError(f"column {chosen!r} is the target; it is not known ahead")
        is_date = bool(time) and "time" in (
            table.kinds.get(time[0]),
            look_at(table.columns[time[0]], None, "time").kind,
        )
        asked_kinds = {**dict.fromkeys(time, "number"), **({time[0]: "time"} if is_date else {}), chosen: "number"}
        schema = Schema.of(
            table,
            kinds={**asked_kinds, **kinds},
            columns=[*time, chosen, *known],
            task="regression",
            day_first=day_first,
        )
        ignored = [name for name in known if schema.columns[name] == "ignored"]
        if ignored:
            raise ValueError(f"--known {ignored[0]}: its values are all different, as of an id; leave it out")
    series = Series(rows, schema, chosen, time, known, policy)
    series._pieces = chain(first, rest)
    return series


def as_table(rows: Any, names: Sequence[str]) -> Table:
    """Return rows of any source as a table; columns of numbers without names are known by their places."""
    if isinstance(rows, Table):
        return rows
    X = np.asarray(rows, dtype=float)
    titles = list(names) or [str(j) for j in range(X.shape[1])]
    return Table(dict(zip(titles, X.T, strict=True)), len(X))


def _target(asked: Sequence[str] | None, names: list[str], source: str) -> str:
    """Return the column to forecast: by name or place, or the last one."""
    if not asked:
        return names[-1]
    if len(asked) > 1:
        raise ValueError("a series has one --target; forecast several columns one by one")
    word = asked[0]
    if word not in names and word.lstrip("-").isdigit() and -len(names) <= int(word) < len(names):
        return names[int(word)]
    _check_columns([word], names, source)
    return word


def _check_columns(asked: Sequence[str], names: list[str], source: str) -> None:
    for name in asked:
        if name not in names:
            raise ValueError(f"{source} has no column {name!r}; it has {', '.join(names)}")


def _only_time(names: list[str], table: Table, day_first: bool) -> list[str]:
    """Return the column that holds times, where there is exactly one."""
    found = [
        name
        for name in names
        if (table.kinds.get(name) or look_at(table.columns[name], None, name, day_first=day_first).kind) == "time"
    ]
    if len(found) > 1:
        raise ValueError(f"{', '.join(found)} hold times: choose one with --time")
    return found


def _put_together(parts: list[Any], names: Sequence[str]) -> Any:
    """Return times (n,) from one column of times, or from several: a date and hours, or year, month, day, hour, ..."""
    if np.asarray(parts[0]).dtype.kind == "M":
        times, rest, units = np.asarray(parts[0]).astype("datetime64[us]"), parts[1:], list(UNITS[3:])
    else:
        year, rest, units = np.asarray(parts[0], dtype=float), parts[1:], list(UNITS[1:])
        whole = year[~np.isnan(year)]
        if len(whole) and not (YEARS[0] < whole.min() and whole.max() < YEARS[1]):
            raise ValueError(f"--time {names[0]}: {whole[0]:g} is neither a date nor a year")
        times = _shifted(np.full(len(year), np.datetime64("0000", "Y")), year, "Y")
    if len(rest) > len(units):
        raise ValueError(f"--time has {len(names)} columns; a time has at most year, month, day, hour, minute, second")
    for values, unit in zip(rest, units, strict=False):
        numbers = np.asarray(values, dtype=float) - (1 if unit in ("M", "D") else 0)
        times = _shifted(times, numbers, unit)
    return times.astype("datetime64[us]")


def _shifted(times: Any, numbers: Array, unit: str) -> Any:
    """Return times plus so many units; NaT where one of them is missing."""
    gone = np.isnan(numbers)
    if unit in ("Y", "M"):
        moved = times.astype(f"datetime64[{unit}]") + np.where(gone, 0, numbers).astype(np.int64).astype(
            f"timedelta64[{unit}]"
        )
    else:
        micros = np.rint(np.where(gone, 0.0, numbers) * MICROSECONDS[unit]).astype(np.int64)
        moved = times.astype("datetime64[us]") + micros.astype("timedelta64[us]")
    return np.where(gone, np.datetime64("NaT"), moved)
