"""What is asked of the writer rarely: create, delete and clone models, snapshots, rollback, challengers, promotion."""

from __future__ import annotations

import base64
import time
from typing import Any

import orjson

from nystream.model import Model
from nystream.serve import learning
from nystream.serve.commands import write_form
from nystream.serve.form import Form
from nystream.serve.json_text import to_json
from nystream.serve.log import Damaged
from nystream.serve.meters import Meter
from nystream.serve.models import Entry
from nystream.serve.parts import Part
from nystream.serve.refusals import Refusal
from nystream.serve.store import Store
from nystream.serve.witness import DELETED
from nystream.serve.writer import Command, Writer

__all__ = [
    "AddShadow",
    "Clone",
    "Create",
    "Delete",
    "DeleteKey",
    "Export",
    "Keys",
    "Promote",
    "RemoveShadow",
    "Rollback",
    "Save",
    "Sources",
    "created",
    "delete_model",
    "enter_state",
    "read_export",
]

MOST_SOURCES = 1000
"""Sources that are listed, the latest."""
MAIN = "main"
"""Name of the part that a model begins with."""


class Alone(Command):
    """A rare command: it has the writer to itself."""

    alone = True

    def __init__(self, entry: Entry) -> None:
        self.entry = self.line = entry

    def present(self) -> Entry:
        self.entry.check_ready()
        return self.entry

    @property
    def what(self) -> str:
        return f"{type(self).__name__.lower()} of model {self.entry.name!r}"


class Create(Command):
    """A new model: from a configuration, or (`model`) one that has learnt already.

    `pattern` and `form` where it is known beforehand what rows are; else the first rows tell. `meter` and `origin` are
    the errors so far and the name of the model that it is a clone of.
    """

    alone = True

    def __init__(
        self,
        name: str,
        config: dict[str, Any],
        pattern: Model | None = None,
        form: Form | None = None,
        model: Model | None = None,
        meter: Meter | None = None,
        origin: str | None = None,
    ) -> None:
        self._name, self._config, self._meter, self._origin = name, config, meter, origin
        self._pattern, self._form, self._model = pattern, form, model

    def execute(self, writer: Writer) -> Any:
        store = writer.store
        if self._name in store.models.by_name:
            raise Refusal(409, f"there is a model {self._name!r} already; delete it first, or take another name")
        if len(store.models) >= store.settings.limits.models:
            raise Refusal(429, f"there are {len(store.models)} models, which is the most this server may have")
        entry = created(store, self._name, self._config, self._pattern, self._form, self._model, self._meter)
        store.note(entry, "created", {} if self._origin is None else {"from": self._origin})
        return to_json({"name": entry.name, "row": entry.champion.model.n_seen if entry.champion.model else 0})


def created(
    store: Store,
    name: str,
    config: dict[str, Any],
    pattern: Model | None,
    form: Form | None,
    model: Model | None = None,
    meter: Meter | None = None,
) -> Entry:
    """Enter a model into the log and into memory."""
    log, now = store.log, time.time()
    with log.transaction():
        store.write_pending(now)
        text = to_json(config).decode()
        id = log.insert("model", name=name, config=text, pattern=None, form=None, created=now)
        log.add_model(id)
        entry = Entry(id, name, config, now)
        entry.champion = _new_part(store, entry, MAIN, {}, champion=True)
        if pattern is not None and form is not None:
            write_form(store, entry, pattern, form)
        if model is not None and form is not None:
            meter = meter or Meter(form.task)
            enter_state(store, entry.champion, model, meter, now)
            entry.champion.replace(model, meter, log.seq)
            entry.classes = set(model.classes)
    store.pending_written()
    store.models.add(entry)
    store.refresh_snapshots(entry)
    entry.last_kept = now if model is not None else 0.0
    return entry


def _new_part(store: Store, entry: Entry, name: str, config: dict[str, Any], *, champion: bool) -> Part:
    id = store.log.insert(
        "part",
        model=entry.id,
        name=name,
        champion=int(champion),
        config=to_json(config).decode(),
        first=store.log.seq,
    )
    part = Part(name, None, None, id=id, seq=store.log.seq, level=entry.config.get("alarm_error"))
    part.config = config
    return part


