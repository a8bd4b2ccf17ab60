"""The items of a JSON array, one after the other, without holding the whole array."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["items_of_array"]

_BETWEEN = re.compile(r"[\s,]*")
_LEAST = 1 << 16
"""Characters that are read before an item is tried again."""


def items_of_array(lines: Iterator[str], name: str) -> Iterator[Any]:
    """Yield the items of the JSON array in a text, however its lines are broken; `name` is that of the file, for
    messages.
    """
    decode = json.JSONDecoder().raw_decode
    text, ended = _more(lines, "", _LEAST)
    at = text.index("[") + 1
    number = 0
    while True:
        at = _end(_BETWEEN.match(text, at))
        if at < len(text) and text[at] == "]":
            return
        try:
            found, end = decode(text, at)
        except (json.JSONDecodeError, RecursionError, ValueError) as error:
            if ended:
                reason = "the array is not closed" if at >= len(text) else str(error)
                raise ValueError(f"{name}, row {number}: is not JSON ({reason})") from None
            text, ended = _more(lines, text[at:], max(_LEAST, 2 * (len(text) - at)))
            at = 0
            continue
        if end == len(text) and not ended:  # a number may go on
            text, ended = _more(lines, text[at:], _LEAST)
            at = 0
            continue
        yield found
        at, number = end, number + 1


def _more(lines: Iterator[str], text: str, length: int) -> tuple[str, bool]:
    """Append lines to the text until it has this length; return it, and whether the lines are used up."""
    parts, size = [text], len(text)
    for line in lines:
        parts.append(line)
        size += len(line)
        if size >= length:
            return "".join(parts), False
    return "".join(parts), True


def _end(found: re.Match[str] | None) -> int:
    assert found is not None  # the pattern may be empty
    return found.end()
