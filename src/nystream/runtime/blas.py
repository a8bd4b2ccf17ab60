"""The linear algebra beneath: its own threads switched off while ours work.

NumPy and SciPy bring an OpenBLAS each; matrix products are the first one's, decompositions and the compiled core's
`dgemm` the second one's. Both take as many threads as there are cores unless they are told otherwise, and the number
may change the last bits of a product.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

__all__ = ["single_threaded"]

USERS = (
    *("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"),
    *("scipy.linalg.cython_blas", "scipy.linalg._fblas"),
)
"""Compiled modules that call a BLAS, by way of which it is found; one that nobody has imported is not loaded."""
NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")
"""What builds of OpenBLAS call their functions."""

_Setting = tuple[Callable[[], int], Callable[[int], None]]

_guard = threading.Lock()
_depth = 0
_before: list[tuple[Callable[[int], None], int]] = []


@contextmanager
def single_threaded() -> Iterator[None]:
    """While anybody is inside, a BLAS that can be told so (OpenBLAS) uses one thread, in the whole process.

    The last one out puts back what was set before. Another BLAS is left as it is.
    """
    global _depth
    with _guard:
        if _depth == 0:
            _before[:] = [(put, get()) for get, put in _settings()]
            for put, _ in _before:
                put(1)
        _depth += 1
    try:
        yield
    finally:
        with _guard:
            _depth -= 1
            if _depth == 0:
                for put, count in _before:
                    put(count)


def _settings() -> list[_Setting]:
    found = (_setting(sys.modules[name].__file__) for name in USERS if name in sys.modules)
    return [setting for setting in found if setting is not None]


@cache
def _setting(path: str | None) -> _Setting | None:
    """How the number of threads of the BLAS that a compiled module is linked to is read and set."""
    if path is None:
        return None
    library = ctypes.CDLL(path)  # loaded already: its names include those of the libraries that it needs
    for name in NAMES:
        get = getattr(library, name.format("get_num_threads"), None)
        put = getattr(library, name.format("set_num_threads"), None)
        if get is not None and put is not None:
            put.restype = None
            return get, put
    return None


def _forget() -> None:
    """A child was forked: whoever was inside is not there."""
    global _guard, _depth
    _guard = threading.Lock()
    if _depth:
        _depth = 0
        for put, count in _before:
            put(count)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
