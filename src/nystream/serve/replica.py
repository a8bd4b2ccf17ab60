"""A replica: its models are copied from another server, and nobody else can change them.

A replica has a log of its own, in which each event of the primary is an event too. The table `copied` says which event
of the primary was the last; it is written with the event, in one transaction.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

import orjson

from nystream.serve.admin import MAIN, created, delete_model, enter_state
from nystream.serve.commands import Event
from nystream.serve.copier import ask
from nystream.serve.form import Form
from nystream.serve.log import Full, Position
from nystream.serve.meters import Meter
from nystream.serve.models import READY, Entry
from nystream.serve.recovery import LEARNT
from nystream.serve.refusals import Refusal
from nystream.serve.replication import Record, split_state
from nystream.serve.rows import LoggedRows, count_rows
from nystream.serve.scheduling import Slices
from nystream.serve.store import LOAD_SECONDS, Store, load_within
from nystream.serve.writer import Command, Writer

__all__ = ["Replica", "TakeEvent", "TakeKeys", "TakeState"]

LATER = (408, 429, 503, 507)
"""Statuses of refusals that have nothing to do with the event: the same event is tried again later."""


class Replica:
    """Takes copies of models into the log of this server. Used by the thread of a `Copier`."""

    keeps_events = False

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store, self._writer = store, writer
        self._listed: dict[str, set[str]] = {}
        """By model whose state is being copied: the keys that it has."""

    def names(self) -> list[str]:
        return [entry.name for entry in self._store.models]

    def position(self, name: str) -> Position | None:
        entry = self._store.models.by_name.get(name)
        return None if entry is None or entry.state != READY else entry.copied

    def wants_state(self, name: str) -> bool:
        return False

    def begin(self, record: Record) -> None:
        name = record.about["name"]
        self._listed[name] = set()
        pattern, model = (load_within(file, LOAD_SECONDS) if file else None for file in split_state(record))
        ask(self._writer, TakeState(self._store.models.by_name.get(name), record, pattern, model))

    def keys(self, name: str, records: list[Record]) -> None:
        self._listed[name].update(record.about["key"] for record in records)
        if records:
            ask(self._writer, TakeKeys(self._store.models.find(name), records))

    def finish(self, name: str, position: Position) -> None:
        ask(self._writer, FinishState(self._store.models.find(name), position, self._listed.pop(name)))

    def events(self, name: str, records: list[Record]) -> None:
        entry = self._store.models.find(name)
        position = entry.copied
        assert position is not None
        waiting: list[TakeEvent] = []
        try:
            for record in records:
                command = TakeEvent(entry, record, position)
                self._submit(command, waiting)
                waiting.append(command)
                position = command.position
        finally:
            failed = [e for command in waiting if (e := command.future.exception(LOAD_SECONDS)) is not None]
        if failed and all(isinstance(error, Refusal) and error.status in LATER for error in failed):
            raise failed[0]
        if failed:
            entry.copied = None  # begin again with the state
            raise failed[0]

    def _submit(self, command: TakeEvent, waiting: list[TakeEvent]) -> None:
        command.future = Future()
        try:
            self._writer.submit(command)
        except Refusal as refusal:
            if refusal.status != 429 or not waiting:
                raise
            waiting[-1].future.exception(LOAD_SECONDS)  # too much waits: let it be applied
            self._writer.submit(command)

    def remove(self, name: str) -> None:
        entry = self._store.models.by_name.get(name)
        if entry is not None:
            ask(self._writer, Remove(entry))


class TakeState(Command):
    """Let a model be what the primary says that it is. A model with the same rows is replaced in place."""

    alone = True

    def __init__(self, entry: Entry | None, record: Record, pattern: Any, model: Any) -> None:
        self.line = self.entry = entry
        self._about, self._pattern, self._model = record.about, pattern, model

    def execute(self, writer: Writer) -> None:
        about, store, entry = self._about, writer.store, self.entry
        form = None if about["form"] is None else Form.from_described(about["form"])
        meter = None if about["meter"] is None else Meter.restored(about["meter"])
        if entry is not None and not self._is_same(entry, form):
            delete_model(store, entry)
            entry = None
        if entry is None:
            created(writer.store, about["name"], about["config"], self._pattern, form, self._model, meter)
            return
        log, now = store.log, time.time()
        with log.transaction():
            store.write_pending(now)
            self.seq = log.append(entry.id, None, "copied", b"", now)
            log.set_copied(entry.id, "", None)
            if self._model is not None and meter is not None:
                enter_state(store, entry.champion, self._model, meter, now)
        store.pending_written()
        entry.copied = None
        if self._model is not None and meter is not None:
            entry.champion.replace(self._model, meter, log.seq)
            entry.classes = set(self._model.classes)
        store.refresh_snapshots(entry)

    def _is_same(self, entry: Entry, form: Form | None) -> bool:
        before = None if entry.form is None else entry.form.described()
        return (
            entry.state == READY
            and entry.champion.name == MAIN
            and entry.config == self._about["config"]
            and orjson.dumps(before) == orjson.dumps(None if form is None else form.described())
        )


class TakeKeys(Command):
    """Take states of keys."""

    alone = True

    def __init__(self, entry: Entry, records: list[Record]) -> None:
        self.line = self.entry = entry
        self._records = records

    def execute(self, writer: Writer) -> None:
        entry, store = self.entry, writer.store
        log = store.log
        with log.transaction():
            for about, body in self._records:
                log.park(entry.id, about["key"], log.seq, about["at"], about["rows"], body, about["meter"])
                log.set_copied(entry.id, about["key"], Position(0.0, about["event"], 0))
        for about, _ in self._records:
            store.keyed.drop(entry, about["key"])
        entry.keys = store.count_keys(entry)


class FinishState(Command):
    """The state of a model and of its keys is complete; keys that it does not have go."""

    alone = True

    def __init__(self, entry: Entry, position: Position, keys: set[str]) -> None:
        self.line = self.entry = entry
        self._position, self._keys = position, keys

    def execute(self, writer: Writer) -> None:
        entry, store = self.entry, writer.store
        log = store.log
        there = {row[0] for row in log.run("select key from keyed where model = ?", (entry.id,))}
        old = (there | set(store.keyed.names(entry))) - self._keys
        with log.transaction():
            for key in old:
                log.delete_key(entry.id, key)
            log.set_copied(entry.id, "", self._position)
        for key in old:
            store.keyed.drop(entry, key)
        entry.keys = store.count_keys(entry)
        entry.copied = self._position


class TakeEvent(Event):
    """Repeat an event of the primary: log it here, together with its number there, and learn it in the same pieces."""

    def __init__(self, entry: Entry, record: Record, previous: Position) -> None:
        about = record.about
        super().__init__(entry, about["key"], None, b"")
        self.kind, self.at, self._body, self._previous = about["kind"], about["at"], record.body, previous
        self.position = Position(previous.created, about["event"], about["mark"])
        if self.kind in LEARNT:
            self.rows, self.size = count_rows(record.body), len(record.body)

    def prepare(self, store: Store) -> None:
        entry, log = self.entry, store.log
        entry.check_ready()
        if log.copied(entry.id, "") != self._previous:
            raise Refusal(409, f"event {self.position.event} does not follow the last one that was copied")
        before = None if self.key is None else log.copied(entry.id, self.key)
        self.is_known = self.kind not in LEARNT or (before is not None and before.event >= self.position.event)
        if self.kind == "drop":
            log.delete_key(entry.id, str(self.key))
        if not self.is_known:
            if entry.form is None:
                raise Refusal(409, "the model has learnt its first rows; the copy begins again")
            if self.kind in LEARNT:
                self.batch = LoggedRows.unpack(self._body, entry.form.kinds)
            self.seq = log.append(entry.id, self.key, self.kind, self._body, self.at)
        log.set_copied(entry.id, "", self.position)

    def apply_in_slices(self, store: Store) -> Slices[Any]:
        try:
            if not self.is_known:
                yield from super().apply_in_slices(store)
        except Refusal:
            self._begin_again(store)
            raise
        if self.kind == "drop":
            store.keyed.drop(self.entry, str(self.key))
            self.entry.keys = store.count_keys(self.entry)
        self.entry.copied = self.position

    def _begin_again(self, store: Store) -> None:
        """Begin the copy again, because an event was logged and could not be applied."""
        self.entry.copied = None
        try:
            with store.log.transaction():
                store.log.set_copied(self.entry.id, "", None)
        except Full:
            store.quarantine(self.entry, "an event of the primary could not be applied, and the disk is full")


class Remove(Command):
    """The primary has deleted the model."""

    alone = True

    def __init__(self, entry: Entry) -> None:
        self.line = self.entry = entry

    def execute(self, writer: Writer) -> None:
        delete_model(writer.store, self.entry)
        writer.store.news.append(("deleted", {"model": self.entry.name, "at": time.time()}))
