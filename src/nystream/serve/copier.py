"""Copying every model of a server, in a thread: from another server into this one, or from this one into an archive."""

from __future__ import annotations

import http.client
import logging
import ssl
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import orjson

from nystream.serve.log import Damaged, Full, Position
from nystream.serve.models import READY
from nystream.serve.refusals import Refusal
from nystream.serve.replication import (
    GONE,
    Changes,
    Keys,
    Record,
    State,
    list_models,
    pack_state,
    read_records,
)
from nystream.serve.store import Store
from nystream.serve.writer import Command, Writer

__all__ = ["ANEW", "Copier", "Local", "Primary", "Sink", "Source", "ask"]

logger = logging.getLogger("nystream.serve")
PAUSE = 0.2
"""Seconds between two looks at a source that has nothing new."""
AGAIN = 1.0
"""Seconds before another attempt after a failure."""
LOOK = 20.0
"""Seconds after which the source is told again which event of a model the copy has. It must be less than `FOLLOWED`."""
TIMEOUT = 30.0
"""Seconds that a source may take to answer."""
SHORT = 5.0
"""Seconds that the end of a replica waits for an answer of its primary."""
ANEW = ("told", "rollback", "promote", "repaired")
"""Events after which a model is another one than its rows make: the copy begins again with the state."""


class Source(Protocol):
    """Where models are copied from."""

    def models(self) -> dict[str, Any]:
        """Return the models with their last events."""

    def state(self, name: str) -> Record:
        """Return the state of a model."""

    def keys(self, name: str, after: str) -> list[Record]:
        """Return states of keys after a given one, and "end" behind the last one."""

    def changes(self, name: str, position: Position) -> list[Record] | None:
        """Return events after a position; None where the source does not know the position."""

    def close(self) -> None:
        """End connections."""


class Sink(Protocol):
    """Where models are copied to."""

    keeps_events: bool
    """Whether the events up to a new state are wanted too."""

    def names(self) -> list[str]:
        """Return the models that are here."""

    def position(self, name: str) -> Position | None:
        """Return how far a model is copied; None where it has to begin with the state."""

    def wants_state(self, name: str) -> bool:
        """Return whether it is time for a new state, although the position is known."""

    def begin(self, record: Record) -> None:
        """Take a state."""

    def keys(self, name: str, records: list[Record]) -> None:
        """Take states of keys, which belong to the state before."""

    def finish(self, name: str, position: Position) -> None:
        """Note that the state and its keys are complete."""

    def events(self, name: str, records: list[Record]) -> None:
        """Take events."""

    def remove(self, name: str) -> None:
        """Note that the model was deleted."""


def ask(writer: Writer, command: Command) -> Any:
    """Hand a command to a writer; return the answer."""
    command.future = Future()
    writer.submit(command)
    return command.future.result(TIMEOUT)


class Local:
    """The models of this process, for its archive."""

    def __init__(self, store: Store, writer: Writer, follower: str) -> None:
        self._store, self._writer, self._follower = store, writer, follower

    def models(self) -> dict[str, Any]:
        return list_models(self._store.models, self._store.log.last_of)

    def state(self, name: str) -> Record:
        answer = ask(self._writer, State(self._store.models.find(name), self._follower))
        return next(read_records(pack_state(*answer)))

    def keys(self, name: str, after: str) -> list[Record]:
        return list(read_records(ask(self._writer, Keys(self._store.models.find(name), after))))

    def changes(self, name: str, position: Position) -> list[Record] | None:
        entry = self._store.models.find(name)
        try:
            content = ask(self._writer, Changes(entry, self._follower, position.event, position.mark))
        except Refusal as refusal:
            if refusal.status != GONE:
                raise
            return None
        return list(read_records(content))

    def close(self) -> None:
        """Do nothing: there are no connections."""


