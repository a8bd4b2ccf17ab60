"""The archive of a server: all that its models learnt, in files, from which any earlier moment can be restored.

Each model has a folder with segments. A segment begins with the state of the model and of its keys, followed by the
events after it. A new segment begins when the last one has grown large or old, and after a rollback or a promotion.
Segments are records as `replication` describes them; each answer is synced before the server forgets its events.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from nystream.serve.admin import created, delete_model
from nystream.serve.checkpoints import EVENTS, Checkpoints
from nystream.serve.copier import ANEW
from nystream.serve.folder import FolderLock
from nystream.serve.form import Form
from nystream.serve.log import Damaged, Position
from nystream.serve.meters import Meter
from nystream.serve.models import Entry
from nystream.serve.recovery import LEARNT, recovered
from nystream.serve.replication import Record, read_record, split_state
from nystream.serve.rows import LoggedRows, count_rows
from nystream.serve.salvage import close_log
from nystream.serve.snapshots import sync
from nystream.serve.store import LOAD_SECONDS, Store, load_within

__all__ = ["Archive", "Restored", "restore"]

SEGMENT = 64 * 2**20
"""Bytes of events after which a new segment begins, or `TIMES` the state if that is more."""
TIMES = 4
"""A segment's events may take so many times the bytes of the state that it begins with."""
AGE = 86_400.0
"""Seconds after which a new segment begins, if the model has learnt."""
SUFFIX = ".segment"


@dataclass
class _Segment:
    """The last segment of a model, which is written."""

    path: Path
    size: int
    state_size: int
    began: float
    position: Position


class Archive:
    """Takes copies of models into files. Used by the thread of a `Copier`."""

    keeps_events = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._segments: dict[str, _Segment] = {}
        self._new: dict[str, Path] = {}
        """By model: a segment of which the state is being written."""

    def names(self) -> list[str]:
        return list(self._segments)

    def position(self, name: str) -> Position | None:
        if name not in self._segments:
            found = self._open_last(name)
            if found is None:
                return None
            self._segments[name] = found
        return self._segments[name].position

    def _open_last(self, name: str) -> _Segment | None:
        """Open the last segment of a model to go on with it; cut off a record that was not written whole."""
        paths = sorted((self.folder / name).glob(f"*{SUFFIX}"))
        if not paths:
            return None
        position, state_size, end, began = None, 0, 0, time.time()
        try:
            for record, end in _read(paths[-1]):
                about = record.about
                if about["record"] == "state":
                    position, began = Position(about["created"], about["event"], about["mark"]), about["at"]
                elif about["record"] == "end":
                    state_size = end
                elif about["record"] == "event" and position is not None:
                    position = Position(position.created, about["event"], about["mark"])
                elif about["record"] == "deleted":
                    return None
        except Damaged:
            pass
        if position is None or not state_size:
            return None
        os.truncate(paths[-1], end)
        return _Segment(paths[-1], end, state_size, began, position)

    def wants_state(self, name: str) -> bool:
        segment = self._segments[name]
        events = segment.size - segment.state_size
        is_old = events > 0 and time.time() - segment.began > AGE
        return is_old or events > max(SEGMENT, TIMES * segment.state_size)

    def begin(self, record: Record) -> None:
        name = record.about["name"]
        place = self.folder / name
        place.mkdir(mode=0o700, exist_ok=True)
        for left in place.glob("*.part"):
            left.unlink()
        self._new[name] = place / f"{time.time_ns():020d}.part"
        _append_durably(self._new[name], [record])

    def keys(self, name: str, records: list[Record]) -> None:
        if records:
            _append_durably(self._new[name], records)

    def finish(self, name: str, position: Position) -> None:
        part = self._new.pop(name)
        _append_durably(part, [Record({"record": "end"})])
        path = part.with_suffix(SUFFIX)
        os.replace(part, path)
        sync(path.parent)
        sync(self.folder)
        size = path.stat().st_size
        self._segments[name] = _Segment(path, size, size, time.time(), position)

    def events(self, name: str, records: list[Record]) -> None:
        last = records[-1].about
        created_at = self._segments[name].position.created
        self._append(name, records, Position(created_at, last["event"], last["mark"]))

    def remove(self, name: str) -> None:
        segment = self._segments[name]
        self._append(name, [Record({"record": "deleted", "at": time.time()})], segment.position)
        self._segments.pop(name)

    def _append(self, name: str, records: list[Record], position: Position) -> None:
        segment = self._segments[name]
        try:
            segment.size += _append_durably(segment.path, records)
        except OSError:
            del self._segments[name]  # the file is read again, and a record that is not whole is cut off
            raise
        segment.position = position


