"""The routes: learning and asking, by name and by key."""

from __future__ import annotations

from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from nystream.data.inputs import as_levels
from nystream.runtime.params import checked_ahead
from nystream.serve import forecasting, metrics, openapi, pages, routes_admin
from nystream.serve.app import HEADERS, Call, Handler, Host, answered, endpoint, refuse_on_replica
from nystream.serve.bodies import Labels, Unlearn, read_body
from nystream.serve.commands import Replayed, Source
from nystream.serve.models import Entry
from nystream.serve.refusals import Refusal
from nystream.serve.row_formats import Rows, decoded, parsed
from nystream.serve.service import new_ids
from nystream.serve.settings import LONGEST_KEY, checked_key
from nystream.serve.tokens import ROLES

__all__ = ["TABLE", "Table", "quick", "routes", "worker_table"]

LARGE = 65_536
"""Bytes of a body from which on it is read in another process."""


def _entry(call: Call) -> tuple[Entry, str | None]:
    entry = call.service.store.models.find(call.path["name"])
    key = call.path.get("key")
    return entry, None if key is None else checked_key(key)


async def _rows(call: Call, entry: Entry, *, is_labelled: bool = True) -> Rows:
    service, arguments = call.service, (call.kind, call.body, call.query, call.service.settings.limits)
    target = entry.config.get("target") or []
    targets = [target] if isinstance(target, str) else target
    if len(call.body) < LARGE:
        return decoded(*arguments, entry.form, targets)
    if entry.form is not None:
        return await service.answering.read_rows(entry.form, *arguments, is_labelled=is_labelled)
    found: Rows = await service.aside(
        decoded, *arguments, None, targets
    )  # the first rows of a model say what its columns are
    return found


async def _idempotency(call: Call) -> tuple[str | None, bytes]:
    if len(call.body) < LARGE:
        return call.idempotency()
    found: tuple[str | None, bytes] = await call.service.aside(call.idempotency)
    return found


async def learn(call: Call) -> Response:
    return await _learn(call, step=False)


async def step(call: Call) -> Response:
    return await _learn(call, step=True)


async def _learn(call: Call, *, step: bool) -> Response:
    entry, key = _entry(call)
    idempotency, digest = await _idempotency(call)
    rows = await _rows(call, entry)
    _no_options(rows)
    source = _source(call)
    answer = await call.service.learn(
        entry, key, rows, step=step, idempotency=idempotency, digest=digest, source=source
    )
    return answered(answer, headers={"Idempotency-Replayed": "true"} if isinstance(answer, Replayed) else None)


def _source(call: Call) -> Source | None:
    """Return the source of the rows and their position in it, if the query names them."""
    name = call.query.get("source")
    if name is None:
        return None
    mark = call.query.get("mark", "")
    if len(mark) > LONGEST_KEY or not mark.isascii() or not mark.isprintable():
        raise Refusal(422, f"mark must be at most {LONGEST_KEY} printable ASCII characters")
    return Source(checked_key(name, "source"), _whole(call.query.get("position", ""), "position"), mark)


def _no_options(rows: Rows, *known: str) -> None:
    unknown = [name for name in rows.options if name not in known]
    if unknown:
        also = "".join(f", {name}" for name in known)
        raise Refusal(422, f"{unknown[0][:60]!r} is not known here; the body has rows, labels, weights{also}")


WISHES = ("probabilities", "interval", "quantiles", "explain", "snapshot", "ahead", "remember", "ids")


MOST_LEVELS = 99
"""Quantiles of one request."""


async def predict(call: Call) -> Response:
    entry, key = _entry(call)
    rows = await _rows(call, entry, is_labelled=False)
    _no_options(rows, *WISHES)
    wishes = {name: rows.options[name] for name in WISHES if name in rows.options}
    wishes |= {name: call.query[name] for name in WISHES if name in call.query}
    asked = {
        "probabilities": _truth(wishes, "probabilities"),
        "explain": _truth(wishes, "explain"),
        "interval": _share(wishes.get("interval")),
        "quantiles": _levels(wishes.get("quantiles")),
        "snapshot": _whole(wishes["snapshot"], "snapshot") if wishes.get("snapshot") is not None else None,
        "ahead": _ahead(wishes.get("ahead")),
    }
    ids = _ids(wishes, rows.n)
    if ids is not None:
        refuse_on_replica(call.service.settings)
        call.service.tokens.check(call.request.headers.get("authorization"), "learn")
    return answered(await call.service.predict(entry, key, rows, asked, ids))


