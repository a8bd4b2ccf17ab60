"""What kind a column is, told from its first values."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from nystream.tables.values import MISFIT, MISSING, is_absent, moment, number

__all__ = ["KINDS", "LOOK", "Look", "looked"]

KINDS = ("number", "boolean", "category", "time", "text", "ignored")
LOOK = 1000
"""Values of a column that are looked at."""
WORDS, FEWER_WORDS = 5.0, 2.5
"""Strings of so many words on average are text; of the fewer only if most of at least `ENOUGH` are different."""
ENOUGH = 20
MOSTLY = 0.9
"""A column of which so many values are numbers is one of numbers."""
FORMATS = (
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d %H:%M:%S",
)
"""Beside ISO 8601; the first that reads all values is taken, so 05/06/2024 alone is the sixth of May."""


class Look(NamedTuple):
    """What the first values of a column say: its kind, an example, the share missing, and how its times are written."""

    kind: str
    example: str
    missing: float
    format: str | None = None


def looked(values: Any, given: str | None = None) -> Look:
    """Look at the first values of a column, whose kind may be `given` already.

    True and false (also as strings) are booleans, what reads as a number is a number however few values there are (and
    so is a column that nearly always does), what reads as a date is a time, strings of many words are text and all
    others categories.
    """
    first = list(islice(iter(values), LOOK))
    there = [v for v in first if not is_absent(v) and not (isinstance(v, str) and v.strip().lower() in MISSING)]
    missing = 1 - len(there) / len(first) if first else 0.0
    example = _example(there[0]) if there else ""
    if given is not None and given != "time":
        return Look(given, example, missing)
    format = next(_formats(there), None) if given == "time" or _dated(there) else None
    if given is not None:
        return Look(given, example, missing, format or None)
    return Look("time" if format is not None else _kind(there), example, missing, format or None)


def _kind(there: list[Any]) -> str:
    if not there:
        return "number"  # nothing to go by: a column of missing numbers does no harm
    if all(_is_truth(v) for v in there):
        return "boolean"
    if sum(number(v) is not MISFIT for v in there) >= MOSTLY * len(there):
        return "number"  # a column of numbers with a slip in it, which is named when it comes
    if all(isinstance(v, (dict, list, tuple, set, np.ndarray)) for v in there):
        return "nested"
    words = [v.split() for v in there if isinstance(v, str)]
    mean = sum(map(len, words)) / len(there)
    distinct = len({str(v) for v in there}) / len(there)
    several = mean >= FEWER_WORDS and len(there) >= ENOUGH and distinct > 0.5
    many = mean >= WORDS and (distinct > 0.5 or len(there) < ENOUGH)
    return "text" if many or several else "category"


def _is_truth(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in ("true", "false")
    return isinstance(value, (bool, np.bool_))


def _dated(there: list[Any]) -> bool:
    """Whether these may be dates: no numbers, and strings that begin with a digit."""
    if not there or any(isinstance(v, (int, float, np.number)) for v in there):
        return False
    strings = [v for v in there if isinstance(v, str)]
    if len(strings) < len(there):
        return all(isinstance(v, (str, datetime.date, np.datetime64)) for v in there)
    return all(v.strip()[:1].isdigit() for v in strings) and any(number(v) is MISFIT for v in strings)


def _formats(there: list[Any]) -> Iterator[str]:
    """Ways of writing that read all values; "" is ISO 8601."""
    for format in ("", *FORMATS):
        if there and all(moment(v, format or None) is not MISFIT for v in there):
            yield format


def _example(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 30 else text[:27] + "..."