def _append_durably(path: Path, records: list[Record]) -> int:
    """Write records to the end of a file and sync it; return their bytes."""
    content = b"".join(record.pack() for record in records)
    with open(path, "ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return len(content)


def _read(path: Path) -> Iterator[tuple[Record, int]]:
    """Yield the records of a segment, each with the place where it ends."""
    content, at = path.read_bytes(), 0
    while at < len(content):
        record, at = read_record(content, at)
        yield record, at


class Restored(NamedTuple):
    """A model that was restored: its rows, and when the last of them was learnt."""

    name: str
    rows: int
    at: float


class Moment(NamedTuple):
    """Up to where models are restored: a time, or a number of rows; both None: the end."""

    time: float | None = None
    rows: int | None = None


def restore(archive: Path, folder: Path, moment: Moment, model: str | None, say: Callable[[str], None]) -> int:
    """Make a folder for a server with the models of an archive as they were at a moment; return how many.

    Requests are restored whole: with `moment.rows`, up to the last request that ended at or before that row.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty; name a new folder, which `nystream serve` is given afterwards")
    places = [archive / model] if model is not None else sorted(p for p in archive.iterdir() if p.is_dir())
    if moment.rows is not None and model is None:
        raise ValueError("--row needs --model: rows are counted for each model")
    if model is not None and not places[0].is_dir():
        raise ValueError(f"{archive} has no model {model!r}")
    lock, count = FolderLock(folder), 0
    damaged: list[str] = []
    try:
        with recovered(folder, partial(close_log, folder=folder)) as store:
            for place in places:
                try:
                    found = _restore_model(store, place, moment)
                except Damaged as error:  # the other models are restored
                    damaged.append(str(error))
                    continue
                if found is None:
                    say(f"model {place.name!r} was not there")
                    continue
                count += 1
                when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(found.at))
                say(f"model {found.name!r}: {found.rows} rows, the last change at {when}")
    finally:
        lock.release()
    if damaged:
        raise ValueError("; ".join(damaged))
    return count


def _restore_model(store: Store, place: Path, moment: Moment) -> Restored | None:
    """Restore one model from the newest segment that has the moment."""
    paths = []
    for path in sorted(place.glob(f"*{SUFFIX}"), reverse=True):
        about = _first(path).about
        is_later = moment.time is not None and about["at"] > moment.time
        if not is_later and (moment.rows is None or about["rows"] <= moment.rows):
            paths.append(path)
    if not paths:
        return None
    path = next((path for path in paths if _reaches(path, moment.rows)), paths[0])
    records = (record for record, _ in _read(path))
    return _play(store, next(records), records, moment, path)


def _first(path: Path) -> Record:
    """Return the first record of a segment: the state of the model. Raises Damaged where it cannot be read."""
    try:
        return next(_read(path))[0]
    except (Damaged, StopIteration) as error:
        text = f"{path} is damaged ({error or 'it is empty'}); move it away to restore the model from an earlier one"
        raise Damaged(text) from None


def _reaches(path: Path, rows: int | None) -> bool:
    """Return whether a model had so many rows in a segment: after a rollback it may not have come so far again."""
    if rows is None:
        return True
    count = 0
    for (about, body), _ in _read(path):
        if about["record"] == "state":
            count = about["rows"]
        elif about["record"] == "event" and about["key"] is None and about["kind"] in ("learn", "step", "label"):
            count += count_rows(body)
        if count >= rows:
            return True
    return False


def _play(store: Store, state: Record, records: Iterator[Record], moment: Moment, path: Path) -> Restored | None:
    about = state.about
    pattern, model = (load_within(file, LOAD_SECONDS) if file else None for file in split_state(state))
    form = None if about["form"] is None else Form.from_described(about["form"])
    meter = None if about["meter"] is None else Meter.restored(about["meter"])
    entry = created(store, about["name"], about["config"], pattern, form, model, meter)
    checkpoints, at = Checkpoints(store, None), float(about["at"])
    held: dict[str, int] = {}
    try:
        for record in records:
            about = record.about
            kind = about["record"]
            if kind == "key":
                held[about["key"]] = about["event"]
                with store.log.transaction():
                    store.log.park(
                        entry.id, about["key"], store.log.seq, about["at"], about["rows"], record.body, about["meter"]
                    )
            elif kind == "deleted":
                if moment.time is not None and about["at"] > moment.time:
                    break
                delete_model(store, entry)
                return None
            elif kind == "event":
                if not _repeat(store, entry, record, moment, held):
                    break
                at = about["at"]
                if entry.events > EVENTS:
                    checkpoints.save(entry, at_once=True)
    except Damaged as error:
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
        raise Damaged(f"{path} is damaged, and the model is restored only up to {when}: {error}") from None
    entry.keys = store.count_keys(entry)
    store.news.clear()
    checkpoints.save(entry, keep=True, at_once=True)
    return Restored(entry.name, 0 if entry.champion.model is None else entry.champion.model.n_seen, at)


def _repeat(store: Store, entry: Entry, record: Record, moment: Moment, held: dict[str, int]) -> bool:
    """Repeat an event; return False where it comes after the moment."""
    about = record.about
    key, kind = about["key"], about["kind"]
    if (moment.time is not None and about["at"] > moment.time) or kind in ANEW:
        return False
    if kind == "drop":
        with store.log.transaction():
            store.log.delete_key(entry.id, key)
        store.keyed.drop(entry, key)
    if kind not in LEARNT or (key is not None and held.get(key, 0) >= about["event"]):
        return True
    assert entry.form is not None  # an event that is learnt again follows the state that has it
    batch = LoggedRows.unpack(record.body, entry.form.kinds)
    model = entry.champion.model
    adds_rows = moment.rows is not None and key is None and kind != "unlearn"
    if adds_rows and (0 if model is None else model.n_seen) + batch.n > (moment.rows or 0):
        return False
    with store.log.transaction():
        store.write_pending(about["at"])
        seq = store.log.append(entry.id, key, kind, record.body, about["at"])
    store.pending_written()
    store.apply(entry, key, kind, batch, about["at"], seq)
    store.log.settle([seq])
    store.keyed.shrink()
    return True
