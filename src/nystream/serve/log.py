"""The log: events, answers, snapshots and everything else that must survive, in one SQLite file and one thread.

WAL mode with synchronous=FULL: a transaction that was committed is on the disk. There is one connection, used by the
writer's thread alone (SQLite before 3.51.3 may corrupt the file when a write races a checkpoint of another connection).

Every row carries a checksum of its values. Every event names the event before it of the same model, so that a missing
one is noticed. The table `progress` says where these chains begin and end, and the witness file where they ended at the
last commit.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from sqlite3 import SQLITE_FULL
from typing import Any, NamedTuple

from nystream.serve.witness import DELETED, Witness

__all__ = ["TABLES", "Broken", "Damaged", "Full", "Log", "Position", "checksum", "is_disk_error", "is_full"]

VERSION = 1
"""Format of the log file; a server refuses a log of a later format."""
TABLES = {
    "model": ("id", "name", "config", "pattern", "form", "created"),
    "part": ("id", "model", "name", "champion", "config", "first"),
    "event": ("seq", "at", "model", "key", "kind", "body", "previous"),
    "answer": ("id", "key", "seq", "tick", "digest", "body"),
    "snapshot": (
        "id", "part", "seq", "at", "tick", "rows", "error", "kept", "file", "bytes", "crc", "meter", "versions"
    ),
    "keyed": ("id", "model", "key", "seq", "at", "rows", "body", "meter"),
    "waiting": ("id", "model", "key", "name", "tick", "body"),
    "source": ("id", "model", "key", "name", "position", "mark", "at"),
    "note": ("id", "at", "model", "kind", "body"),
    "progress": ("id", "model", "keyed", "last", "forgotten"),
    "mark": ("id", "acknowledged", "clock"),
    "quarantine": ("id", "model", "at", "reason"),
    "copied": ("id", "model", "key", "created", "event", "mark"),
}  # fmt: skip
"""Columns of each table; the first one is its number. Each table also has `sum`, the checksum of them all."""
_SCHEMA = """
create table if not exists model(id integer primary key autoincrement, name text not null unique, config text not null,
  pattern blob, form text, created real not null, sum integer not null);
create table if not exists part(id integer primary key autoincrement, model integer not null, name text not null,
  champion integer not null, config text not null, first integer not null, sum integer not null, unique(model, name));
create table if not exists event(seq integer primary key autoincrement, at real not null, model integer not null,
  key text, kind text not null, body blob not null, previous integer not null, sum integer not null);
create index if not exists event_of on event(model, key);
create table if not exists answer(id integer primary key autoincrement, key text not null unique, seq integer not null,
  tick real not null, digest blob not null, body blob, sum integer not null);
create index if not exists answer_of on answer(seq);
create table if not exists snapshot(id integer primary key autoincrement, part integer not null, seq integer not null,
  at real not null, tick real not null, rows integer not null, error real, kept integer not null, file text not null,
  bytes integer not null, crc integer not null, meter text not null, versions text not null, sum integer not null);
create index if not exists snapshot_of on snapshot(part);
create table if not exists keyed(id integer primary key autoincrement, model integer not null, key text not null,
  seq integer not null, at real not null, rows integer not null, body blob not null, meter text not null,
  sum integer not null, unique(model, key));
create table if not exists waiting(id integer primary key autoincrement, model integer not null, key text not null,
  name text not null, tick real not null, body blob not null, sum integer not null, unique(model, key, name));
create table if not exists source(id integer primary key autoincrement, model integer not null, key text not null,
  name text not null, position integer not null, mark text not null, at real not null, sum integer not null,
  unique(model, key, name));
create table if not exists note(id integer primary key autoincrement, at real not null, model integer not null,
  kind text not null, body text not null, sum integer not null);
create table if not exists progress(id integer primary key, model integer not null, keyed integer not null,
  last integer not null, forgotten integer not null, sum integer not null, unique(model, keyed));
