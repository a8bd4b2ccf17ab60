"""Write the parts of a model as JSON and arrays."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from nystream.persist.tags import tag_of
from nystream.runtime.params import Params

__all__ = ["KINDS", "Arrays", "pack"]

Arrays: TypeAlias = dict[str, np.ndarray[Any, Any]]
KINDS = frozenset("?bBhHiIlLqQefd")
"""Array types that a file can hold: booleans, integers and floats of at most 8 bytes."""

DEEPEST = 200
"""Deepest nesting of parts that is written. Python's limit of 1000 calls allows reading it."""


def pack(value: Any, where: str, arrays: Arrays) -> Any:
    """Return the JSON form of a value. Its arrays are put into `arrays` under their paths."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(float(value))}  # JSON has no such numbers
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.char in KINDS:
        arrays[where] = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("="))
        return {"$array": where, "$shape": list(value.shape)}
    if isinstance(value, np.random.Generator):
        return {"$generator": pack(value.bit_generator.state, where, arrays)}
    if isinstance(value, Params):
        if where.count(".") > DEEPEST:  # the path has one for each level
            raise ValueError(f"cannot save the model: more than {DEEPEST} parts are nested inside each other")
        params = {k: pack(v, f"{where}.{k}", arrays) for k, v in value.get_params(deep=False).items()}
        state = {k: pack(v, f"{where}.{k}", arrays) for k, v in value._state().items()}
        return {"$class": _name(type(value), where), "params": params, "state": state}
    if isinstance(value, (list, tuple)):
        items = [pack(v, f"{where}.{i}", arrays) for i, v in enumerate(value)]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, dict):
        return {
            "$dict": [
                [pack(k, f"{where}.key{i}", arrays), pack(v, f"{where}.{i}", arrays)]
                for i, (k, v) in enumerate(value.items())
            ]
        }
    kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise ValueError(f"cannot save {_shown(where)}: {value!r} ({kind}) has no safe file form")


def _name(kind: type[Params], where: str) -> str:
    """Return the tag of a class of nystream, or the import name of another class."""
    tag = tag_of(kind)
    if tag is not None:
        return tag
    if kind.__module__.partition(".")[0] == "nystream":
        raise ValueError(f"cannot save {_shown(where)}: a {kind.__name__} is never part of a model file")
    if "." in kind.__qualname__:
        raise ValueError(
            f"cannot save {_shown(where)}: the class {kind.__qualname__} could not be found when the file is read; "
            f"define it at the top of its module"
        )
    return f"{kind.__module__}.{kind.__qualname__}"


def _shown(where: str) -> str:
    return where.removeprefix("model.")
