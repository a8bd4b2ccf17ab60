"""Bring quarantined models back where a person accepts what was lost. Whatever is taken out is kept in `lost`."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from nystream.serve.folder import lock_all
from nystream.serve.log import TABLES, Damaged, checksum
from nystream.serve.models import QUARANTINED, READY, Entry
from nystream.serve.recovery import recovered, restore
from nystream.serve.salvage import close_log
from nystream.serve.snapshots import write_durably
from nystream.serve.store import Store
from nystream.serve.witness import DELETED

__all__ = ["repair"]


def repair(folder: Path, confirm: Callable[[str], bool], say: Callable[[str], None]) -> int:
    """Offer a way out for each quarantined model. Return how many models stay quarantined.

    `confirm` is asked before anything is given up, and `say` is told what was done.
    """
    with lock_all(folder) as places:
        return sum(_repair_log(place, confirm, say) for place in places)


def _repair_log(folder: Path, confirm: Callable[[str], bool], say: Callable[[str], None]) -> int:
    """Repair the models of one log; return how many stay quarantined."""
    with recovered(folder, lambda log: close_log(log, folder)) as store:
        for finding in store.findings:
            say(finding)
        left = 0
        for entry in [entry for entry in store.models if entry.state == QUARANTINED]:
            left += not _mend(store, entry, confirm, say)
        with store.log.transaction():
            store.write_pending(time.time())
        store.pending_written()
        if not left:
            _accept_witness(store)
        return left


def _accept_witness(store: Store) -> None:
    """Make the witness agree with the log, which is whole, or was accepted as it is."""
    last = {entry.id: store.log.last_of(entry.id) for entry in store.models}
    gone = {model: DELETED for model in store.log.witness.seen if model not in last}
    store.log.witness.reset({**last, **gone})


def _mend(store: Store, entry: Entry, confirm: Callable[[str], bool], say: Callable[[str], None]) -> bool:
    say(f"model {entry.name!r} is quarantined: {entry.reason}")
    row = store.log.run("select id from model where id = ?", (entry.id,)).fetchone()
    if row is None or _is_damaged(store, "model", entry.id):
        if not confirm(f"Model {entry.name!r} cannot be brought back. Move what is left of it to lost/ and forget it?"):
            return False
        _remove(store, entry)
        say(f"model {entry.name!r} was taken out; what was left of it is in {store.lost}")
        return True
    if not confirm(f"Serve model {entry.name!r} from the snapshots and events that are left, and give up the rest?"):
        return False
    given_up = _accept(store, entry)
    if entry.state != READY:
        say(f"model {entry.name!r} stays quarantined: {entry.reason}")
        return False
    rows = entry.champion.model.n_seen if entry.champion.model is not None else 0
    say(f"model {entry.name!r} is served again, with {rows} rows; {given_up} damaged pieces are in {store.lost}")
    return True


def _is_damaged(store: Store, table: str, id: int) -> bool:
    try:
        store.log.select(table, f"{TABLES[table][0]} = ?", (id,))
    except Damaged:
        return True
    return False


def _remove(store: Store, entry: Entry) -> None:
    log = store.log
    rows = [("model", row) for row in log.run("select * from model where id = ?", (entry.id,)).fetchall()]
    for table in ("part", "event", "keyed", "waiting", "note"):
        rows += [(table, row) for row in log.run(f"select * from {table} where model = ?", (entry.id,)).fetchall()]
    parts = [row[0] for row in log.run("select id from part where model = ?", (entry.id,))]
    files = [row[0] for part in parts for row in log.run("select file from snapshot where part = ?", (part,))]
    _dump(store, entry, rows)
    with log.transaction():
        log.remove_model(entry.id)
    log.model_removed(entry.id)
    store.models.remove(entry)
    for file in files:
        if (store.files / file).exists():
            store.set_aside(store.files / file)


def _accept(store: Store, entry: Entry) -> int:
    """Take out what is damaged, join what is left, and bring the model back; how many rows and files were taken out."""
    log = store.log
    bad = _damaged_rows(store, entry)
    count = len(bad)
    _dump(store, entry, bad)
    with log.transaction():
        for table, row in bad:
            log.run(f"delete from {table} where {TABLES[table][0]} = ?", (row[0],))
        count += _choose_snapshots(store, entry)
        _join_events(store, entry)
        log.run("delete from quarantine where model = ?", (entry.id,))
    log.witness.seen.pop(entry.id, None)
    log.witness.write(entry.id, log.last_of(entry.id))
    tried = log.run("select count(*) from event where model = ?", (entry.id,)).fetchone()[0] + 1
    for _ in range(tried):
        entry.state, entry.replayed = READY, 0
        restore(store, entry, log.seq + 1)
        if entry.state == READY:
            break
        seq = entry.unrepeatable
        found = [] if seq is None else log.run("select * from event where seq = ?", (seq,)).fetchall()
        if not found:
            break
        _dump(store, entry, [("event", found[0])])
        with log.transaction():
            log.refuse(found[0][0])
        count += 1
    if count:
        with log.transaction():
            log.append(entry.id, None, "repaired", b"", time.time())  # copies elsewhere begin anew
    return count


def _damaged_rows(store: Store, entry: Entry) -> list[tuple[str, Any]]:
    """Return the rows of a model whose checksums are wrong, but for those that say what the model is."""
    owned = [table for table in TABLES if "model" in TABLES[table] and table not in ("quarantine", "progress", "part")]
    parts = "select id from part where model = ?"
    found: list[tuple[str, Any]] = []
    for table, where in [*((table, "model = ?") for table in owned), ("snapshot", f"part in ({parts})")]:
        names = ", ".join((*TABLES[table], "sum"))
        rows = store.log.run(f"select {names} from {table} where {where}", (entry.id,)).fetchall()
        found += [(table, row) for row in rows if checksum(row[:-1]) != row[-1]]
    return found


def _choose_snapshots(store: Store, entry: Entry) -> int:
    """Take out snapshots that cannot be used; let each part begin where the best that is left, or nothing, allows."""
    log, taken, begins = store.log, 0, []
    for part, _, _, _, _, first in log.select("part", "model = ?", (entry.id,)):
        best = None
        for row in log.select("snapshot", "part = ? order by seq desc, id desc", (part,)):
            try:
                if row[2] > log.seq:
                    raise Damaged("newer than the log")
                store.read_snapshot(row[8], row[9], row[10])
                best = row[2] if best is None else best
            except Damaged:
                log.run("delete from snapshot where id = ?", (row[0],))
                if (store.files / row[8]).exists():
                    store.set_aside(store.files / row[8])
                taken += 1
        if best is None:
            log.update("part", part, first=min(first, log.seq))
            best = min(first, log.seq)
        begins.append(best)
    for keyed, begin in ((0, min(begins, default=0)), (1, log.forgotten(entry.id, keyed=True))):
        log.begin_chain(entry.id, keyed=bool(keyed), forgotten=begin)
    return taken


def _join_events(store: Store, entry: Entry) -> None:
    """Let each event name the one before it that is left."""
    log = store.log
    for keyed, there in ((False, "key is null"), (True, "key is not null")):
        before = log.forgotten(entry.id, keyed=keyed)
        last = before
        for (seq,) in log.run(
            f"select seq from event where model = ? and {there} order by seq", (entry.id,)
        ).fetchall():
            log.update("event", seq, previous=min(before, seq - 1) if last == before else last)
            last = seq
        log.end_chain(entry.id, keyed=keyed, last=last)


def _dump(store: Store, entry: Entry, rows: list[tuple[str, Any]]) -> None:
    """Write rows that are taken out into `lost`."""
    if not rows:
        return
    store.lost.mkdir(mode=0o700, exist_ok=True)
    path = store.lost / f"rows-{entry.name}-{time.time_ns():x}.json"
    found = [{"table": table, "values": [_plain(value) for value in row]} for table, row in rows]
    write_durably(path, orjson.dumps(found))
    os.chmod(path, 0o600)


def _plain(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
