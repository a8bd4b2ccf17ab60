"""A time limit for long computations. The caller sets it, and the computation checks it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["check_time", "limit_time"]

_end: ContextVar[float | None] = ContextVar("end", default=None)


@contextmanager
def limit_time(end: float | None) -> Iterator[None]:
    """Let `check_time` raise TimeoutError in this thread once `time.monotonic()` has passed `end`.

    Examples
    --------
    >>> with limit_time(0.0):
    ...     check_time()
    Traceback (most recent call last):
    TimeoutError: the time for this computation is over
    """
    before = _end.set(end)
    try:
        yield
    finally:
        _end.reset(before)


def check_time() -> None:
    """Raise TimeoutError if the time limit of this thread has passed."""
    end = _end.get()
    if end is not None and time.monotonic() >= end:
        raise TimeoutError("the time for this computation is over")
