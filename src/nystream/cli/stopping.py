"""Handle signals that end a run, so that the model is kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any, Protocol, Self

__all__ = ["Stoppable", "raise_kept"]

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # Windows has no SIGHUP
EXIT = 128
"""A process that a signal ended has this exit code plus the number of the signal."""


def raise_kept(holder: Any) -> None:
    """Raise the error stored in `failure`, if any, and drop the reference to it."""
    failure, holder.failure = holder.failure, None
    if failure is not None:
        try:
            raise failure
        finally:
            del failure


class Blocks(Protocol):
    """A source of blocks."""

    def blocks(self, size: int) -> Iterator[Any]: ...


class _Woken(BaseException):
    """The error for a signal during a wait for rows."""


class Stoppable:
    """The blocks of a source, until a signal or an error of the source ends them.

    A signal (Ctrl-C, or SIGTERM when a service is stopped) ends the stream between two blocks, so that the model has
    learnt whole blocks and the number of its rows is known. A second signal stops at once, as KeyboardInterrupt. An
    error of the source, such as a bad cell, ends the stream too and is kept in `failure`. Use it as a context manager:
    after it, signals mean what they did before.
    """

    def __init__(self, data: Blocks) -> None:
        self._data = data
        self._waiting = False
        self._closed = False
        self.signal: int | None = None
        self.is_forced = False
        self.failure: Exception | None = None

    def raise_failure(self) -> None:
        """Raise the error of the source, if there is one."""
        raise_kept(self)

    @property
    def exit_code(self) -> int:
        """128 plus the signal number; 0 without a signal."""
        return EXIT + self.signal if self.signal is not None else 0

    @property
    def is_cut(self) -> bool:
        """Whether the stream ended before the source did."""
        return self.signal is not None or self._closed or self.failure is not None

    def close(self) -> None:
        """End the stream before its next block: nobody reads the predictions any more."""
        self._closed = True

    def __enter__(self) -> Self:
        self._before = {kind: signal.signal(kind, self._stop) for kind in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for kind, handler in self._before.items():
            signal.signal(kind, signal.SIG_DFL if handler is None else handler)

    def blocks(self, size: int) -> Iterator[Any]:
        """Yield the blocks of the source."""
        rows = self._data.blocks(size)
        while True:
            try:
                self._waiting = True
                if self.signal is not None or self._closed:
                    return
                block = next(rows, None)
            except _Woken:
                return
            except (ValueError, OSError) as error:
                self._waiting = False
                self.failure = error
                return
            finally:
                self._waiting = False
            if block is None:
                return
            yield block

    def _stop(self, number: int, _: Any) -> None:
        if self.signal is not None:
            self.is_forced = True
            raise KeyboardInterrupt
        self.signal = number
        if self._waiting:
            raise _Woken