def _truth(wishes: dict[str, Any], name: str) -> bool:
    value = wishes.get(name, False)
    if value in (True, "true", "1", "yes"):
        return True
    if value in (False, "false", "0", "no", None):
        return False
    raise Refusal(422, f"{name} must be true or false, got {value!r:.60}")


def _share(value: Any) -> float | None:
    if value is None or value is False:
        return None
    try:
        found = 0.9 if value in (True, "true") else float(value)
    except (TypeError, ValueError):
        found = -1.0
    if not 0 < found < 1:
        raise Refusal(422, f"interval must be a coverage between 0 and 1, got {value!r:.60}")
    return found


def _ahead(value: Any) -> int | None:
    if value in (None, "", "null"):
        return None
    try:
        return checked_ahead(1 if value == "1" else value)
    except ValueError:
        raise Refusal(422, f"ahead must be null (some later row) or 1 (the next row), got {value!r:.60}") from None


def _levels(value: Any) -> list[float] | None:
    if value is None or value is False:
        return None
    try:
        found = as_levels([float(part) for part in (value.split(",") if isinstance(value, str) else value)]).tolist()
    except (TypeError, ValueError):
        found = []
    if not 0 < len(found) <= MOST_LEVELS:
        raise Refusal(422, f"quantiles must be up to {MOST_LEVELS} numbers between 0 and 1, got {value!r:.60}")
    return found


def _whole(value: Any, name: str) -> int:
    try:
        if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
            raise ValueError
        found = int(value)
        if not 0 <= found < 2**62:
            raise ValueError
        return found
    except (TypeError, ValueError):
        raise Refusal(422, f"{name} must be a whole number, got {value!r:.60}") from None


def _ids(wishes: dict[str, Any], n: int) -> list[str] | None:
    given = wishes.get("ids")
    if given is None:
        return new_ids(n) if _truth(wishes, "remember") else None
    ids = given.split(",") if isinstance(given, str) else given
    if not isinstance(ids, list) or len(ids) != n or not all(isinstance(name, str) for name in ids):
        raise Refusal(422, f"ids must be a list of texts, one for each of the {n} rows")
    if len(set(ids)) < len(ids):
        raise Refusal(422, "ids has one twice")
    return [checked_key(name, "id") for name in ids]


async def label(call: Call) -> Response:
    entry, key = _entry(call)
    idempotency, digest = call.idempotency()
    found = parsed(call.body)
    given = read_body(Labels, found)
    if set(found) not in ({"id", "label"}, {"ids", "labels"}):
        raise Refusal(422, 'the body has "id" and "label", or "ids" and "labels"')
    ids: Any = [given.id] if "id" in found else given.ids
    labels = [given.label] if "id" in found else given.labels
    if not isinstance(ids, list) or not isinstance(labels, list) or not ids or len(ids) != len(labels):
        raise Refusal(422, "ids and labels must be lists of the same length")
    if len(ids) > call.service.settings.limits.rows:
        raise Refusal(413, f"{len(ids)} labels are more than one request may have")
    for i, (name, value) in enumerate(zip(ids, labels, strict=True)):
        if not isinstance(name, str):
            raise Refusal(422, f"id {i} is no text")
        if value is None or isinstance(value, dict):
            raise Refusal(422, f"label {i} is null or an object; a label is a number or a name")
    if len(set(ids)) < len(ids):
        raise Refusal(422, "ids has one twice")
    return answered(await call.service.label(entry, key, ids, labels, idempotency, digest))


async def unlearn(call: Call) -> Response:
    entry, key = _entry(call)
    idempotency, digest = await _idempotency(call)
    rows = await _rows(call, entry)
    drop = read_body(Unlearn, rows.options).drop_snapshots
    return answered(await call.service.unlearn(entry, key, rows, idempotency, digest, drop=drop))


