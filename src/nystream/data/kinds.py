"""The kind of a column, inferred from its first values."""

from __future__ import annotations

import datetime
import math
import re
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from nystream.data.cells import (
    ABSENT,
    DAY_FIRST,
    MISFIT,
    MISSING,
    MONTH_FIRST,
    date_order,
    decimal_mark,
    is_plain_number,
    parse_time,
)
from nystream.data.values import drop_absent, moment, number

__all__ = ["ID_NOTE", "KINDS", "LOOK", "Look", "look_at"]

KINDS = ("number", "boolean", "category", "time", "text", "ignored")
LOOK = 1000
"""Number of first values of a column that are examined."""
WORDS, FEWER_WORDS = 5.0, 2.5
"""Strings of so many words on average are text; of the fewer only if most of at least `ENOUGH` are different."""
ENOUGH = 20
"""Fewest values of a column from which its share of distinct values decides anything."""
MOSTLY = 0.9
"""A column of which so many values are numbers is one of numbers; the same holds for times."""
MANY_NUMBERS = 0.5
"""A category of which so many values are numbers gets a note."""
ENOUGH_IDS = 100
"""Single tokens are ids if at least so many are all different; of fewer, a category of many levels may be so by chance.
Of 10,000 equally frequent levels 100 values are all different 6 times of 10, 1,000 values never."""
EPOCHS = ((6e8, 4.2e9), (6e11, 4.2e12), (6e14, 4.2e15), (6e17, 4.2e18))
"""Seconds, milli-, micro- and nanoseconds since 1970 of the years 1989 to 2103."""
TIME_NAMES = re.compile(
    r"(^|[^a-z])(time|date|datetime|ts|when|epoch|unix|utc|created|updated|at)([^a-z]|$)|time$|date$|stamp"
)
"""Names of columns, in lower case, whose whole numbers may be times."""
FEW_TIMES = 20
"""Strings of which at least half must read as times before all others are looked at: most columns are none."""


ID_NOTE = "an id: all values differ, so it is not learnt"
"""The note for a column of ids."""


class Look(NamedTuple):
    """Facts from the first values of a column.

    `format` is the order of day and month of times, or the decimal mark of numbers if it is a comma. `note` describes
    readings that are not obvious, or why a column is ignored.
    """

    kind: str
    example: str
    missing: float
    format: str | None = None
    note: str = ""


def look_at(
    values: Any, given: str | None = None, name: str = "", *, mark: str | None = None, day_first: bool = False
) -> Look:
    """Infer the kind of a column, unless it is `given`, from its first values.

    True and false (also as strings) are booleans, what reads as a number is a number however few values there are (and
    so is a column that nearly always does), what nearly always reads as a date is a time, strings of many words are
    text. Single tokens that are all different are ids, which are ignored, and all others are categories. Numbers are
    times if the `name` of the column says so and their size is that of seconds or milliseconds since 1970, or of
    days such as 20230105.

    `mark` is the decimal mark that the file shows, `day_first` the order of dates that leave it open.
    """
    first = list(islice(iter(values), LOOK))
    present = drop_absent(first)
    there = _without(present, MISSING)
    missing = 1 - len(there) / len(first) if first else 0.0
    example = _short(there[0]) if there else ""
    if given in (None, "number") and mark != "," and _are_plain(there) and not _are_epochs(there, name):
        return Look("number", example, missing)
    mark = decimal_mark(there) or mark or "."
    kind = given or _kind(there, mark, day_first)
    if not there and given is None and any(str(v).strip().isalpha() for v in _without(present, ABSENT)):
        kind = "category"  # all values are "none" so far
    if kind == "number" and _are_epochs(there, name):
        kind = "time"
    if kind == "time":
        order, note = _order(there, day_first)
        return Look(kind, example, missing, order, note or _reading(there, kind, order or MONTH_FIRST))
    if kind == "number":
        return Look(kind, example, missing, mark if mark == "," else None, _reading(there, kind, mark))
    if kind in ("category", "text"):  # of names, "none" and "-" are two more
        there = _without(present, ABSENT)
        missing = 1 - len(there) / len(first) if first else 0.0
        example = _short(there[0]) if there else ""
    if kind == "category" and given is None:
        note = _many_numbers(there, mark, name) or _mixed_orders(there, name)
        if _are_ids(there):
            return Look("ignored", example, missing, note=ID_NOTE + (note and f"; {note}"))
        return Look(kind, example, missing, note=note)
    return Look(kind, example, missing)


def _without(values: list[Any], words: frozenset[str]) -> list[Any]:
    return [v for v in values if not (isinstance(v, str) and v.strip().lower() in words)]


def _are_plain(there: list[Any]) -> bool:
    """Return whether all values are texts of numbers as programs write them."""
    try:
        numbers = [float(v) for v in there if "_" not in v]
    except (TypeError, ValueError):
        return False
    return len(numbers) == len(there) and math.isfinite(sum(numbers)) and bool(numbers)


