"""A lock that many readers hold together or one writer alone, in turns: neither waits for more than one of the other.

A plain lock starves the readers: a thread that releases and takes it again at once, as the one that learns does, nearly
always gets it back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Gate"]


class Gate:
    """Phase-fair: a reader that comes during a write, or while one is waited for, enters when that write has ended."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._blocked = 0
        self._wanted = False
        self._phase = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the gate with other readers."""
        with self._changed:
            if not self._wanted:
                self._readers += 1
            else:
                self._blocked += 1
                phase = self._phase
                while self._phase == phase:  # the writer counts whoever is blocked among the readers as it leaves
                    self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                if not self._readers:
                    self._changed.notify_all()

    @property
    def busy(self) -> bool:
        """Whether a reader would have to wait now."""
        return self._wanted

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the gate alone. Only one thread ever writes."""
        with self._changed:
            self._wanted = True
            while self._readers:
                self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._wanted = False
                self._readers, self._blocked = self._blocked, 0
                self._phase += 1
                self._changed.notify_all()
