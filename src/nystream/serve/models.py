"""The models of a server by name, with their challengers and keyed models; memory holds the keyed ones used last."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from typing import Any

import orjson

from nystream.model import Model
from nystream.serve import learning
from nystream.serve.form import Form
from nystream.serve.json_text import to_json
from nystream.serve.log import Log
from nystream.serve.meters import Meter
from nystream.serve.parts import Part
from nystream.serve.refusals import Refusal

__all__ = ["QUARANTINED", "READY", "STARTING", "Entry", "Keyed", "Models"]

STARTING, READY, QUARANTINED = "starting", "ready", "quarantined"
"""States of a model: being brought back, served, and kept but not served because something about it is damaged."""

FOLLOWED = 60.0
"""Seconds after which a copy that does not ask any more is forgotten."""
FOLLOWERS = 16
"""Copies of one model for which events are kept."""
HELD = 50_000
"""Events that are kept for a copy, at most."""


class Entry:
    """One name: its configuration, its form once that is known, the champion, the challengers."""

    def __init__(self, id: int, name: str, config: dict[str, Any], created: float) -> None:
        self.id, self.name, self.config, self.created = id, name, config, created
        self.state = READY
        self.reason: str | None = None
        """Why it is quarantined."""
        self.unrepeatable: int | None = None
        """The event that could not be learnt again, where that is why."""
        self.replayed = self.to_replay = 0
        """Events learnt again, and to be learnt again, by this start."""
        self.rows_back = 0
        """Rows that the model has again by now."""
        self.pattern: Model | None = None
        """Untrained: what keyed models start as."""
        self.form: Form | None = None
        self.champion = Part("main", None, None)
        self.shadows: dict[str, Part] = {}
        self.snapshots: list[dict[str, Any]] = []
        """Of the champion, the oldest first; replaced, never changed."""
        self.notes: list[dict[str, Any]] = []
        """The latest rollbacks, promotions and alarms; replaced, never changed."""
        self.keys = 0
        self.waiting = 0
        self.classes: set[Any] = set()
        self.last_kept = 0.0
        self.events = 0
        """Events since the last snapshot."""
        self.keyed_seconds = 0.0
        """Time that its keyed models have learnt since then."""
        self.pending: deque[Any] = deque()
        """Events of this model that are durable and not yet applied, in the order of the log."""
        self.halfway = False
        """Whether some slices of the first of them have been applied: the model must not be saved now."""
        self.saving = False
        self.gone = False
        self.copied: Any = None
        """Of a replica: how far the model is copied from the primary; None: it has to be copied anew."""
        self.followers: dict[str, tuple[int, float]] = {}
        """By name of a copy elsewhere: its last event, and when it told so."""
        self.counts = {"learnt": 0, "predicted": 0, "labelled": 0, "unlearnt": 0, "alarms": 0, "expired": 0}

    @property
    def parts(self) -> list[Part]:
        return [self.champion, *self.shadows.values()]

    def tell(self, model: Model, form: Form) -> None:
        """Set what rows are, when the first labelled row has come."""
        self.pattern, self.form = model, form
        for part in self.parts:
            if part.model is None:
                part.open(learning.fresh(model), form)

    def follow(self, follower: str, event: int) -> None:
        """Note that a copy holds the events up to this one."""
        now = time.monotonic()
        some = {name: found for name, found in self.followers.items() if now - found[1] < FOLLOWED}
        if follower in some or len(some) < FOLLOWERS:
            self.followers = {**some, follower: (event, now)}

    def held_for_copies(self, last: int) -> int | None:
        """Return the oldest event that copies still ask for; one that is too far behind has to begin anew."""
        now = time.monotonic()
        some = [event for event, at in self.followers.values() if now - at < FOLLOWED and last - event < HELD]
        return min(some, default=None)

    @property
    def row_seconds(self) -> float:
        """Time that one row takes to be learnt by all its parts, about."""
        return sum(part.row_seconds for part in self.parts)

    def quarantine(self, reason: str) -> None:
        """Serve it no more."""
        self.reason, self.state = reason, QUARANTINED

    def check_ready(self) -> None:
        """Refuse where the model is gone, not yet brought back, or quarantined."""
        if self.gone:
            raise Refusal(404, f"there is no model {self.name!r}")
        if self.state == STARTING:
            done = f"{self.replayed} of {self.to_replay} events are learnt again, it has {self.rows_back:,} rows"
            raise Refusal(503, f"model {self.name!r} is starting: {done}", {"Retry-After": "1"})
        if self.state == QUARANTINED:
            raise Refusal(
                409, f"model {self.name!r} is quarantined: {self.reason}; its files are kept, see `nystream verify`"
            )

    def untell(self) -> None:
        """Undo `tell`, because its transaction failed."""
        self.pattern = self.form = None
        for part in self.parts:
            part.model = part.form = None


class Keyed:
    """Keyed models in memory, the least recently used first, at most `memory` bytes; the others are in the log."""

    def __init__(self, log: Log, memory: int) -> None:
        self._log, self._memory = log, memory
        self._held: OrderedDict[tuple[int, str], Part] = OrderedDict()
        self._sizes: dict[tuple[int, str], int] = {}
        self.bytes = 0
        self.leaving: dict[tuple[int, str], Part] = {}
        """Those that gave way and are written with the next transaction."""
        self._pinned: set[tuple[int, str]] = set()
        """Those that are learning an event in slices, and must stay until its end."""
        self.parked = self.brought = 0

    def __len__(self) -> int:
        return len(self._held)

    def held(self, entry: Entry, key: str) -> Part | None:
        """Return the model of a key if it is in memory. Any thread may call this."""
        return self._held.get((entry.id, key)) or self.leaving.get((entry.id, key))

    def get(self, entry: Entry, key: str) -> tuple[Part, bool]:
        """Return the model of a key, loaded or made anew, and whether it is new."""
        place = (entry.id, key)
        part = self._held.get(place)
        if part is not None:
            self._held.move_to_end(place)
            return part, False
        part, new = self.leaving.pop(place, None), False
        if part is None:
            part, new = self._load(entry, key)
        self._held[place] = part
        self.measure(entry, key, part)
        return part, new

    def _load(self, entry: Entry, key: str) -> tuple[Part, bool]:
        assert entry.pattern is not None
        found = self._log.parked(entry.id, key)
        if found is None:
            return Part(key, learning.fresh(entry.pattern), entry.form, keyed=True), True
        seq, body, meter = found
        self.brought += 1
        part = Part(
            key, learning.loaded(body), entry.form, seq=seq, meter=Meter.restored(orjson.loads(meter)), keyed=True
        )
        return part, False

    def names(self, entry: Entry) -> list[str]:
        """Return the keys of one name that memory holds."""
        return [key for id, key in [*self._held, *self.leaving] if id == entry.id]

    def knows(self, entry: Entry, key: str) -> bool:
        """Return whether there is a model of that key."""
        return self.held(entry, key) is not None or self._log.parked(entry.id, key) is not None

    def measure(self, entry: Entry, key: str, part: Part) -> None:
        """Count its memory again."""
        place = (entry.id, key)
        size = part.bytes
        self.bytes += size - self._sizes.get(place, 0)
        self._sizes[place] = size

    def drop(self, entry: Entry, key: str) -> None:
        """Forget what memory holds of a key."""
        self._held.pop((entry.id, key), None)
        self.leaving.pop((entry.id, key), None)
        self.bytes -= self._sizes.pop((entry.id, key), 0)

    def drop_all(self, entry: Entry) -> None:
        for id, key in [place for place in [*self._held, *self.leaving] if place[0] == entry.id]:
            assert id == entry.id
            self.drop(entry, key)

    def shrink(self) -> None:
        """Let the least recently used go until memory holds no more than it may; one always stays."""
        if self.bytes <= self._memory:
            return
        for place in list(self._held)[:-1]:
            if self.bytes <= self._memory:
                return
            if place in self._pinned:
                continue
            part = self._held.pop(place)
            self.bytes -= self._sizes.pop(place)
            if part.dirty:
                self.leaving[place] = part

    def pin(self, entry: Entry, key: str | None) -> None:
        """Keep the model of a key in memory until `unpin`."""
        if key is not None:
            self._pinned.add((entry.id, key))

    def unpin(self, entry: Entry, key: str | None) -> None:
        """Let the model of a key give way again."""
        if key is not None:
            self._pinned.discard((entry.id, key))

    def write_leaving(self, at: float) -> None:
        """Write those that gave way, in the transaction that is open."""
        for (model, key), part in self.leaving.items():
            self._write(model, key, part, at)

    def left(self) -> None:
        """Note that the transaction with the models that left memory is on the disk."""
        self.parked += len(self.leaving)
        for part in self.leaving.values():
            part.saved = part.seq
        self.leaving = {}

    def dirty(self, entry: Entry) -> list[tuple[str, Part]]:
        """Return the keyed models of one name whose last rows only the events have."""
        return [(key, part) for (id, key), part in self._held.items() if id == entry.id and part.dirty]

    def write(self, entry: Entry, some: list[tuple[str, Part]], at: float) -> None:
        """Write these, in the transaction that is open."""
        for key, part in some:
            self._write(entry.id, key, part, at)

    def _write(self, model: int, key: str, part: Part, at: float) -> None:
        assert part.model is not None
        meter = to_json(part.meter.state()).decode()
        self._log.park(model, key, part.seq, at, part.model.n_seen, learning.saved(part.model), meter)


class Models:
    """Entries by name. Changed by the writer's thread; other threads look up."""

    def __init__(self) -> None:
        self.by_name: dict[str, Entry] = {}
        self.by_id: dict[int, Entry] = {}
        self.starting = True
        """Whether the list of models has not been read yet."""

    def __iter__(self) -> Any:
        return iter(list(self.by_name.values()))

    def __len__(self) -> int:
        return len(self.by_name)

    def add(self, entry: Entry) -> None:
        self.by_name[entry.name] = entry
        self.by_id[entry.id] = entry

    def remove(self, entry: Entry) -> None:
        entry.gone = True
        self.by_name.pop(entry.name, None)
        self.by_id.pop(entry.id, None)

    def look_up(self, name: str) -> Entry:
        """Return the model of that name, whatever its state."""
        found = self.by_name.get(name)
        if found is None and self.starting:
            raise Refusal(503, "the server is starting: the log is being checked", {"Retry-After": "1"})
        if found is None:
            raise Refusal(404, f"there is no model {name[:64]!r}")
        return found

    def find(self, name: str) -> Entry:
        """Return the model of that name, which must be ready."""
        found = self.look_up(name)
        if found.state != READY:
            found.check_ready()
        return found
