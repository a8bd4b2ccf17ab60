"""The number of threads, and parallel work in threads."""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nystream.runtime.blas import single_threaded
from nystream.runtime.deferred import Deferred
from nystream.runtime.params import at_least

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["WORTH_A_THREAD", "at_most", "checked_threads", "is_child", "run_parallel", "threads"]

T = TypeVar("T")
VARIABLE = "NYSTREAM_THREADS"
WORKERS = ("PYTEST_XDIST_WORKER", "LOKY_WORKER_NUMBER", "JOBLIB_SPAWNED_PROCESS", "SPARK_REUSE_WORKER")
"""Environment variables that are set in worker processes."""
WORTH_A_THREAD = 32
"""Rows below which handing a learner to another thread costs more than it saves."""

futures: Any = Deferred("concurrent.futures")
_pool: ThreadPoolExecutor | None = None
_room = 0  # threads that the pool may start
_guard = threading.Lock()
_inside = threading.local()


def threads() -> int:
    """Return the number of threads to use: `at_most`, else NYSTREAM_THREADS, else all cores of this process.

    It is 1 inside a worker of joblib, Spark, pytest-xdist or multiprocessing, where other workers use the other cores.
    """
    most: int | None = getattr(_inside, "most", None)
    if most is not None:
        return most
    given = os.environ.get(VARIABLE)
    if given is not None:
        if not given.isdecimal() or int(given) < 1:
            raise ValueError(f"{VARIABLE} must be a whole number of at least 1, got {given!r}")
        return int(given)
    if is_child() or any(name in os.environ for name in WORKERS):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_child() -> bool:
    """Return whether multiprocessing has started this process."""
    multiprocessing = sys.modules.get("multiprocessing")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def checked_threads(value: int | None) -> int | None:
    """Return the parameter `threads` of a learner: a whole number of at least 1, or None for `threads()`."""
    return None if value is None else int(at_least("threads", value, 1))


@contextmanager
def at_most(count: int | None) -> Iterator[None]:
    """Limit `threads()` for the calls of this thread inside the context. None sets no limit."""
    before = getattr(_inside, "most", None)
    _inside.most = before if count is None else count
    try:
        yield
    finally:
        _inside.most = before


def run_parallel(jobs: Sequence[Callable[[], T]], most: int | None = None) -> list[T]:
    """Run the jobs in parallel threads and return their results in order. This thread runs the first job.

    Jobs must not change shared data. If there are two or more jobs, BLAS uses one thread, so the results do not depend
    on the number of threads. A job that calls this function runs its own jobs one after the other. All jobs have the
    settings of the caller (`numpy.errstate`, the decimal context). `most` replaces `threads()`.

    After a failure, or Ctrl-C, jobs that have begun are finished. Then the first failure in the order of the jobs is
    raised.
    """
    if len(jobs) < 2 or getattr(_inside, "job", False):
        return [job() for job in jobs]
    with single_threaded():
        return _shared_out(jobs, min(len(jobs), threads() if most is None else most))


def _shared_out(jobs: Sequence[Callable[[], T]], count: int) -> list[T]:
    found: dict[int, T] = {}
    failed: dict[int, BaseException] = {}
    waiting, turn = iter(range(count, len(jobs))), threading.Lock()
    settings: dict[str, Any] = {**np.geterr(), "call": np.geterrcall()}

    def work(i: int | None) -> None:
        with _as_job(), np.errstate(**settings):  # before NumPy 2 no part of the context that is copied below
            while i is not None:
                try:
                    found[i] = jobs[i]()
                except BaseException as error:  # raised below, when all have ended
                    failed[i] = error
                with turn:
                    i = next(waiting, None) if not failed else None

    helpers = [_submitted(partial(contextvars.copy_context().run, work, i), count - 1) for i in range(1, count)]
    for rest in (partial(work, 0), partial(futures.wait, helpers), partial(futures.wait, helpers)):
        try:
            rest()
        except KeyboardInterrupt as error:  # between two jobs, or while the others end
            failed[-1] = error
    if failed:
        raise failed[min(failed)]
    return [found[i] for i in range(len(jobs))]


def _submitted(work: Callable[[], None], wanted: int) -> Future[None]:
    """Submit jobs to the pool, which is enlarged to at least the wanted number of threads."""
    global _pool, _room
    with _guard:
        if _pool is None or _room < wanted:
            if _pool is not None:
                _pool.shutdown(wait=False)  # it ends when what it was given has
            _pool, _room = futures.ThreadPoolExecutor(wanted, "nystream"), wanted
        assert _pool is not None
        return _pool.submit(work)


@contextmanager
def _as_job() -> Iterator[None]:
    """Run as a job: its own jobs run in this thread, so that no thread waits for itself."""
    _inside.job = True
    try:
        yield
    finally:
        _inside.job = False


def _forget() -> None:
    """Forget the pool in a forked child, which has none of its threads."""
    global _pool, _room, _guard
    _pool, _room, _guard = None, 0, threading.Lock()
    _inside.job, _inside.most = False, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
