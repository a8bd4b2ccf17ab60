"""Read ahead: another thread reads the next blocks while this one learns."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

__all__ = ["ahead"]

T = TypeVar("T")
DEPTH = 8
"""Largest number of blocks that are read ahead."""
PATIENCE = 0.1
"""Seconds between checks of the reading thread whether it is still needed."""


def ahead(blocks: Iterator[T], depth: int = DEPTH) -> Iterator[T]:
    """Yield the same blocks, read by another thread, at most `depth` of them in advance.

    An error of the other iterator is raised after the blocks before it. Closing or dropping this iterator stops the
    thread, which finishes its present block and closes the other iterator. Use it for files, not for pipes, where the
    present block may never come.
    """
    waiting: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
    stop = threading.Event()
    thread = threading.Thread(target=_fetch, args=(blocks, waiting, stop), name="nystream-reader", daemon=True)
    thread.start()
    try:
        while True:
            kind, value = waiting.get()
            if kind == "block":
                yield value
            elif kind == "error":
                raise value
            else:
                return
    finally:
        stop.set()
        thread.join()


def _fetch(blocks: Iterator[Any], waiting: queue.Queue[tuple[str, Any]], stop: threading.Event) -> None:
    last: tuple[str, Any] = ("end", None)
    try:
        for block in blocks:
            if not _put(("block", block), waiting, stop):
                break
    except BaseException as error:  # any error is passed to the reader
        last = ("error", error)
    finally:
        close = getattr(blocks, "close", None)
        if close is not None:
            close()
    _put(last, waiting, stop)


def _put(item: tuple[str, Any], waiting: queue.Queue[tuple[str, Any]], stop: threading.Event) -> bool:
    """Put an item into the queue. Return False if the reader has stopped."""
    while not stop.is_set():
        try:
            waiting.put(item, timeout=PATIENCE)
        except queue.Full:
            continue
        return True
    return False