async def healthz(call: Call) -> Response:
    return answered({"status": "alive"})


async def readyz(call: Call) -> Response:
    ready = call.service.is_ready
    state = {"status": "ready" if ready else "not ready", "queue": call.service.writer.depth}
    status = {**state, **call.service.progress()}
    return answered(status, 200 if ready else 503, None if ready else {"Retry-After": "1"})


async def show_metrics(call: Call) -> Response:
    text = await call.service.aside(metrics.write_metrics, call.service)
    return Response(text, 200, HEADERS, "text/plain; version=0.0.4")


async def health(call: Call) -> Response:
    return answered(await call.service.aside(metrics.describe_health, call.service))


async def access(call: Call) -> Response:
    role = call.service.tokens.role(call.request.headers.get("authorization"))
    if call.service.settings.follow is not None:
        role = ROLES[0]  # a replica lets nobody change anything
    return answered({"role": role, "tokens": call.service.tokens.needed})


async def events(call: Call) -> Response:
    stream = call.service.bus.stream(call.query.get("model"), ticks=call.query.get("ticks") != "no")
    return StreamingResponse(stream, headers={**HEADERS, "X-Accel-Buffering": "no"}, media_type="text/event-stream")


async def show_openapi(call: Call) -> Response:
    return answered(openapi.described())


async def page(call: Call) -> Response:
    return pages.page(call.path.get("name"))


async def asset(call: Call) -> Response:
    return pages.asset(call.path["file"])


MODEL, KEYED = "/models/{name}", "/models/{name}/keys/{key}"
Table: TypeAlias = list[tuple[str, str, Handler, str | None]]
TABLE: Table = [
    ("POST", f"{MODEL}/learn", learn, "learn"),
    ("POST", f"{MODEL}/predict", predict, "read"),
    ("POST", f"{MODEL}/step", step, "learn"),
    ("POST", f"{KEYED}/learn", learn, "learn"),
    ("POST", f"{KEYED}/predict", predict, "read"),
    ("POST", f"{KEYED}/step", step, "learn"),
    ("POST", f"{MODEL}/label", label, "learn"),
    ("POST", f"{KEYED}/label", label, "learn"),
    ("POST", f"{MODEL}/unlearn", unlearn, "admin"),
    ("POST", f"{KEYED}/unlearn", unlearn, "admin"),
    *forecasting.TABLE,
    *routes_admin.TABLE,
    ("GET", "/healthz", healthz, None),
    ("GET", "/readyz", readyz, None),
    ("GET", "/metrics", show_metrics, "read"),
    ("GET", "/health", health, "read"),
    ("GET", "/access", access, "read"),
    ("GET", "/events", events, "read"),
    ("GET", "/openapi.json", show_openapi, None),
    ("GET", "/", page, None),
    ("GET", "/view/{name}", page, None),
    ("GET", "/assets/{file}", asset, None),
]
"""Method, path, handler and the role that it needs; None: anybody."""


def worker_table() -> Table:
    """Return the routes of a worker: also those by which a model is cloned to another worker."""
    return [*TABLE, *routes_admin.TRANSFER]


def routes(service: Host, table: Table = TABLE) -> list[Route]:
    """Return the table as the application takes it: one route per path, so that a wrong method gets its own error."""
    paths: dict[str, dict[str, Any]] = {}
    for method, path, handler, role in table:
        paths.setdefault(path, {})[method] = endpoint(service, handler, role)
    return [_route(path, methods) for path, methods in paths.items()]


def quick(service: Host, table: Table = TABLE) -> dict[tuple[str, Any], Any]:
    """Return the frequent endpoints, by the keys that `application` looks them up with."""
    often: dict[str, tuple[str, Any]] = {
        f"{start}/{verb}": (verb, start.count("/") + 2)
        for start in (MODEL, KEYED)
        for verb in ("learn", "predict", "step")
    }
    often["/healthz"] = ("GET", "/healthz")
    return {often[path]: endpoint(service, handler, role) for _, path, handler, role in table if path in often}


def _route(path: str, methods: dict[str, Any]) -> Route:
    async def called(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        found: Response = await methods[method](request)
        return found

    return Route(path, called, methods=list(methods))
