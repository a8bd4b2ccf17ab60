"""How many threads to use, and work done side by side in them."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

__all__ = ["side_by_side", "threads"]

T = TypeVar("T")
VARIABLE = "NYSTREAM_THREADS"
WORKERS = ("PYTEST_XDIST_WORKER", "LOKY_WORKER_NUMBER", "JOBLIB_SPAWNED_PROCESS", "SPARK_REUSE_WORKER")
"""Set in processes that are one of several already."""

_pool: ThreadPoolExecutor | None = None
_guard = threading.Lock()
_inside = threading.local()


def threads() -> int:
    """Threads that work may be spread over: NYSTREAM_THREADS, or all cores of this process.

    One inside a worker of joblib, Spark, pytest-xdist or multiprocessing, where the cores are shared out already.
    """
    given = os.environ.get(VARIABLE)
    if given is not None:
        if not given.isdecimal() or int(given) < 1:
            raise ValueError(f"{VARIABLE} must be a whole number of at least 1, got {given!r}")
        return int(given)
    if multiprocessing.parent_process() is not None or any(name in os.environ for name in WORKERS):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(jobs: Sequence[Callable[[], T]], most: int | None = None) -> list[T]:
    """What the jobs return, in their order: the first in this thread, the others beside it where there are threads.

    Jobs must not share what they change, so that the results do not depend on the number of threads. `most`: threads
    that were asked for, in place of `threads()`.
    """
    if len(jobs) < 2 or getattr(_inside, "worker", False) or (most or threads()) < 2:
        return [job() for job in jobs]
    pool = _workers()
    others = [pool.submit(job) for job in jobs[1:]]
    try:
        return [jobs[0](), *(other.result() for other in others)]
    finally:
        wait(others)  # nothing runs on when one has failed


def _workers() -> ThreadPoolExecutor:
    global _pool
    with _guard:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(1, threads() - 1), "nystream", initializer=_mark)
        return _pool


def _mark() -> None:
    """Jobs of jobs do not wait for threads that wait for them."""
    _inside.worker = True


def _forget() -> None:
    """A child of this process has none of its threads."""
    global _pool, _guard
    _pool, _guard = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
