"""What a server knows when it starts: snapshots, and the events after them learnt again.

Each model is brought back by itself, a slice at a time, so that models that are ready are served meanwhile. A model
that cannot be brought back whole is quarantined: its files are kept, it is not served, and the others are.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from nystream.serve import learning, salvage
from nystream.serve.form import Form, one_line
from nystream.serve.json_text import to_json
from nystream.serve.log import Damaged, Log, is_disk_error
from nystream.serve.meters import Meter
from nystream.serve.models import QUARANTINED, READY, STARTING, Entry
from nystream.serve.parts import Part
from nystream.serve.rows import LoggedRows
from nystream.serve.scheduling import Slices
from nystream.serve.settings import Settings
from nystream.serve.store import LOAD_SECONDS, NOTES, Store, load_within
from nystream.serve.witness import DELETED

__all__ = ["LEARNT", "recover", "recovered", "restore"]

LEARNT = ("learn", "step", "label", "unlearn")
"""Events that a replay repeats; the others are marks, whose effect is in the tables."""
SLICE = 0.05
"""Seconds of replay after which requests to other models get their turn."""
logger = logging.getLogger("nystream.serve")


class Unrepeatable(Damaged):
    """An event of the log cannot be learnt again."""

    def __init__(self, event: int, message: str) -> None:
        super().__init__(message)
        self.event = event


def recover(store: Store) -> Iterator[None]:
    """Bring back all models, the one with the fewest events first; yield often."""
    for finding in salvage.check_log(store):
        store.find_fault(finding)
    yield
    _read_models(store)
    unanswered = store.log.unanswered()
    store.models.starting = False
    _set_strays_aside(store)
    waiting = [entry for entry in store.models if entry.state == STARTING]
    for entry in sorted(waiting, key=lambda entry: entry.to_replay):
        yield from _bring_back(store, entry, unanswered)


@contextmanager
def recovered(folder: Path, close: Callable[[Log], None]) -> Iterator[Store]:
    """Open a folder as a start of the server does, without its log lines; `close` closes its log at the end."""
    logger = logging.getLogger("nystream.serve")
    level, logger.level = logger.level, logging.CRITICAL
    try:
        store = Store(Settings(folder))
        try:
            for _ in recover(store):
                pass
            yield store
        finally:
            close(store.log)
    finally:
        logger.level = level


def restore(store: Store, entry: Entry, before: int) -> None:
    """Make a model what it was before an event, from its snapshots and the log; quarantine it where that fails."""
    for _ in _bring_back(store, entry, set(), before):
        pass


def _bring_back(store: Store, entry: Entry, unanswered: set[int], before: int | None = None) -> Iterator[None]:
    """Bring back one model, in memory of its own until it is whole."""
    twin = Entry(entry.id, entry.name, entry.config, entry.created)
    twin.state = STARTING
    store.keyed.drop_all(entry)
    try:
        for _ in _replayed(store, twin, unanswered, before):
            entry.replayed = twin.replayed
            entry.rows_back = 0 if twin.champion.model is None else twin.champion.model.n_seen
            yield
    except Exception as error:
        if is_disk_error(error):
            raise
        if not isinstance(error, Damaged):
            logger.error("model %r cannot be brought back", entry.name, exc_info=error)
        store.quarantine(entry, one_line(error) or type(error).__name__)
        entry.unrepeatable = error.event if isinstance(error, Unrepeatable) else None
        return
    names = ("counts", "to_replay", "pending", "halfway", "saving", "followers")
    kept = {"state": READY, "notes": entry.notes or twin.notes, **{name: getattr(entry, name) for name in names}}
    tails = {part.id: part.tail for part in entry.parts if part.model is not None}
    for part in twin.parts:
        part.tail = tails.get(part.id, part.tail)
    entry.__dict__.update({**twin.__dict__, **kept})


def _replayed(store: Store, entry: Entry, unanswered: set[int], before: int | None) -> Iterator[None]:
    log = store.log
    _check_whole(store, entry)
    _read_parts(store, entry)
    yield
    last = min([*(part.seq for part in entry.parts if part.broken is None), log.forgotten(entry.id, keyed=True)])
    began = time.monotonic()
    while True:
        found = log.events_of(entry.id, last)
        for seq, at, _, key, kind, body, _ in found:
            if before is not None and seq >= before:
                found = []
                break
            last = seq
            entry.replayed += yield from _replay(store, entry, key, kind, body, at, seq, unanswered)
            if time.monotonic() - began > SLICE:
                _shrink(store)
                yield
                began = time.monotonic()
        _shrink(store)
        if not found:
            break
    if before is not None:
        for part in entry.parts:
            part.seq = max(part.seq, min(before, log.seq))
    _read_rest(store, entry)


def _shrink(store: Store) -> None:
    store.keyed.shrink()
    if store.keyed.leaving:
        with store.log.transaction():
            store.keyed.write_leaving(time.time())
        store.keyed.left()


def _replay(
    store: Store, entry: Entry, key: str | None, kind: str, body: bytes, at: float, seq: int, unanswered: set[int]
) -> Slices[int]:
    if kind == "rollback":
        return _repeat_rollback(store, entry, orjson.loads(body), seq)
    if kind not in LEARNT:
        return 0
    if entry.form is None:
        raise Damaged(f"event {seq} has rows, and the log does not say what the columns of the model are")
    batch = LoggedRows.unpack(body, entry.form.kinds)
    if key is None and entry.champion.seq >= seq:
        behind = [shadow for shadow in entry.shadows.values() if shadow.seq < seq and shadow.broken is None]
        for shadow in behind:
            yield from store.follow(entry, shadow, kind, batch, at, seq)
        return int(bool(behind))
    if key is not None and store.part_of(entry, key).seq >= seq:
        return 0
    try:
        answer = yield from store.apply_in_slices(entry, key, kind, batch, at, seq)
    except Exception as error:
        if is_disk_error(error):
            raise
        was = "was acknowledged" if seq <= store.log.acknowledged else "was perhaps acknowledged"
        text = one_line(error) or type(error).__name__
        raise Unrepeatable(seq, f"event {seq}, which {was}, cannot be learnt again: {text}") from error
    if seq in unanswered:
        store.answers[seq] = to_json(answer)
    return 1


def _repeat_rollback(store: Store, entry: Entry, body: dict[str, Any], seq: int) -> int:
    """Go back once more, where the snapshot that was taken after it cannot be read."""
    for part in entry.parts:
        if part.id == body.get("part") and part.seq < seq:
            found = store.log.select("snapshot", "id = ?", (body["snapshot"],))
            if not found:
                raise Damaged(f"event {seq} went back to snapshot {body['snapshot']}, which is not there any more")
            row = found[0]
            part.replace(store.read_snapshot(row[8], row[9], row[10]), Meter.restored(orjson.loads(row[11])), seq)
            return 1
    return 0


# -- reading the tables ------------------------------------------------------------------------------------------------
def _read_models(store: Store) -> None:
    """Enter every model of the log under its name, to be brought back or quarantined."""
    log = store.log
    reasons = {row[1]: row[3] for row in log.select("quarantine")}
    if store.settings.follow is None and log.run("select 1 from copied").fetchone():
        with log.transaction():
            log.run("delete from copied")  # it is no replica any more, and may learn rows that the primary has not
    known = set()
    for row in log.run("select id, name, created from model order by id").fetchall():
        entry = Entry(row[0], str(row[1]), {}, row[2])
        entry.state = STARTING
        count = "select count(*) from event where model = ? and seq > ?"
        newest = "select coalesce(max(s.seq), 0) from snapshot s join part p on s.part = p.id where p.model = ?"
        seq = log.run(newest, (entry.id,)).fetchone()[0]
        entry.to_replay = log.run(count, (entry.id, seq)).fetchone()[0]
        known.add(entry.id)
        if entry.id in reasons:
            store.quarantine(entry, reasons[entry.id])
        store.models.add(entry)
    for damage in [*log.damage, *log.witness.damage]:
        store.find_fault(damage)
    for model, last in log.witness.seen.items():
        if model not in known and last != DELETED:
            entry = Entry(model, f"lost-{model}", {}, 0.0)
            store.models.add(entry)
            store.quarantine(entry, f"its events up to {last} were acknowledged, and the log does not know the model")


def _check_whole(store: Store, entry: Entry) -> None:
    """Raise Damaged where acknowledged events of a model are missing."""
    log = store.log
    if not log.has_chain(entry.id):
        raise Damaged("the list of its events is missing from the log")
    log.check_chain(entry.id)
    seen, last = log.witness.seen.get(entry.id, 0), log.last_of(entry.id)
    if seen > last:
        raise Damaged(f"event {seen} was acknowledged, and the log ends at event {last}: acknowledged rows are lost")


def _read_parts(store: Store, entry: Entry) -> None:
    log = store.log
    (row,) = log.select("model", "id = ?", (entry.id,))
    entry.config = orjson.loads(row[2])
    if row[3] is not None:
        entry.pattern = load_within(row[3], LOAD_SECONDS)
        entry.form = Form.from_described(orjson.loads(row[4]))
    champions = 0
    for id, _, name, champion, config, first in log.select("part", "model = ? order by id", (entry.id,)):
        settings = orjson.loads(config)
        part = Part(name, None, None, id=id, seq=first, level=entry.config.get("alarm_error"))
        part.broken = settings.pop("broken", None)
        part.config = settings
        if champion:
            entry.champion, champions = part, champions + 1
        else:
            entry.shadows[name] = part
        _load_part(store, entry, part, first)
    if champions != 1:
        raise Damaged(f"the log names {champions} champions of the model, and there must be one")


def _load_part(store: Store, entry: Entry, part: Part, first: int) -> None:
    """Load the newest snapshot that can be read and whose later events are all there; else begin untrained."""
    log = store.log
    needed = log.forgotten(entry.id, keyed=False)
    reasons = []
    for row in log.select("snapshot", "part = ? order by seq desc, id desc", (part.id,)):
        seq, file = row[2], row[8]
        if seq > log.seq:
            raise Damaged(
                f"snapshot {file} holds event {seq}, and the log ends at {log.seq}: acknowledged rows are lost"
            )
        if seq < needed and part.broken is None:
            break
        try:
            model = store.read_snapshot(file, row[9], row[10])
        except Damaged as error:
            store.find_fault(f"model {entry.name!r}: {error}; an older snapshot and the log are tried")
            reasons.append(str(error))
            continue
        assert entry.form is not None
        part.open(model, entry.form)
        part.replace(model, Meter.restored(orjson.loads(row[11])), seq)
        return
    if first < needed or (reasons and first < needed) or part.broken is not None:
        detail = "; ".join(reasons) or "no snapshot of it is left"
        raise Damaged(f"{detail}; the events before event {needed} are not in the log any more")
    if entry.form is not None and entry.pattern is not None:
        part.open(learning.fresh(entry.pattern), entry.form)
        part.seq = part.saved = first


def _read_rest(store: Store, entry: Entry) -> None:
    log = store.log
    entry.keys = store.count_keys(entry)
    entry.copied = log.copied(entry.id, "")
    entry.waiting = store.waits_for(entry)
    entry.last_kept = log.run(
        "select coalesce(max(at), 0) from snapshot where part = ? and kept", (entry.champion.id,)
    ).fetchone()[0]
    if entry.champion.model is not None:
        entry.classes = set(entry.champion.model.classes)
    notes = log.select("note", "model = ? order by id desc limit ?", (entry.id, NOTES))
    entry.notes = [{"at": at, "kind": kind, **orjson.loads(body)} for _, at, _, kind, body in reversed(notes)]
    store.refresh_snapshots(entry)


def _set_strays_aside(store: Store) -> None:
    """Move files of snapshots that the log does not know to `lost`; one that is newer than the log proves a loss."""
    known = {row[0] for row in store.log.run("select file from snapshot")}
    owners = dict(store.log.run("select id, model from part").fetchall())
    for path in sorted(store.files.iterdir()):
        if path.name in known:
            continue
        part, seq = _named(path.name)
        entry = store.models.by_id.get(owners.get(part, 0))
        if seq > store.log.seq and entry is not None and entry.state != QUARANTINED:
            reason = f"snapshot {path.name} holds event {seq}, and the log ends at {store.log.seq}"
            store.quarantine(entry, f"{reason}: acknowledged rows are lost")
            continue  # it stays where it is: the next start has to see it too
        store.set_aside(path)


def _named(name: str) -> tuple[int, int]:
    """Return part and event of a snapshot, from the name of its file; (0, 0) for another name."""
    words = name.removesuffix(".nys").split("-")
    if len(words) == 3 and words[0].isdigit() and words[1].isdigit() and name.endswith(".nys"):
        return int(words[0]), int(words[1])
    return 0, 0
