"""Values of one column as its kind has them: numbers, booleans, times or words; a value that does not fit is named."""

from __future__ import annotations

import datetime
import math
from array import array
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nystream.tables.places import BadCell, Place
from nystream.types import Array

__all__ = ["MISSING", "boolean", "converted", "is_absent", "moment", "number", "word"]

MISSING = frozenset({"", "?", "-", "na", "n/a", "nan", "null", "none"})
"""Strings that stand for an absent number, boolean or time, in lower case."""
TRUE = frozenset({"true", "t", "yes", "y", "on", "1"})
FALSE = frozenset({"false", "f", "no", "n", "off", "0"})
MISFIT = object()
"""What a converter gives for a value that is not of its kind."""
EPOCH = datetime.datetime(1970, 1, 1)
SECONDS, MILLISECONDS = 1e11, 1e14
"""Numbers below the first are seconds since 1970 (until the year 5138), below the second milliseconds, else micro-."""

Times: TypeAlias = npt.NDArray[np.datetime64]


def is_absent(value: Any) -> bool:
    """None, nan, NaT or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, (str, bytes, int)):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def converted(
    values: Any,
    kind: str,
    name: str,
    *,
    place: Callable[[int], Place] | None = None,
    tolerant: bool = False,
    format: str | None = None,
) -> tuple[Any, int]:
    """The column as its kind has it, and how many values did not fit (`tolerant`: they are missing; else an error).

    `place` is what messages call a row. Numbers and booleans are float64 with nan, times datetime64[us] with NaT, words
    an array of str and None.
    """
    if kind in ("category", "text"):
        words = _plain_words(values)
        if words is not None:
            return words, 0
    quick = _quick(values, kind)
    if quick is not None:
        bad = np.isinf(quick) if quick.dtype.kind == "f" else np.zeros(0, dtype=bool)
        if kind == "boolean":
            bad = bad | ((quick != 0) & (quick != 1) & ~np.isnan(quick))
        if not bad.any():
            return quick, 0
    convert = (lambda value: moment(value, format)) if kind == "time" else _CONVERTERS[kind]
    return _one_by_one(values, convert, kind, name, place or Place, tolerant)


def _one_by_one(
    values: Any, convert: Callable[[Any], Any], kind: str, name: str, place: Callable[[int], Place], tolerant: bool
) -> tuple[Any, int]:
    found, misfits = [], 0
    blank = {"time": None, "category": None, "text": None}.get(kind, math.nan)
    for row, value in enumerate(values):
        result = blank if is_absent(value) else convert(value)
        if result is MISFIT:
            if not tolerant:
                raise BadCell(place(row), name, value, _WANTED[kind])
            result, misfits = blank, misfits + 1
        found.append(result)
    if kind == "time":
        return np.array(found, dtype="datetime64[us]"), misfits
    if kind in ("category", "text"):
        words = np.empty(len(found), dtype=object)
        words[:] = found
        return words, misfits
    return np.array(found, dtype=np.float64), misfits


def _quick(values: Any, kind: str) -> Any:
    """The whole column at once, where nothing in it is doubtful; else None."""
    if isinstance(values, np.ndarray):
        if kind in ("number", "boolean") and values.dtype.kind in "biuf":
            return np.asarray(values, dtype=np.float64)
        if kind == "number" and values.dtype.kind == "m":
            seconds = values.astype("timedelta64[us]").astype(np.float64) / 1e6
            return np.where(np.isnat(values), np.nan, seconds)
        if kind == "time" and values.dtype.kind == "M":
            return values.astype("datetime64[us]")
        return None
    if kind in ("number", "boolean"):
        try:
            return np.frombuffer(array("d", values), dtype=np.float64)
        except (TypeError, OverflowError):
            return _written(values) if kind == "number" else None
    return None


def _plain_words(values: Any) -> Any:
    """A column of which every value is a word as it is, or None; else None."""
    there = [value for value in values if value is not None]
    if set(map(type, there)) != {str} or not all(there) or not all(map(str.isascii, there)):
        return None
    words = np.empty(len(values), dtype=object)
    words[:] = values
    return words


def _written(values: Any) -> Any:
    """Numbers that were written as text, as files have them, None among them."""
    try:
        numbers = np.array([math.nan if v is None else float(v) for v in values], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    doubtful = any(isinstance(v, str) and "_" in v for v in values)  # Python takes 1_000 for a number
    return None if doubtful else numbers


def number(value: Any) -> Any:
    """A finite float, nan for a string that stands for an absent one, or MISFIT."""
    if isinstance(value, (bytes, np.bytes_)):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in MISSING:
            return math.nan
        value = text if "_" not in text else "no number"  # Python takes 1_000 for one
    elif isinstance(value, (datetime.timedelta, np.timedelta64)):
        return float(np.timedelta64(value).astype("timedelta64[us]").astype(np.float64)) / 1e6
    elif isinstance(value, (np.datetime64, complex)):
        return MISFIT
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return MISFIT
    return found if math.isfinite(found) else MISFIT


def boolean(value: Any) -> Any:
    """0.0 or 1.0, nan for a string that stands for an absent one, or MISFIT."""
    if isinstance(value, str):
        text = value.strip().lower()
        return 1.0 if text in TRUE else 0.0 if text in FALSE else math.nan if text in MISSING else MISFIT
    found = number(value)
    return found if found is MISFIT or found in (0.0, 1.0) else MISFIT


def word(value: Any) -> Any:
    """A string; a whole number without its fraction, so that 12345 and 12345.0 are one level. None for an empty one.

    Half a character, as texts have it that were cut in the middle of one, becomes "?".
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


def moment(value: Any, format: str | None = None) -> Any:
    """A time without zone (UTC where it had one), None for a string that stands for an absent one, or MISFIT."""
    if isinstance(value, str):
        return _parsed(value.strip(), format)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.datetime):  # pandas' timestamps too
        return _naive(value)
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    seconds = number(value)
    if seconds is MISFIT or isinstance(value, (bool, np.bool_)):
        return MISFIT
    size = abs(seconds)
    scale = 1.0 if size < SECONDS else 1e-3 if size < MILLISECONDS else 1e-6
    try:
        return EPOCH + datetime.timedelta(seconds=seconds * scale)
    except OverflowError:
        return MISFIT


def _parsed(text: str, format: str | None) -> Any:
    if text.lower() in MISSING:
        return None
    try:
        if format is not None:
            return _naive(datetime.datetime.strptime(text, format))
        return _naive(datetime.datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return MISFIT


def _naive(time: datetime.datetime) -> datetime.datetime:
    if time.tzinfo is not None:
        time = time.astimezone(datetime.UTC).replace(tzinfo=None)
    return datetime.datetime(*time.timetuple()[:6], time.microsecond)


def as_floats(values: Any) -> Array:
    """Numbers of any column, nan where there are none."""
    found: Array = converted(values, "number", "", tolerant=True)[0]
    return found


_CONVERTERS: dict[str, Callable[[Any], Any]] = {"number": number, "boolean": boolean, "category": word, "text": word}
_WANTED = {
    "number": "finite number",
    "boolean": "boolean (true or false, 1 or 0)",
    "category": "level of a category",
    "text": "text",
    "time": "date or time",
}
