"""What replicas and archives copy from a server: the state of a model, and the events that came after it.

A copy begins with the state of a model. The server marks that moment with an event of its own, so that the copy knows
the number and the checksum of the last event that it holds. It then asks for the events after that one. If the server
does not have this event any more, or has another one in its place, the copy begins again with the state.

The same records are sent to replicas and written to archives. A record is the CRC32 of what follows it, the lengths of
its two parts, a JSON object and bytes.
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from nystream.model import Model
from nystream.serve import learning
from nystream.serve.json_text import to_json
from nystream.serve.log import Damaged
from nystream.serve.models import STARTING, Entry, Models
from nystream.serve.refusals import Refusal
from nystream.serve.store import Store
from nystream.serve.writer import Command, Writer

__all__ = [
    "GONE",
    "Changes",
    "Keys",
    "Record",
    "State",
    "list_models",
    "pack_state",
    "read_record",
    "read_records",
    "split_state",
]

_HEAD = struct.Struct("<III")
EVENTS = 500
"""Events of one answer, at most."""
BYTES = 4 * 2**20
"""Bytes of one answer after which no further record is added."""
GONE = 410
"""Status of the answer to a copy that has to begin again with the state."""


class Record(NamedTuple):
    """What a copy is told at once.

    `about["record"]` is "state", "key" (the state of one key), "end" (of the keys), "event" or "deleted".
    """

    about: dict[str, Any]
    body: bytes = b""

    def pack(self) -> bytes:
        """Return the record as bytes."""
        text = to_json(self.about)
        rest = struct.pack("<II", len(text), len(self.body)) + text + self.body
        return struct.pack("<I", zlib.crc32(rest)) + rest


def read_records(content: bytes) -> Iterator[Record]:
    """Yield the records of an answer. Raises Damaged where one is cut off or has another checksum."""
    at = 0
    while at < len(content):
        record, at = read_record(content, at)
        yield record


def read_record(content: bytes, at: int) -> tuple[Record, int]:
    """Return the record that begins at a place, and the place where it ends."""
    if at + _HEAD.size > len(content):
        raise Damaged(f"the record at byte {at} is cut off")
    crc, text, body = _HEAD.unpack_from(content, at)
    start = at + _HEAD.size
    end = start + text + body
    if end > len(content):
        raise Damaged(f"the record at byte {at} is cut off")
    if zlib.crc32(content[at + 4 : end]) != crc:
        raise Damaged(f"the record at byte {at} has a wrong checksum")
    return Record(orjson.loads(content[start : start + text]), content[start + text : end]), end


def list_models(models: Models, last_of: Any) -> dict[str, Any]:
    """Return what a copy asks first: the models, each with its time of creation and the number of its last event."""
    found = [
        {"name": e.name, "created": e.created, "event": last_of(e.id), "state": e.state}
        for e in models
        if e.created  # else it is a model that the log has lost
    ]
    is_complete = not models.starting and all(e.state != STARTING for e in models)
    return {"complete": is_complete, "models": found}


class State(Command):
    """The state of a model after its last event, and an event that marks this moment.

    The answer is what `pack_state` takes, since saving a large model takes long and is not for the writer's thread.
    """

    alone = True

    def __init__(self, entry: Entry, follower: str) -> None:
        self.entry = self.line = entry
        self._follower = follower

    def execute(self, writer: Writer) -> tuple[dict[str, Any], Model | None, Model | None]:
        entry, store = self.entry, writer.store
        entry.check_ready()
        log, now = store.log, time.time()
        keyed = store.keyed.dirty(entry)
        with log.transaction():
            store.write_pending(now)
            store.keyed.write(entry, keyed, now)
            self.seq = log.append(entry.id, None, "copied", b"", now)
        store.pending_written()
        for _, part in keyed:
            part.saved = part.seq
        entry.follow(self._follower, self.seq)
        part = entry.champion
        about = {
            "record": "state",
            "name": entry.name,
            "created": entry.created,
            "event": self.seq,
            "mark": _checksum_of(store, entry, self.seq),
            "at": now,
            "config": entry.config,
            "form": None if entry.form is None else entry.form.described(),
            "rows": 0 if part.model is None else part.model.n_seen,
            "meter": None if part.model is None else part.meter.state(),
        }
        return about, entry.pattern, None if part.model is None else learning.copied(part.model)


def pack_state(about: dict[str, Any], pattern: Model | None, model: Model | None) -> bytes:
    """Return the answer of `State` as a record: the body is the untrained model and the trained one."""
    files = [b"" if each is None else learning.saved(each) for each in (pattern, model)]
    return Record({**about, "sizes": [len(file) for file in files]}, b"".join(files)).pack()


def split_state(record: Record) -> tuple[bytes, bytes]:
    """Return the files of the untrained and of the trained model in a state; empty where there is none."""
    size = record.about["sizes"][0]
    return record.body[:size], record.body[size:]


class Keys(Command):
    """States of keys, in the order of their names, after a given one; then a record "end" if these were the last."""

    alone = True

    def __init__(self, entry: Entry, after: str) -> None:
        self.entry, self._after = entry, after

    def execute(self, writer: Writer) -> bytes:
        self.entry.check_ready()
        log, after = writer.store.log, self._after
        content: list[bytes] = []
        while sum(len(part) for part in content) < BYTES:
            found = log.select("keyed", "model = ? and key > ? order by key limit 16", (self.entry.id, after))
            for _, _, key, seq, at, rows, body, meter in found:
                about = {"record": "key", "key": key, "event": seq, "at": at, "rows": rows, "meter": meter}
                content.append(Record(about, body).pack())
                after = key
            if not found:
                content.append(Record({"record": "end"}).pack())
                break
        return b"".join(content)


class Changes(Command):
    """The events of a model after one that the copy names by number and checksum; only those that are applied."""

    alone = True

    def __init__(self, entry: Entry, follower: str, after: int, mark: int) -> None:
        self.entry = entry
        self._follower, self._after, self._mark = follower, after, mark

    def execute(self, writer: Writer) -> bytes:
        entry, store = self.entry, writer.store
        entry.check_ready()
        if _checksum_of(store, entry, self._after) != self._mark:
            raise Refusal(GONE, f"event {self._after} is not in the log any more; begin with the state")
        entry.follow(self._follower, self._after)
        last = store.applied(entry)
        content: list[bytes] = []
        names = "seq, at, model, key, kind, body, previous, sum"
        rows = store.log.run(
            f"select {names} from event where model = ? and seq > ? and seq <= ? order by seq limit ?",
            (entry.id, self._after, last, EVENTS),
        )
        size = 0
        for row in rows:
            seq, at, _, key, kind, body, _, mark = row
            if seq in store.doomed or size > BYTES:
                break
            about = {"record": "event", "event": seq, "mark": mark, "at": at, "key": key, "kind": kind}
            content.append(Record(about, body).pack())
            size += len(content[-1])
        return b"".join(content)


def _checksum_of(store: Store, entry: Entry, seq: int) -> int | None:
    found = store.log.run("select sum from event where seq = ? and model = ?", (seq, entry.id)).fetchone()
    return None if found is None else int(found[0])
