"""Switch off the threads of BLAS while nystream's own threads work.

NumPy and SciPy bring an OpenBLAS each. NumPy's computes matrix products, SciPy's computes decompositions and the
`dgemm` of the compiled core. Both use one thread per core by default, and the number of threads may change the last
bits of a product.

threadpoolctl is not used, for three reasons. Its limits do not count their callers: if two threads are inside a limit,
the first to leave restores the number while the other still computes. Its import and its search through all loaded
libraries would delay every short run of the command line. And the base install needs only NumPy, SciPy and safetensors.
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
"""Compiled modules that call a BLAS. They are used to find it, if they are imported already."""
NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")
"""Patterns of the names of OpenBLAS functions in different builds."""

_Setting = tuple[Callable[[], int], Callable[[int], None]]

_guard = threading.Lock()
_depth = 0
_before: list[tuple[Callable[[int], None], int]] = []


@contextmanager
def single_threaded() -> Iterator[None]:
    """Make OpenBLAS use one thread, in the whole process, while at least one caller is inside this context.

    The last caller to leave restores the previous number. Another BLAS is left as it is.
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
    """Return the functions that read and set the number of threads of the BLAS of a compiled module."""
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
    """Reset the count in a forked child: the callers of the parent do not exist there."""
    global _guard, _depth
    _guard = threading.Lock()
    if _depth:
        _depth = 0
        for put, count in _before:
            put(count)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
