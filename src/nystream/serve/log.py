"""The log: events, answers, snapshots and everything else that must survive, in one SQLite file and one thread.

WAL mode with synchronous=FULL: a transaction that was committed is on the disk. There is one connection, used by the
writer's thread alone (SQLite before 3.51.3 may corrupt the file when a write races a checkpoint of another connection).
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Broken", "Full", "Log", "is_disk_error"]

VERSION = 1
_TABLES = """
create table if not exists model(id integer primary key autoincrement, name text not null unique, config text not null,
  pattern blob, form text, created real not null);
create table if not exists part(id integer primary key autoincrement, model integer not null, name text not null,
  champion integer not null, pattern blob, config text not null, first integer not null, unique(model, name));
create table if not exists event(seq integer primary key autoincrement, at real not null, model integer not null,
  key text, kind text not null, body blob not null);
create index if not exists event_of on event(model, key);
create table if not exists answer(id integer primary key autoincrement, key text not null unique, seq integer not null,
  at real not null, digest blob not null, body blob);
create index if not exists answer_of on answer(seq);
create table if not exists snapshot(id integer primary key autoincrement, part integer not null, seq integer not null,
  at real not null, rows integer not null, error real, kept integer not null, file text not null,
  bytes integer not null, meter text not null, versions text not null);
create table if not exists keyed(id integer primary key autoincrement, model integer not null, key text not null,
  seq integer not null, at real not null, rows integer not null, body blob not null, meter text not null,
  unique(model, key));
create table if not exists waiting(id integer primary key autoincrement, model integer not null, key text not null,
  name text not null, at real not null, body blob not null, unique(model, key, name));
create table if not exists source(model integer not null, key text not null, name text not null,
  position integer not null, mark text not null, at real not null, primary key(model, key, name));
create table if not exists note(id integer primary key autoincrement, at real not null, model integer not null,
  kind text not null, body text not null);
"""
WAL_BYTES = 64 * 2**20
NOTES = 10_000
"""Notes kept: rollbacks, promotions, alarms."""


class Full(Exception):
    """There is no room for the transaction; nothing of it was written."""


class Broken(Exception):
    """The disk failed: nobody knows what is on it until the log is opened again."""


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
"""SQLite's codes that speak of the disk. Other codes speak of a statement, and end nothing but it."""


def is_disk_error(error: BaseException) -> bool:
    """Return whether the disk, and not a request or a fault of ours, is the cause."""
    if isinstance(error, sqlite3.Error):
        return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in DISK_ERRORS
    return isinstance(error, Broken)


