"""Everything that the writer's thread owns: the log, the models, the files; and what it does to all of them.

An event is applied in one place (`apply`), whether it has just been committed or is replayed after a crash.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import orjson

from nystream.serve import learning
from nystream.serve.alarms import Alarm
from nystream.serve.log import Log
from nystream.serve.meters import Meter
from nystream.serve.models import Entry, Keyed, Models
from nystream.serve.parts import Part, dumped, listed
from nystream.serve.rows import Batch
from nystream.serve.settings import Settings
from nystream.serve.slices import Slices, complete

__all__ = ["Store"]

NOTES = 200
"""Rollbacks, promotions and alarms of a model that memory holds."""


class Store:
    """The state of a folder. One thread changes it; others read models through their gates."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.folder: Path = settings.folder
        self.files = self.folder / "snapshots"
        self.files.mkdir(parents=True, exist_ok=True)
        self.log = Log(self.folder, synchronous=settings.synchronous, most=settings.log_bytes)
        self.models = Models()
        self.keyed = Keyed(self.log, settings.memory)
        self.answers: dict[int, bytes] = {}
        """Answers to events with idempotency keys that the log does not have yet."""
        self.news: list[tuple[str, dict[str, Any]]] = []
        """What the event stream is to be told."""
        self.fresh_notes: list[tuple[int, str, dict[str, Any], float]] = []
        """Notes that the next transaction writes."""
        self.doomed: list[int] = []
        """Events that could not be applied, whose requests were refused; the next transaction takes them back."""
        self.rewound: list[tuple[int, str, str, int, str, float]] = []
        """Sources of such events; the next transaction sets them back."""
        self.snapshot_bytes = 0

    # -- applying events ---------------------------------------------------------------------------------------------
    def part_of(self, entry: Entry, key: str | None) -> Part:
        """The champion, or the model of a key, made at its first use."""
        if key is None:
            return entry.champion
        part, new = self.keyed.get(entry, key)
        if new:
            entry.keys += 1
        return part

    def apply(self, entry: Entry, key: str | None, kind: str, batch: Batch, at: float, seq: int) -> dict[str, Any]:
        """Learn, or forget, the rows of an event; the answer to it. If this raises, the part has to be restored."""
        return complete(self.apply_in_slices(entry, key, kind, batch, at, seq))

    def apply_in_slices(
        self, entry: Entry, key: str | None, kind: str, batch: Batch, at: float, seq: int
    ) -> Slices[dict[str, Any]]:
        """As `apply`, with pauses in which other models may learn. This model must not be saved meanwhile."""
        part = self.part_of(entry, key)
        answer: dict[str, Any] = {}
        if kind == "unlearn":
            part.unlearn(batch, seq)
            entry.counts["unlearnt"] += batch.n
        else:
            self.keyed.pin(entry, key)
            try:
                predictions, alarms = yield from part.learn_in_slices(batch, at, seq)
            finally:
                self.keyed.unpin(entry, key)
            if kind == "step":
                answer["predictions"] = listed(predictions)
            entry.counts["learnt"] += batch.n
            if alarms:
                self.alarm(entry, alarms, at)
        if key is None:
            for shadow in entry.shadows.values():
                yield from self._follow(entry, shadow, kind, batch, at, seq)
        else:
            self.keyed.measure(entry, key, part)
            entry.keyed_seconds += part.replay_seconds
            part.replay_seconds = 0.0
        entry.events += 1
        answer["row"] = part.model.n_seen if part.model is not None else 0
        answer["event"] = seq
        return answer

    def _follow(self, entry: Entry, shadow: Part, kind: str, batch: Batch, at: float, seq: int) -> Slices[None]:
        """A challenger learns what the champion learnt; if it cannot, it alone stops."""
        if shadow.broken is not None or shadow.seq >= seq:
            return
        try:
            if kind == "unlearn":
                shadow.unlearn(batch, seq)
            else:
                yield from shadow.learn_in_slices(batch, at, seq)
        except Exception as error:
            shadow.broken = f"event {seq}: {error}"[:300]
            self.alarm(
                entry, [Alarm("challenger", shadow.name, f"challenger {shadow.name!r} stopped: {error}"[:300])], at
            )

    def applied(self, entry: Entry) -> int:
        """Return the number of an event up to which all events of the model have been applied."""
        waiting = next((command.seq for command in entry.pending if command.seq), None)
        return self.log.seq if waiting is None else waiting - 1

    def restore(self, entry: Entry, key: str | None, upto: int) -> None:
        """A model as it was before an event that it could not learn: from its snapshot and the events before."""
        keys = entry.keys
        if key is not None:
            self.keyed.drop(entry, key)
            part = self.part_of(entry, key)
            entry.keys = keys
        else:
            part = entry.champion
            self.reload(entry, part)
        for seq, at, kind, body in self.log.events_of(entry.id, key, part.seq):
            if seq < upto and kind in ("learn", "step", "label", "unlearn"):
                batch = Batch.unpack(body)
                if kind == "unlearn":
                    part.unlearn(batch, seq)
                else:
                    part.learn(batch, at, seq)
        part.seq = max(part.seq, upto)
        if key is not None and part.model is not None and not part.model.n_seen and not part.model.n_unlabelled:
            self.keyed.drop(entry, key)  # its first event was the one that failed
            entry.keys -= 1

    def reload(self, entry: Entry, part: Part) -> None:
        """A part as its last snapshot has it, or untrained."""
        found = self.log.run(
            "select seq, file, meter from snapshot where part = ? order by seq desc, id desc limit 1", (part.id,)
        ).fetchone()
        first, pattern = self.log.run("select first, pattern from part where id = ?", (part.id,)).fetchone()
        if found is not None:
            seq, file, meter = found
            model = learning.loaded((self.files / file).read_bytes())
            if part.model is None and entry.form is not None:
                part.open(model, entry.form)
            part.replace(model, Meter.restored(orjson.loads(meter)), seq)
        elif entry.form is not None and entry.pattern is not None:
            model = learning.loaded(pattern) if pattern is not None else learning.fresh(entry.pattern)
            if part.model is None:
                part.open(model, entry.form)
            part.replace(model, Meter(entry.form.task), first)

    # -- what people are told ----------------------------------------------------------------------------------------
    def alarm(self, entry: Entry, alarms: list[Alarm], at: float) -> None:
        for alarm in alarms:
            entry.counts["alarms"] += not alarm.over
            self.note(entry, "alarm", alarm._asdict(), at)

    def note(self, entry: Entry, kind: str, body: dict[str, Any], at: float | None = None) -> None:
        """Remember it, write it with the next transaction, and tell the event stream."""
        at = time.time() if at is None else at
        self.fresh_notes.append((entry.id, kind, body, at))
        self.tell(entry, kind, body, at)

    def tell(self, entry: Entry, kind: str, body: dict[str, Any], at: float) -> None:
        """Remember what the log has already, and tell the event stream."""
        entry.notes = [*entry.notes[-NOTES + 1 :], {"at": at, "kind": kind, **body}]
        self.news.append((kind, {"model": entry.name, "at": at, **body}))

    def write_pending(self, at: float) -> None:
        """What waits for a transaction: answers, notes, keyed models that gave way."""
        for seq in self.doomed:
            self.log.drop(seq)
        for source in self.rewound:
            self.log.move(*source)
        if self.answers:
            self.log.keep_answers(self.answers)
        for model, kind, body, when in self.fresh_notes:
            self.log.note(model, kind, dumped(body).decode(), when)
        if self.keyed.leaving:
            self.keyed.write_leaving(at)

    def pending_written(self) -> None:
        """That transaction is on the disk."""
        self.answers.clear()
        self.doomed.clear()
        self.rewound.clear()
        self.fresh_notes.clear()
        if self.keyed.leaving:
            self.keyed.left()

    def refresh_snapshots(self, entry: Entry) -> None:
        """The list of the champion's snapshots that other threads read."""
        found = self.log.run(
            "select id, seq, at, rows, error, kept, file, bytes, versions from snapshot where part = ? "
            "order by seq, id",
            (entry.champion.id,),
        )
        entry.snapshots = [
            {
                "id": id,
                "event": seq,
                "at": at,
                "rows": rows,
                "error": error,
                "kept": bool(kept),
                "file": file,
                "bytes": size,
                "versions": orjson.loads(versions),
            }
            for id, seq, at, rows, error, kept, file, size, versions in found
        ]
        self.snapshot_bytes = self.log.run("select coalesce(sum(bytes), 0) from snapshot").fetchone()[0]

    def waits_for(self, entry: Entry) -> int:
        """Open predictions of a model."""
        return int(self.log.run("select count(*) from waiting where model = ?", (entry.id,)).fetchone()[0])
