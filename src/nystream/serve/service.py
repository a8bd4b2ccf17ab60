"""The server without HTTP: what requests do, awaited in the event loop; threads predict, one other thread writes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

from nystream.model import Model
from nystream.runtime.lock import ReadWriteLock
from nystream.serve import learning
from nystream.serve.answering import Answering
from nystream.serve.archive import Archive
from nystream.serve.commands import Bring, Label, Learn, Remember, Source, Unlearn
from nystream.serve.copier import Copier, Local, Primary
from nystream.serve.event_stream import Bus
from nystream.serve.form import Form, one_line
from nystream.serve.json_text import listed, to_json
from nystream.serve.log import Damaged
from nystream.serve.logs import Audit
from nystream.serve.metrics import Timings, describe_health
from nystream.serve.models import QUARANTINED, READY, Entry
from nystream.serve.parts import Part
from nystream.serve.rates import Rates
from nystream.serve.refusals import Refusal
from nystream.serve.replica import Replica
from nystream.serve.row_formats import Rows
from nystream.serve.rows import LoggedRows
from nystream.serve.settings import Settings
from nystream.serve.store import Store
from nystream.serve.tokens import Tokens
from nystream.serve.webhook import Webhook
from nystream.serve.writer import Command, Writer

__all__ = ["Service"]

logger = logging.getLogger("nystream.serve")
FEW = 1024
"""Numbers of a request that are checked in the event loop itself; more go to a thread."""
AUDIT = "audit.log"
"""Name of the audit log in the folder."""
OLD_MODELS = 4
"""Snapshots held in memory for predictions with them."""


class Service:
    """One folder, being served."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tokens = Tokens(settings.tokens)
        self.webhook = Webhook(settings.webhook)
        self.store = Store(settings)
        self.timings = Timings()
        self.recovery_seconds = 0.0
        self.writer = Writer(self.store, self._answered, self._failed, self._recovered, self.timings)
        self.bus = Bus(settings.limits.subscribers, self._tick)
        self.answering = Answering(settings.limits.seconds)
        self.refused: dict[str, int] = {"bad request": 0, "not allowed": 0, "too slow": 0}
        self.connections_refused: dict[str, int] = {}
        self.rates = Rates(settings.limits.rate)
        self.audit = Audit(None if settings.audit == "off" else settings.folder / AUDIT, every=settings.audit == "all")
        self.copiers: dict[str, Copier] = {}
        """Threads that copy models: "replica" from the primary into this server, "archive" from here into files."""
        if settings.follow is not None:
            primary = Primary(settings.follow, settings.follow_token, uuid4().hex)
            what = f"replica of {settings.follow}"
            self.copiers["replica"] = Copier(primary, Replica(self.store, self.writer), what)
        if settings.archive is not None:
            local = Local(self.store, self.writer, "archive")
            self.copiers["archive"] = Copier(local, Archive(settings.archive), f"archive {settings.archive}")
        self.ready = False
        self.stop_by = float("inf")
        self.ended_in_time = True
        self.began = time.time()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._old: OrderedDict[int, Model] = OrderedDict()
        self._weighing = False

    # -- beginning and end -------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Begin to take requests, in the event loop."""
        self._loop = asyncio.get_running_loop()
        self._recovery_began = time.perf_counter()
        self.writer.start()

    def ask_to_stop(self) -> None:
        """Begin to stop: from now on the time to end is counted."""
        self.ready = False
        self.stop_by = min(self.stop_by, time.monotonic() + self.settings.drain)

    def stop(self) -> bool:
        """Finish what waits, save all, end; return whether everything was done in time. Nothing in the log is lost."""
        self.ask_to_stop()
        for copier in self.copiers.values():
            copier.close(max((self.stop_by - time.monotonic()) / 3, 0.3))  # the rest is for the log
        in_time = self.writer.close(max(self.stop_by - time.monotonic(), 0.5))
        in_time = self.answering.close() and in_time
        self.webhook.close(max(self.stop_by - time.monotonic(), 0.5))
        self.audit.close()
        return in_time

    async def finish(self) -> bool:
        """Stop as `stop` does, in the event loop."""
        return await asyncio.to_thread(self.stop)

    def refresh_tokens(self) -> None:
        """Read the file of tokens again."""
        self.tokens.refresh()

    def _failed(self) -> None:
        self.ready = False

    def _recovered(self) -> None:
        """Note that every model is ready or quarantined."""
        self.recovery_seconds = time.perf_counter() - self._recovery_began
        self.ready = self.stop_by == float("inf")
        for copier in self.copiers.values():
            copier.start()
        quarantined = sum(entry.state == QUARANTINED for entry in self.store.models)
        logger.info(
            "%d models; %d events learnt again in %.2f s; %d models are quarantined",
            len(self.store.models),
            self.replayed,
            self.recovery_seconds,
            quarantined,
        )

    @property
    def is_ready(self) -> bool:
        """Whether requests can be answered; a replica without models has to copy them first."""
        replica = self.copiers.get("replica")
        return self.ready and (replica is None or replica.has_copied or len(self.store.models) > 0)

    @property
    def replayed(self) -> int:
        """Events that this start has learnt again."""
        return sum(entry.replayed for entry in self.store.models)

    def progress(self) -> dict[str, Any]:
        """Return how far the start is."""
        models = list(self.store.models)
        return {
            "models": len(models),
            "ready": sum(entry.state == READY for entry in models),
            "quarantined": [entry.name for entry in models if entry.state == QUARANTINED],
            "events_replayed": self.replayed,
            "events_to_replay": sum(entry.to_replay for entry in models),
            "damage": self.store.findings[:20],
            **{name: copier.described() for name, copier in self.copiers.items()},
        }

    # -- the writer's thread answers ---------------------------------------------------------------------------------
    def _answered(self, results: list[Any], news: list[Any]) -> None:
        loop = self._loop
        if loop is None or (not results and not news):
            return
        try:
            loop.call_soon_threadsafe(self._settle, results, news)
        except RuntimeError:  # the loop has ended: nobody waits any more
            return

    def _settle(self, results: list[Any], news: list[Any]) -> None:
        for future, answer in results:
            if future.done():  # the client went away
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        for kind, body in news:
            self.bus.publish(kind, body)
            if kind == "alarm":
                self.webhook.send(body)

    async def ask(self, command: Command) -> Any:
        """Queue a command for the writer; its answer."""
        assert self._loop is not None
        command.future = self._loop.create_future()
        self.writer.submit(command)
        return await command.future

    async def aside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run it in a thread, for work of milliseconds."""
        return await self.answering.aside(function, *arguments)

    # -- requests ----------------------------------------------------------------------------------------------------
    async def learn(
        self,
        entry: Entry,
        key: str | None,
        rows: Rows,
        *,
        step: bool,
        idempotency: str | None,
        digest: bytes,
        source: Source | None,
    ) -> bytes:
        began = time.perf_counter()
        self._check_memory(entry, key)
        batch = opened = None
        if entry.form is not None:
            batch = await self._checked(entry, entry.form, rows)
        else:
            try:
                first = (entry.config, rows.table, rows.labels)
                await self.answering.try_settings(entry.config, "try_first_rows", *first)
                opened = await self.answering.long(learning.opened, *first)
            except Refusal:
                if entry.form is None:  # else another request has told meanwhile what the rows are
                    raise
        command = Learn(
            entry,
            key,
            idempotency,
            digest,
            step=step,
            table=rows.table,
            labels=rows.labels,
            weights=rows.weights,
            batch=batch,
            count=rows.n,
            opened=opened,
            source=source,
        )
        answer: bytes = await self.ask(command)
        self.timings.note("learn", time.perf_counter() - began)
        return answer

    def _check_memory(self, entry: Entry, key: str | None) -> None:
        """Refuse rows for a model that has grown beyond its memory."""
        most = self.settings.limits.model_bytes
        part = entry.champion if key is None else self.store.keyed.held(entry, key)
        if most is not None and part is not None and part.known_bytes > most:
            raise Refusal(
                507,
                f"the model takes {part.known_bytes:,} bytes, more than --model-memory allows ({most:,}); "
                "it learns no more, predictions go on",
            )

    async def _checked(self, entry: Entry, form: Form, rows: Rows, *, labelled: bool = True) -> LoggedRows:
        """Check the rows, many of them in a thread; tell of columns that nobody knows."""
        unknown, batch = rows.unknown, rows.batch
        if batch is None:
            labels, weights = (rows.labels, rows.weights) if labelled else (None, None)
            check = partial(form.batch, rows.table, labels, weights, unknown.extend, labelled=labelled)
            batch = check() if rows.n * len(form.names) <= FEW else await self.aside(check)
        if unknown and entry.champion.model is not None:
            for alarm in entry.champion.watch.unknown(unknown):
                at = time.time()
                entry.counts["alarms"] += 1
                entry.notes = [*entry.notes[-199:], {"at": at, "kind": "alarm", **alarm._asdict()}]
                body = {"model": entry.name, "at": at, **alarm._asdict()}
                self.bus.publish("alarm", body)
                self.webhook.send(body)
        return batch

    async def predict(
        self, entry: Entry, key: str | None, rows: Rows, wishes: dict[str, Any], ids: list[str] | None
    ) -> bytes:
        """Predict; with `ids`, predictions are remembered until their labels come."""
        form = entry.form
        if form is None:
            if ids is not None:
                raise Refusal(409, "the model has learnt nothing yet: nobody knows what its rows are")
            return to_json({"predictions": [None] * rows.n, "row": 0})
        batch = await self._checked(entry, form, rows, labelled=False)
        batch.labels = None
        part, model, gate = await self._asked(entry, key, wishes)
        found = await self.answering.answer(part, model, form, batch, {**wishes, "ids": ids}, gate)
        entry.counts["predicted"] += batch.n
        if isinstance(found, bytes):
            return found
        if ids is None:
            return to_json(found)
        found["ids"] = ids
        found["predictions"] = listed(found["predictions"])
        batch.predictions = list(found["predictions"])
        answer: bytes = await self.ask(Remember(entry, key, ids, batch, found))
        return answer

    async def _asked(
        self, entry: Entry, key: str | None, wishes: dict[str, Any]
    ) -> tuple[Part | None, Model, ReadWriteLock]:
        """Return the model that a prediction is asked of: the champion, that of a key, or one of a snapshot."""
        if wishes.get("snapshot") is not None:
            if key is not None:
                raise Refusal(422, "keyed models have no snapshots")
            return None, await self._of_snapshot(entry, wishes["snapshot"]), ReadWriteLock()
        part = entry.champion if key is None else await self.part(entry, key)
        if part is None:
            assert entry.pattern is not None
            return None, learning.fresh(entry.pattern), ReadWriteLock()
        assert part.model is not None
        return part, part.model, part.gate

    async def part(self, entry: Entry, key: str) -> Part | None:
        """Return the model of a key, brought into memory where it is not; None where there is none."""
        found = self.store.keyed.held(entry, key)
        if found is not None:
            return found
        brought: Part | None = await self.ask(Bring(entry, key))
        return brought

    async def _of_snapshot(self, entry: Entry, id: int) -> Model:
        found = next((s for s in entry.snapshots if s["id"] == id), None)
        if found is None:
            raise Refusal(404, f"the model has no snapshot {id}")
        model = self._old.pop(id, None)
        if model is None:
            try:
                model = await self.aside(self.store.read_snapshot, found["file"], found["bytes"], found["crc"])
            except Damaged as error:
                if not any(other["id"] == id for other in entry.snapshots):
                    raise Refusal(404, f"the model has no snapshot {id} any more") from None
                raise Refusal(409, f"snapshot {id} cannot be used: {error}") from None
        self._old[id] = model
        while len(self._old) > OLD_MODELS:
            self._old.popitem(last=False)
        return model

    async def label(
        self, entry: Entry, key: str | None, ids: list[str], labels: list[Any], idempotency: str | None, digest: bytes
    ) -> bytes:
        answer: bytes = await self.ask(Label(entry, key, idempotency, digest, ids, labels))
        return answer

    async def unlearn(
        self, entry: Entry, key: str | None, rows: Rows, idempotency: str | None, digest: bytes, *, drop: bool
    ) -> bytes:
        if entry.form is None:
            raise Refusal(422, "the model has learnt nothing that could be forgotten")
        batch = await self._checked(entry, entry.form, rows)
        answer: bytes = await self.ask(Unlearn(entry, key, idempotency, digest, batch, snapshots=drop))
        return answer

    # -- what is shown -----------------------------------------------------------------------------------------------
    def listed(self, name: str | None = None) -> list[dict[str, Any]]:
        """List all models, or the one of that name; a few numbers of each."""
        found = []
        for entry in self.store.models:
            if name is not None and entry.name != name:
                continue
            part = entry.champion
            reading = part.meter.reading() if part.model is not None else {}
            found.append(
                {
                    "name": entry.name,
                    "state": entry.state,
                    "reason": entry.reason,
                    "learner": entry.config.get("learner") or "auto",
                    "task": entry.form.task if entry.form else entry.config.get("task"),
                    "rows": part.model.n_seen if part.model is not None else 0,
                    "error": reading.get("error"),
                    "error_mean": reading.get("error_mean"),
                    "error_last": reading.get("error_last"),
                    "window": reading.get("window"),
                    "window_mean": reading.get("window_mean"),
                    "window_last": reading.get("window_last"),
                    "measure": reading.get("measure"),
                    "rows_per_second": part.rate.value,
                    "bytes": part.bytes,
                    "challengers": len(entry.shadows),
                    "keys": entry.keys,
                    "open_labels": entry.waiting,
                    "alarms": len(part.watch.raised) if part.model is not None else 0,
                    "created": entry.created,
                }
            )
        return found

    async def _tick(self, name: str | None) -> dict[str, Any]:
        models, health = await self.aside(lambda: (self.listed(name), describe_health(self)))
        queue, event = self.writer.depth, self.store.log.seq
        return {"at": time.time(), "queue": queue, "event": event, "health": health, "models": models}

    def described(self, entry: Entry) -> dict[str, Any]:
        """Describe one model: its columns, its champion and challengers, its counts, its last rows and notes."""
        if entry.state == QUARANTINED:
            return self._quarantined(entry)
        form = entry.form
        schema: dict[str, Any] | None = None
        if form is not None:
            schema = {"columns": form.schema.columns, "target": form.schema.target, "task": form.task}
            schema["outputs"] = form.outputs
            schema["formats"] = form.schema.formats or {}
        relied: dict[str, Any] = {}
        if entry.champion.model is not None:
            with entry.champion.gate.reading():
                relied = learning.relied_on(entry.champion.model)
        return {
            "name": entry.name,
            "state": entry.state,
            "created": entry.created,
            "config": entry.config,
            "schema": schema,
            "champion": entry.champion.described(),
            "challengers": [part.described() for part in entry.shadows.values()],
            "relied_on": relied,
            "last_rows": entry.champion.last_rows(),
            "notes": entry.notes,
            "snapshots": len(entry.snapshots),
            "keys": entry.keys,
            "open_labels": entry.waiting,
            "counts": entry.counts,
        }

    def _quarantined(self, entry: Entry) -> dict[str, Any]:
        """Describe a model that is not served: why, and where its files are."""
        return {
            "name": entry.name,
            "state": entry.state,
            "reason": entry.reason,
            "created": entry.created,
            "files": [str(self.store.folder / "log.db"), str(self.store.files)],
            "help": "nothing was deleted; `nystream verify DIR` says more, `nystream repair DIR` offers ways out",
        }

    async def importance(self, entry: Entry) -> dict[str, Any]:
        """Measure the shares of the columns in the champion's predictions.

        One at a time: it takes thousands of predictions.
        """
        part = entry.champion
        if part.model is None or not part.model.n_seen or not part.model.can("importance"):
            raise Refusal(409, "the model has learnt nothing yet, or its learner cannot tell columns apart")
        if self._weighing:
            raise Refusal(
                429, "the importance of columns is being worked out for somebody; ask again", {"Retry-After": "2"}
            )
        self._weighing = True
        try:
            found: dict[str, Any] = await self.answering.long(_weighed, part)
            return found
        finally:
            self._weighing = False

    def history(self, entry: Entry) -> dict[str, Any]:
        """Return the time lines of the champion and the challengers, and the marks on them."""
        parts = [part for part in entry.parts if part.model is not None]
        return {
            "name": entry.name,
            "champion": entry.champion.name,
            "measure": parts[0].meter.reading()["measure"] if parts else None,
            "parts": {part.name: part.meter.timeline() for part in parts},
            "notes": entry.notes,
        }


def _weighed(part: Part) -> dict[str, Any]:
    """Measure on a copy, so that the model goes on learning meanwhile."""
    with part.gate.reading():
        assert part.model is not None
        model = learning.copied(part.model)
    try:
        shares = model.importance()
    except ValueError as error:  # too early
        raise Refusal(409, one_line(error)) from None
    return {"row": model.n_seen, "importance": {name: float(share) for name, share in shares.items()}}


def new_ids(count: int) -> list[str]:
    """Return ids for predictions of callers that have none of their own."""
    return [uuid4().hex for _ in range(count)]
