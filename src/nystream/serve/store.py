"""Everything that the writer's thread owns: the log, the models, the files; and what it does to all of them.

An event is applied in one place (`apply`), whether it has just been committed or is replayed after a crash.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import orjson

from nystream.model import Model
from nystream.serve import learning, salvage
from nystream.serve.alarms import Alarm
from nystream.serve.json_text import listed, to_json
from nystream.serve.log import Damaged, Full, Log, is_disk_error, is_full
from nystream.serve.models import READY, Entry, Keyed, Models
from nystream.serve.parts import Part
from nystream.serve.rows import LoggedRows
from nystream.serve.scheduling import Slices, complete
from nystream.serve.settings import Settings
from nystream.serve.snapshots import write_durably

__all__ = ["Store"]

NOTES = 200
"""Rollbacks, promotions and alarms of a model that memory holds."""
LOAD_SECONDS = 60.0
"""Time that the file of a model may take to load; a forged one could take for ever."""
logger = logging.getLogger("nystream.serve")


class Store:
    """The state of a folder. One thread changes it; others read models through their gates."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.folder: Path = settings.folder
        self.files = self.folder / "snapshots"
        self.lost = self.folder / "lost"
        self.files.mkdir(parents=True, exist_ok=True)
        self.findings: list[str] = salvage.prepare(self.folder)
        """Damage that was found in the folder, a sentence each."""
        for finding in self.findings:
            logger.error(finding)
        self.is_clean = salvage.was_closed(self.folder)
        """Whether the log is to the byte what the last server left behind."""
        self.open_log()
        salvage.keep_head(self.folder)
        self.models = Models()
        self.answers: dict[int, bytes] = {}
        """Answers to events with idempotency keys that the log does not have yet."""
        self.news: list[tuple[str, dict[str, Any]]] = []
        """What the event stream is to be told."""
        self.fresh_notes: list[tuple[int, str, dict[str, Any], float]] = []
        """Notes that the next transaction writes."""
        self.doomed: list[int] = []
        """Events that could not be applied, whose requests were refused; the next transaction empties them."""
        self.rewound: list[tuple[int, str, str, int, str, float]] = []
        """Sources of such events; the next transaction sets them back."""
        self.snapshot_bytes = 0

    def open_log(self) -> None:
        """Open the log, and the keyed models in it."""
        settings = self.settings
        try:
            self.log = Log(self.folder, synchronous=settings.synchronous, most=settings.log_bytes)
        except sqlite3.DatabaseError as error:
            if is_full(error):
                raise Full(f"there is no room for the log in {self.folder}: {error}") from None
            if not is_disk_error(error):
                raise
            for finding in salvage.salvage(self.folder, str(error)):
                self.find_fault(finding)
            self.log = Log(self.folder, synchronous=settings.synchronous, most=settings.log_bytes)
        self.keyed = Keyed(self.log, settings.memory)

    def find_fault(self, text: str) -> None:
        """Say that something in the folder is damaged."""
        self.findings.append(text)
        logger.error(text)

    # -- applying events ---------------------------------------------------------------------------------------------
    def part_of(self, entry: Entry, key: str | None) -> Part:
        """Return the champion, or the model of a key, made at its first use."""
        if key is None:
            return entry.champion
        part, new = self.keyed.get(entry, key)
        if new:
            entry.keys += 1
        return part

    def apply(self, entry: Entry, key: str | None, kind: str, batch: LoggedRows, at: float, seq: int) -> dict[str, Any]:
        """Learn, or forget, the rows of an event; the answer to it. If this raises, the model has to be restored."""
        return complete(self.apply_in_slices(entry, key, kind, batch, at, seq))

    def apply_in_slices(
        self, entry: Entry, key: str | None, kind: str, batch: LoggedRows, at: float, seq: int
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
                yield from self.follow(entry, shadow, kind, batch, at, seq)
        else:
            self.keyed.measure(entry, key, part)
            entry.keyed_seconds += part.replay_seconds
            part.replay_seconds = 0.0
        entry.events += 1
        answer["row"] = part.model.n_seen if part.model is not None else 0
        answer["event"] = seq
        return answer

    def follow(self, entry: Entry, shadow: Part, kind: str, batch: LoggedRows, at: float, seq: int) -> Slices[None]:
        """Let a challenger learn what the champion learnt; if it cannot, it alone stops."""
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

    # -- snapshots ---------------------------------------------------------------------------------------------------
    def write_snapshot(self, part: int, seq: int, content: bytes) -> dict[str, Any]:
        """Write the file of a snapshot; what the log will say of it."""
        name = f"{part}-{seq}-{time.time_ns():x}.nys"
        write_durably(self.files / name, content)
        return {"part": part, "seq": seq, "file": name, "bytes": len(content), "crc": zlib.crc32(content)}

    def enter_snapshot(
        self, written: dict[str, Any], *, rows: int, error: Any, meter: str, at: float, kept: bool
    ) -> None:
        """Enter a file that was written into the open transaction."""
        error = float(error) if error is not None and error == error else None
        versions = to_json(learning.versions()).decode()
        self.log.insert(
            "snapshot", **written, rows=rows, error=error, meter=meter, at=at, tick=self.log.clock, kept=int(kept),
            versions=versions,
        )  # fmt: skip

    def read_snapshot(self, file: str, size: int, crc: int) -> Model:
        """Return the model of a snapshot.

        Raises Damaged where the file is not what was written, or cannot be loaded.
        """
        try:
            content = (self.files / file).read_bytes()
        except OSError as error:
            raise Damaged(f"snapshot {file} cannot be read: {error.strerror}") from None
        if len(content) != size or zlib.crc32(content) != crc:
            raise Damaged(f"snapshot {file} is not what was written: its checksum is wrong")
        return load_within(content, LOAD_SECONDS)

    def set_aside(self, path: Path) -> None:
        """Move a file that the log does not know to the folder `lost`; nothing is ever deleted for that reason."""
        try:
            self.lost.mkdir(mode=0o700, exist_ok=True)
            target = self.lost / path.name
            while target.exists():
                target = target.with_name(target.name + "+")
            os.replace(path, target)
        except OSError as error:
            self.find_fault(f"{path} is unknown to the log and cannot be moved to {self.lost}: {error.strerror}")

    # -- models that cannot be served ----------------------------------------------------------------------------------
    def quarantine(self, entry: Entry, reason: str) -> None:
        """Serve a model no more, keep all its files, and say why. The next start tries to bring it back."""
        entry.quarantine(reason)
        self.keyed.drop_all(entry)
        self.find_fault(f"model {entry.name!r} is quarantined: {reason}")
        self.news.append(("quarantined", {"model": entry.name, "at": time.time(), "reason": reason}))

    # -- what people are told ----------------------------------------------------------------------------------------
    def alarm(self, entry: Entry, alarms: list[Alarm], at: float) -> None:
        """Tell of alarms, but for those of rows that are learnt again."""
        for alarm in alarms if entry.state == READY else ():
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
        """Write what waits for a transaction: answers, notes, keyed models that left memory."""
        for seq in self.doomed:
            self.log.refuse(seq)
        for source in self.rewound:
            self.log.move(*source)
        if self.answers:
            self.log.keep_answers(self.answers)
        for model, kind, body, when in self.fresh_notes:
            self.log.note(model, kind, to_json(body).decode(), when)
        if self.keyed.leaving:
            self.keyed.write_leaving(at)

    def pending_written(self) -> None:
        """Note that the transaction of `write_pending` is on the disk."""
        self.answers.clear()
        self.doomed.clear()
        self.rewound.clear()
        self.fresh_notes.clear()
        if self.keyed.leaving:
            self.keyed.left()

    def refresh_snapshots(self, entry: Entry) -> None:
        """Set the list of the champion's snapshots that other threads read."""
        found = self.log.select("snapshot", "part = ? order by seq, id", (entry.champion.id,))
        names = (
            "id",
            "part",
            "event",
            "at",
            "tick",
            "rows",
            "error",
            "kept",
            "file",
            "bytes",
            "crc",
            "meter",
            "versions",
        )
        entry.snapshots = [
            {
                **{
                    name: value for name, value in zip(names, row, strict=True) if name not in ("part", "tick", "meter")
                },
                "kept": bool(row[7]),
                "versions": orjson.loads(row[12]),
            }
            for row in found
        ]
        self.snapshot_bytes = self.log.run("select coalesce(sum(bytes), 0) from snapshot").fetchone()[0]

    def waits_for(self, entry: Entry) -> int:
        """Open predictions of a model."""
        return int(self.log.run("select count(*) from waiting where model = ?", (entry.id,)).fetchone()[0])

    def count_keys(self, entry: Entry) -> int:
        """Return the number of keys of a model."""
        parked = {row[0] for row in self.log.run("select key from keyed where model = ?", (entry.id,))}
        return len(parked | set(self.keyed.names(entry)))


def load_within(content: bytes, seconds: float) -> Model:
    """Load the file of a model. Raises Damaged where that fails, or takes longer."""
    found: list[Any] = []

    def load() -> None:
        try:
            found.append(learning.loaded(content))
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=load, name="load", daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        raise Damaged(f"the file of the model was not loaded within {seconds:g} s")
    if isinstance(found[0], Exception):
        raise Damaged(f"the file of the model cannot be loaded: {found[0]}") from found[0]
    model: Model = found[0]
    return model
