"""Parse the text of cells: numbers, dates, times, and words for missing values.

This is the only parser of cells: the readers of files, the inference of kinds and the conversion of columns call it.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from typing import Any

__all__ = [
    "ABSENT",
    "DAY_FIRST",
    "MISFIT",
    "MISSING",
    "MONTH_FIRST",
    "date_order",
    "decimal_mark",
    "is_missing",
    "is_number",
    "is_plain_number",
    "is_value",
    "parse_digits",
    "parse_epoch",
    "parse_number",
    "parse_time",
]

ABSENT = frozenset(
    {"", "?", "na", "n/a", "nan", "null", "(null)", "<na>", "#n/a", "#value!", "#div/0!", "#ref!", "\\n"}
)
"""Texts of files for a missing value in a column of any kind, in lower case."""
MISSING = ABSENT | {"-", "--", ".", "none", "nil", "missing", "unknown", "0000-00-00", "0000-00-00 00:00:00"}
"""Texts for a missing value in columns of numbers, booleans and times, in lower case. Some of them are names elsewhere,
as "none" among "mild" and "severe"."""
MISFIT: Any = object()
"""The result of a parser for a text that is not of its kind."""


def is_missing(text: str) -> bool:
    """Return whether a text stands for a missing number, boolean or time."""
    return text.strip().lower() in MISSING


# -- numbers -----------------------------------------------------------------------------------------------------------
_ALIKE = str.maketrans(
    dict.fromkeys("\u2212\u2012\u2013\ufe63\uff0d", "-")  # minus signs and dashes that stand for one
    | dict.fromkeys("\u00a0\u202f\u2009\u2007\u2008", " ")  # spaces that do not break, thin and figure spaces
    | dict.fromkeys("\u2019\u02bc\u2032\u00b4`", "'")  # apostrophes between thousands
    | {"\uff05": "%"}
)
_CURRENCY = (
    r"(?:[A-Z]{0,3}[$€£¥₹₽₩₺₫฿₪₴₦₱₡₲₵₸₼₾₿¢]"
    r"|USD|EUR|GBP|JPY|CNY|INR|CHF|SEK|NOK|DKK|PLN|CZK|HUF|RON|RUB|UAH|TRY|BRL|MXN|CAD|AUD|NZD|ZAR|KRW|SGD|HKD|THB|ILS"
    r"|IDR|MYR|PHP|kr\.?|zł|Kč|Ft|Rs\.?|Fr\.?)"
)
_AMOUNT = re.compile(rf"(?P<sign>[+-]?) *(?:{_CURRENCY} *)?(?P<inner>[+-]?) *(?P<body>[\d.,' ]*\d[.,]?) *{_CURRENCY}?")
_SPACED = r"[1-9]\d{0,2}(?:(?: \d{3})+|(?:'\d{3})+)"
_GROUPS = {
    ".": re.compile(rf"[+-]?(?:[1-9]\d{{0,2}}(?:,\d{{2,3}})*,\d{{3}}|{_SPACED})(?:\.\d*)?"),  # 12,34,567 is Indian
    ",": re.compile(rf"[+-]?(?:[1-9]\d{{0,2}}(?:\.\d{{3}})+|{_SPACED})(?:,\d*)?"),
}
"""Numbers with marks between thousands, by their decimal mark."""
_COMMA = re.compile(r"[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?")
"""A number with a decimal comma and no marks between thousands."""
_ORDERS = {".": ("plain", ".", "comma", ","), ",": (",", "comma", "plain", "."), ";": ("plain", "comma", ",", ".")}
"""Orders in which forms of numbers are tried, by the decimal mark: "." or "," as seen in the column; ";" for files with
semicolons, in which 1,042 has a decimal comma, but 1.042 may have a point."""


ENOUGH_VOTES = 100
"""Largest number of cells with a decimal mark that are counted."""


def is_plain_number(text: str) -> bool:
    """Return whether a text is a finite number as programs write it."""
    return _plain(text) is not MISFIT


def is_value(text: str) -> bool:
    """Return whether a text is a number, a date or a time, and not the name of a column."""
    return is_number(text) or (not is_missing(text) and parse_time(text) is not MISFIT)


def is_number(text: str) -> bool:
    """Return whether a text is a number as people write it, and not a missing value."""
    found = parse_number(text)
    return found is not MISFIT and not math.isnan(found)


def parse_number(text: str, mark: str = ".") -> Any:
    """Return a finite float, nan for a missing value, or MISFIT.

    It reads marks between thousands (1,042.3; 1.042,3; 1 042,3; 1'042.3), currencies, percent (12% is 0.12), negative
    numbers in parentheses, and minus signs other than ASCII. `mark` is the decimal mark where a text leaves it
    open, as 1,042 does: "." or ",", or ";" for a file with semicolons.
    """
    if mark != ",":
        found = _plain(text)
        if found is not MISFIT:
            return found
    text = text.strip()
    if text.lower() in MISSING:
        return math.nan
    return _amount(text if text.isascii() else text.translate(_ALIKE), mark)


def _plain(text: str) -> Any:
    try:
        found = float(text)
    except ValueError:
        return MISFIT
    return found if math.isfinite(found) and "_" not in text else MISFIT  # float() accepts 1_000


def _amount(text: str, mark: str) -> Any:
    factor = 1.0
    if text[0] == "(" and text[-1] == ")":
        text, factor = text[1:-1].strip(), -1.0
        if not text or text[0] in "+-(":
            return MISFIT
    percent = text.endswith("%")
    text = text[:-1].rstrip() if percent else text
    found = _body(text, mark)
    if found is MISFIT:
        parts = _AMOUNT.fullmatch(text)
        if parts is None or (parts["sign"] and parts["inner"]):
            return MISFIT
        found = _body(parts["sign"] + parts["inner"] + parts["body"].strip(), mark)
    if found is MISFIT:
        return MISFIT
    return factor * found / 100.0 if percent else factor * found


def _body(text: str, mark: str) -> Any:
    """Parse a number without currency, percent and parentheses."""
    for way in _ORDERS[mark]:
        if way == "plain":
            found = _plain(text)
            if found is not MISFIT:
                return found
        elif way == "comma":
            if _COMMA.fullmatch(text):
                return _plain(text.replace(",", "."))
        elif _GROUPS[way].fullmatch(text):
            for thousands in (" ", "'", "," if way == "." else "."):
                text = text.replace(thousands, "")
            return _plain(text.replace(",", "."))
    return MISFIT


def decimal_mark(cells: Iterable[Any]) -> str | None:
    """Return the decimal mark that most unambiguous texts show, "." or ","; None without such texts."""
    votes = {".": 0, ",": 0}
    for cell in cells:
        if isinstance(cell, str) and ("," in cell or "." in cell):
            mark = _shown_mark(cell.strip().translate(_ALIKE).strip("()%- "))
            if mark is not None:
                votes[mark] += 1
                if votes[mark] >= ENOUGH_VOTES:
                    break
    return None if votes["."] == votes[","] == 0 else "," if votes[","] > votes["."] else "."


def _shown_mark(text: str) -> str | None:
    parts = _AMOUNT.fullmatch(text)
    body = parts["body"].strip() if parts is not None else text
    grouped = {mark: _GROUPS[mark].fullmatch(body) is not None for mark in ".,"}
    if grouped["."] != grouped[","]:
        mark = "." if grouped["."] else ","
        other = "," if mark == "." else "."
        return mark if mark in body or body.count(other) > 1 else None  # 1,042 and 1.042 leave it open
    if grouped["."]:
        return None  # 1 042
    if _COMMA.fullmatch(body):
        return ","
    return "." if "." in body and _plain(body) is not MISFIT else None


# -- dates and times ---------------------------------------------------------------------------------------------------
DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
"""Orders of day and month in dates of numbers, as in 01/02/2023."""
EPOCH = datetime.datetime(1970, 1, 1)
SECONDS, MILLISECONDS, MICROSECONDS = 1e11, 1e14, 1e17
"""Numbers below the first are seconds since 1970 (until the year 5138), below the second milliseconds, below the third
microseconds, and nanoseconds from there on."""
LEAST_EPOCH = 1e8
"""Fractions from here on (the year 1973) are seconds since 1970; smaller ones are no times."""
_PIVOT = 69
"""Years of two digits from here on are of the 20th century, as POSIX has it."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_ZONES = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "cet": 1, "cest": 2}
"""Hours from UTC of the zones that RFC 2822 names, and of Central Europe."""
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?[.,]? +)?"
_CLOCK = (
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?: *(?P<half>[ap])\.?m\.?)?(?: *(?P<zone>z|utc|gmt|[+-]\d{2}:?\d{2}|(?:utc|gmt)[+-]\d{1,2}(?::?\d{2})?"
    rf"|{'|'.join(_ZONES)}))?(?:\[[\w/+-]+\])?"
)
_DAY = r"(?P<day>\d{1,2})"
_YEAR = r"(?P<year>\d{4}|\d{2})"
_FULL = r"(?P<year>\d{4})"
_DATES = (
    rf"{_FULL}(?P<mark>[-/. ])(?P<month>\d{{1,2}})(?P=mark){_DAY}",  # 2023-1-5
    rf"(?P<first>\d{{1,2}})(?P<mark>[-/. ])(?P<last>\d{{1,2}})(?P=mark){_YEAR}",  # 01/02/23
    rf"{_WEEKDAY}{_DAY}(?:st|nd|rd|th)?[-/. ]*(?:of )?{_MONTH},?[-/. ]*'?{_YEAR}",  # 01 January 2023
    rf"{_WEEKDAY}{_MONTH}[-/. ]+{_DAY}(?:st|nd|rd|th)?(?:,|[-/. ])[-/. ]*{_YEAR}",  # January 1, 2023
    rf"{_FULL}[-/. ]*{_MONTH}[-/. ]*{_DAY}",  # 2023 Jan 1
    rf"{_MONTH},?(?:[-/. ]+{_FULL}|[-'](?P<short>\d{{2}}))",  # Jan-2023
    rf"{_FULL}[-/ ]*{_MONTH}",  # 2023 Jan
    rf"{_FULL}[-/](?P<month>\d{{1,2}})",  # 2023-01
    rf"(?P<month>\d{{1,2}})/{_FULL}",  # 01/2023
)
_FORMS = (
    *(re.compile(rf"{date}(?:(?:[t:, ] *|,? +at +){_CLOCK})?", re.IGNORECASE) for date in _DATES),
    re.compile(rf"{_WEEKDAY}{_MONTH} +{_DAY} +{_CLOCK} +{_FULL}", re.IGNORECASE),  # Tue Mar 5 14:00:01 2024
    re.compile(_CLOCK, re.IGNORECASE),  # 12:00 AM
)
_LONGEST = 60
"""Characters of a date; longer texts are none."""
_ISO = re.compile(r"\d{4}-(?:\d\d-|W\d\d)|\d{8}[Tt]")
"""Beginnings of dates in ISO 8601: 2023-01-05, 2023-W01, 20230105T103000."""
_ORDERED = re.compile(r"(\d{1,2})([-/. ])(\d{1,2})\2(?:\d{4}|\d{2})(?!\d)")


def parse_time(text: str, order: str = MONTH_FIRST) -> Any:
    """Return a time without zone (UTC if it had one), None for a missing value, or MISFIT.

    It reads ISO 8601, dates of numbers in the given order of day and month (with points between them the day is always
    first), months by their English names, hours of 12 and 24, digits alone (see `parse_digits`). A time of day without
    a date is one of 1 January 1970. `order` may also be a format of `datetime.strptime`.
    """
    text = text.strip()
    try:
        if "%" in order:
            return None if text.lower() in MISSING else _naive(datetime.datetime.strptime(text, order))
        if _ISO.match(text):
            try:
                return _naive(datetime.datetime.fromisoformat(text))
            except ValueError:
                pass  # 2023-01-05 10:00 UTC
        if text.lower() in MISSING:
            return None
        if text.isascii() and text.isdigit():
            return parse_digits(text)
        seconds = _plain(text)
        if seconds is not MISFIT and seconds >= LEAST_EPOCH:
            return parse_epoch(seconds)
        if len(text) <= _LONGEST:
            text = " ".join(text.translate(_ALIKE).split())
            for form in _FORMS:
                parts = form.fullmatch(text)
                if parts is not None:
                    return _moment(parts.groupdict(), order)
    except (ValueError, OverflowError):
        pass
    return MISFIT


def _moment(parts: dict[str, Any], order: str) -> Any:
    """Return the time for the parts of a date, of a clock, or of both."""
    if parts.get("hour") is not None and parts["minute"] is None and parts["half"] is None:
        return MISFIT  # "2023-01-05 7"
    year, month, day = 1970, 1, 1
    if "year" in parts:
        year = _year(parts["year"] or parts["short"])
        month = _month_of(parts["name"]) if "name" in parts else int(parts.get("month") or 1)
        day = int(parts.get("day") or 1)
    if "first" in parts:
        first, last = int(parts["first"]), int(parts["last"])
        day, month = (first, last) if order == DAY_FIRST or parts["mark"] == "." else (last, first)
    hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
    if parts.get("half") is not None:
        if not 1 <= hour <= 12:
            return MISFIT
        hour = hour % 12 + (12 if parts["half"].lower() == "p" else 0)
    micro = int((parts.get("fraction") or "0").ljust(6, "0")[:6])
    return datetime.datetime(year, month, day, hour, minute, second, micro) - _offset(parts.get("zone"))


def _year(text: str) -> int:
    year = int(text)
    return year if len(text) > 2 else year + (1900 if year >= _PIVOT else 2000)


def _month_of(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _offset(zone: str | None) -> datetime.timedelta:
    zone = (zone or "").lower()
    if zone in _ZONES:
        return datetime.timedelta(hours=_ZONES[zone])
    zone = zone.removeprefix("utc").removeprefix("gmt").removeprefix("z")
    if not zone:
        return datetime.timedelta()
    digits = zone[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
    offset = datetime.timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


def parse_digits(text: str) -> Any:
    """Parse a time written with digits only.

    It is a year (2023), a day (20230105), a second (20230105103000), or seconds, milli-, micro- or nanoseconds since
    1970.
    """
    try:
        if len(text) == 4 and "1800" <= text <= "2200":
            return datetime.datetime(int(text), 1, 1)
        if len(text) in (8, 14) and "1800" <= text[:4] <= "2200":
            hour, minute, second = (int(text[i : i + 2] or 0) for i in (8, 10, 12))
            return datetime.datetime(int(text[:4]), int(text[4:6]), int(text[6:8]), hour, minute, second)
    except ValueError:
        pass  # 20231399 is no day
    return parse_epoch(float(text))


def parse_epoch(value: float) -> Any:
    """Return the time for seconds, milli-, micro- or nanoseconds since 1970 (chosen by size), or MISFIT."""
    size = abs(value)
    scale = 1.0 if size < SECONDS else 1e-3 if size < MILLISECONDS else 1e-6 if size < MICROSECONDS else 1e-9
    try:
        return EPOCH + datetime.timedelta(seconds=value * scale)
    except (OverflowError, ValueError):
        return MISFIT


def date_order(cells: Iterable[Any]) -> tuple[str | None, bool]:
    """Return the order of day and month that most dates show, and whether some date is ambiguous.

    13/01/2023 has the day first, 01/13/2023 the month. None: no date shows an order.
    """
    votes, open_ones = {DAY_FIRST: 0, MONTH_FIRST: 0}, False
    for cell in cells:
        found = _ORDERED.match(cell.strip()) if isinstance(cell, str) else None
        if found is None or found[2] == ".":
            continue
        first, last = int(found[1]), int(found[3])
        if first > 12 >= last:
            votes[DAY_FIRST] += 1
        elif last > 12 >= first:
            votes[MONTH_FIRST] += 1
        elif first != last:
            open_ones = True
    if not any(votes.values()):
        return None, open_ones
    return max(votes, key=lambda order: votes[order]), open_ones


def _naive(time: datetime.datetime) -> datetime.datetime:
    return time if time.tzinfo is None else time.astimezone(datetime.UTC).replace(tzinfo=None)
