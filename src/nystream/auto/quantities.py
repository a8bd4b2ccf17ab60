"""Budgets as people write them: "64MB", "1ms"."""

from __future__ import annotations

import math
import re
from typing import Any

__all__ = ["bytes_of", "seconds_of"]

_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_SECONDS = {"": 1.0, "S": 1.0, "MS": 1e-3, "US": 1e-6}


def bytes_of(value: Any) -> float:
    """A number of bytes from 64_000_000 or "64MB"; a ValueError says what is meant otherwise."""
    return _quantity("memory", value, _BYTES, "'64MB' or a number of bytes")


def seconds_of(value: Any) -> float | None:
    """Seconds from 0.001 or "1ms"; None stays None."""
    return None if value is None else _quantity("deadline", value, _SECONDS, "'1ms', a number of seconds, or None")


def _quantity(name: str, value: Any, units: dict[str, Any], wanted: str) -> float:
    found = re.fullmatch(r"\s*([0-9.eE+]+?)\s*([a-zA-Z]*)\s*", str(value))
    if not isinstance(value, bool) and found and found[2].upper() in units:
        try:
            amount = float(found[1]) * units[found[2].upper()]
        except ValueError:
            amount = 0.0
        if amount > 0 and math.isfinite(amount):
            return amount
    raise ValueError(f"{name} must be {wanted}, got {value!r}")
