"""Snapshots of what was learnt, after which the events that led there may go; small ones at once, large ones aside."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from nystream.model import Model
from nystream.serve import learning
from nystream.serve.json_text import to_json
from nystream.serve.log import Full
from nystream.serve.models import READY, Entry
from nystream.serve.parts import Part
from nystream.serve.snapshots import surplus
from nystream.serve.store import Store

__all__ = ["Checkpoints"]

LARGE = 0.05
"""Seconds that the writer's thread may spend on a snapshot; one that took longer is copied and written aside."""
LARGE_BYTES = 2_000_000
"""Bytes of a model that is written aside whatever the time of its last snapshot."""
EVENTS = 20_000
"""Events of a model after which it is saved, however fast it learns."""
AGAIN = 5.0
"""Seconds before another attempt when the disk was full, or a model could not be saved."""


class Checkpoints:
    """When to save which model. Everything here runs in the writer's thread but the writing of large files."""

    def __init__(self, store: Store, done: Any) -> None:
        self.store = store
        self._done = done
        """Called by the other thread with a command for the writer when a large snapshot is on the disk."""
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._not_before = 0.0
        self.taken = 0
        self.is_tight = False
        """Whether the disk was full: then nothing is kept for a damaged snapshot."""

    def postpone(self) -> None:
        """Try no snapshot for a while: the last one failed."""
        self._not_before = time.monotonic() + AGAIN

    def take_turn(self) -> None:
        """Save what a restart would have to repeat for too long, and what is due to be kept."""
        now = time.time()
        if time.monotonic() < self._not_before:
            return
        total, entries = 0.0, []
        for entry in self.store.models:
            if not entry.events or entry.saving or entry.halfway or entry.state != READY:
                continue
            seconds = entry.keyed_seconds + sum(part.replay_seconds for part in entry.parts)
            total += seconds + entry.events * 2e-5
            due = entry.events >= EVENTS or now - entry.last_kept >= self.store.settings.retention.every
            entries.append((due, seconds, entry))
        over = total > self.store.settings.replay
        for due, seconds, entry in sorted(entries, key=lambda found: -found[1]):
            if due or (over and total > self.store.settings.replay / 2):
                self.save(entry)
                total -= seconds + entry.events * 2e-5

    def save(self, entry: Entry, *, keep: bool = False, at_once: bool = False) -> None:
        """Save all parts of a model and its keyed models. Raises Full, but not where a large one is written aside."""
        now = time.time()
        keep = keep or now - entry.last_kept >= self.store.settings.retention.every
        parts = [part for part in entry.parts if part.dirty]
        is_large = any(part.save_seconds > LARGE or part.known_bytes > LARGE_BYTES for part in parts)
        if is_large and not at_once:
            entry.saving = True
            copies = [(part, learning.copied(part.model), self._about(part)) for part in parts if part.model]
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_aside, name="snapshots", daemon=True)
                self._thread.start()
            self._jobs.put((entry, copies, keep, now))
            return
        files = [self._write(part, part.model, self._about(part)) for part in parts if part.model]
        self.record(entry, files, keep, now)

    def _about(self, part: Part) -> dict[str, Any]:
        assert part.model is not None
        reading = part.meter.reading()
        return {
            "seq": part.seq,
            "rows": part.model.n_seen,
            "error": reading["error"],
            "meter": to_json(part.meter.state()).decode(),
        }

    def _write(self, part: Part, model: Model, about: dict[str, Any]) -> dict[str, Any]:
        began = time.perf_counter()
        written = self.store.write_snapshot(part.id, about["seq"], learning.saved(model))
        part.save_seconds = time.perf_counter() - began
        return {"part": part, "written": written, "about": about}

    def _write_aside(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            entry, copies, keep, now = job
            error: Exception | None = None
            files: list[dict[str, Any]] = []
            try:
                files = [self._write(part, model, about) for part, model, about in copies]
            except Exception as failure:
                error = failure
            self._done(entry, files, keep, now, error)

    def finished(self, entry: Entry, files: list[Any], keep: bool, now: float, error: Exception | None) -> None:
        """Finish a large snapshot that is on the disk, or could not be written."""
        entry.saving = False
        if error is not None:
            self.postpone()
            if not isinstance(error, Full):
                raise error
        elif not entry.gone and entry.state == READY:
            self.record(entry, files, keep, now)

    def record(self, entry: Entry, files: list[dict[str, Any]], keep: bool, now: float) -> None:
        """Enter the files into the log, and let the events go that two snapshots cover. Raises Full."""
        store, log = self.store, self.store.log
        keyed = store.keyed.dirty(entry)
        old: list[str] = []
        with log.transaction():
            store.write_pending(now)
            store.keyed.write(entry, keyed, now)
            for found in files:
                part, about = found["part"], found["about"]
                old += self._drop_replaced(part)
                champion = part is entry.champion
                store.enter_snapshot(
                    found["written"],
                    rows=about["rows"],
                    error=about["error"],
                    meter=about["meter"],
                    at=now,
                    kept=keep and champion,
                )
            for shadow in entry.shadows.values():
                if shadow.broken is not None:
                    text = to_json({**shadow.config, "broken": shadow.broken}).decode()
                    log.update("part", shadow.id, config=text)
            if keep:
                self._keep_last(entry)
                old += self._drop_surplus(entry)
            covered, applied = self._covered(entry), store.applied(entry)
            held = None if self.is_tight else entry.held_for_copies(log.last_of(entry.id))
            if held is not None:  # the event itself stays, since its checksum proves that the copy is right
                covered, applied = min(covered, held - 1), min(applied, held - 1)
            log.forget(entry.id, covered, keyed=False)
            log.forget(entry.id, applied, keyed=True)
            limits = store.settings.limits
            expired = log.expire(store.settings.answers_for, limits.answers, limits.open_age)
        store.pending_written()
        for _, part in keyed:
            part.saved = part.seq
        for found in files:
            part = found["part"]
            part.saved = max(part.saved, found["about"]["seq"])
            part.replay_seconds = 0.0
        entry.events, entry.keyed_seconds = 0, 0.0
        if keep:
            entry.last_kept = now
        if expired:
            for other in store.models:
                other.waiting = store.waits_for(other)
            entry.counts["expired"] += expired
        store.refresh_snapshots(entry)
        self.is_tight = False
        self.taken += 1
        for file in old:
            (store.files / file).unlink(missing_ok=True)

    def _drop_replaced(self, part: Part) -> list[str]:
        """Delete snapshots that need not be kept, except the last, a spare for the new one; return their files."""
        log = self.store.log
        found = log.run(
            "select id, file from snapshot where part = ? and not kept order by seq, id", (part.id,)
        ).fetchall()
        some = found if self.is_tight else found[:-1]
        for id, _ in some:
            log.run("delete from snapshot where id = ?", (id,))
        return [file for _, file in some]

    def _covered(self, entry: Entry) -> int:
        """Return the last event that two snapshots of every part cover, or one where there is no room for two."""
        covered = self.store.applied(entry)
        for part in entry.parts:
            if part.broken is not None:
                continue
            seqs = self.store.log.run(
                "select seq from snapshot where part = ? order by seq desc, id desc limit 2", (part.id,)
            ).fetchall()
            spare = 1 if len(seqs) > 1 and not self.is_tight else 0
            covered = min(covered, seqs[spare][0] if len(seqs) > 1 or (self.is_tight and seqs) else 0)
        return covered

    def _keep_last(self, entry: Entry) -> None:
        log = self.store.log
        last = log.run("select max(id) from snapshot where part = ?", (entry.champion.id,)).fetchone()[0]
        if last is not None:
            log.update("snapshot", last, kept=1)

    def _drop_surplus(self, entry: Entry) -> list[str]:
        log = self.store.log
        kept = log.run("select id, tick from snapshot where part = ? and kept", (entry.champion.id,)).fetchall()
        old = []
        for id in surplus(kept, log.clock, self.store.settings.retention):
            old.append(log.run("select file from snapshot where id = ?", (id,)).fetchone()[0])
            log.run("delete from snapshot where id = ?", (id,))
        return old

    def close(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
