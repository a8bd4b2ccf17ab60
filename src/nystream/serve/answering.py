"""Compute predictions: quick ones in the event loop, others in a thread, long ones on a copy of the model.

A prediction holds the model's read lock, and the thread that learns waits for it. A long prediction therefore works on
a copy. A very long one works in another process, since threads of one process take turns with the interpreter. Large
bodies of requests are read in another process for the same reason.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import numpy as np

from nystream.model import Model
from nystream.runtime.deadline import check_time, limit_time
from nystream.runtime.lock import ReadWriteLock
from nystream.serve import learning
from nystream.serve.form import Form
from nystream.serve.helper import Helpers
from nystream.serve.json_text import to_json
from nystream.serve.parts import Part
from nystream.serve.refusals import Refusal
from nystream.serve.row_formats import Rows
from nystream.serve.rows import LoggedRows
from nystream.serve.settings import Limits

__all__ = ["Answering"]

THREADS, LONG_THREADS, READING_THREADS = 4, 2, 2
"""Threads for work of milliseconds, for work of seconds, which therefore never fills the first ones, and threads that
wait while another process reads a large body."""
MOST_LONG = 16
"""Long requests that run or wait; more are refused."""
INLINE = 0.001
"""Seconds of a prediction that is made in the event loop itself: two changes of threads cost more."""
INLINE_ROWS = 4
"""Most rows of a prediction that is made in the event loop, without a thread."""
IN_PLACE = 0.01
"""Seconds that a prediction may hold the model's read lock."""
GUESSED = 4096
"""Numbers of a request above which it counts as long while the time of a row is not known."""
SLICE = 32_768
"""Numbers that are predicted between two looks at the time limit; the interpreter may be held that long."""
HEAVY = 2**20
"""Numbers (of an explanation: numbers times columns) of a request that is answered in a process of its own."""
TRIAL_SECONDS = 10.0
"""Time that a learner with very large settings may take to start."""
MOMENT = 0.5
"""Seconds that the end of the server waits for threads whose answers nobody waits for."""
WISHES = ("probabilities", "interval", "quantiles", "explain")


