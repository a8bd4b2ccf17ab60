"""Which worker has which model, and how models move when the number of workers changes.

The worker of a model follows from the model's name alone. Each worker has a folder of its own, `DIR/workers/K`, with a
log of its own. The file `DIR/workers/count` says for how many workers the models are placed. It is deleted before
models move and written after the last one has moved, so that a start after a crash finishes the work.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from nystream.serve.admin import delete_model
from nystream.serve.checkpoints import Checkpoints
from nystream.serve.folder import FolderLock, worker_folder
from nystream.serve.log import TABLES, Log
from nystream.serve.models import QUARANTINED, Entry
from nystream.serve.recovery import recovered
from nystream.serve.salvage import close_log
from nystream.serve.snapshots import sync, write_durably
from nystream.serve.store import Store

__all__ = ["LOCK_SECONDS", "choose_worker", "place_models"]

logger = logging.getLogger("nystream.serve")
LOCK_SECONDS = 30.0
"""Time that a worker whose front was killed may take to end."""
LOG_FILES = ("log.db", "log.db-wal", "log.head", "witness", "closed", "snapshots")


@lru_cache(maxsize=10_000)
def choose_worker(name: str, count: int) -> int:
    """Return the number of the worker that has a model: the one with the highest hash of its number and the name.

    This is rendezvous hashing: with one worker more, models move to the new worker and nowhere else.
    """
    return max(range(count), key=lambda k: hashlib.blake2b(f"{k}/{name}".encode(), digest_size=8).digest())


def place_models(folder: Path, count: int) -> int:
    """Move every model to the folder of its worker; return how many moved. The folder must be locked."""
    place = folder / "workers"
    mark = place / "count"
    is_plain = (folder / "log.db").exists()
    if not is_plain and _read_count(mark) == count:
        return 0
    place.mkdir(mode=0o700, exist_ok=True)
    mark.unlink(missing_ok=True)
    sync(place)
    used = sorted(path for path in place.iterdir() if path.name.isdigit() and (path / "log.db").exists())
    plain = [folder] if is_plain else []
    with ExitStack() as stack:
        for path in used:  # a worker of a front that was killed ends by itself, a moment later
            stack.callback(FolderLock(path, wait=LOCK_SECONDS).release)
        moved = sum(_move_out(source, folder, count) for source in plain + used)
        for source in plain + [path for path in used if int(path.name) >= count]:
            _set_log_aside(source, folder / "lost")
    write_durably(mark, f"{count}\n".encode())
    if moved:
        logger.info("%d models moved to the folders of %d workers", moved, count)
    return moved


def _read_count(mark: Path) -> int | None:
    try:
        return int(mark.read_text())
    except (OSError, ValueError):
        return None


def _move_out(source: Path, folder: Path, count: int) -> int:
    """Move the models of one folder that belong to workers with other folders."""
    moved = 0
    with recovered(source, partial(close_log, folder=source)) as store:
        leaving: dict[Path, list[Entry]] = {}
        for entry in store.models:
            target = worker_folder(folder, choose_worker(entry.name, count))
            if target != source:
                leaving.setdefault(target, []).append(entry)
        _save(store, [entry for entries in leaving.values() for entry in entries])
        for target, entries in leaving.items():
            target.mkdir(mode=0o700, exist_ok=True)
            with recovered(target, partial(close_log, folder=target)) as other:
                with other.log.transaction():
                    _copy_answers(store.log, other.log)
                for entry in entries:
                    _move(store, other, entry)
                    moved += 1
    return moved


def _save(store: Store, entries: list[Entry]) -> None:
    """Take snapshots that cover all events of these models."""
    checkpoints = Checkpoints(store, None)
    for entry in entries:
        if entry.state == QUARANTINED:
            raise ValueError(
                f"model {entry.name!r} in {store.folder} is quarantined and cannot move to another worker: "
                f"{entry.reason}; run `nystream repair`, or start with as many workers as before"
            )
        checkpoints.save(entry, at_once=True)


def _move(source: Store, target: Store, entry: Entry) -> None:
    """Copy a model that snapshots cover into another log with one transaction; then delete it from its own."""
    there = target.models.by_name.get(entry.name)
    if there is None:
        _copy(source, target, entry)
    elif there.created != entry.created:
        raise ValueError(f"there is a model {entry.name!r} in {source.folder} and another one in {target.folder}")
    delete_model(source, entry)


def _copy(source: Store, target: Store, entry: Entry) -> None:
    """Enter a model under the next event of the other log: an event "moved", which only takes its number."""
    old, log = source.log, target.log
    shift = log.clock - old.clock
    with log.transaction():
        (row,) = old.select("model", "id = ?", (entry.id,))
        model = log.insert("model", **_named("model", row))
        log.add_model(model)
        seq = log.append(model, None, "moved", b"", time.time())
        log.settle([seq])
        for keyed in (False, True):
            log.begin_chain(model, keyed=keyed, forgotten=seq)
        for row in old.select("part", "model = ? order by id", (entry.id,)):
            part = log.insert("part", **{**_named("part", row), "model": model, "first": seq})
            _copy_snapshots(source, target, row[0], part, seq, shift)
        for table in ("keyed", "waiting", "source", "note"):
            for row in old.select(table, "model = ? order by id", (entry.id,)):
                values = {**_named(table, row), "model": model}
                if table == "keyed":
                    values["seq"] = seq
                if table == "waiting":
                    values["tick"] += shift
                log.insert(table, **values)


def _named(table: str, row: tuple[Any, ...]) -> dict[str, Any]:
    """Return the values of a row by column, without its number."""
    return dict(zip(TABLES[table][1:], row[1:], strict=True))


def _copy_snapshots(source: Store, target: Store, old: int, part: int, seq: int, shift: float) -> None:
    """Copy the snapshots of a part. Only the newest holds the last event: an older one must never stand in for it."""
    found = source.log.select("snapshot", "part = ? order by seq, id", (old,))
    for k, row in enumerate(found):
        values = _named("snapshot", row)
        content = (source.files / values["file"]).read_bytes()
        file = f"{part}-{seq - 1}-{time.time_ns():x}.nys"
        write_durably(target.files / file, content)
        is_newest = k == len(found) - 1
        tick = values["tick"] + shift
        target.log.insert(
            "snapshot", **{**values, "part": part, "seq": seq if is_newest else seq - 1, "tick": tick, "file": file}
        )


def _copy_answers(old: Log, log: Log) -> None:
    """Copy the answers to idempotency keys: nobody knows which of them belong to a model."""
    shift = log.clock - old.clock
    known = {row[0] for row in log.run("select key from answer")}
    for _, key, _, tick, digest, body in old.select("answer", "body is not null order by id"):
        if key not in known:
            log.seq += 1
            log.promise(key, log.seq, digest)
            log.update("answer", log.seq, tick=tick + shift, body=body)


def _set_log_aside(folder: Path, lost: Path) -> None:
    """Move the files of a log without models into a new folder of `lost`."""
    place = lost / f"moved-{time.time_ns():x}"
    place.mkdir(mode=0o700, parents=True)
    for name in LOG_FILES:
        if (folder / name).exists():
            os.replace(folder / name, place / name)
    sync(place)
    sync(folder)
