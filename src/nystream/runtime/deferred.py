"""Modules of SciPy that are loaded at their first use, so that importing nystream stays fast."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Deferred", "lapack", "linalg", "special"]


class Deferred:
    """A module that is imported when one of its attributes is first read. Attributes are cached."""

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
