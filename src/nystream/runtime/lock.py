"""A read-write lock: many readers hold it together, or one writer holds it alone.

A plain lock would starve the readers: the learning thread releases it and takes it again at once, and nearly always
gets it back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import get_ident

__all__ = ["ReadWriteLock"]


class ReadWriteLock:
    """A phase-fair read-write lock.

    Readers and writers take turns. A reader that arrives during a write, or while a writer waits, enters after that
    write. A waiting writer goes before a writer that has just left. A thread that holds the lock may take it again.

    Examples
    --------
    >>> lock = ReadWriteLock()
    >>> with lock.writing():
    ...     lock.busy
    True
    >>> with lock.reading(), lock.reading():
    ...     lock.busy, lock.asked, lock.mine
    (False, True, True)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._next = threading.Lock()  # held by the writer that waits next; all other writers wait for it
        self._own = threading.local()
        self._readers = 0
        self._blocked = 0
        self._wanted = False
        self._phase = 0
        self._reads = 0
        self._asleep = 0
        self._writer = 0  # the thread that wrote last
        self._writing = _Writing(self)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the lock with other readers."""
        depth = getattr(self._own, "depth", 0)
        if not depth:
            with self._lock:
                self._enter()
        self._own.depth = depth + 1
        try:
            yield
        finally:
            self._own.depth = depth
            if not depth:
                with self._lock:
                    self._leave()

    def _enter(self) -> None:
        self._reads += 1
        if not self._wanted:
            self._readers += 1
            return
        self._blocked += 1
        phase = self._phase
        try:
            while self._phase == phase:  # the writer counts blocked readers as readers when it leaves
                self._wait()
        except BaseException:  # Ctrl-C: a reader that no longer waits is not counted
            if self._phase == phase:
                self._blocked -= 1
            else:
                self._leave()
            raise

    def _leave(self) -> None:
        self._readers -= 1
        if not self._readers:
            self._wake()

    def writing(self) -> AbstractContextManager[None]:
        """Hold the lock alone."""
        return self._writing

    def _take(self) -> None:
        """Wait until no other thread holds the lock."""
        while self._wanted:
            self._wait()
        self._wanted = True
        try:
            while self._readers:
                self._wait()
        except BaseException:
            self._open()
            raise

    def _open(self) -> None:
        """Let all waiting readers enter."""
        self._wanted = False
        self._readers, self._blocked = self._readers + self._blocked, 0
        self._phase += 1
        self._wake()

    def _wait(self) -> None:
        self._asleep += 1
        try:
            self._changed.wait()
        finally:
            self._asleep -= 1

    def _wake(self) -> None:
        if self._asleep:  # in most cases no thread is waiting
            self._changed.notify_all()

    @property
    def busy(self) -> bool:
        """Whether a reader would have to wait now."""
        return self._wanted

    @property
    def asked(self) -> bool:
        """Whether a reader has entered since this property was last read."""
        reads, self._reads = self._reads, 0
        return reads > 0

    @property
    def mine(self) -> bool:
        """Whether the last writer was this thread, so that nothing can change while it reads."""
        return self._writer in (0, get_ident())


class _Writing(AbstractContextManager[None]):
    """The writing side of one lock. A class is faster than a generator here, and `Auto` enters twice for every row."""

    def __init__(self, gate: ReadWriteLock) -> None:
        self._gate = gate

    def __enter__(self) -> None:
        gate, own = self._gate, self._gate._own
        depth = getattr(own, "depth", 0)
        if not depth:
            with gate._next, gate._lock:
                if gate._wanted or gate._readers:
                    gate._take()
                gate._wanted = True  # the common case: nobody else is in
            gate._writer = get_ident()
        own.depth = depth + 1

    def __exit__(self, *raised: object) -> None:
        gate, own = self._gate, self._gate._own
        own.depth -= 1
        if not own.depth:
            with gate._lock:
                gate._wanted = False
                if gate._asleep:
                    gate._open()
