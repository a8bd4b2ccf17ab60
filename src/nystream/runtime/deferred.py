"""Parts of SciPy that are loaded when something of them is first used: who needs none does not wait for them."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Deferred", "lapack", "linalg", "special"]


class Deferred:
    """A module by its name; whatever is asked for is looked up there once, and then kept."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of the object itself, not of the module
            raise AttributeError(name)
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value


lapack: Any = Deferred("scipy.linalg.lapack")
linalg: Any = Deferred("scipy.linalg")
special: Any = Deferred("scipy.special")