create table if not exists mark(id integer primary key, acknowledged integer not null, clock real not null,
  sum integer not null);
create table if not exists quarantine(id integer primary key, model integer not null unique, at real not null,
  reason text not null, sum integer not null);
create table if not exists copied(id integer primary key, model integer not null, key text not null,
  created real not null, event integer not null, mark integer not null, sum integer not null, unique(model, key));
"""
_SET_PROGRESS = """insert into progress values(?, ?, ?, ?, ?, ?) on conflict(id) do update
  set last = excluded.last, forgotten = excluded.forgotten, sum = excluded.sum"""
_SET_MARK = """insert into mark values(?, ?, ?, ?) on conflict(id) do update
  set acknowledged = excluded.acknowledged, clock = excluded.clock, sum = excluded.sum"""
WAL_BYTES = 64 * 2**20
"""SQLite shortens its write-ahead log to this size after a checkpoint."""
AT_ONCE = (64, 32, 16, 8, 4, 2, 1)
"""Rows that one statement inserts: few sizes, so that SQLite compiles few statements."""
NOTES = 10_000
"""Notes kept: rollbacks, promotions, alarms."""


class Full(Exception):
    """There is no room for the transaction; nothing of it was written."""


class Broken(Exception):
    """The disk failed: nobody knows what is on it until the log is opened again."""


class Damaged(Exception):
    """Something on the disk is not what was written."""


class Position(NamedTuple):
    """How far a model is copied: when it was created, and the number and checksum of its last event."""

    created: float
    event: int
    mark: int


DISK_ERRORS = frozenset(
    {
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
    }
)
"""SQLite's error codes for a failing disk. Other codes are about one statement, and only that statement fails."""


def is_disk_error(error: BaseException) -> bool:
    """Return whether the disk, and not a request or a fault of ours, is the cause."""
    if isinstance(error, sqlite3.Error):
        return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in DISK_ERRORS
    return isinstance(error, Broken)


