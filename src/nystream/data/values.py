"""Conversion of the values of a column to its kind, with errors that name values that do not fit."""

from __future__ import annotations

import datetime
import math
from array import array
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nystream.data.cells import (
    MICROSECONDS,
    MILLISECONDS,
    MISFIT,
    MONTH_FIRST,
    SECONDS,
    is_missing,
    parse_digits,
    parse_epoch,
    parse_number,
    parse_time,
)
from nystream.data.places import BadCell, Place
from nystream.runtime.types import Array

__all__ = ["boolean", "convert", "drop_absent", "is_absent", "moment", "number", "numbers_as_written", "word"]

TRUE = frozenset({"true", "t", "yes", "y", "on", "1"})
FALSE = frozenset({"false", "f", "no", "n", "off", "0"})
MOST_NAMED = 3
"""Largest number of wrong cells in a message: enough to see a pattern."""
LONG_INTEGER = 19
"""A whole number with this many digits may not fit 64 bits; it is read as a float."""

Times: TypeAlias = npt.NDArray[np.datetime64]


def is_absent(value: Any) -> bool:
    """Return whether a value is None, nan, NaT or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, (str, bytes, int)):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def drop_absent(values: Iterable[Any]) -> list[Any]:
    """Return the values that are not None, nan, NaT or NA, in their order."""
    return [value for value in values if not is_absent(value)]


def numbers_as_written(values: Iterable[Any], mark: str | None = None) -> list[Any]:
    """Read texts of numbers: an int where a text is a whole number, else a float; None where it is not a number.

    Values that are not strings stay as they are. `mark` is the decimal mark, as in `parse_number`.
    """
    return [_number_as_written(value, mark) if isinstance(value, str) else value for value in values]


def _number_as_written(text: str, mark: str | None) -> int | float | None:
    text = text.strip()
    if text.removeprefix("-").removeprefix("+").isdigit() and len(text) < LONG_INTEGER:
        return int(text)
    if mark != "," and "_" not in text:
        try:
            found = float(text)
        except ValueError:
            pass
        else:
            if math.isfinite(found):
                return found
    found = parse_number(text, mark or ".")
    return None if found is MISFIT else found


def convert(
    values: Any,
    kind: str,
    name: str,
    *,
    place: Callable[[int], Place] | None = None,
    tolerant: bool = False,
    format: str | None = None,
) -> tuple[Any, int]:
    """Convert a column to its kind. Return it and the number of misfits (`tolerant`: missing; else an error).

    `place` gives the place of a row for messages. `format` is the decimal mark of numbers or the order of day and month
    of times, as `parse_number` and `parse_time` take them. Numbers and booleans are float64 with nan, times
    datetime64[us] with NaT, words an array of str and None.
    """
    if kind in ("category", "text"):
        words = _plain_words(values)
        if words is not None:
            return words, 0
    quick = _quick(values, kind, format)
    if quick is not None:
        bad = np.isinf(quick) if quick.dtype.kind == "f" else np.zeros(0, dtype=bool)
        if kind == "boolean":
            bad = bad | ((quick != 0) & (quick != 1) & ~np.isnan(quick))
        if not bad.any():
            return quick, 0
    convert: Callable[..., Any] = _CONVERTERS[kind]
    if format is not None and kind in ("number", "time"):
        convert = partial(convert, format=format)
    return _one_by_one(values, convert, kind, name, place or Place, tolerant)


def _one_by_one(
    values: Any, convert: Callable[[Any], Any], kind: str, name: str, place: Callable[[int], Place], tolerant: bool
) -> tuple[Any, int]:
    found, bad = [], []
    blank = {"time": None, "category": None, "text": None}.get(kind, math.nan)
    for row, value in enumerate(values):
        result = blank if is_absent(value) else convert(value)
        if result is MISFIT:
            bad.append(row)
            result = blank
        found.append(result)
    misfits = len(bad)
    if bad and not tolerant:
        others = [(place(row), values[row]) for row in bad[1:MOST_NAMED]]
        raise BadCell(place(bad[0]), name, values[bad[0]], _WANTED[kind], others, misfits)
    if kind == "time":
        return np.array(found, dtype="datetime64[us]"), misfits
    if kind in ("category", "text"):
        words = np.empty(len(found), dtype=object)
        words[:] = found
        return words, misfits
    return np.array(found, dtype=np.float64), misfits


def _quick(values: Any, kind: str, format: str | None) -> Any:
    """Convert the whole column at once if all values are plain; else return None."""
    if isinstance(values, np.ndarray):
        if kind in ("number", "boolean") and values.dtype.kind in "biuf":
            return np.asarray(values, dtype=np.float64)
        if kind == "number" and values.dtype.kind == "m":
            seconds = values.astype("timedelta64[us]").astype(np.float64) / 1e6
            return np.where(np.isnat(values), np.nan, seconds)
        if kind == "time" and values.dtype.kind == "M":
            return values.astype("datetime64[us]")
        return _epochs(values) if kind == "time" and values.dtype.kind in "iuf" else None
    if kind in ("number", "boolean"):
        try:
            return np.frombuffer(array("d", values), dtype=np.float64)
        except (TypeError, OverflowError):
            return _written(values, format or ".") if kind == "number" else None
    if kind == "time" and format is None:
        return _iso(values)
    return None


def _epochs(values: Any) -> Times | None:
    """Convert seconds, milli-, micro- or nanoseconds since 1970, without days such as 20230105."""
    size = np.abs(values.astype(np.float64))
    is_far = (size > 1e8) & ~((size > 1.8e13) & (size < 2.3e13)) & (size < 9e18)  # no 20230105, no 20230105103000
    if not bool((is_far | (size == 0) | np.isnan(size)).all()):
        return None
    large = np.where(size < MICROSECONDS, 1.0, 1e-3)
    scale = np.where(size < SECONDS, 1e6, np.where(size < MILLISECONDS, 1e3, large))
    there = ~np.isnan(size)
    found = np.full(len(values), np.datetime64("NaT"), dtype="datetime64[us]")
    found[there] = np.round(values[there] * scale[there]).astype(np.int64).astype("datetime64[us]")
    return found


def _iso(values: Any) -> Times | None:
    """Convert times in ISO 8601 without a zone, or None."""
    read = datetime.datetime.fromisoformat
    try:
        times = [None if v is None else read(v) for v in values if v is None or v[4] == "-"]
    except (TypeError, ValueError, IndexError):
        return None
    if len(times) < len(values) or any(time is not None and time.tzinfo is not None for time in times):
        return None
    return np.array(times, dtype="datetime64[us]")


def _plain_words(values: Any) -> Any:
    """Return a column of plain words and None as it is; else None."""
    there = [value for value in values if value is not None]
    if set(map(type, there)) != {str} or not all(there) or not all(map(str.isascii, there)):
        return None
    words = np.empty(len(values), dtype=object)
    words[:] = values
    return words


def _written(values: Any, mark: str) -> Array | None:
    """Convert plain numbers written as text, or None."""
    try:
        if mark != ".":
            if mark == "," and any(v is not None and "." in v for v in values):
                return None
            values = [None if v is None else v.replace(",", ".") for v in values]
        numbers = np.array([math.nan if v is None else float(v) for v in values], dtype=np.float64)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    doubtful = any(isinstance(v, str) and "_" in v for v in values)  # Python takes 1_000 for a number
    return None if doubtful else numbers


def number(value: Any, format: str = ".") -> Any:
    """Return a finite float, nan for a missing value, or MISFIT; `format` is the decimal mark."""
    if isinstance(value, (bytes, np.bytes_)):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return parse_number(value, format)
    if isinstance(value, (datetime.timedelta, np.timedelta64)):
        return float(np.timedelta64(value).astype("timedelta64[us]").astype(np.float64)) / 1e6
    if isinstance(value, (np.datetime64, complex)):
        return MISFIT
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return MISFIT
    return found if math.isfinite(found) else MISFIT


def boolean(value: Any) -> Any:
    """Return 0.0 or 1.0, nan for a missing value, or MISFIT."""
    if isinstance(value, str):
        text = value.strip().lower()
        return 1.0 if text in TRUE else 0.0 if text in FALSE else math.nan if is_missing(text) else MISFIT
    found = number(value)
    return found if found is MISFIT or found in (0.0, 1.0) else MISFIT


def word(value: Any) -> Any:
    """Return a string, or None for an empty one. 12345 and 12345.0 give the same string.

    Half a character, from a text that was cut inside one, becomes "?".
    """
    if isinstance(value, str):
        return (value if value.isascii() else value.encode("utf-8", "replace").decode()) or None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace") or None
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, np.generic):
        value = value.item()
    return MISFIT if isinstance(value, (dict, list, tuple, set, np.ndarray)) else str(value)


def moment(value: Any, format: str = MONTH_FIRST) -> Any:
    """Return a time without zone (UTC if it had one), None for a missing value, or MISFIT.

    `format` is the order of day and month.
    """
    if isinstance(value, str):
        return parse_time(value, format)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.datetime):  # pandas' timestamps too
        return _naive(value)
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    seconds = number(value)
    if seconds is MISFIT or isinstance(value, (bool, np.bool_)):
        return MISFIT
    return parse_digits(str(int(seconds))) if seconds >= 0 and seconds.is_integer() else parse_epoch(seconds)


def _naive(time: datetime.datetime) -> datetime.datetime:
    if time.tzinfo is not None:
        time = time.astimezone(datetime.UTC).replace(tzinfo=None)
    return datetime.datetime(*time.timetuple()[:6], time.microsecond)


def as_floats(values: Any) -> Array:
    """Return the numbers of any column, nan for missing ones."""
    found: Array = convert(values, "number", "", tolerant=True)[0]
    return found


_CONVERTERS: dict[str, Callable[..., Any]] = {
    "number": number,
    "boolean": boolean,
    "category": word,
    "text": word,
    "time": moment,
}
_WANTED = {
    "number": "finite number",
    "boolean": "boolean (true or false, 1 or 0)",
    "category": "level of a category",
    "text": "text",
    "time": "date or time",
}
