"""Reading ahead: another thread fetches the next blocks while this one learns."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

__all__ = ["ahead"]

T = TypeVar("T")
DEPTH = 8
"""Blocks that may wait."""
PATIENCE = 0.1
"""Seconds after which the reader looks whether anybody still waits for it."""


def ahead(blocks: Iterator[T], depth: int = DEPTH) -> Iterator[T]:
    """The same blocks in the same order, fetched by another thread, at most `depth` of them before they are asked for.

    What the other iterator raises comes after the blocks before it. Whoever stops early, by closing this iterator or
    dropping it, stops the thread, which closes the other one, and waits for the block that it is fetching: so this is
    for files, not for a pipe, where that may never come.
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
    except BaseException as error:  # whatever it is belongs to whoever reads
        last = ("error", error)
    finally:
        close = getattr(blocks, "close", None)
        if close is not None:
            close()
    _put(last, waiting, stop)


def _put(item: tuple[str, Any], waiting: queue.Queue[tuple[str, Any]], stop: threading.Event) -> bool:
    """Whether there was somebody to take it."""
    while not stop.is_set():
        try:
            waiting.put(item, timeout=PATIENCE)
        except queue.Full:
            continue
        return True
    return False
