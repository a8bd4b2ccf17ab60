"""Damage of the log as a whole: found before and after it is opened, and all rows that can be read carried over.

Nothing is deleted: the damaged files stay in `lost`. Rows are believed by their own checksums. A model of which a row
is missing is quarantined in the new log, until `nystream repair` says otherwise.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nystream.serve.log import _SCHEMA, TABLES, VERSION, Log, checksum
from nystream.serve.snapshots import sync
from nystream.serve.wal import mend_wal, read_wal
from nystream.serve.witness import Witness

if TYPE_CHECKING:
    from nystream.serve.store import Store

__all__ = [
    "check_log",
    "close_log",
    "is_closed",
    "keep_head",
    "list_damaged_rows",
    "list_faults",
    "prepare",
    "salvage",
    "was_closed",
]

HEAD = 4096
"""Bytes of the first page, which says where everything else is; `log.head` holds a copy of it."""
_OWNERS = {
    "model": "select id, id from model indexed by sqlite_autoindex_model_1",
    "part": "select id, model from part indexed by sqlite_autoindex_part_1",
    "event": "select seq, model from event indexed by event_of",
    "snapshot": "select id, part from snapshot indexed by snapshot_of",
    "keyed": "select id, model from keyed indexed by sqlite_autoindex_keyed_1",
    "waiting": "select id, model from waiting indexed by sqlite_autoindex_waiting_1",
    "source": "select id, model from source indexed by sqlite_autoindex_source_1",
    "progress": "select id, model from progress indexed by sqlite_autoindex_progress_1",
}
"""Queries that list the rows of each table from its index, whose pages may be intact where those of the table are
not."""
STEPS = 45
"""Doublings of the step over rows that cannot be read."""


def prepare(folder: Path) -> list[str]:
    """Repair the files before the log is opened, and return the findings.

    Finish a salvage, mend a WAL that SQLite would cut off, and mend the first page.
    """
    findings: list[str] = []
    log, wal = folder / "log.db", folder / "log.db-wal"
    ready = folder / "log.ready"
    if ready.exists():
        _take_over(folder)
    if not log.exists():
        if wal.exists():
            raise ValueError(f"{log} is missing, and {wal} is there: restore a backup (see docs, Serving)")
        return findings
    state = read_wal(wal)
    if not state.is_whole and not (state.may_be_torn and not _holds_acknowledged(folder)):
        kept = set_aside_copies(folder)
        mend_wal(wal, state)
        what = "its header" if state.header_damaged else f"frame {state.damaged[0]}"
        findings.append(f"{wal} was damaged in {what}, and was mended; a copy is in {kept}")
    elif state.damaged:
        findings.append(f"{wal} ends in a transaction that was never acknowledged (frame {state.damaged[0]}): left out")
    findings += _mend_head(folder)
    return findings


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("pragma locking_mode=exclusive")
    return db


def _holds_acknowledged(folder: Path) -> bool:
    """Return whether the witness knows of events that SQLite would leave out with the damaged end of the WAL."""
    seen = [seq for seq in Witness(folder).seen.values() if seq > 0]
    place = folder / f"look-{time.time_ns():x}"
    place.mkdir()
    try:
        for name in ("log.db", "log.db-wal"):
            shutil.copy(folder / name, place / name)
        db = _connect(place / "log.db")
        try:
            last = db.execute("select max(last) from progress").fetchone()[0] or 0
        except sqlite3.Error:
            return True
        finally:
            db.close()
    finally:
        shutil.rmtree(place)
    return max(seen, default=0) > last


def set_aside_copies(folder: Path) -> Path:
    """Copy the log as it is into `lost`."""
    place = folder / "lost" / time.strftime("log-%Y%m%dT%H%M%S", time.gmtime())
    while place.exists():
        place = place.with_name(place.name + "+")
    place.mkdir(mode=0o700, parents=True)
    for name in ("log.db", "log.db-wal", "witness"):
        if (folder / name).exists():
            shutil.copy2(folder / name, place / name)
    sync(place)
    return place


def _mend_head(folder: Path) -> list[str]:
    """Put the first page back where it is damaged and a copy of it is whole."""
    path, copy = folder / "log.db", folder / "log.head"
    try:
        saved = copy.read_bytes()
        with open(path, "rb") as file:
            page = file.read(HEAD)
    except OSError:
        return []
    if len(saved) != HEAD + 4 or zlib.crc32(saved[:HEAD]) != struct.unpack("<I", saved[HEAD:])[0] or not page:
        return []
    saved = saved[:HEAD]
    if page[:24] == saved[:24] and page[40:92] == saved[40:92] and page[100:] == saved[100:]:
        return []
    kept = set_aside_copies(folder)
    mended = bytearray(saved)
    mended[24:32] = struct.pack(">II", 1, 0)  # SQLite takes the number of pages from the size of the file
    mended[92:96] = struct.pack(">I", 0)
    mended[32:40] = bytes(8)
    with open(path, "r+b") as file:
        file.write(mended)
    return [f"the first page of {path} was damaged, and was mended; a copy is in {kept}"]


def keep_head(folder: Path) -> None:
    """Keep a copy of the first page of a log that is whole and has no WAL."""
    try:
        with open(folder / "log.db", "rb") as file:
            page = file.read(HEAD)
        content = page + struct.pack("<I", zlib.crc32(page))
        path = folder / "log.head"
        if len(page) == HEAD and (not path.exists() or path.read_bytes() != content):
            temporary = path.with_name("log.head.tmp")
            temporary.write_bytes(content)
            temporary.chmod(0o600)
            os.replace(temporary, path)
    except OSError:  # no room: the last copy stays
        return


# -- whether the log is what was left behind ---------------------------------------------------------------------------
def was_closed(folder: Path) -> bool | None:
    """Return `is_closed`, and remove the mark of it, since a server writes from now on."""
    found = is_closed(folder)
    (folder / "closed").unlink(missing_ok=True)
    return found


def is_closed(folder: Path) -> bool | None:
    """Return whether the log is exactly what the last server left behind; None where that one did not end by itself."""
    try:
        size, crc = struct.unpack("<qI", (folder / "closed").read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, struct.error):
        return False
    return (size, crc) == _digest(folder)


def close_log(log: Log, folder: Path) -> None:
    """Close the log and leave a checksum of all of it."""
    log.close()
    if not (folder / "log.db-wal").exists():
        with contextlib.suppress(OSError):
            path = folder / "closed"
            path.write_bytes(struct.pack("<qI", *_digest(folder)))
            path.chmod(0o600)
        keep_head(folder)


def _digest(folder: Path) -> tuple[int, int]:
    size, crc = 0, 0
    with open(folder / "log.db", "rb") as file:
        while part := file.read(2**20):
            size, crc = size + len(part), zlib.crc32(part, crc)
    wal = folder / "log.db-wal"
    return (size, crc) if not wal.exists() or not wal.stat().st_size else (-1, 0)


def check_log(store: Store) -> list[str]:
    """Check the structure of the log, unless it is what the last server left; salvage it where it is damaged."""
    if store.is_clean:
        return []
    found = list_faults(store.log.db)
    if not found:
        if store.is_clean is False:
            return [f"{store.log.path} has changed since the last server ended", *quarantine_damaged_rows(store.log)]
        return []
    store.log.db.close()
    store.log.witness.close()
    findings = salvage(store.folder, found[0])
    store.open_log()
    return findings


def list_damaged_rows(log: Log) -> list[tuple[str, int, int | None]]:
    """List all rows whose checksums are wrong: table, number, and the model that the row belongs to, if any."""
    found: list[tuple[str, int, int | None]] = []
    owners = dict(log.run("select id, model from part").fetchall())
    for table, columns in TABLES.items():
        for row in log.run(f"select {', '.join(columns)}, sum from {table}"):
            if checksum(row[:-1]) == row[-1]:
                continue
            owner = row[columns.index("model")] if "model" in columns else row[0] if table == "model" else None
            if table == "snapshot":
                owner = owners.get(row[1])
            found.append((table, row[0], owner if table != "note" else None))
    return found


def quarantine_damaged_rows(log: Log) -> list[str]:
    """Quarantine the owners of damaged rows for good: until `nystream repair` says otherwise."""
    findings = []
    with log.transaction():
        for table, id, owner in list_damaged_rows(log):
            reason = f"row {id} of table {table!r} of the log has a wrong checksum"
            findings.append(reason)
            if owner is not None:
                log.quarantine(owner, reason)
    return findings


def list_faults(db: sqlite3.Connection) -> list[str]:
    """List what SQLite finds wrong with the structure of the log."""
    try:
        rows = [row[0] for row in db.execute("pragma integrity_check(20)").fetchall()]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if rows == ["ok"] else [" ".join(str(row).split()) for row in rows]


# -- carrying over what can be read ------------------------------------------------------------------------------------
def salvage(folder: Path, fault: str) -> list[str]:
    """Make a new log of all rows that can be read; the damaged one is kept in `lost`."""
    kept = set_aside_copies(folder)
    new = folder / "log.new"
    new.unlink(missing_ok=True)
    source, target = _connect(folder / "log.db"), sqlite3.connect(new, isolation_level=None)
    source.text_factory = bytes  # text that is no UTF-8 any more
    lost: dict[int, str] = {}
    findings = [f"{folder / 'log.db'} is damaged ({fault}); what can be read was carried over, the rest is in {kept}"]
    try:
        target.executescript(_SCHEMA)
        target.execute(f"pragma user_version={VERSION}")
        target.execute("begin")
        owners: dict[int, int] = {}
        everybody: str | None = None
        for table in TABLES:
            missing, unknown, bad = _carry(source, target, table)
            if table == "part":
                owners = dict(target.execute("select id, model from part").fetchall())
            for id, owner in missing.items():
                model = owners.get(owner, 0) if table == "snapshot" else owner
                lost.setdefault(model, f"row {id} of table {table!r} of the log cannot be read")
            if unknown and table in _OWNERS:
                everybody = f"rows of table {table!r} of the log cannot be read, and nobody knows whose they were"
            if (bad or unknown or missing) and table not in _OWNERS:
                findings.append(f"{bad + len(missing) or 'some'} rows of table {table!r} of the log cannot be read")
        for model, _ in target.execute("select id, name from model").fetchall():
            reason = lost.get(model) or everybody
            if reason is not None:
                _enter(target, "quarantine", (model, model, time.time(), reason), replace=True)
        _copy_sequence(source, target, folder)
        target.execute("commit")
    finally:
        source.close()
        target.close()
    with open(new, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(new, folder / "log.ready")
    sync(folder)
    _take_over(folder)
    return findings


def _take_over(folder: Path) -> None:
    (folder / "log.db-wal").unlink(missing_ok=True)
    (folder / "log.head").unlink(missing_ok=True)
    os.replace(folder / "log.ready", folder / "log.db")
    sync(folder)


def _carry(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> tuple[dict[int, int], bool, int]:
    """Carry a table over: rows that are missing with their owners, whether others may be, and rows that are wrong."""
    columns, there, failed, bad = TABLES[table], set(), False, 0
    for row in _rows(source, table):
        if row is None:
            failed = True
            continue
        values = tuple(_text(table, k, value) for k, value in enumerate(row))
        if checksum(values[:-1]) != values[-1] or len(values) != len(columns) + 1:
            bad += 1
            continue
        there.add(values[0])
        _enter(target, table, values[:-1], replace=True)
    if table not in _OWNERS:
        return {}, failed, bad
    try:
        expected = dict(source.execute(_OWNERS[table]).fetchall())
    except sqlite3.DatabaseError:
        return {}, failed or bool(bad), bad
    return {id: owner for id, owner in expected.items() if id not in there}, False, bad


def _text(table: str, k: int, value: Any) -> Any:
    """Return a value as text, since columns of text come as bytes here."""
    names = (*TABLES[table], "sum")
    blobs = {("model", "pattern"), ("event", "body"), ("answer", "digest"), ("answer", "body"), ("keyed", "body")}
    blobs.add(("waiting", "body"))
    if isinstance(value, bytes) and (table, names[k]) not in blobs:
        return value.decode("utf-8", "replace")
    return value


def _rows(db: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...] | None]:
    """Yield all rows that can be read, in order; None where some cannot."""
    id, names = TABLES[table][0], ", ".join((*TABLES[table], "sum"))
    last, step = -1, 0
    while step <= STEPS:
        skipped = last + (2**step if step else 0)
        try:
            for row in db.execute(f"select {names} from {table} where {id} > ? order by {id}", (skipped,)):
                last, step = row[0], 0
                yield row
            return
        except sqlite3.DatabaseError:
            if not step:
                yield None
            step += 1


def _enter(db: sqlite3.Connection, table: str, row: tuple[Any, ...], *, replace: bool = False) -> None:
    marks = ", ".join("?" * (len(row) + 1))
    verb = "insert or replace" if replace else "insert"
    db.execute(f"{verb} into {table}({', '.join(TABLES[table])}, sum) values({marks})", (*row, checksum(row)))


def _copy_sequence(source: sqlite3.Connection, target: sqlite3.Connection, folder: Path) -> None:
    """Copy the counters, so that no number is given twice, not even one whose row was lost."""
    highest = {"model": max(Witness(folder).seen, default=0)}
    with contextlib.suppress(sqlite3.DatabaseError):
        for name, seq in source.execute("select name, seq from sqlite_sequence").fetchall():
            highest[name.decode() if isinstance(name, bytes) else name] = seq
    for name, seq in highest.items():
        found = target.execute("select seq from sqlite_sequence where name = ?", (name,)).fetchone()
        if found is None and name in TABLES:
            target.execute("insert into sqlite_sequence(name, seq) values(?, ?)", (name, seq))
        elif found is not None:
            target.execute("update sqlite_sequence set seq = ? where name = ?", (max(seq, found[0]), name))