def _kind(there: list[Any], mark: str, day_first: bool) -> str:
    if not there:
        return "number"  # no value: a column of missing numbers does no harm
    if all(_is_truth(v) for v in there):
        return "boolean"
    if sum(number(v, mark) is not MISFIT for v in there) >= MOSTLY * len(there):
        return "number"  # numbers with a typo, which is named when it is read
    if _are_times(there, day_first):
        return "time"
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


def _are_times(there: list[Any], day_first: bool) -> bool:
    if not all(isinstance(v, (str, datetime.date, np.datetime64)) for v in there):
        return False
    order = _order(there, day_first)[0] or MONTH_FIRST
    for some in (there[:FEW_TIMES], there):
        share = sum(moment(v, order) is not MISFIT for v in some) / len(some)
        if share < (0.5 if some is not there else MOSTLY):
            return False
    return share >= MOSTLY


def _order(there: list[Any], day_first: bool) -> tuple[str | None, str]:
    """Return the order of day and month in dates of numbers, and a note; None without such dates."""
    shown, is_open = date_order(there)
    if shown is None and not is_open:
        return None, ""
    order = shown or (DAY_FIRST if day_first else MONTH_FIRST)
    text = next((v for v in there if date_order([v]) != (None, False)), "")
    when = parse_time(text, order)
    note = f"{_short(text)} is read as {_told(when)}" if when is not MISFIT else f"dates are read {order}"
    if shown is None and not day_first:
        note += " (month first is assumed: no date decides; --day-first reads them the other way)"
    elif shown is None:
        note += " (day first, as --day-first says)"
    elif shown == MONTH_FIRST and day_first:
        note += " (month first in spite of --day-first: some dates have no other reading)"
    return order, note


def _reading(there: list[Any], kind: str, form: str) -> str:
    """Return a note on the first value that is not written plainly."""
    for value in there:
        if kind == "number":
            if isinstance(value, str) and (form == "," or not is_plain_number(value)):
                found = number(value, form)
                if found is not MISFIT and _short(value) != f"{found:.10g}":
                    return f"{_short(value)} is read as {found:.10g}"
        elif not isinstance(value, (datetime.date, np.datetime64)):
            found = moment(value, form)
            if found is not MISFIT and not str(value).strip().startswith(_told(found)[:10]):
                return f"{_short(value)} is read as {_told(found)}"
    return ""


def _told(when: datetime.datetime) -> str:
    return when.isoformat(" ") if when.time() != datetime.time() else when.date().isoformat()


def _are_epochs(there: list[Any], name: str) -> bool:
    """Return whether numbers are seconds or milliseconds since 1970, or days, by size and column name."""
    if not there or TIME_NAMES.search(name.lower()) is None:
        return False
    try:
        numbers = np.array([float(v) for v in there])
    except (TypeError, ValueError):
        return False
    if any(bool(((numbers >= low) & (numbers < high)).all()) for low, high in EPOCHS):
        return True
    whole = bool((numbers == np.floor(numbers)).all())
    is_day = whole and bool(((numbers >= 19_000_101) & (numbers < 21_000_000)).all())
    return is_day and all(moment(v).year > 1899 for v in numbers.tolist())


def _are_ids(there: list[Any]) -> bool:
    """Return whether values are single tokens that are all different."""
    if len(there) < ENOUGH_IDS or not all(isinstance(v, str) for v in there):
        return False
    tokens = {v.strip() for v in there}
    return len(tokens) == len(there) and not any(" " in v for v in tokens)


def _many_numbers(there: list[Any], mark: str, name: str) -> str:
    """Return a note on a column of names of which at least half are numbers; "" for all others."""
    read = [number(v, mark) for v in there]
    others = [v for v, found in zip(there, read, strict=True) if found is MISFIT]
    share = sum(found is not MISFIT and not math.isnan(found) for found in read) / max(1, len(there))
    if share < MANY_NUMBERS or not others:
        return ""
    return (
        f"{share:.0%} of the values are numbers, but not {_short(others[0])!r}; with --kind {name}=number --on-error "
        "missing such cells count as missing"
    )


def _mixed_orders(there: list[Any], name: str) -> str:
    """Return a note on a column of dates that neither order of day and month reads; "" for all others."""
    orders = {date_order([v])[0]: v for v in reversed(there) if isinstance(v, str)}
    if not {DAY_FIRST, MONTH_FIRST} <= orders.keys():
        return ""
    both = sum(moment(v, DAY_FIRST) is not MISFIT or moment(v, MONTH_FIRST) is not MISFIT for v in there)
    if both < MOSTLY * len(there):
        return ""
    return (
        f"dates in two orders, such as {_short(orders[DAY_FIRST])} and {_short(orders[MONTH_FIRST])}; with --kind "
        f"{name}=time --on-error missing those of the rarer order count as missing"
    )


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 30 else text[:27] + "..."
