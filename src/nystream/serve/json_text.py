"""Values as the JSON that the server sends, logs and answers."""

from __future__ import annotations

from typing import Any

import orjson

__all__ = ["listed", "to_json"]


def to_json(found: Any) -> bytes:
    """Return the value as JSON: arrays as lists, numbers that are not finite as null."""
    return orjson.dumps(found, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def listed(predictions: Any) -> list[Any]:
    """Return predictions as a list that JSON has; a NumPy scalar as a plain number."""
    found: list[Any] = predictions.tolist() if hasattr(predictions, "tolist") else list(predictions)
    return found
