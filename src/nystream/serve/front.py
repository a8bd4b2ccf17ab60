"""The front process of several workers: it checks who asks, and hands each request to the worker of its model.

Requests about all models are asked of every worker, and their answers are put together here.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import Response

from nystream.serve.app import HEADERS, Call, Handler, answered
from nystream.serve.bodies import Clone, read_body
from nystream.serve.event_stream import Bus
from nystream.serve.logs import Audit, current_request
from nystream.serve.metrics import Timings, join_health
from nystream.serve.placement import choose_worker, place_models
from nystream.serve.rates import Rates
from nystream.serve.refusals import Refusal
from nystream.serve.routes import TABLE, Table
from nystream.serve.row_formats import parsed
from nystream.serve.service import AUDIT
from nystream.serve.settings import Settings, checked_name
from nystream.serve.snapshots import sync, write_durably
from nystream.serve.tokens import ROLES, Tokens
from nystream.serve.workers import Reply, Worker, worker_settings

__all__ = ["Front", "route_table"]

FORWARDED = ("content-type", "idempotency-key")
"""Headers of a request that a worker reads."""
RETURNED = ("content-type", "content-disposition", "retry-after", "idempotency-replayed", "cache-control",
            "x-content-type-options")  # fmt: skip
"""Headers of an answer that the client gets."""


class Found(NamedTuple):
    """What the workers that are up answered, and the numbers of those that are down."""

    replies: dict[int, Reply]
    down: list[int]


class Front:
    """Workers, and what a request meets before it is handed to one of them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tokens = Tokens(settings.tokens)
        self.rates = Rates(settings.limits.rate)
        self.timings = Timings()
        self.refused: dict[str, int] = {"bad request": 0, "not allowed": 0, "too slow": 0}
        self.connections_refused: dict[str, int] = {}
        self.audit = Audit(None if settings.audit == "off" else settings.folder / AUDIT, every=settings.audit == "all")
        self.bus = Bus(settings.limits.subscribers, self._tick)
        self.ended_in_time = True
        self._sockets = Path(tempfile.mkdtemp(prefix="nystream-"))
        self.workers: list[Worker] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._stop_by = float("inf")
        place_models(settings.folder, settings.workers)

    # -- beginning and end -------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start the workers, in the event loop."""
        for k in range(self.settings.workers):
            self.workers.append(Worker(k, worker_settings(self.settings, k), self._sockets))
        loop = asyncio.get_running_loop()
        for worker in self.workers:
            self._tasks.append(loop.create_task(worker.keep_running()))
            self._tasks.append(loop.create_task(self._relay(worker)))

    def ask_to_stop(self) -> None:
        """Begin to stop: from now on the time to end is counted."""
        self._stop_by = min(self._stop_by, time.monotonic() + self.settings.drain)
        for worker in self.workers:  # a signal to the whole group, as of systemd, ends them too
            worker.expect_end()

    def refresh_tokens(self) -> None:
        """Read the file of tokens again. Workers have none."""
        self.tokens.refresh()

    async def finish(self) -> bool:
        """End the workers; return whether all of them had finished in time."""
        self.ask_to_stop()
        left = max(self._stop_by - time.monotonic(), 1.0)
        ended = await asyncio.gather(*(worker.stop(left) for worker in self.workers))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.audit.close()
        shutil.rmtree(self._sockets, ignore_errors=True)
        return all(ended)

    async def _relay(self, worker: Worker) -> None:
        """Publish what happens in a worker."""
        while True:
            await worker.is_up.wait()
            with suppress(OSError):
                async for kind, body in worker.events():
                    self.bus.publish(kind, body)
            await asyncio.sleep(0.2)

    # -- requests ----------------------------------------------------------------------------------------------------
    def worker_of(self, name: str) -> Worker:
        """Return the worker of a model."""
        return self.workers[choose_worker(name, len(self.workers))]

    async def forward(self, call: Call) -> Response:
        """Hand a request to the worker of its model."""
        request = call.request
        target = request.scope.get("raw_path", request.url.path.encode()).decode("latin-1")
        target += f"?{request.url.query}" if request.url.query else ""
        method = "GET" if request.method == "HEAD" else request.method
        return _response(
            await self.worker_of(call.path["name"]).request(method, target, self._headers(call), call.body)
        )

    def _headers(self, call: Call) -> dict[str, str]:
        """Return the headers of a request as a worker reads them: the role instead of the token."""
        given = call.request.headers
        found = {name: given[name] for name in FORWARDED if name in given}
        info = current_request.get()
        if info is not None:
            found["x-request-id"] = info.id
        found["authorization"] = self.tokens.role(given.get("authorization"))
        return found

    async def ask_all(self, method: str, target: str, *, take_refusals: bool = False) -> Found:
        """Ask every worker at once. One that refuses counts as down, unless its refusals are wanted too."""
        headers = {"authorization": ROLES[-1]}
        asked = (worker.request(method, target, headers) for worker in self.workers)
        found = await asyncio.gather(*asked, return_exceptions=True)
        replies: dict[int, Reply] = {}
        for k, reply in enumerate(found):
            if isinstance(reply, Reply):
                if take_refusals or not reply.is_refusal:
                    replies[k] = reply
            elif not isinstance(reply, Refusal):
                raise reply
        return Found(replies, [k for k in range(len(self.workers)) if k not in replies])

    async def list_models(self) -> dict[str, Any]:
        """Return the models of all workers that are up, and which are not."""
        found = await self.ask_all("GET", "/models")
        models = [model for reply in found.replies.values() for model in orjson.loads(reply.body)["models"]]
        return {"models": sorted(models, key=lambda model: model["created"] or 0.0), "workers_down": found.down}

    async def _tick(self, name: str | None) -> dict[str, Any]:
        models, health = await self.list_models(), await self.describe_health()
        shown = [model for model in models["models"] if name in (None, model["name"])]
        down = models["workers_down"]
        return {"at": time.time(), "queue": health["queue"], "workers_down": down, "health": health, "models": shown}

    async def describe_health(self) -> dict[str, Any]:
        """Return what the page shows of the server, over all workers."""
        found = await self.ask_all("GET", "/health")
        joined = join_health([orjson.loads(reply.body) for reply in found.replies.values()])
        return {"queue": 0, "queue_rows": 0, **joined, "workers": len(self.workers), "workers_down": found.down}

    async def health(self, call: Call) -> Response:
        return answered(await self.describe_health())

    # -- requests about all models -----------------------------------------------------------------------------------
    async def models(self, call: Call) -> Response:
        return answered(await self.list_models())

    async def readyz(self, call: Call) -> Response:
        found = await self.ask_all("GET", "/readyz")
        states = {k: orjson.loads(reply.body) for k, reply in found.replies.items()}
        is_ready = not found.down and all(reply.status == 200 for reply in found.replies.values())
        body: dict[str, Any] = {"status": "ready" if is_ready else "not ready"}
        for name in ("models", "ready", "events_replayed", "events_to_replay"):
            body[name] = sum(state[name] for state in states.values())
        for name in ("quarantined", "damage"):
            body[name] = [text for state in states.values() for text in state[name]]
        body["workers"] = [
            {"worker": w.number, "pid": w.pid, "up": w.is_up.is_set(), "restarts": w.restarts} for w in self.workers
        ]
        return answered(body, 200 if is_ready else 503, None if is_ready else {"Retry-After": "1"})

    async def show_metrics(self, call: Call) -> Response:
        found = await self.ask_all("GET", "/metrics")
        texts = {k: reply.body.decode() for k, reply in found.replies.items()}
        own = generate_latest(self.timings.registry).decode()
        content = await asyncio.to_thread(_join_metrics, own, texts, list(self._own_metrics()))
        return Response(content, 200, HEADERS, "text/plain; version=0.0.4")

    def _own_metrics(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("nystream_worker_up", "Whether the worker takes requests", labels=["worker"])
        restarts = CounterMetricFamily("nystream_worker_restarts", "Times it was started again", labels=["worker"])
        for worker in self.workers:
            up.add_metric([str(worker.number)], float(worker.is_up.is_set()))
            restarts.add_metric([str(worker.number)], worker.restarts)
        refused = CounterMetricFamily("nystream_refused", "Requests refused, by reason", labels=["reason"])
        for reason, count in {**self.refused, **self.connections_refused}.items():
            refused.add_metric([reason], count)
        yield from (up, restarts, refused)

    async def replication(self, call: Call) -> Response:
        """Return what a replica asks first. While a worker is down the list is not complete."""
        found = await self.ask_all("GET", "/replication")
        bodies = [orjson.loads(reply.body) for reply in found.replies.values()]
        models = [model for body in bodies for model in body["models"]]
        complete = not found.down and all(body["complete"] for body in bodies)
        return answered({"complete": complete, "models": models})

    async def create(self, call: Call) -> Response:
        most = self.settings.limits.models
        found = await self.ask_all("GET", "/readyz")
        if sum(orjson.loads(reply.body)["models"] for reply in found.replies.values()) >= most:
            raise Refusal(429, f"there are {most} models, which is the most this server may have")
        return await self.forward(call)

    async def clone(self, call: Call) -> Response:
        """Clone a model: where the clone belongs to another worker, by way of this process."""
        name = checked_name(read_body(Clone, parsed(call.body)).name)
        source, target = self.worker_of(call.path["name"]), self.worker_of(name)
        if source is target:
            return await self.forward(call)
        headers = self._headers(call)
        reply = await source.request("GET", f"/transfer/{checked_name(call.path['name'])}", headers)
        if reply.status == 200:
            reply = await target.request("PUT", f"/transfer/{name}", headers, reply.body)
        return _response(reply)

    async def backup(self, call: Call) -> Response:
        """Make a backup of every worker, and put them together in one folder."""
        found = await self.ask_all("POST", "/backup", take_refusals=True)
        if found.down:
            raise Refusal(503, f"worker {found.down[0]} is being started again; try again", {"Retry-After": "1"})
        for reply in found.replies.values():
            if reply.status != 201:
                return _response(reply)
        made = {k: orjson.loads(reply.body) for k, reply in found.replies.items()}
        event = sum(backup["event"] for backup in made.values())
        name = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + f"-{event}"
        place = self.settings.folder / "backups" / name
        await asyncio.to_thread(_join_backups, place, {k: Path(backup["backup"]) for k, backup in made.items()})
        return answered({"backup": str(place), "event": event}, 201)


def route_table(front: Front) -> Table:
    """Return the routes of a server, each answered by a worker, by all of them, or by the front itself."""
    joined = {
        handler.__name__: handler
        for handler in (
            front.models,
            front.readyz,
            front.health,
            front.show_metrics,
            front.replication,
            front.create,
            front.clone,
            front.backup,
        )
    }
    table: Table = []
    for method, path, handler, role in TABLE:
        if handler.__name__ in joined:
            handler = joined[handler.__name__]
        elif path.startswith("/models/{name}"):
            handler = _forwarding(front, handler)
        table.append((method, path, handler, role))
    return table


def _forwarding(front: Front, handler: Handler) -> Handler:
    """Return a handler with the same name, for the metrics, that hands the request to a worker."""

    @wraps(handler)
    async def forward(call: Call) -> Response:
        return await front.forward(call)

    return forward


def _response(reply: Reply) -> Response:
    headers = {name: reply.headers[name] for name in RETURNED if name in reply.headers}
    return Response(reply.body, reply.status, headers)


def _join_metrics(own: str, texts: dict[int, str], more: list[Metric]) -> bytes:
    """Return the numbers of all processes as one text; those of workers have the label `worker`."""
    families: dict[str, Metric] = {}
    for number, text in [(None, own), *texts.items()]:
        for family in text_string_to_metric_families(text):
            joined = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for sample in family.samples:
                labels = sample.labels if number is None else {**sample.labels, "worker": str(number)}
                joined.samples.append(sample._replace(labels=labels))
    for family in more:
        joined = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
        joined.samples.extend(family.samples)
    registry = CollectorRegistry()
    registry.register(_Families(list(families.values())))
    return generate_latest(registry)


class _Families:
    """Numbers that are there already, as Prometheus' library takes them."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def _join_backups(place: Path, backups: dict[int, Path]) -> None:
    """Move the backups of workers into one folder, which can be served as it is."""
    part = place.with_name(place.name + ".part")
    (part / "workers").mkdir(parents=True)
    for number, backup in backups.items():
        os.replace(backup, part / "workers" / str(number))
    write_durably(part / "workers" / "count", f"{len(backups)}\n".encode())
    part.rename(place)
    sync(place.parent)