def enter_state(store: Store, part: Part, model: Model, meter: Meter, now: float) -> None:
    """Set a part to this model from the last event on: a snapshot in the open transaction."""
    written = store.write_snapshot(part.id, store.log.seq, learning.saved(model))
    store.enter_snapshot(
        written,
        rows=model.n_seen,
        error=meter.reading()["error"],
        meter=to_json(meter.state()).decode(),
        at=now,
        kept=True,
    )


class Delete(Alone):
    """A model and everything about it goes."""

    def execute(self, writer: Writer) -> Any:
        entry, store = self.present(), writer.store
        delete_model(store, entry)
        store.news.append(("deleted", {"model": entry.name, "at": time.time()}))
        return to_json({"deleted": entry.name})


def delete_model(store: Store, entry: Entry) -> None:
    """Delete a model and everything about it."""
    log = store.log
    with log.transaction():
        store.write_pending(time.time())
        files = [
            row[0]
            for part in entry.parts
            for row in log.run("select file from snapshot where part = ?", (part.id,)).fetchall()
        ]
        log.remove_model(entry.id)
        log.witness.write(entry.id, DELETED)  # before the commit: a model that the log still has is no loss
    store.pending_written()
    log.model_removed(entry.id)
    store.models.remove(entry)
    store.keyed.drop_all(entry)
    for file in files:
        (store.files / file).unlink(missing_ok=True)


class Export(Alone):
    """Everything that a clone begins with, for the log of another worker."""

    def execute(self, writer: Writer) -> Any:
        entry = self.present()
        part = entry.champion
        found: dict[str, Any] = {"config": entry.config, "origin": entry.name}
        found["pattern"] = _as_text(entry.pattern)
        found["form"] = None if entry.form is None else entry.form.described()
        found["model"] = _as_text(part.model)
        found["meter"] = None if part.model is None else part.meter.state()
        return to_json(found)


def read_export(name: str, content: bytes) -> Create:
    """Return the command that creates a model with what `Export` gave."""
    found = orjson.loads(content)
    form = None if found["form"] is None else Form.from_described(found["form"])
    meter = None if found["meter"] is None else Meter.restored(found["meter"])
    pattern, model = _from_text(found["pattern"]), _from_text(found["model"])
    return Create(name, found["config"], pattern, form, model, meter, found["origin"])


def _as_text(model: Model | None) -> str | None:
    return None if model is None else base64.b64encode(learning.saved(model)).decode()


def _from_text(text: str | None) -> Model | None:
    return None if text is None else learning.loaded(base64.b64decode(text))


class Clone(Alone):
    """A new model that begins as another one is now."""

    def __init__(self, entry: Entry, name: str) -> None:
        super().__init__(entry)
        self._name = name

    def execute(self, writer: Writer) -> Any:
        entry, store = self.present(), writer.store
        if self._name in store.models.by_name:
            raise Refusal(409, f"there is a model {self._name!r} already; delete it first, or take another name")
        if len(store.models) >= store.settings.limits.models:
            raise Refusal(429, f"there are {len(store.models)} models, which is the most this server may have")
        champion = entry.champion
        model = None if champion.model is None else learning.copied(champion.model)
        meter = None if model is None else Meter.restored(orjson.loads(to_json(champion.meter.state())))
        twin = created(store, self._name, dict(entry.config), entry.pattern, entry.form, model, meter)
        store.note(twin, "created", {"from": entry.name})
        return to_json({"name": twin.name, "row": model.n_seen if model is not None else 0})


class Save(Alone):
    """A snapshot now, that is kept."""

    def execute(self, writer: Writer) -> Any:
        entry = self.present()
        if entry.champion.model is None:
            raise Refusal(409, "the model has learnt nothing yet; there is nothing to save")
        writer.checkpoints.save(entry, keep=True, at_once=True)
        return to_json({"snapshot": shown(entry.snapshots[-1])} if entry.snapshots else {"snapshot": None})


