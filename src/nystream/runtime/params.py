"""Parameters from the constructor's signature; state in attributes that end in an underscore."""

from __future__ import annotations

import copy
import inspect
import math
import os
from functools import cache
from typing import Any, Self

import numpy as np

__all__ = ["Params", "affordable", "at_least", "boolean", "checked_ahead", "one_of", "positive"]

SHOWN = 8
"""`repr` shows the numbers of an array up to this size, and only the shape of a larger one."""


class Params:
    """Base of everything that has parameters: kernels, losses, feature maps, solvers, learners.

    `__init__` checks its arguments and stores them unchanged under their own names. Learning creates attributes whose
    names end in `_`. These attributes are the whole state.
    """

    @classmethod
    @cache
    def _names(cls) -> tuple[str, ...]:
        signature = inspect.signature(cls.__init__)
        skip = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return tuple(name for name, p in signature.parameters.items() if name != "self" and p.kind not in skip)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name. `deep` adds the parameters of parts as `part__name`."""
        params: dict[str, Any] = {}
        for name in self._names():
            value = getattr(self, name)
            params[name] = value
            if deep and isinstance(value, Params):
                params.update({f"{name}__{k}": v for k, v in value.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters (`kernel__sigma=2.0` changes one of a part). The learnt state is discarded."""
        own = self.get_params(deep=False)
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in own:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(own) or 'none'}")
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                own[name] = value
        for name, inner in nested.items():
            if not isinstance(own[name], Params):
                raise ValueError(f"{name}={own[name]!r} has no parameters of its own to set")
            own[name] = own[name].clone().set_params(**inner)
        fresh = type(self)(**own)
        self.__dict__.clear()
        self.__dict__.update(fresh.__dict__)
        return self

    def clone(self) -> Self:
        """Return an object with equal parameters and no learnt state. It shares no memory with this one.

        A part that was fitted before it was passed as a parameter (the landmarks of a feature map) stays fitted.
        """
        return type(self)(**{name: _copied(value) for name, value in self.get_params(deep=False).items()})

    def _as_parameter(self) -> Self:
        """Return the copy that a clone of the owner of this parameter gets."""
        return self.clone()

    def __sklearn_clone__(self) -> Self:
        return self.clone()

    def _state(self) -> dict[str, Any]:
        """Return the learnt state: arrays, numbers, strings, generators, other `Params`, lists or dicts of those."""
        return {name: value for name, value in self.__dict__.items() if name.endswith("_")}

    def _restore(self, state: dict[str, Any]) -> None:
        """Restore what `_state` returned. Override both if the state lives in a compiled object."""
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = self.clone()
        memo[id(self)] = twin
        twin._restore(copy.deepcopy(self._state(), memo))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {"params": self.get_params(deep=False), "state": self._state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(**saved["params"])  # type: ignore[misc]
        self._restore(_writable(saved["state"]))

    def __repr__(self) -> str:
        parts, parameters = [], inspect.signature(type(self).__init__).parameters
        for name, value in self.get_params(deep=False).items():
            default = parameters[name].default
            if default is inspect.Parameter.empty:
                parts.append(_shown(value))
            elif not _same(value, default):
                parts.append(f"{name}={_shown(value)}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _copied(value: Any) -> Any:
    if isinstance(value, Params):
        return value._as_parameter()
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(v) for v in value)
    return copy.deepcopy(value) if isinstance(value, (np.ndarray, np.random.Generator, dict)) else value


def _writable(value: Any) -> Any:
    """Copy read-only arrays of the state: joblib may pass a model as a read-only map of its file."""
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else value.copy()
    if isinstance(value, (list, tuple)):
        return type(value)(_writable(v) for v in value)
    return {k: _writable(v) for k, v in value.items()} if isinstance(value, dict) else value


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<array {value.shape}>" if value.size > SHOWN else f"array({value.tolist()})"
    return repr(value)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return a is b
    return type(a) is type(b) and bool(a == b)


def positive(name: str, value: Any, *, zero: bool = False, below: float = math.inf) -> Any:
    """Return the value if it is a finite number > 0 (>= 0 with `zero`) and < `below`, else raise a ValueError."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0 or (value == 0 and not zero) or value >= below:
        wanted = ("at least 0" if zero else "greater than 0") + (
            f" and less than {below:g}" if below < math.inf else ""
        )
        raise ValueError(f"{name} must be a number {wanted}, got {value!r}")
    return value


def at_least(name: str, value: Any, low: int) -> Any:
    """Return the value if it is a whole number >= low, else raise a ValueError."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < low:
        raise ValueError(f"{name} must be a whole number of at least {low}, got {value!r}")
    return value


def boolean(name: str, value: Any) -> bool:
    """Return the value if it is True or False, else raise a ValueError."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> Any:
    """Return the value if it is one of the choices, else raise a ValueError that lists them."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    return value


def checked_ahead(ahead: Any) -> int | None:
    """Return `ahead` if it is None (a later row) or 1 (the next row), else raise a ValueError."""
    if ahead is None:
        return None
    if isinstance(ahead, bool) or ahead != 1:
        raise ValueError(f"ahead must be None (some later row) or 1 (the next row), got {ahead!r}")
    return 1


def affordable(nbytes: int, what: str, remedy: str) -> None:
    """Raise a MemoryError, before the allocation, if the machine does not have so many bytes of memory."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return  # unknown memory: the allocation itself may fail
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if nbytes > there > 0:
        raise ValueError(
            f"{what} takes {nbytes / 1e9:,.1f} GB of memory, this machine has {there / 1e9:,.1f} GB; {remedy}"
        )
