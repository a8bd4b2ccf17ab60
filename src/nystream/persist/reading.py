"""Build the parts of a model from JSON and arrays. The input is not trusted, so everything is checked."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from nystream.persist.tags import TAGS, class_of
from nystream.persist.writing import KINDS, Arrays
from nystream.runtime.params import Params

__all__ = ["Reader", "Unreadable"]

_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_POSITIONS = {"MT19937": ("state", "pos", 624), "Philox": (None, "buffer_pos", 4)}
"""The state's keys of a buffer position and the size of the buffer, which NumPy does not check."""
_FLOATS = ("nan", "inf", "-inf")


class Unreadable(Exception):
    """The reason, in one line, why a file is not a model. Users see a ValueError."""


class Reader:
    """Builds the parts of one file.

    Parameters
    ----------
    arrays : dict of arrays by name
        Each is used once.
    trust : bool or names of classes
        Classes outside nystream that may be imported.
    origin, here : str
        The program that wrote the file and the version that reads it, for messages.
    """

    def __init__(self, arrays: Arrays, trust: bool | frozenset[str], origin: str, here: str) -> None:
        self.arrays = dict(arrays)
        self.trust = trust
        self.origin = origin
        self.here = here

    def model(self, tree: Any) -> Params:
        found = self.value(tree)
        if not isinstance(found, Params):
            raise Unreadable("the model file is corrupted: it describes no model")
        return found

    def value(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.value(part) for part in tree]
        if isinstance(tree, float) and not math.isfinite(tree):
            raise Unreadable(f"the model file is corrupted: {tree} is not a number of its format")
        if not isinstance(tree, dict):
            return tree
        match sorted(tree):
            case ["$class", "params", "state"]:
                return self._part(tree["$class"], tree["params"], tree["state"])
            case ["$array", "$shape"]:
                return self._array(tree["$array"], tree["$shape"])
            case ["$generator"]:
                return self._generator(self.value(tree["$generator"]))
            case ["$tuple"] if isinstance(tree["$tuple"], list):
                return tuple(self.value(part) for part in tree["$tuple"])
            case ["$dict"] if isinstance(tree["$dict"], list):
                return self._dict(tree["$dict"])
            case ["$float"] if tree["$float"] in _FLOATS:
                return float(tree["$float"])
        raise Unreadable(f"the model file is corrupted: it has an unknown form {_short(sorted(tree))}")

    def _part(self, name: Any, params: Any, state: Any) -> Params:
        if not isinstance(name, str) or not isinstance(params, dict) or not isinstance(state, dict):
            raise Unreadable("the model file is corrupted: a part has no name, parameters or state")
        own = "/" in name
        if own and any(not key.isidentifier() or key.startswith("__") or not key.endswith("_") for key in state):
            raise Unreadable(f"the model file is corrupted: {_short(list(state))} are not the state of {_short(name)}")
        kind = self._tagged(name) if own else self._imported(name)
        if not (isinstance(kind, type) and issubclass(kind, Params)):
            raise Unreadable(f"the model file is corrupted: {_short(name)} is not a part of a model")
        part = kind(**{key: self.value(param) for key, param in params.items()})
        part._restore({key: self.value(value) for key, value in state.items()})
        return part

    def _tagged(self, tag: str) -> Any:
        if tag not in TAGS:
            raise Unreadable(
                f"the model uses {_short(tag)}, which nystream {self.here} does not know; "
                f"the file was written by {self.origin}: upgrade nystream"
            )
        return class_of(tag)

    def _imported(self, name: str) -> Any:
        module, _, kind = name.rpartition(".")
        if module.partition(".")[0] == "nystream":
            raise Unreadable(f"the model uses {_short(name)}, which {self.origin} did not have")
        if self.trust is not True and (self.trust is False or name not in self.trust):
            raise Unreadable(
                f"the model uses {_short(name)}, which is not part of nystream; if you trust that code, "
                f"pass trust=[{_short(name)}]"
            )
        try:
            return getattr(importlib.import_module(module), kind)
        except (ImportError, AttributeError, ValueError, TypeError):
            raise Unreadable(f"the model uses {_short(name)}, which cannot be imported here") from None

    def _array(self, name: Any, shape: Any) -> np.ndarray[Any, Any]:
        if not isinstance(name, str) or name not in self.arrays:
            raise Unreadable(f"the model file is corrupted: array {_short(name)} is not there, or used twice")
        array = self.arrays.pop(name)
        if array.dtype.char not in KINDS:
            raise Unreadable(f"the model file is corrupted: array {_short(name)} has type {array.dtype}")
        sizes = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
        if not sizes or math.prod(shape) != array.size:
            raise Unreadable(
                f"the model file is corrupted: array {_short(name)} has {array.size} numbers and shape {_short(shape)}"
            )
        return array.reshape(shape).copy()

    def _dict(self, items: list[Any]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for item in items:
            if not isinstance(item, list) or len(item) != 2:
                raise Unreadable("the model file is corrupted: a table has something else than pairs")
            key = self.value(item[0])
            if key in found:
                raise Unreadable(f"the model file is corrupted: key {_short(key)} occurs twice")
            found[key] = self.value(item[1])
        return found

    def _generator(self, state: Any) -> np.random.Generator:
        kind = state.get("bit_generator") if isinstance(state, dict) else None
        if kind not in _GENERATORS:
            raise Unreadable(f"the model file is corrupted: it has an unknown random generator {_short(kind)}")
        bits = getattr(np.random, kind)()
        try:
            part, name, last = _POSITIONS.get(kind, (None, None, 0))
            if name is not None and not 0 <= (state if part is None else state[part])[name] <= last:
                raise ValueError(f"{name} is out of range")
            if _negative(state):
                raise ValueError("it has a negative number")
            bits.state = state
            if not _equal(bits.state, state):
                raise ValueError("it is not what it would be")
        except (ValueError, KeyError, TypeError, OverflowError, IndexError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise Unreadable(f"the model file is corrupted: the state of its {kind} is none ({reason})") from None
        return np.random.Generator(bits)


def _negative(state: Any) -> bool:
    """Return whether a number in the state is negative. No generator has one, and NumPy before 2 would misread it."""
    if isinstance(state, dict):
        return any(map(_negative, state.values()))
    return isinstance(state, int) and state < 0


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)


def _short(value: Any) -> str:
    """Shorten a value of the file for a message of one line."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