class Answering:
    """The threads beside the event loop, and the time that rows of each model take."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.helpers = Helpers()
        self._pool = ThreadPoolExecutor(THREADS, "predict")
        self._long = ThreadPoolExecutor(LONG_THREADS, "long")
        self._reading = ThreadPoolExecutor(READING_THREADS, "read")
        self._running: set[Future[Any]] = set()
        """Work in threads that is not done."""
        self._open = 0

    async def aside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run it in a thread, for work of milliseconds."""
        return await self._begin(self._pool, function, *arguments)

    def _begin(self, pool: ThreadPoolExecutor, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        work = pool.submit(function, *arguments)
        self._running.add(work)
        work.add_done_callback(self._running.discard)
        return asyncio.wrap_future(work)

    async def long(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run it in a thread for work of seconds; it ends at its next look at the time when the request's is over."""
        if self._open >= MOST_LONG:
            raise Refusal(429, f"{MOST_LONG} long requests run or wait already; try again", {"Retry-After": "2"})
        end = time.monotonic() + self._seconds
        self._open += 1
        task = self._begin(self._long, _limited, end, function, *arguments)
        task.add_done_callback(self._ended)
        return await task

    def _ended(self, task: Any) -> None:
        self._open -= 1
        if not task.cancelled():
            task.exception()  # one that nobody waits for any more is not worth a message

    async def answer(
        self,
        part: Part | None,
        model: Model,
        form: Form,
        batch: LoggedRows,
        wishes: dict[str, Any],
        gate: ReadWriteLock,
    ) -> bytes | dict[str, Any]:
        """Return the answer to a prediction request: as JSON already where that takes long."""
        kind = tuple(name for name in WISHES if wishes.get(name))
        each = None if part is None else part.answer_seconds.get(kind)
        size = batch.n * len(form.names)
        likely = each * batch.n if each is not None else None
        long = "explain" in kind or (size > GUESSED if likely is None else likely > IN_PLACE)
        work = size * len(form.names) if "explain" in kind else size
        if long and work > HEAVY and not wishes.get("ids"):
            found = await self.long(self._in_a_process, model, form, batch, wishes, gate)
        elif long:
            found = await self.long(_on_a_copy, model, form, batch, wishes, gate)
        elif likely is not None and likely <= INLINE and batch.n <= INLINE_ROWS and not gate.busy:
            found = _timed(part, kind, learning.answer, model, batch, wishes, gate)
        else:
            found = await self.aside(_timed, part, kind, learning.answer, model, batch, wishes, gate)
        return found

    def _in_a_process(
        self, model: Model, form: Form, batch: LoggedRows, wishes: dict[str, Any], gate: ReadWriteLock
    ) -> bytes:
        with gate.reading():
            model = learning.copied(model)
        content, described = learning.saved(model), to_json(form.described())
        found: bytes = self.helpers.call("answer", content, described, batch.pack(), wishes, seconds=self._seconds)
        return found

    async def try_settings(self, config: dict[str, Any], name: str, *arguments: Any) -> None:
        """Make a model with very large settings in another process first; raise Refusal where it takes too much."""
        if not learning.is_heavy(config):
            return
        try:
            await self.long(partial(self.helpers.call, name, *arguments, seconds=TRIAL_SECONDS))
        except TimeoutError:
            message = f"a learner with these settings does not start within {TRIAL_SECONDS:g} s, and is refused"
            raise Refusal(422, message) from None

    async def read_rows(
        self, form: Form, kind: str, body: bytes, query: Mapping[str, str], limits: Limits, *, is_labelled: bool
    ) -> Rows:
        """Read a large body and check its rows, in another process."""
        arguments = (to_json(form.described()), kind, body, dict(query), limits, is_labelled)
        call = partial(self.helpers.call, "read_rows", *arguments, seconds=self._seconds)
        packed, options, unknown = await self._begin(self._reading, call)
        batch = await self.aside(LoggedRows.unpack, packed, form.kinds)
        return Rows(None, batch.n, options=options, batch=batch, unknown=unknown)

    def close(self) -> bool:
        """End the processes, and begin nothing more; return whether all threads are done within a moment."""
        self.helpers.close()
        for pool in (self._reading, self._pool, self._long):
            pool.shutdown(wait=False, cancel_futures=True)
        return not wait(list(self._running), MOMENT).not_done


def _limited(end: float, function: Callable[..., Any], *arguments: Any) -> Any:
    with limit_time(end):
        check_time()
        return function(*arguments)


def _timed(part: Part | None, kind: tuple[str, ...], function: Callable[..., Any], *arguments: Any) -> Any:
    """Call it, and note the time of a row."""
    began = time.thread_time()
    found = function(*arguments)
    if part is not None:
        batch: LoggedRows = arguments[1]
        each = (time.thread_time() - began) / batch.n
        part.answer_seconds[kind] = each + 0.7 * (part.answer_seconds.get(kind, each) - each)
    return found


def _on_a_copy(model: Model, form: Form, batch: LoggedRows, wishes: dict[str, Any], gate: ReadWriteLock) -> Any:
    with gate.reading():
        model = learning.copied(model)
    own, rows = ReadWriteLock(), max(1, SLICE // max(1, len(form.names)))
    parts = []
    for start in range(0, batch.n, rows):
        check_time()
        parts.append(learning.answer(model, batch.part(slice(start, start + rows)), wishes, own))
    found = _joined(parts)
    return found if wishes.get("ids") else to_json(found)


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return answers to consecutive rows as one."""
    found = dict(parts[0])
    if len(parts) == 1:
        return found
    for name in found:
        values = [part[name] for part in parts]
        if name in ("predictions", "probabilities", "low", "high", "quantiles"):
            found[name] = np.concatenate(values)
        elif name == "explanation" and isinstance(values[0], list):
            found[name] = [reasons for value in values for reasons in value]
    return found