class Log:
    """The one connection. All its methods are called by one thread."""

    def __init__(self, folder: Path, *, synchronous: str = "FULL", most: int | None = None) -> None:
        self.path = folder / "log.db"
        self.db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, cached_statements=256)
        run = self.db.execute
        run("pragma journal_mode=wal")
        run(f"pragma synchronous={synchronous}")
        run("pragma wal_autocheckpoint=4000")
        run(f"pragma journal_size_limit={WAL_BYTES}")
        found = run("pragma user_version").fetchone()[0]
        if found > VERSION:
            raise ValueError(f"{self.path} has format {found}, this nystream reads up to {VERSION}: upgrade nystream")
        self.db.executescript(_TABLES)
        run(f"pragma user_version={VERSION}")
        if most is not None:
            page = run("pragma page_size").fetchone()[0]
            run(f"pragma max_page_count={max(most // page, 16)}")
        last = run("select seq from sqlite_sequence where name = 'event'").fetchone()
        self.seq: int = last[0] if last else 0
        """The number of the last event."""
        self.commit_seconds = 0.0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, on the disk when it ends. Raises Full, or Broken when the disk failed."""
        before = self.seq
        try:
            self.db.execute("begin immediate")
            yield
            began = time.perf_counter()
            self.db.execute("commit")
            self.commit_seconds = time.perf_counter() - began
        except BaseException as error:
            self.seq = before
            if self.db.in_transaction:
                try:
                    self.db.execute("rollback")
                except sqlite3.Error as second:
                    raise Broken(f"{self.path}: {second}") from error
            if not isinstance(error, sqlite3.Error):
                raise
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
                raise Full(str(error)) from None
            if is_disk_error(error):
                raise Broken(f"{self.path}: {error}") from error
            raise

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """One command of the open transaction: if it raises, nothing of it is written, the others are."""
        before = self.seq
        self.db.execute("savepoint command")
        try:
            yield
        except BaseException:
            self.seq = before
            if self.db.in_transaction:  # a full disk has ended the transaction already
                self.db.execute("rollback to command")
                self.db.execute("release command")
            raise
        self.db.execute("release command")

    # -- events and their answers --------------------------------------------------------------------------------------
    def append(self, model: int, key: str | None, kind: str, body: bytes, at: float) -> int:
        """A new event; its number."""
        self.db.execute("insert into event values(?, ?, ?, ?, ?, ?)", (self.seq + 1, at, model, key, kind, body))
        self.seq += 1
        return self.seq

    def events(self, after: int = 0) -> Iterator[tuple[int, float, int, str | None, str, bytes]]:
        """Events in order."""
        return self.db.execute("select seq, at, model, key, kind, body from event where seq > ? order by seq", (after,))

    def events_of(self, model: int, key: str | None, after: int) -> list[tuple[int, float, str, bytes]]:
        """Events of one model, or of one key of it, in order."""
        return self.db.execute(
            "select seq, at, kind, body from event where model = ? and key is ? and seq > ? order by seq",
            (model, key, after),
        ).fetchall()

    def drop(self, seq: int) -> None:
        """Take back an event that could not be applied and was never acknowledged, and its key."""
        self.db.execute("delete from event where seq = ?", (seq,))
        self.db.execute("delete from answer where seq = ?", (seq,))

    def forget(self, model: int, seq: int, *, keyed: bool) -> None:
        """Delete the events that snapshots cover."""
        some = "key is not null" if keyed else "key is null"
        self.db.execute(f"delete from event where model = ? and {some} and seq <= ?", (model, seq))

    def answered(self, key: str) -> tuple[int, bytes, bytes | None] | None:
        """Number, digest and answer of the request with that idempotency key."""
        return self.db.execute("select seq, digest, body from answer where key = ?", (key,)).fetchone()

    def promise(self, key: str, seq: int, at: float, digest: bytes) -> None:
        """Remember a key together with its event."""
        self.db.execute("insert into answer(key, seq, at, digest) values(?, ?, ?, ?)", (key, seq, at, digest))

    def keep_answers(self, answers: dict[int, bytes]) -> None:
        self.db.executemany("update answer set body = ? where seq = ?", [(body, seq) for seq, body in answers.items()])

    def unanswered(self) -> set[int]:
        """Events with a key whose answers were lost with the process; a replay makes them again."""
        return {row[0] for row in self.db.execute("select seq from answer where body is null")}

    def expire(self, answers_before: float, answers: int, waiting_before: float) -> int:
        """Forget old idempotency keys, and the oldest of more than so many, and predictions whose labels never came.

        How many of the latter.
        """
        newest = self.db.execute(
            "select id from answer where at >= ? order by id limit 1", (answers_before,)
        ).fetchone()
        if newest is None:
            self.db.execute("delete from answer where at < ? and body is not null", (answers_before,))
        else:
            self.db.execute("delete from answer where id < ? and body is not null", (newest[0],))
        last = "(select max(id) from answer)"
        self.db.execute(f"delete from answer where id <= {last} - ? and body is not null", (answers,))
        self.db.execute("delete from note where id <= (select max(id) from note) - ?", (NOTES,))
        return self.db.execute("delete from waiting where at < ?", (waiting_before,)).rowcount

    # -- sources of rows, and how far each has been learnt -----------------------------------------------------------
    def position(self, model: int, key: str, source: str) -> tuple[int, str]:
        """Return how many rows of a source have been learnt, and the mark of the last of them."""
        found = self.db.execute(
            "select position, mark from source where model = ? and key = ? and name = ?", (model, key, source)
        ).fetchone()
        return found or (0, "")

    def move(self, model: int, key: str, source: str, position: int, mark: str, at: float) -> None:
        """Note how many rows of a source have been learnt."""
        self.db.execute(
            "insert into source values(?, ?, ?, ?, ?, ?) on conflict(model, key, name) "
            "do update set position = excluded.position, mark = excluded.mark, at = excluded.at",
            (model, key, source, position, mark, at),
        )

    # -- predictions that wait for their labels --------------------------------------------------------------------
    def remember(self, model: int, key: str, name: str, at: float, body: bytes) -> None:
        self.db.execute(
            "insert into waiting(model, key, name, at, body) values(?, ?, ?, ?, ?)", (model, key, name, at, body)
        )

    def waits(self, model: int, key: str, name: str) -> bytes | None:
        found = self.db.execute(
            "select body from waiting where model = ? and key = ? and name = ?", (model, key, name)
        ).fetchone()
        return found and found[0]

    def labelled(self, model: int, key: str, name: str) -> None:
        self.db.execute("delete from waiting where model = ? and key = ? and name = ?", (model, key, name))

    def drop_oldest_waiting(self, model: int, count: int) -> None:
        self.db.execute(
            "delete from waiting where id in (select id from waiting where model = ? order by id limit ?)",
            (model, count),
        )

    def waiting_counts(self) -> dict[int, int]:
        return dict(self.db.execute("select model, count(*) from waiting group by model"))

    # -- the rest: small statements of rare commands -------------------------------------------------------------------
    def run(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """One statement."""
        return self.db.execute(statement, values)

    def note(self, model: int, kind: str, body: str, at: float) -> None:
        """Something that people will want to know later: a rollback, a promotion, an alarm."""
        self.db.execute("insert into note(at, model, kind, body) values(?, ?, ?, ?)", (at, model, kind, body))

    def park(self, model: int, key: str, seq: int, at: float, rows: int, body: bytes, meter: str) -> None:
        """Keep the state of a keyed model, with which all its events up to seq are covered."""
        self.db.execute(
            "insert into keyed(model, key, seq, at, rows, body, meter) values(?, ?, ?, ?, ?, ?, ?) "
            "on conflict(model, key) do update set seq = excluded.seq, at = excluded.at, rows = excluded.rows, "
            "body = excluded.body, meter = excluded.meter",
            (model, key, seq, at, rows, body, meter),
        )

    def parked(self, model: int, key: str) -> tuple[int, bytes, str] | None:
        return self.db.execute(
            "select seq, body, meter from keyed where model = ? and key = ?", (model, key)
        ).fetchone()

    def copy(self, path: Path) -> None:
        """The log as it is now, in another file. Raises Full."""
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
