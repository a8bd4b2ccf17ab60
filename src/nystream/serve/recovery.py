"""What a server knows when it starts: snapshots, and the events after them learnt again."""

from __future__ import annotations

import orjson

from nystream.serve import learning
from nystream.serve.form import Form
from nystream.serve.models import Entry
from nystream.serve.parts import Part, dumped
from nystream.serve.rows import Batch
from nystream.serve.slices import complete
from nystream.serve.store import NOTES, Store

__all__ = ["LEARNT", "recover"]

LEARNT = ("learn", "step", "label", "unlearn")
"""Events that a replay repeats; the others are marks, whose effect is in the tables."""


def recover(store: Store) -> int:
    """Bring back all models; how many events were learnt again."""
    _read_tables(store)
    _remove_strays(store)
    unanswered = store.log.unanswered()
    count = 0
    last = 0
    while True:
        found = store.log.run(
            "select seq, at, model, key, kind, body from event where seq > ? order by seq limit 1000", (last,)
        ).fetchall()
        if not found:
            break
        for seq, at, id, key, kind, body in found:
            last = seq
            entry = store.models.by_id.get(id)
            if entry is not None and kind in LEARNT:
                count += _replay(store, entry, key, kind, body, at, seq, seq in unanswered)
        store.keyed.shrink()
        if store.keyed.leaving:
            with store.log.transaction():
                store.keyed.write_leaving(at)
            store.keyed.left()
    for entry in store.models:
        entry.counts = dict.fromkeys(entry.counts, 0)  # counted from the start of the process, as metrics are
    store.news.clear()
    store.fresh_notes.clear()
    return count


def _replay(
    store: Store, entry: Entry, key: str | None, kind: str, body: bytes, at: float, seq: int, unanswered: bool
) -> int:
    batch = Batch.unpack(body)
    if key is None and entry.champion.seq >= seq:
        behind = [shadow for shadow in entry.shadows.values() if shadow.seq < seq]
        for shadow in behind:
            complete(store._follow(entry, shadow, kind, batch, at, seq))
        return int(bool(behind))
    if key is not None and store.part_of(entry, key).seq >= seq:
        return 0
    try:
        answer = store.apply(entry, key, kind, batch, at, seq)
    except Exception:  # it was never acknowledged: the process ended before it could take the event back
        with store.log.transaction():
            store.log.drop(seq)
        store.restore(entry, key, seq)
        return 0
    if unanswered:
        store.answers[seq] = dumped(answer)
    return 1


def _read_tables(store: Store) -> None:
    log = store.log
    for id, name, config, pattern, form, created in log.run("select * from model order by id").fetchall():
        entry = Entry(id, name, orjson.loads(config), created)
        if pattern is not None:
            entry.pattern, entry.form = learning.loaded(pattern), Form.from_described(orjson.loads(form))
        rows = log.run(
            "select id, name, champion, config, first from part where model = ? order by id", (id,)
        ).fetchall()
        for part_id, part_name, champion, part_config, first in rows:
            settings = orjson.loads(part_config)
            part = Part(part_name, None, None, id=part_id, seq=first, level=entry.config.get("alarm_error"))
            part.broken = settings.pop("broken", None)
            part.config = settings
            if champion:
                entry.champion = part
            else:
                entry.shadows[part_name] = part
        for part in entry.parts:
            store.reload(entry, part)
        entry.keys = log.run("select count(*) from keyed where model = ?", (id,)).fetchone()[0]
        entry.waiting = store.waits_for(entry)
        entry.last_kept = log.run(
            "select coalesce(max(at), 0) from snapshot where part = ? and kept", (entry.champion.id,)
        ).fetchone()[0]
        if entry.champion.model is not None:
            entry.classes = set(entry.champion.model.classes)
        notes = log.run(
            "select at, kind, body from note where model = ? order by id desc limit ?", (id, NOTES)
        ).fetchall()
        entry.notes = [{"at": at, "kind": kind, **orjson.loads(body)} for at, kind, body in reversed(notes)]
        store.models.add(entry)
        store.refresh_snapshots(entry)


def _remove_strays(store: Store) -> None:
    """Files of snapshots that never came into the log, or that it has dropped."""
    known = {row[0] for row in store.log.run("select file from snapshot")}
    for path in store.files.iterdir():
        if path.name not in known:
            path.unlink()