class Primary:
    """The models of another server, over HTTP."""

    def __init__(self, url: str, token: Path | None, follower: str) -> None:
        self.url, self._token_file, self._follower = url.rstrip("/"), token, follower
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"--follow {url}: write the address of a server, as http://host:8470")
        self._parts = parts
        self._connection: http.client.HTTPConnection | None = None
        self._headers()

    def _headers(self) -> dict[str, str]:
        if self._token_file is None:
            return {}
        token = self._token_file.read_text(encoding="ascii").strip()  # read again: it may have been replaced
        return {"Authorization": f"Bearer {token}"}

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT)
        return http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=ssl.create_default_context())

    def _get(self, path: str) -> bytes:
        """Return the answer to a request; raise Refusal for one that is not a success, OSError without an answer."""
        connection: Any = self._connection or self._connect()
        self._connection = None
        try:
            connection.request("GET", self._parts.path + path, headers=self._headers())
            answer = connection.getresponse()
            content: bytes = answer.read()
        except http.client.HTTPException as error:
            connection.close()
            raise ConnectionError(f"no whole answer: {error!r}") from None
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        if answer.status != 200:
            raise Refusal(answer.status, content[:300].decode("utf-8", "replace"))
        return content

    def models(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self._get("/replication"))
        return found

    def state(self, name: str) -> Record:
        return next(read_records(self._get(f"/models/{quote(name)}/state?follower={self._follower}")))

    def keys(self, name: str, after: str) -> list[Record]:
        return list(read_records(self._get(f"/models/{quote(name)}/state/keys?after={quote(after, safe='')}")))

    def changes(self, name: str, position: Position) -> list[Record] | None:
        query = f"follower={self._follower}&after={position.event}&mark={position.mark}"
        try:
            return list(read_records(self._get(f"/models/{quote(name)}/changes?{query}")))
        except Refusal as refusal:
            if refusal.status != GONE:
                raise
            return None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class Copier:
    """The thread that copies, and how far it is behind."""

    def __init__(self, source: Source, sink: Sink, what: str) -> None:
        self._source, self._sink, self._what = source, sink, what
        self._stop = threading.Event()
        self._end = float("inf")
        """Time after which nothing more is copied."""
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)
        self.lag: dict[str, int] = {}
        """By model: how far the number of its last event here is behind that of the source."""
        self.error: str | None = None
        """Why the last attempt failed."""
        self.has_copied = False
        """Whether everything has been copied once."""
        self._whole_at = time.monotonic()
        self._next_look: dict[str, float] = {}
        """By model: when the source is asked again although it has nothing new, so that it keeps the last event."""
        self.records = self.states = 0

    def start(self) -> None:
        self._thread.start()

    def close(self, seconds: float) -> None:
        """End the thread, which copies what was learnt since its last look; wait for it at most so long."""
        self._end = time.monotonic() + seconds
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(seconds if self._sink.keeps_events else min(seconds, SHORT))

    def described(self) -> dict[str, Any]:
        """Return how far it is."""
        lag = {"lag_events": sum(self.lag.values()), "lag_seconds": round(self.lag_seconds, 3)}
        return {"what": self._what, "complete": self.has_copied, **lag, "error": self.error}

    @property
    def lag_seconds(self) -> float:
        """Seconds since everything that the source had was here."""
        return time.monotonic() - self._whole_at

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                is_behind = self.copy_some()
            except Exception as error:  # whatever it is: the next attempt may succeed, and the lag is told
                expected = isinstance(error, OSError | Refusal | Damaged | Full | TimeoutError)
                if str(error) != self.error:
                    logger.warning("%s: %s", self._what, error, exc_info=None if expected else error)
                self.error = str(error) or type(error).__name__
                self._stop.wait(AGAIN)
                continue
            if self.error is not None:
                logger.info("%s: it goes on", self._what)
                self.error = None
            if not is_behind:
                self._stop.wait(PAUSE)
        if self._sink.keeps_events:
            with suppress(Exception):
                while self.copy_some() and time.monotonic() < self._end:
                    pass
        self._source.close()

    def copy_some(self) -> bool:
        """Copy an answer's worth of each model; return whether there is more."""
        began = time.monotonic()
        listed = self._source.models()
        is_behind, lag = False, {}
        failure: Exception | None = None
        for model in listed["models"]:
            name = model["name"]
            if model["state"] != READY:
                continue
            try:
                is_behind = self._copy(name, model["created"], model["event"]) or is_behind
            except Refusal as refusal:
                if refusal.status != 404:  # it was deleted meanwhile
                    failure = refusal  # the other models do not wait for this one
            position = self._sink.position(name)
            lag[name] = model["event"] if position is None else max(0, model["event"] - position.event)
        if listed["complete"]:
            there = {model["name"] for model in listed["models"]}
            for name in self._sink.names():
                if name not in there:
                    self._sink.remove(name)
        self.lag = lag
        if failure is not None:
            raise failure
        if listed["complete"] and not any(lag.values()):
            self._whole_at, self.has_copied = began, True
        return is_behind

    def _copy(self, name: str, created: float, last: int) -> bool:
        """Copy some events of a model, or its state; return whether there is more."""
        position = self._sink.position(name)
        if position is not None and (position.created != created or position.event > last):
            position = None
        if position is None or self._sink.wants_state(name):
            self._copy_state(name, position)
            return True
        now = time.monotonic()
        if position.event == last and now < self._next_look.get(name, 0.0):
            return False
        self._next_look[name] = now + LOOK
        records = self._source.changes(name, position)
        if records is None:
            self._copy_state(name, None)
        elif records:
            self._take(name, records)
        return records is None or bool(records)

    def _take(self, name: str, records: list[Record]) -> None:
        kinds = [record.about["kind"] for record in records]
        anew = next((k for k, kind in enumerate(kinds) if kind in ANEW), None)
        if anew is not None and not self._sink.keeps_events:
            records = records[:anew]
        if records:
            self._sink.events(name, records)
            self.records += len(records)
        if anew is not None:
            self._copy_state(name, self._sink.position(name))

    def _copy_state(self, name: str, position: Position | None) -> None:
        state = self._source.state(name)
        about = state.about
        if self._sink.keeps_events:
            self._copy_until(name, position, about["event"])
        self._sink.begin(state)
        after = ""
        while True:
            records = self._source.keys(name, after)
            some = [record for record in records if record.about["record"] == "key"]
            self._sink.keys(name, some)
            if len(some) < len(records):
                break
            after = some[-1].about["key"]
        self._sink.finish(name, Position(about["created"], about["event"], about["mark"]))
        self.states += 1

    def _copy_until(self, name: str, position: Position | None, event: int) -> None:
        """Copy the events before a new state, so that none is missing between the last state and this one."""
        while position is not None and position.event < event:
            records = self._source.changes(name, position)
            some = [record for record in records or [] if record.about["event"] <= event]
            if not some:
                return
            self._sink.events(name, some)
            position = self._sink.position(name)
