"""Timestamps: their frequency, the row of each, and columns of the calendar."""

from __future__ import annotations

import datetime as dt
import importlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Calendar", "Frequency", "clock_times", "instants", "is_offset", "known_country"]

SECOND = 1_000_000
"""Times are whole microseconds since 1970, in UTC where they have a zone."""
HOUR, DAY = 3600 * SECOND, 86_400 * SECOND
"""Microseconds of an hour and of a day."""
YEAR = 365.25
"""Mean days of a year."""
UNITS = {"us": 1, "ms": 1000, "s": SECOND, "min": 60 * SECOND, "h": HOUR, "d": DAY, "w": 7 * DAY}
MONTHS = {"ms": 1, "m": 1, "me": 1, "qs": 3, "q": 3, "qe": 3, "ys": 12, "y": 12, "ye": 12}
"""Names of pandas for months, quarters and years, which have no fixed length."""


class Frequency(NamedTuple):
    """The distance of two rows: so many months, or so many microseconds."""

    months: int
    micros: int

    @classmethod
    def parse(cls, text: str) -> Frequency:
        """Parse "30min", "1h", "D", "W", or "MS", "QS", "YS" for months, quarters and years."""
        found = re.fullmatch(r"\s*(\d*)\s*([a-zA-Z]+)\s*", text)
        if found:
            number, unit = int(found[1] or 1), found[2]
            if unit.upper() == unit and unit.lower() in MONTHS and number > 0:
                return cls(number * MONTHS[unit.lower()], 0)
            if unit.lower() in UNITS and number > 0:
                return cls(0, number * UNITS[unit.lower()])
        raise ValueError(f"frequency must be as '30min', '1h', 'D', 'W', 'MS', 'QS' or 'YS', got {text!r}")

    @classmethod
    def between(cls, first: int, second: int, zone: str = "") -> Frequency:
        """Return the frequency of two times: whole months where day and hour agree, whole days, or the distance."""
        clocks = clock_times(np.array([first, second]), _zone_of(zone))
        a, b = (np.datetime64(int(t), "us").astype(object) for t in clocks)
        months = 12 * (b.year - a.year) + b.month - a.month
        ends = all((t + dt.timedelta(days=1)).day == 1 for t in (a, b))
        if months > 0 and a.time() == b.time() and (a.day == b.day or ends):
            return cls(months, 0)
        between = int(clocks[1] - clocks[0])
        return cls(0, between if between > 0 and between % DAY == 0 else second - first)

    @property
    def is_civil(self) -> bool:
        """Whether rows follow the clock: a day has 23 or 25 hours where clocks change."""
        return bool(self.months) or self.micros % DAY == 0

    def floor(self, time: int, zone: str = "") -> int:
        """Return the last full hour, day or month of the clock up to a time, as the frequency has it."""
        clock = int(clock_times(np.array([time]), _zone_of(zone))[0])
        if self.months:
            month = np.datetime64(clock, "us").astype("datetime64[M]").astype("datetime64[us]")
            return time - (clock - int(month.astype(np.int64)))
        unit = DAY if self.micros % DAY == 0 else self.micros
        return time - clock % unit if DAY % unit == 0 else time

    def __str__(self) -> str:
        if self.months:
            return {1: "month", 3: "quarter", 12: "year"}.get(self.months, f"{self.months} months")
        for unit, name in (
            (7 * DAY, "week"),
            (DAY, "day"),
            (HOUR, "hour"),
            (60 * SECOND, "minute"),
            (SECOND, "second"),
        ):
            if self.micros % unit == 0:
                number = self.micros // unit
                return name if number == 1 else f"{number} {name}s"
        return f"{self.micros} microseconds"

    def seasons(self) -> list[int]:
        """Return the lengths in rows of the seasons that the calendar suggests, the shortest first."""
        if self.months:
            return [12 // self.months] if self.months in (1, 2, 3, 4, 6) else []
        lengths = [HOUR, DAY, 7 * DAY] if self.micros < 60 * SECOND else [DAY, 7 * DAY]
        found = [length // self.micros for length in lengths if length % self.micros == 0 and length > self.micros]
        if self.micros == 7 * DAY:
            found = [52]
        return found[:2]


def instants(when: Any) -> tuple[np.ndarray, str]:
    """Return times (n,) in microseconds and the name of their zone ("" for none).

    Of times with different offsets from UTC, as ISO 8601 has in summer and in winter, the first is the zone.

    when : one time or several: `datetime`, strings of ISO 8601, NumPy's datetime64, pandas' Timestamp, DatetimeIndex,
        PeriodIndex or Series, or a column of polars or Arrow.
    """
    if hasattr(when, "to_timestamp") and hasattr(when, "asi8"):  # a PeriodIndex
        when = when.to_timestamp()
    if hasattr(getattr(when, "dt", None), "tz"):  # a Series of pandas
        zone = when.dt.tz
        values = when.dt.tz_convert("UTC").dt.tz_localize(None) if zone is not None else when
        return _checked(values.to_numpy("datetime64[us]")), _name(zone)
    if hasattr(when, "tz_convert") and hasattr(when, "asi8"):  # a DatetimeIndex
        values = when.tz_convert("UTC").tz_localize(None) if when.tz is not None else when
        return _checked(values.to_numpy("datetime64[us]")), _name(when.tz)
    if isinstance(when, (np.ndarray, np.datetime64)) and np.asarray(when).dtype.kind == "M":
        return _checked(np.atleast_1d(np.asarray(when)).astype("datetime64[us]")), ""
    for name in ("to_pylist", "to_list"):  # a column of Arrow or polars, a Series of objects
        if not isinstance(when, np.ndarray) and hasattr(when, name):
            when = getattr(when, name)()
    single = isinstance(when, (str, dt.date)) or not isinstance(when, (Sequence, np.ndarray))
    parsed = [_one(value) for value in ([when] if single else when)]
    zones = list(dict.fromkeys(zone for _, zone in parsed))
    if len(zones) > 1 and not all(map(is_offset, zones)):
        raise ValueError(f"timestamps have different time zones: {', '.join(zone or 'none' for zone in sorted(zones))}")
    return np.array([value for value, _ in parsed], dtype=np.int64), zones[0] if zones else ""


def is_offset(zone: str) -> bool:
    """Whether a zone is a fixed distance from UTC, which changes where the clocks of a country do."""
    return zone.startswith(("UTC", "+", "-"))


def _one(value: Any) -> tuple[int, str]:
    if isinstance(value, np.datetime64):
        return int(_checked(np.atleast_1d(value.astype("datetime64[us]")))[0]), ""
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value.strip())
        except ValueError:
            raise ValueError(f"{value!r} is no timestamp; write it as 2024-01-31 15:00") from None
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if not isinstance(value, dt.datetime) or value != value:
        raise ValueError(f"{value!r} is no timestamp; pass a datetime, an ISO 8601 string or a datetime64")
    zone = value.tzinfo
    if zone is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    delta = value - dt.datetime(1970, 1, 1)
    return (delta.days * DAY + delta.seconds * SECOND + delta.microseconds), _name(zone)


def _checked(times: np.ndarray) -> np.ndarray:
    if np.isnat(times).any():
        raise ValueError(f"timestamp {int(np.isnat(times).argmax())} is missing; leave the row out or give its time")
    return times.astype(np.int64)


def _name(zone: Any) -> str:
    if zone is None:
        return ""
    key = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if key:
        return str(key)
    offset = zone.utcoffset(None)
    seconds = int(offset.total_seconds()) if offset is not None else 0
    return "UTC" if not seconds else f"{seconds:+d}"


def clock_times(times: np.ndarray, zone: dt.tzinfo | None) -> np.ndarray:
    """Convert times in UTC to those that the clocks of a zone show, daylight saving included."""
    if zone is None:
        return times
    hours, back = np.unique(times // (HOUR // 4), return_inverse=True)  # offsets change at quarters of an hour
    zero = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    offsets = [(zero + dt.timedelta(minutes=15 * int(q))).astimezone(zone).utcoffset() or dt.timedelta() for q in hours]
    found: np.ndarray = times + np.array([int(o.total_seconds()) * SECOND for o in offsets])[back]
    return found


class Calendar(Params):
    """The rows of a regular series in time: which row a timestamp is, and the calendar's columns of rows.

    Rows of whole days or months follow the clock of the time zone: a day has 23 or 25 hours where clocks change.

    Parameters
    ----------
    first : int
        Time of row 0, in microseconds.
    months, micros : int
        The frequency.
    zone : str
        Name of the time zone of the columns; "" for times without one.
    holidays : str, optional
        Country, and region after a dash ("DE", "US-CA"), whose holidays are a column; needs the package `holidays`.
    """

    def __init__(self, first: int, months: int, micros: int, zone: str = "", holidays: str | None = None) -> None:
        self.first = first
        self.months = months
        self.micros = micros
        self.zone = zone
        self.holidays = holidays
        self._days = None if holidays is None else _holidays_of(holidays)
        self._zone = _zone_of(zone)
        self._start = self._on_grid(first)

    @property
    def frequency(self) -> Frequency:
        return Frequency(self.months, self.micros)

    def _on_grid(self, time: int) -> int:
        """Return a time as the clock shows it where rows follow the clock, else unchanged."""
        return int(clock_times(np.array([time]), self._zone)[0]) if self._zone and self.frequency.is_civil else time

    def row_of(self, time: int) -> int | None:
        """Return the row of a time; None if it lies between two rows."""
        time = self._on_grid(time)
        if not self.months:
            row, rest = divmod(time - self._start, self.micros)
            return None if rest else row
        a, b = (np.datetime64(t, "us").astype("datetime64[M]").astype(int) for t in (self._start, time))
        row, rest = divmod(int(b - a), self.months)
        if rest or (row and Frequency.between(min(self._start, time), max(self._start, time)).micros):
            return None
        return row

    def cell_of(self, time: int) -> int:
        """Return the row in whose cell a time lies: from the row's time to that of the next."""
        time = self._on_grid(time)
        if not self.months:
            return (time - self._start) // self.micros
        a, b = (np.datetime64(t, "us").astype("datetime64[M]").astype(int) for t in (self._start, time))
        return int(b - a) // self.months

    def times(self, rows: np.ndarray) -> np.ndarray:
        """Return the times of rows, in microseconds; those of the clock where rows follow the clock."""
        if not self.months:
            return self._start + rows * self.micros
        start = np.datetime64(self._start, "us")
        month = start.astype("datetime64[M]")
        months = month + rows * np.timedelta64(self.months, "M")
        into = start - month
        last = (months + np.timedelta64(1, "M")).astype("datetime64[us]") - months.astype("datetime64[us]")
        days = np.minimum(into, last - np.timedelta64(DAY, "us") + (into % np.timedelta64(DAY, "us")))
        return (months.astype("datetime64[us]") + days).astype(np.int64)

    def local(self, rows: np.ndarray) -> np.ndarray:
        """Return the times of rows as clocks show them, daylight saving included."""
        times = self.times(rows)
        return times if self.frequency.is_civil else clock_times(times, self._zone)

    def clock(self, row: int) -> np.datetime64:
        """Return the time of a row as clocks show it."""
        return np.datetime64(int(self.local(np.array([row]))[0]), "us")

    def names(self) -> list[str]:
        """Return the names of the columns."""
        found = []
        if not self.months and self.micros < DAY:
            found += ["hour", "sin of day", "cos of day", "sin of half day", "cos of half day"]
        if not self.months and self.micros < 7 * DAY:
            found += ["weekday", "weekend", "sin of week", "cos of week"]
        found += ["sin of year", "cos of year"]
        if self.months:
            found += ["month", "sin of half year", "cos of half year"]
        return found + (["public holiday"] if self._days is not None else [])

    def columns(self, rows: np.ndarray) -> Array:
        """Return the calendar of rows (n, d): hour, weekday, time of the year and their harmonics, if they vary."""
        times = self.local(rows)
        days, into = np.divmod(times, DAY)
        hour = into / HOUR
        weekday = (days + 3) % 7  # day 0 was a Thursday
        dates = days.astype("datetime64[D]")
        year = dates.astype("datetime64[Y]")
        of_year = ((dates - year.astype("datetime64[D]")).astype(int) + 1) / YEAR
        found: list[Any] = []
        if not self.months and self.micros < DAY:
            found += [hour, *_waves(hour / 24), *_waves(hour / 12)]
        if not self.months and self.micros < 7 * DAY:
            found += [weekday, weekday >= 5, *_waves((weekday + hour / 24) / 7)]
        found += _waves(of_year)
        if self.months:
            found += [(dates.astype("datetime64[M]") - year).astype(int) + 1, *_waves(2 * of_year)]
        if self._days is not None:
            found.append(np.array([day in self._days for day in dates.astype(object)]))
        return np.column_stack([np.asarray(column, dtype=float) for column in found])


def _waves(part: Array) -> list[Array]:
    return [np.sin(2 * np.pi * part), np.cos(2 * np.pi * part)]


def _zone_of(name: str) -> dt.tzinfo | None:
    if not name:
        return None
    if name[0] in "+-":
        return dt.timezone(dt.timedelta(seconds=int(name)))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(
            f"no time zone is named {name!r} here; pip install tzdata, or use one as 'Europe/Berlin'"
        ) from None


def known_country(country: str) -> str:
    """Return the country if the package `holidays` is installed and knows it; raise an error otherwise."""
    _holidays_of(country)
    return country


def _holidays_of(country: str) -> Any:
    try:
        package = importlib.import_module("holidays")
    except ImportError:
        raise ImportError(
            f"holidays={country!r} needs the package holidays; install it with: pip install holidays"
        ) from None
    code, _, region = country.partition("-")
    try:
        return package.country_holidays(code, subdiv=region or None)
    except (NotImplementedError, KeyError, AttributeError):
        raise ValueError(f"the package holidays knows no country or region {country!r}") from None
