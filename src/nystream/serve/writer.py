"""The one thread that writes: it takes what waits, makes it durable with one sync, and applies it in fair turns.

A request that is answered with success is on the disk. When there is no room for a transaction nothing of it happens,
and its requests are refused with 507. When the disk fails the process ends: after a failed sync nobody knows what is on
the disk until the log is opened again.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nystream.serve.checkpoints import Checkpoints
from nystream.serve.log import Damaged, Full, is_disk_error, is_full
from nystream.serve.metrics import Timings
from nystream.serve.models import READY
from nystream.serve.recovery import recover, restore
from nystream.serve.refusals import Refusal, report_failure
from nystream.serve.salvage import close_log
from nystream.serve.scheduling import Slices, Turns, complete
from nystream.serve.store import Store

__all__ = ["Command", "Writer"]

GROUP = 256
"""Requests in one transaction, at most."""
ROUND = 0.02
"""Seconds of learning after which the writer looks for new requests."""
SOON = 0.002
"""Seconds that an answer may wait for others, to be sent together."""
WAIT, LONGEST_WAIT = 0.5, 0.005
"""Share of the time of the last sync, and seconds, that the writer waits for more requests at most."""
SPARE = 1.0
"""Seconds of the time to end that are kept for closing the log."""
TURN = 0.05
"""Seconds between looks at which models should be saved."""
NO_ROOM = "there is no room on the disk (or in the log's limit); nothing was learnt, predictions go on"
logger = logging.getLogger("nystream.serve")


class Command:
    """Something that the writer's thread is asked to do.

    `prepare` checks and writes into the transaction that is open, or raises Refusal having written nothing; `apply`,
    after the commit, changes what memory holds and gives the answer. One that is `alone` has transactions of its own.
    """

    alone = False
    only_appends = False
    """Whether `prepare` writes nothing but its event and its idempotency key."""
    line: Any = None
    """The model whose earlier commands must be applied before this one; None: it need not wait."""
    entry: Any = None
    """The model that it is about, where there is one already."""
    seq = 0
    """The event that it became."""
    seconds = 0.0
    """Time that it will take, about."""
    size = rows = 0
    """Bytes and rows that it holds while it waits."""
    future: Any = None

    @property
    def what(self) -> str:
        """The command in words, for the log."""
        return type(self).__name__.lower()

    def prepare(self, store: Store) -> None:
        """Check and write."""

    def apply(self, store: Store) -> Any:
        """Do it; the answer."""

    def apply_in_slices(self, store: Store) -> Slices[Any]:
        """Apply with pauses in which commands of other models are applied."""
        yield from ()
        return self.apply(store)

    def undo(self, store: Store) -> None:
        """Take back what `prepare` changed in memory: nothing of the command was written."""

    def execute(self, writer: Writer) -> Any:
        """Run a command that is alone: all of it, with transactions of its own where it needs several."""
        with writer.store.log.transaction():
            writer.store.write_pending(time.time())
            self.prepare(writer.store)
        writer.store.pending_written()
        return self.apply(writer.store)


class Writer:
    """A bounded queue and the thread that empties it.

    Parameters
    ----------
    answer : callable
        Given, once per group, a list of (future, answer or exception) and news for the event stream; called in the
        writer's thread.
    fail : callable
        Called when the disk failed, before the process ends.
    recovered : callable
        Called when every model is ready or quarantined.
    timings : Timings
        Records the time of each commit.
    """

    def __init__(
        self,
        store: Store,
        answer: Callable[[list[Any], list[Any]], None],
        fail: Callable[[], None],
        recovered: Callable[[], None],
        timings: Timings,
    ) -> None:
        self.store = store
        self._answer, self._fail, self._recovered = answer, fail, recovered
        self._queue: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._bytes = self._rows = self._waiting = 0
        self._stopping = False
        self._stop_by = float("inf")
        self._lock = threading.Lock()
        self.checkpoints = Checkpoints(store, self._saved_aside)
        self._timings = timings
        self.refused = {"full queue": 0, "full disk": 0}
        self.closing = False
        self._next_turn = 0.0
        self._told = 0
        """Requests that were answered since the writer last looked for new ones."""
        self._wanted = 0
        """Requests in the queue that the writer waits for, for a moment."""
        self._are_here = threading.Event()
        self._turns = Turns()
        self._blocked: dict[int, deque[Command]] = {}
        """By model: a command that is alone and waits for the earlier ones of the model, and the commands after it."""
        self._released: deque[Command] = deque()
        """Commands that waited behind such a one and are next."""
        self._held: dict[int, deque[Command]] = {}
        """By model: commands that are not yet in the log, because what is there takes long enough to learn again."""
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def depth(self) -> int:
        """Requests that wait: to be made durable, or to be applied."""
        return self._waiting

    @property
    def bytes(self) -> int:
        """Bytes of the requests that wait."""
        return self._bytes

    def submit(self, command: Command) -> None:
        """Queue it, or refuse because too much waits already."""
        limits = self.store.settings.limits
        if self.closing:
            raise Refusal(503, "the server is stopping", {"Retry-After": "5"})
        waits = self.depth > 0
        too_many = self.depth >= limits.queue or (waits and self._rows + command.rows > limits.queue_rows)
        if too_many or (waits and self._bytes + command.size > limits.queue_bytes):
            self.refused["full queue"] += 1
            raise Refusal(429, "too many rows wait to be learnt; try again in a second", {"Retry-After": "1"})
        with self._lock:
            self._bytes += command.size
            self._rows += command.rows
            self._waiting += 1
        self._queue.put(command)
        if 0 < self._wanted <= self._queue.qsize():
            self._are_here.set()

    def _saved_aside(self, *found: Any) -> None:
        with self._lock:
            self._waiting += 1
        self._queue.put(Finished(found))

    @property
    def backlog(self) -> tuple[int, int]:
        """Rows and bytes that are accepted and not applied."""
        return self._rows, self._bytes

    def close(self, seconds: float = float("inf")) -> bool:
        """Finish what waits, save everything, and end; return whether that was done within so many seconds.

        Requests that are in the log and not applied by then are applied by the next start.
        """
        self._stop_by = time.monotonic() + seconds
        self.closing = True
        self._queue.put(None)
        self._thread.join(None if seconds == float("inf") else seconds)
        return not self._thread.is_alive()

    @property
    def _is_late(self) -> bool:
        """Whether the time to end is nearly over."""
        return time.monotonic() > self._stop_by - SPARE

    # -- the thread ----------------------------------------------------------------------------------------------------
    def _run(self) -> None:
        try:
            for _ in recover(self.store):  # requests to models that are ready get their turn in between
                if self._turn(wait=False):
                    self._last(snapshots=False)
                    return
            self._recovered()
            while not self._turn(wait=True):
                pass
            self._last()
        except BaseException as error:
            self._die(error)

    def _turn(self, *, wait: bool) -> bool:
        """Do some of what waits; return whether the end was asked for, and everything is done or the time is over."""
        batch, single, asked = self._take(wait)
        self._stopping = self._stopping or asked
        if batch:
            self._group(batch)
        if single is not None:
            self._single_in_turn(single)
        self._apply_some()
        self._release()
        self._between()
        if not self._stopping:
            return False
        return self._is_late or not (self._turns.waiting or self._blocked or self._released or self._held)

    def _take(self, wait: bool) -> tuple[list[Command], Command | None, bool]:
        """Return what waits, up to one that must be alone, and whether the end was asked for."""
        batch: list[Command] = []
        try:
            command, is_new = self._next(wait=wait and not self._turns.waiting)
            self._wait_for_more()
            while True:
                if command is None:
                    return batch, None, True
                behind = None if command.line is None else self._blocked.get(command.line.id)
                if behind is not None:
                    behind.append(command)
                elif is_new and self._must_wait(command):
                    self._held.setdefault(command.line.id, deque()).append(command)
                elif command.alone:
                    return batch, command, False
                else:
                    batch.append(command)
                    if len(batch) >= GROUP:
                        break
                command, is_new = self._next(wait=False)
        except queue.Empty:
            pass
        return batch, None, False

    def _wait_for_more(self) -> None:
        """Wait a moment for the clients that were just answered: their next requests can share the next sync."""
        wanted, self._told = self._queue.qsize() + self._told - 1, 0
        if self._turns.waiting or self._stopping:
            return
        self._are_here.clear()
        self._wanted = wanted
        if self._queue.qsize() < wanted:
            self._are_here.wait(min(WAIT * self.store.log.commit_seconds, LONGEST_WAIT))
        self._wanted = 0

    def _next(self, *, wait: bool) -> tuple[Command | None, bool]:
        """Return the next command, and whether it comes from the queue."""
        if self._released:
            return self._released.popleft(), False
        return self._queue.get(timeout=1.0) if wait else self._queue.get_nowait(), True

    def _must_wait(self, command: Command) -> bool:
        """Return whether a command has to wait outside of the log, so that a restart does not take too long.

        One command of each model is always let in: a light model never waits for a heavy one.
        """
        entry = command.line
        if entry is None:
            return False
        too_long = self._turns.seconds > self.store.settings.replay
        return entry.id in self._held or (bool(entry.pending) and too_long)

    def _single_in_turn(self, command: Command) -> None:
        """Do a command that is alone now, or when the earlier ones of its model are applied."""
        if command.line is not None and command.line.pending:
            self._blocked[command.line.id] = deque([command])
        else:
            self._single(command)

    def _release(self) -> None:
        """Do the commands that waited alone for their models; those that came after them are next."""
        for id, behind in list(self._blocked.items()):
            line = behind[0].line
            assert line is not None
            if not line.pending:
                del self._blocked[id]
                self._single(behind.popleft())
                self._released.extend(behind)
        for id, held in list(self._held.items()):
            seconds = self._turns.seconds
            while held and (seconds <= self.store.settings.replay or not held[0].line.pending):
                command = held.popleft()
                seconds += command.rows * command.line.row_seconds
                self._released.append(command)
                if seconds > self.store.settings.replay:
                    break
            if not held:
                del self._held[id]

    def _apply_some(self) -> None:
        """Apply slices of durable commands for a moment; tell each answer as soon as it is there."""
        results: list[tuple[Any, Any]] = []
        began = told = time.perf_counter()
        while self._turns.waiting:
            done = self._turns.take(self._applied)
            if done is not None:
                results.append((done[0].future, done[1]))
                self._taken(done[0])
            now = time.perf_counter()
            if results and now - told > SOON:
                self._tell(results)
                results, told = [], now
            if now - began > ROUND:
                break
        if results or self.store.news:
            self._tell(results)

    def _taken(self, command: Command) -> None:
        """Count a command no longer among those that wait."""
        with self._lock:
            self._bytes -= command.size
            self._rows -= command.rows
            self._waiting -= 1
        self.store.log.settle([command.seq])

    def _group(self, batch: list[Command]) -> None:
        store = self.store
        results: list[tuple[Any, Any]] = []
        ready: list[Command] = []
        try:
            with store.log.transaction():
                store.write_pending(time.time())
                for command in batch:
                    refused = self._prepare(command)
                    if refused is None:
                        ready.append(command)
                    else:
                        results.append((command.future, refused))
                        self._taken(command)
        except Exception as error:  # nothing of the transaction is written
            if is_disk_error(error):
                raise
            if isinstance(error, Full):
                self.checkpoints.is_tight = True
                self.refused["full disk"] += len(batch)
                refusal = Refusal(507, NO_ROOM)
            else:
                refusal = report_failure(error, "writing to the log")
            for command in reversed(ready):
                command.undo(store)
            done = {id(future) for future, _ in results}
            for command in batch:
                if id(command.future) not in done:
                    results.append((command.future, refusal))
                    self._taken(command)
            self._tell(results)
            return
        store.pending_written()
        self._timings.note("commit", store.log.commit_seconds)
        for command in ready:
            if command.line is not None:
                self._turns.add(command)
            else:
                results.append((command.future, complete(self._applied(command))))
                self._taken(command)
        if results:
            self._tell(results)

    def _prepare(self, command: Command) -> Refusal | None:
        """Write a command into the open transaction; return why it is refused, if it is."""
        try:
            with self.store.log.savepoint(only_appends=command.only_appends):
                command.prepare(self.store)
        except Refusal as refusal:
            command.undo(self.store)
            return refusal
        except Exception as error:
            command.undo(self.store)
            if is_disk_error(error) or is_full(error) or not self.store.log.db.in_transaction:
                raise
            return self._explain(error, command)
        return None

    def _applied(self, command: Command) -> Slices[Any]:
        try:
            return (yield from command.apply_in_slices(self.store))
        except Refusal as refusal:
            return refusal
        except Exception as error:
            if is_disk_error(error):
                raise
            return self._explain(error, command)

    def _explain(self, error: Exception, command: Command) -> Refusal:
        """Return the answer to a command that failed; a model with damage on the disk is quarantined."""
        if isinstance(error, Damaged) and command.entry is not None:
            self.store.quarantine(command.entry, str(error))
            return Refusal(409, f"model {command.entry.name!r} is quarantined: {error}")
        return report_failure(error, command.what)

    def _single(self, command: Command) -> None:
        answer: Any
        try:
            answer = command.execute(self)
        except Refusal as refusal:
            command.undo(self.store)
            answer = refusal
        except Full:
            command.undo(self.store)
            self.refused["full disk"] += 1
            answer = Refusal(507, NO_ROOM)
        except Exception as error:
            if is_disk_error(error):
                raise
            command.undo(self.store)
            answer = self._explain(error, command)
            entry = command.entry
            if entry is not None and not entry.gone and entry.state == READY:
                restore(self.store, entry, self.store.applied(entry) + 1)  # memory may have been left half changed
        self._taken(command)
        self._tell([(command.future, answer)])

    def _tell(self, results: list[tuple[Any, Any]]) -> None:
        news, self.store.news = self.store.news, []
        told = [found for found in results if found[0] is not None]
        self._told += len(told)
        self._answer(told, news)

    def _between(self) -> None:
        now = time.monotonic()
        self.store.keyed.shrink()
        if now < self._next_turn:
            return
        try:
            self.checkpoints.take_turn()
        except Full:
            self.refused["full disk"] += 1
            self.checkpoints.postpone()
        except Exception as error:
            if is_disk_error(error):
                raise
            report_failure(error, "snapshot")
            self.checkpoints.postpone()
        self._next_turn = time.monotonic() + TURN

    def _last(self, *, snapshots: bool = True) -> None:
        """Leave snapshots behind when everything is learnt, so that the next start has nothing to repeat."""
        self._refuse_rest()
        if not self._is_late:
            self.checkpoints.close()
        try:
            while True:  # snapshots that were written aside
                command = self._queue.get_nowait()
                if isinstance(command, Finished):
                    with suppress(Full):
                        command.execute(self)
        except queue.Empty:
            pass
        for entry in self.store.models if snapshots else ():
            if entry.state != READY or entry.halfway or self._is_late:
                continue
            try:
                if any(part.dirty for part in entry.parts) or self.store.keyed.dirty(entry):
                    self.checkpoints.save(entry, at_once=True)
            except Full:
                break
        try:
            with self.store.log.transaction():
                self.store.write_pending(time.time())
            self.store.pending_written()
        except Full:
            logger.warning("no room to write the last answers; a restart repeats a few events")
        close_log(self.store.log, self.store.folder)

    def _refuse_rest(self) -> None:
        """Tell requests that were not applied in time that the next start applies them, if they are in the log."""
        lines = [*self._blocked.values(), *self._held.values()]
        waiting = [*self._turns.commands(), *(command for line in lines for command in line), *self._released]
        text = "the server is stopping; repeat the request with the same Idempotency-Key"
        if waiting:
            logger.warning("%d requests were not applied before the end; the next start applies them", len(waiting))
        self._tell([(command.future, Refusal(503, text, {"Retry-After": "5"})) for command in waiting])

    def _die(self, error: BaseException) -> None:
        """Stop after a failure of the disk or of this program; a restart finds all that was acknowledged."""
        logger.critical("the writer stopped, the server ends: %s", error, exc_info=error)
        self._fail()
        time.sleep(0.2)  # for one look at /readyz
        os._exit(3)


class Finished(Command):
    """A large snapshot has been written by the other thread."""

    alone = True

    def __init__(self, found: tuple[Any, ...]) -> None:
        self._found, self.line = found, found[0]

    def execute(self, writer: Writer) -> Any:
        writer.checkpoints.finished(*self._found)