def is_full(error: BaseException) -> bool:
    """Return whether SQLite says that there is no room."""
    return isinstance(error, sqlite3.Error) and (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF == SQLITE_FULL


_DOUBLE = struct.Struct("<d")


def checksum(values: Iterable[Any]) -> int:
    """Return the CRC32 of values as SQLite gives them back, each with its type and length."""
    parts = []
    for value in values:
        if value is None:
            parts.append(b"n")
        elif isinstance(value, bytes):
            parts.append(b"b%d:" % len(value))
            parts.append(value)
        elif isinstance(value, str):
            text = value.encode()
            parts.append(b"s%d:" % len(text))
            parts.append(text)
        elif isinstance(value, float):
            parts.append(b"f" + _DOUBLE.pack(value + 0.0))  # SQLite has no negative zero
        else:
            parts.append(b"i%d:" % value)
    return zlib.crc32(b"".join(parts))


class Log:
    """The one connection. All its methods are called by one thread."""

    def __init__(self, folder: Path, *, synchronous: str = "FULL", most: int | None = None) -> None:
        self.path = folder / "log.db"
        self.db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, cached_statements=256)
        self.witness = Witness(folder)
        self._lanes: dict[tuple[int, int], tuple[int, int]] = {}
        """By model and whether it has a key: its last event, and the last one that was forgotten."""
        self._changed: dict[tuple[int, int], tuple[int, int] | None] = {}
        """Lanes that the open transaction changed, as they were before."""
        self.open_events: set[int] = set()
        """Events whose requests have no answer yet."""
        self.acknowledged = 0
        self._clock, self._started = 0.0, time.monotonic()
        self._new: dict[str, list[tuple[Any, ...]]] = {"event": [], "answer": []}
        """Rows of the open transaction that SQLite does not have yet: many rows in one statement take less time."""
        self.damage: list[str] = []
        """Sentences about rows that no model owns and that cannot be read."""
        self.commit_seconds = 0.0
        try:
            self._set_up(synchronous, most)
            self._read_state()
        except BaseException:  # while this connection holds its lock nobody could salvage the file
            self.db.close()
            raise

    def _set_up(self, synchronous: str, most: int | None) -> None:
        run = self.db.execute
        run("pragma locking_mode=exclusive")  # nobody else reads it, and no shared memory needs room on the disk
        if run("pragma journal_mode").fetchone()[0] != "wal":
            run("pragma journal_mode=wal")
        run(f"pragma synchronous={synchronous}")
        run("pragma wal_autocheckpoint=4000")
        run(f"pragma journal_size_limit={WAL_BYTES}")
        found = run("pragma user_version").fetchone()[0]
        if found > VERSION:
            raise ValueError(f"{self.path} has format {found}, this nystream reads up to {VERSION}: upgrade nystream")
        if found < VERSION:
            self.db.executescript(_SCHEMA)
            run(f"pragma user_version={VERSION}")
            run("pragma wal_checkpoint(truncate)")
        if most is not None:
            page = run("pragma page_size").fetchone()[0]
            run(f"pragma max_page_count={max(most // page, 16)}")

    def _read_state(self) -> None:
        for _, model, keyed, last, forgotten in self._readable("progress"):
            self._lanes[model, keyed] = (last, forgotten)
        for _, acknowledged, clock in self._readable("mark"):
            self.acknowledged, self._clock = acknowledged, clock
        found = self.db.execute("select seq from sqlite_sequence where name = 'event'").fetchone()
        newest = self.db.execute("select max(seq) from event").fetchone()[0]
        lasts = [last for last, _ in self._lanes.values()]
        self.seq: int = max([found[0] if found else 0, newest or 0, *lasts])
        """The number of the last event."""

    def _readable(self, table: str) -> list[tuple[Any, ...]]:
        good = []
        for row in self.db.execute(f"select {', '.join(TABLES[table])}, sum from {table}").fetchall():
            if checksum(row[:-1]) == row[-1]:
                good.append(row[:-1])
            else:
                self.damage.append(f"row {row[0]} of table {table} has a wrong checksum")
        return good

    @property
    def clock(self) -> float:
        """Seconds that servers of this folder have run. Jumps of the system's clock do not move it."""
        return self._clock + time.monotonic() - self._started

    # -- transactions --------------------------------------------------------------------------------------------------
    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all of the transaction or nothing; it is on the disk when the context ends.

        Raises Full, or Broken when the disk failed.
        """
        before, open_events = self.seq, set(self.open_events)
        self._changed = {}
        try:
            self.db.execute("begin immediate")
            yield
            self._write_state()
            began = time.perf_counter()
            self.db.execute("commit")
            self.commit_seconds = time.perf_counter() - began
        except BaseException as error:
            self.seq, self.open_events = before, open_events
            self._drop_new(dict.fromkeys(self._new, 0))
            self._restore_lanes(self._changed)
            if self.db.in_transaction:
                try:
                    self.db.execute("rollback")
                except sqlite3.Error as second:
                    raise Broken(f"{self.path}: {second}") from error
            if not isinstance(error, sqlite3.Error):
                raise
            if is_full(error):
                raise Full(str(error)) from None
            if is_disk_error(error):
                raise Broken(f"{self.path}: {error}") from error
            raise
        for model in {model for model, _ in self._changed}:
            self.witness.write(model, self.last_of(model))

    def _write_state(self) -> None:
        self._write_new()
        for lane in self._changed:
            last, forgotten = self._lanes[lane]
            row = (lane[0] * 2 + lane[1], *lane, last, forgotten)
            self.db.execute(_SET_PROGRESS, (*row, checksum(row)))
        self.acknowledged = max(self.acknowledged, min(self.open_events, default=self.seq + 1) - 1)
        mark = (1, self.acknowledged, self.clock)
        self.db.execute(_SET_MARK, (*mark, checksum(mark)))

    def _restore_lanes(self, before: dict[tuple[int, int], tuple[int, int] | None]) -> None:
        for lane, found in before.items():
            if found is None:
                self._lanes.pop(lane, None)
            else:
                self._lanes[lane] = found

    def _set_lane(self, lane: tuple[int, int], last: int, forgotten: int) -> None:
        self._changed.setdefault(lane, self._lanes.get(lane))
        self._lanes[lane] = (last, forgotten)

    def _write_new(self) -> None:
        """Give SQLite the new events and idempotency keys, some at a time."""
        for table, rows in self._new.items():
            place = 0
            while place < len(rows):
                count = next(size for size in AT_ONCE if size <= len(rows) - place)
                some = rows[place : place + count]
                marks = f"({', '.join('?' * len(some[0]))})"
                self.db.execute(
                    f"insert into {table} values{', '.join([marks] * count)}", list(chain.from_iterable(some))
                )
                place += count
            rows.clear()

    def _drop_new(self, counts: dict[str, int]) -> None:
        """Forget the rows after so many that SQLite does not have yet."""
        for name, count in counts.items():
            del self._new[name][count:]

    @contextmanager
    def savepoint(self, *, only_appends: bool = False) -> Iterator[None]:
        """Run one command of the open transaction: if it raises, nothing of it is written, the others are.

        A command that only calls `append` and `promise` needs no savepoint of SQLite.
        """
        before, changed = self.seq, {lane: self._lanes.get(lane) for lane in self._changed}
        if not only_appends:
            self._write_new()
            self.db.execute("savepoint command")
        counts = {name: len(rows) for name, rows in self._new.items()}
        try:
            yield
        except BaseException:
            self.open_events -= set(range(before + 1, self.seq + 1))
            self.seq = before
            self._drop_new(counts)
            new = {lane: found for lane, found in self._changed.items() if lane not in changed}
            self._restore_lanes({**changed, **new})
            for lane in new:
                del self._changed[lane]
            if not only_appends and self.db.in_transaction:  # a full disk has ended the transaction already
                self.db.execute("rollback to command")
                self.db.execute("release command")
            raise
        if not only_appends:
            self.db.execute("release command")

    # -- rows with checksums -------------------------------------------------------------------------------------------
    def insert(self, table: str, **values: Any) -> int:
        """Enter a row; its number."""
        columns = TABLES[table]
        id = self.db.execute(f"select coalesce(max({columns[0]}), 0) + 1 from {table}").fetchone()[0]
        last = self.db.execute("select seq from sqlite_sequence where name = ?", (table,)).fetchone()
        row = (max(id, last[0] + 1 if last else 1), *(values[name] for name in columns[1:]))
        marks = ", ".join("?" * (len(row) + 1))
        self.db.execute(f"insert into {table}({', '.join(columns)}, sum) values({marks})", (*row, checksum(row)))
        return int(row[0])

    def update(self, table: str, id: int, **changes: Any) -> None:
        """Change some values of a row, which must be as it was written."""
        columns = TABLES[table]
        (found,) = self.select(table, f"{columns[0]} = ?", (id,))
        row = tuple(changes.get(name, value) for name, value in zip(columns, found, strict=True))
        settings = ", ".join(f"{name} = ?" for name in (*columns[1:], "sum"))
        self.db.execute(f"update {table} set {settings} where {columns[0]} = ?", (*row[1:], checksum(row), id))

    def select(self, table: str, where: str = "true", values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return rows of a table in the order of its columns.

        Raises Damaged where one is not what was written.
        """
        self._write_new()
        statement = f"select {', '.join(TABLES[table])}, sum from {table} where {where}"
        found = self.db.execute(statement, values).fetchall()
        for row in found:
            check_row(table, row)
        return [row[:-1] for row in found]

    # -- events and their answers --------------------------------------------------------------------------------------
    def append(self, model: int, key: str | None, kind: str, body: bytes, at: float) -> int:
        """Append an event and return its number."""
        lane = (model, int(key is not None))
        last, forgotten = self._lanes.get(lane, (0, 0))
        row = (self.seq + 1, at, model, key, kind, body, last)
        self._new["event"].append((*row, checksum(row)))
        self.seq += 1
        self._set_lane(lane, self.seq, forgotten)
        self.open_events.add(self.seq)
        return self.seq

    def settle(self, seqs: Iterable[int]) -> None:
        """Note that the requests of these events have their answers."""
        self.open_events.difference_update(seqs)

    def last_of(self, model: int) -> int:
        """Return the last event of a model that the log has, or had before a snapshot covered it."""
        return max(self._lanes.get((model, lane), (0, 0))[0] for lane in (0, 1))

    def has_chain(self, model: int) -> bool:
        """Return whether the log knows where the events of a model begin and end."""
        return (model, 0) in self._lanes and (model, 1) in self._lanes

    def forgotten(self, model: int, *, keyed: bool) -> int:
        """Return the last event that was deleted because snapshots cover it."""
        return self._lanes.get((model, int(keyed)), (0, 0))[1]

    def events_of(self, model: int, after: int, most: int = 1000) -> list[tuple[Any, ...]]:
        """Return events of one model and its keys, in order."""
        return self.select("event", "model = ? and seq > ? order by seq limit ?", (model, after, most))

    def check_chain(self, model: int) -> None:
        """Raise Damaged where an event of a model is missing."""
        for keyed, there in ((0, "key is null"), (1, "key is not null")):
            last, forgotten = self._lanes.get((model, keyed), (0, 0))
            before = None
            found = self.db.execute(
                f"select seq, previous from event where model = ? and {there} order by seq", (model,)
            )
            for seq, previous in found:
                if previous > forgotten if before is None else previous != before:
                    raise Damaged(f"event {previous} is missing from the log")
                before = seq
            if (last > forgotten and before != last) or (before or 0) > last:
                raise Damaged(f"event {max(last, before or 0)} is missing from the log or from its list of events")

    def begin_chain(self, model: int, *, keyed: bool, forgotten: int) -> None:
        """Let the events of a model begin behind this one: a person gave up those that are missing."""
        last = self._lanes.get((model, int(keyed)), (0, 0))[0]
        self._set_lane((model, int(keyed)), max(last, forgotten), forgotten)

    def end_chain(self, model: int, *, keyed: bool, last: int) -> None:
        """Let the events of a model end with this one."""
        self._set_lane((model, int(keyed)), last, self.forgotten(model, keyed=keyed))

    def refuse(self, seq: int) -> None:
        """Empty an event that could not be applied and was never acknowledged; its key may be used again."""
        self._write_new()
        if self.db.execute("select 1 from event where seq = ?", (seq,)).fetchone():
            self.update("event", seq, kind="refused", body=b"")
        self.db.execute("delete from answer where seq = ?", (seq,))

    def forget(self, model: int, seq: int, *, keyed: bool) -> None:
        """Delete the events that snapshots cover."""
        self._write_new()
        lane = (model, int(keyed))
        last, forgotten = self._lanes.get(lane, (0, 0))
        some = "key is not null" if keyed else "key is null"
        newest = self.db.execute(
            f"select max(seq) from event where model = ? and {some} and seq <= ?", (model, seq)
        ).fetchone()[0]
        if newest is not None:
            self.db.execute(f"delete from event where model = ? and {some} and seq <= ?", (model, seq))
            self._set_lane(lane, last, max(forgotten, newest))

    def quarantine(self, model: int, reason: str) -> None:
        """Let no server serve this model, until `nystream repair` says otherwise."""
        row = (model, model, time.time(), reason)
        self.db.execute("insert or replace into quarantine values(?, ?, ?, ?, ?)", (*row, checksum(row)))

    def add_model(self, model: int) -> None:
        """Begin the chains of a new model."""
        for keyed in (0, 1):
            self._set_lane((model, keyed), 0, 0)

    def remove_model(self, model: int) -> None:
        """Delete everything about a model, in the open transaction."""
        self._write_new()
        parts = [row[0] for row in self.db.execute("select id from part where model = ?", (model,))]
        for part in parts:
            self.db.execute("delete from snapshot where part = ?", (part,))
        self.db.execute("delete from model where id = ?", (model,))
        for table in ("part", "event", "keyed", "waiting", "source", "note", "progress", "quarantine", "copied"):
            self.db.execute(f"delete from {table} where model = ?", (model,))

    def model_removed(self, model: int) -> None:
        """Note that the transaction that removed a model is on the disk."""
        for keyed in (0, 1):
            self._lanes.pop((model, keyed), None)
        self.witness.write(model, DELETED)

    def delete_key(self, model: int, key: str) -> None:
        """Delete the state, the open predictions and the rows of one key."""
        self._write_new()
        for (seq,) in self.db.execute("select seq from event where model = ? and key = ?", (model, key)).fetchall():
            self.update("event", seq, kind="deleted", body=b"")
        for table in ("keyed", "waiting", "source", "copied"):
            self.db.execute(f"delete from {table} where model = ? and key = ?", (model, key))

    def answered(self, key: str) -> tuple[int, bytes, bytes | None] | None:
        """Return number, digest and answer of the request with that idempotency key."""
        found = next((row for row in self._new["answer"] if row[1] == key), None)
        if found is None:
            found = self.db.execute(
                "select id, key, seq, tick, digest, body, sum from answer where key = ?", (key,)
            ).fetchone()
        if found is None:
            return None
        check_row("answer", found)
        return found[2], found[4], found[5]

    def promise(self, key: str, seq: int, digest: bytes) -> None:
        """Remember a key together with its event, whose number is also that of the row."""
        row = (seq, key, seq, self.clock, digest, None)
        self._new["answer"].append((*row, checksum(row)))

    def keep_answers(self, answers: dict[int, bytes]) -> None:
        for seq, body in answers.items():
            if self.db.execute("select 1 from answer where id = ?", (seq,)).fetchone():
                self.update("answer", seq, body=body)

    def unanswered(self) -> set[int]:
        """Return the events with a key whose answers were lost with the process; a replay makes them again."""
        return {row[0] for row in self.db.execute("select seq from answer where body is null")}

    def expire(self, answers_for: float, answers: int, waiting_for: float) -> int:
        """Forget old idempotency keys, and the oldest of more than so many, and predictions whose labels never came.

        Ages are seconds of running servers. How many of the predictions.
        """
        now, last = self.clock, "(select max(id) from answer)"
        newest = self.db.execute(
            "select id from answer where tick >= ? order by id limit 1", (now - answers_for,)
        ).fetchone()
        if newest is None:
            self.db.execute("delete from answer where body is not null")
        else:
            self.db.execute("delete from answer where id < ? and body is not null", (newest[0],))
        surplus = self.db.execute("select count(*) from answer").fetchone()[0] - answers
        if surplus > 0:
            place = self.db.execute("select id from answer order by id limit 1 offset ?", (surplus,)).fetchone()
            limit = place[0] if place else f"{last} + 1"
            self.db.execute(f"delete from answer where id < {limit} and body is not null")
        self.db.execute("delete from note where id <= (select max(id) from note) - ?", (NOTES,))
        return self.db.execute("delete from waiting where tick < ?", (now - waiting_for,)).rowcount

    # -- sources of rows, and how far each has been learnt -----------------------------------------------------------
    def position(self, model: int, key: str, source: str) -> tuple[int, str]:
        """Return how many rows of a source have been learnt, and the mark of the last of them."""
        found = self.select("source", "model = ? and key = ? and name = ?", (model, key, source))
        return (found[0][4], found[0][5]) if found else (0, "")

    def move(self, model: int, key: str, source: str, position: int, mark: str, at: float) -> None:
        """Note how many rows of a source have been learnt."""
        place = (model, key, source)
        found = self.db.execute("select id from source where model = ? and key = ? and name = ?", place).fetchone()
        if found is None:
            self.insert("source", model=model, key=key, name=source, position=position, mark=mark, at=at)
        else:
            self.update("source", found[0], position=position, mark=mark, at=at)

    # -- how far a replica has copied its primary ----------------------------------------------------------------------
    def copied(self, model: int, key: str) -> Position | None:
        """Return how far a model, or the state of one of its keys, is copied."""
        found = self.select("copied", "model = ? and key = ?", (model, key))
        return Position(*found[0][3:6]) if found else None

    def set_copied(self, model: int, key: str, position: Position | None) -> None:
        """Note how far a model, or the state of a key, is copied; None: it has to be copied anew."""
        found = self.db.execute("select id from copied where model = ? and key = ?", (model, key)).fetchone()
        if position is None:
            self.db.execute("delete from copied where model = ? and key = ?", (model, key))
            return
        created, event, mark = position
        if found is None:
            self.insert("copied", model=model, key=key, created=created, event=event, mark=mark)
        else:
            self.update("copied", found[0], created=created, event=event, mark=mark)

    # -- predictions that wait for their labels --------------------------------------------------------------------
    def remember(self, model: int, key: str, name: str, body: bytes) -> None:
        self.insert("waiting", model=model, key=key, name=name, tick=self.clock, body=body)

    def waits(self, model: int, key: str, name: str) -> bytes | None:
        found = self.select("waiting", "model = ? and key = ? and name = ?", (model, key, name))
        return found[0][5] if found else None

    def labelled(self, model: int, key: str, name: str) -> None:
        self.db.execute("delete from waiting where model = ? and key = ? and name = ?", (model, key, name))

    def drop_oldest_waiting(self, model: int, count: int) -> None:
        self.db.execute(
            "delete from waiting where id in (select id from waiting where model = ? order by id limit ?)",
            (model, count),
        )

    # -- the rest: small statements of rare commands -------------------------------------------------------------------
    def run(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Run one statement."""
        self._write_new()
        return self.db.execute(statement, values)

    def note(self, model: int, kind: str, body: str, at: float) -> None:
        """Write a note that people will want to read later: a rollback, a promotion, an alarm."""
        self.insert("note", at=at, model=model, kind=kind, body=body)

    def park(self, model: int, key: str, seq: int, at: float, rows: int, body: bytes, meter: str) -> None:
        """Keep the state of a keyed model, with which all its events up to seq are covered."""
        values = {"seq": seq, "at": at, "rows": rows, "body": body, "meter": meter}
        found = self.db.execute("select id from keyed where model = ? and key = ?", (model, key)).fetchone()
        if found is None:
            self.insert("keyed", model=model, key=key, **values)
        else:
            self.update("keyed", found[0], **values)

    def parked(self, model: int, key: str) -> tuple[int, bytes, str] | None:
        found = self.select("keyed", "model = ? and key = ?", (model, key))
        return (found[0][3], found[0][6], found[0][7]) if found else None

    def copy(self, path: Path) -> None:
        """Write the log as it is now to another file. Raises Full."""
        try:
            self.db.execute("vacuum into ?", (str(path),))
        except sqlite3.Error as error:
            path.unlink(missing_ok=True)
            raise Full(str(error)) from None

    @property
    def bytes(self) -> int:
        """Bytes of the log's files."""
        total = 0
        for suffix in ("", "-wal"):
            try:
                total += self.path.with_name(self.path.name + suffix).stat().st_size
            except OSError:
                continue
        return total

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # no room for it: the next start reads the WAL as it is
            self.db.execute("pragma wal_checkpoint(truncate)")
        self.db.close()
        self.witness.close()


def check_row(table: str, row: tuple[Any, ...]) -> None:
    """Raise Damaged where the checksum, the last value, is not that of the others."""
    if checksum(row[:-1]) != row[-1]:
        raise Damaged(f"row {row[0]} of table {table!r} of the log has a wrong checksum")