def shown(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return a snapshot as clients see it."""
    return {name: value for name, value in snapshot.items() if name not in ("file", "crc")}


class Rollback(Alone):
    """The champion becomes what it was at a snapshot. The way there is an event of the log."""

    def __init__(self, entry: Entry, snapshot: int) -> None:
        super().__init__(entry)
        self._snapshot = snapshot

    def execute(self, writer: Writer) -> Any:
        entry, store = self.present(), writer.store
        writer.checkpoints.save(entry, keep=True, at_once=True)  # so that going back can be taken back
        found = next((s for s in entry.snapshots if s["id"] == self._snapshot), None)
        if found is None:
            raise Refusal(404, f"the model has no snapshot {self._snapshot}")
        log, now = store.log, time.time()
        (row,) = log.select("snapshot", "id = ?", (found["id"],))
        meter = Meter.restored(orjson.loads(row[11]))
        meter.history = list(entry.champion.meter.history)  # the time line goes on
        try:
            model = store.read_snapshot(found["file"], found["bytes"], found["crc"])
        except Damaged as error:
            store.find_fault(f"model {entry.name!r}: {error}")
            raise Refusal(409, f"there is no way back to snapshot {found['id']}: {error}") from None
        body = {"snapshot": found["id"], "from_row": entry.champion.model.n_seen if entry.champion.model else 0}
        body["row"] = model.n_seen
        with log.transaction():
            store.write_pending(now)
            self.seq = log.append(entry.id, None, "rollback", to_json({**body, "part": entry.champion.id}), now)
            log.note(entry.id, "rollback", to_json(body).decode(), now)
            enter_state(store, entry.champion, model, meter, now)
        store.pending_written()
        entry.champion.replace(model, meter, log.seq)
        for shadow in entry.shadows.values():
            shadow.seq = max(shadow.seq, log.seq)
        store.refresh_snapshots(entry)
        store.tell(entry, "rollback", body, now)
        return to_json({"row": model.n_seen, "event": log.seq})


class AddShadow(Alone):
    """A challenger: another learner that learns the same rows from now on, or a copy of the champion."""

    def __init__(self, entry: Entry, name: str, config: dict[str, Any], *, copy: bool) -> None:
        super().__init__(entry)
        self._name, self._config, self._copy = name, config, copy

    def execute(self, writer: Writer) -> Any:
        entry, store = self.present(), writer.store
        if self._name in (part.name for part in entry.parts):
            raise Refusal(409, f"the model has a challenger or champion {self._name!r} already")
        if len(entry.shadows) >= store.settings.limits.shadows:
            raise Refusal(429, f"the model has {len(entry.shadows)} challengers, which is the most it may have")
        if entry.form is None or entry.champion.model is None:
            raise Refusal(409, "the model has learnt nothing yet; challengers can join when it knows its columns")
        model = learning.copied(entry.champion.model) if self._copy else learning.challenger(self._config, entry.form)
        now = time.time()
        with store.log.transaction():
            store.write_pending(now)
            part = _new_part(store, entry, self._name, self._config, champion=False)
            part.open(model, entry.form)
            enter_state(store, part, model, part.meter, now)
        store.pending_written()
        entry.shadows = {**entry.shadows, self._name: part}
        store.note(entry, "challenger", {"name": self._name}, now)
        return to_json({"name": self._name, "champion": entry.champion.name})


class RemoveShadow(Alone):
    """A challenger goes."""

    def __init__(self, entry: Entry, name: str) -> None:
        super().__init__(entry)
        self._name = name

    def execute(self, writer: Writer) -> Any:
        entry, store = self.present(), writer.store
        part = entry.shadows.get(self._name)
        if part is None:
            raise Refusal(404, f"the model has no challenger {self._name[:64]!r}")
        with store.log.transaction():
            files = store.log.run("select file from snapshot where part = ?", (part.id,)).fetchall()
            store.log.run("delete from snapshot where part = ?", (part.id,))
            store.log.run("delete from part where id = ?", (part.id,))
        entry.shadows = {name: other for name, other in entry.shadows.items() if other is not part}
        store.note(entry, "withdrawn", {"name": self._name})
        for (file,) in files:
            (store.files / file).unlink(missing_ok=True)
        return to_json({"removed": self._name})


class Promote(Alone):
    """A challenger becomes the champion, which becomes a challenger. An event of the log, too."""

    def __init__(self, entry: Entry, name: str) -> None:
        super().__init__(entry)
        self._name = name

    def execute(self, writer: Writer) -> Any:
        entry, store = self.present(), writer.store
        part, former = entry.shadows.get(self._name), entry.champion
        if part is None or part.model is None or entry.form is None:
            raise Refusal(404, f"the model has no challenger {self._name[:64]!r}")
        if part.broken is not None:
            raise Refusal(409, f"challenger {self._name!r} has stopped learning: {part.broken}")
        own = learning.form_of(part.model, entry.form.outputs)
        form = entry.form.with_learner(missing=own.missing, weighted=own.weighted)
        now, body = time.time(), {"name": part.name, "former": former.name}
        writer.checkpoints.save(entry, at_once=True)
        with store.log.transaction():
            store.write_pending(now)
            self.seq = store.log.append(entry.id, None, "promote", to_json(body), now)
            store.log.note(entry.id, "promoted", to_json(body).decode(), now)
            for each in entry.parts:
                store.log.update("part", each.id, champion=int(each is part))
            store.log.update("model", entry.id, form=to_json(form.described()).decode())
        store.pending_written()
        shadows = {name: other for name, other in entry.shadows.items() if other is not part}
        entry.shadows = {**shadows, former.name: former}
        entry.champion, entry.form = part, form
        for each in entry.parts:
            each.form = form
        store.refresh_snapshots(entry)
        store.tell(entry, "promoted", body, now)
        return to_json({"champion": part.name, "former": former.name, "event": store.log.seq})


class DeleteKey(Alone):
    """The model of one key goes: its state, its events, its open predictions."""

    def __init__(self, entry: Entry, key: str) -> None:
        super().__init__(entry)
        self._key = key

    def execute(self, writer: Writer) -> Any:
        entry, store = self.present(), writer.store
        if not store.keyed.knows(entry, self._key):
            raise Refusal(404, f"the model has no key {self._key[:60]!r}")
        with store.log.transaction():
            store.log.delete_key(entry.id, self._key)
            self.seq = store.log.append(entry.id, self._key, "drop", b"", time.time())  # for copies elsewhere
        store.keyed.drop(entry, self._key)
        entry.keys -= 1
        entry.waiting = store.waits_for(entry)
        return to_json({"deleted": self._key})


class Keys(Alone):
    """Names of the keys, in order, after a given one."""

    def __init__(self, entry: Entry, after: str, most: int) -> None:
        super().__init__(entry)
        self.line = None  # it only reads
        self._after, self._most = after, most

    def execute(self, writer: Writer) -> Any:
        entry, store = self.present(), writer.store
        found = store.log.run(
            "select key, rows from keyed where model = ? and key > ? order by key limit ?",
            (entry.id, self._after, self._most),
        ).fetchall()
        rows = dict(found)
        for (id, key), part in [*store.keyed._held.items(), *store.keyed.leaving.items()]:
            if id == entry.id and key > self._after and part.model is not None and part.seq:
                rows[key] = part.model.n_seen
        names = sorted(rows)[: self._most]
        return to_json({"keys": [{"key": key, "rows": rows[key]} for key in names], "count": entry.keys})


class Sources(Alone):
    """Sources of rows, and how far each has been learnt."""

    def __init__(self, entry: Entry, key: str | None) -> None:
        super().__init__(entry)
        self.line = None  # it only reads
        self._key = key or ""

    def execute(self, writer: Writer) -> Any:
        entry = self.present()
        found = writer.store.log.run(
            "select name, position, mark, at from source where model = ? and key = ? order by at desc limit ?",
            (entry.id, self._key, MOST_SOURCES),
        ).fetchall()
        names = ("source", "position", "mark", "at")
        return to_json({"sources": [dict(zip(names, row, strict=True)) for row in found]})
