"""The routes about models as a whole: create, describe, delete, download, clone, snapshots, challengers, keys."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from nystream.serve import admin, learning
from nystream.serve import replication as replicate
from nystream.serve.app import HEADERS, Call, Handler, answered
from nystream.serve.backup import Backup
from nystream.serve.bodies import Challenge, Clone, Config, Rollback, read_body
from nystream.serve.form import one_line
from nystream.serve.helper import Helpers
from nystream.serve.json_text import to_json
from nystream.serve.models import STARTING, Entry
from nystream.serve.parts import Part
from nystream.serve.refusals import Refusal
from nystream.serve.row_formats import parsed
from nystream.serve.settings import checked_key, checked_name

__all__ = ["TABLE", "TRANSFER"]

FILE = "application/octet-stream"
MOST_KEYS = 1000
"""Most keys that one request lists."""
UPLOAD_SECONDS = 10.0
"""Time that an uploaded file may take to load."""
MOST_DIGITS = 18
"""Most digits of a number in a query: with these it fits 64 bits."""


def _entry(call: Call) -> Entry:
    return call.service.store.models.find(call.path["name"])


async def models(call: Call) -> Response:
    return answered({"models": await call.service.aside(call.service.listed)})


async def create(call: Call) -> Response:
    name = checked_name(call.path["name"])
    if call.kind.partition(";")[0].strip().lower() == FILE:
        model, form = await call.service.aside(_uploaded, call.service.answering.helpers, call.body)
        return answered(await call.service.ask(admin.Create(name, {}, learning.fresh(model), form, model)), 201)
    config = read_body(Config, parsed(call.body), call.service.settings.limits).model_dump(exclude_unset=True)
    await call.service.answering.try_settings(config, "try_config", config)
    pattern, form = await call.service.aside(_declared, config)
    return answered(await call.service.ask(admin.Create(name, config, pattern, form)), 201)


def _declared(config: dict[str, Any]) -> tuple[Any, Any]:
    learning.check(config)
    return learning.declared(config)


def _uploaded(helpers: Helpers, content: bytes) -> tuple[Any, Any]:
    """Load an uploaded file; first in a process that can be killed, since a forged file could take for ever."""
    try:
        helpers.call("check_file", content, seconds=UPLOAD_SECONDS)
        model = learning.loaded(content)
        return model, learning.form_of(model)
    except ValueError as error:
        raise Refusal(422, f"the model file cannot be used: {one_line(error)}") from None
    except TimeoutError:
        raise Refusal(422, f"the model file was not loaded within {UPLOAD_SECONDS:g} s, and is refused") from None


async def describe(call: Call) -> Response:
    entry = call.service.store.models.look_up(call.path["name"])
    if entry.state == STARTING:
        entry.check_ready()
    return answered(await call.service.aside(call.service.described, entry))


async def history(call: Call) -> Response:
    return answered(await call.service.aside(call.service.history, _entry(call)))


async def importance(call: Call) -> Response:
    return answered(await call.service.importance(_entry(call)))


async def delete(call: Call) -> Response:
    entry = _entry(call)
    if call.query.get("confirm") != entry.name:
        raise Refusal(422, f"to delete the model and all it learnt, add ?confirm={entry.name}")
    return answered(await call.service.ask(admin.Delete(entry)))


async def download(call: Call) -> Response:
    entry = _entry(call)
    part: Part | None = entry.champion
    if "key" in call.path:
        part = await call.service.part(entry, checked_key(call.path["key"]))
    if part is None or part.model is None:
        raise Refusal(409, "the model has learnt nothing yet; there is nothing to download")
    content = await call.service.aside(_saved, part)
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{entry.name}.nys"'}
    return Response(content, 200, headers, FILE)


def _saved(part: Part) -> bytes:
    with part.gate.reading():
        assert part.model is not None
        model = learning.copied(part.model)
    return learning.saved(model)


async def clone(call: Call) -> Response:
    name = checked_name(read_body(Clone, parsed(call.body)).name)
    return answered(await call.service.ask(admin.Clone(_entry(call), name)), 201)


async def snapshots(call: Call) -> Response:
    return answered({"snapshots": [admin.shown(found) for found in _entry(call).snapshots]})


async def save(call: Call) -> Response:
    return answered(await call.service.ask(admin.Save(_entry(call))), 201)


async def rollback(call: Call) -> Response:
    id = read_body(Rollback, parsed(call.body)).snapshot
    return answered(await call.service.ask(admin.Rollback(_entry(call), id)))


async def challengers(call: Call) -> Response:
    entry = _entry(call)
    return answered(await call.service.aside(_challengers, entry))


def _challengers(entry: Entry) -> dict[str, Any]:
    found = [part.described() for part in entry.shadows.values()]
    return {"champion": entry.champion.described(), "challengers": found}


async def challenge(call: Call) -> Response:
    entry, name = _entry(call), checked_name(call.path["challenger"], "challenger")
    body = read_body(Challenge, parsed(call.body))
    found = body.model_dump(exclude_unset=True, exclude={"copy_champion"})
    if body.copy_champion and found:
        raise Refusal(422, 'with "copy": true a challenger has nothing else')
    if entry.form is not None:
        described = to_json(entry.form.described())
        await call.service.answering.try_settings(found, "try_challenger", found, described)
    await call.service.aside(learning.check, found)
    return answered(await call.service.ask(admin.AddShadow(entry, name, found, copy=body.copy_champion)), 201)


async def withdraw(call: Call) -> Response:
    return answered(await call.service.ask(admin.RemoveShadow(_entry(call), call.path["challenger"])))


async def promote(call: Call) -> Response:
    return answered(await call.service.ask(admin.Promote(_entry(call), call.path["challenger"])))


async def keys(call: Call) -> Response:
    text = call.query.get("most", "100")
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:9]) <= MOST_KEYS:
        raise Refusal(422, f"most must be a whole number from 1 to {MOST_KEYS}")
    return answered(await call.service.ask(admin.Keys(_entry(call), call.query.get("after", "")[:200], int(text))))


async def key(call: Call) -> Response:
    part = await call.service.part(_entry(call), checked_key(call.path["key"]))
    if part is None:
        raise Refusal(404, f"the model has no key {call.path['key'][:60]!r}")
    return answered(await call.service.aside(part.described))


async def sources(call: Call) -> Response:
    name = call.path.get("key")
    key = None if name is None else checked_key(name)
    return answered(await call.service.ask(admin.Sources(_entry(call), key)))


async def delete_key(call: Call) -> Response:
    entry, name = _entry(call), checked_key(call.path["key"])
    if call.query.get("confirm") != name:
        raise Refusal(422, "to delete the model of this key, add ?confirm= and the key")
    return answered(await call.service.ask(admin.DeleteKey(entry, name)))


async def backup(call: Call) -> Response:
    return answered(await call.service.ask(Backup()), 201)


async def replication(call: Call) -> Response:
    store = call.service.store
    return answered(replicate.list_models(store.models, store.log.last_of))


async def state(call: Call) -> Response:
    found = await call.service.ask(replicate.State(_entry(call), _follower(call)))
    return Response(await call.service.aside(replicate.pack_state, *found), 200, HEADERS, FILE)


async def state_keys(call: Call) -> Response:
    content = await call.service.ask(replicate.Keys(_entry(call), call.query.get("after", "")))
    return Response(content, 200, HEADERS, FILE)


async def changes(call: Call) -> Response:
    after, mark = (_number(call, name) for name in ("after", "mark"))
    content = await call.service.ask(replicate.Changes(_entry(call), _follower(call), after, mark))
    return Response(content, 200, HEADERS, FILE)


def _follower(call: Call) -> str:
    return checked_key(call.query.get("follower", ""), "follower")


def _number(call: Call, name: str) -> int:
    text = call.query.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > MOST_DIGITS:
        raise Refusal(422, f"{name} must be a whole number")
    return int(text)


async def export(call: Call) -> Response:
    return answered(await call.service.ask(admin.Export(_entry(call))))


async def take_over(call: Call) -> Response:
    name = checked_name(call.path["name"])
    command = await call.service.aside(admin.read_export, name, call.body)
    return answered(await call.service.ask(command), 201)


TRANSFER: list[tuple[str, str, Handler, str | None]] = [
    ("GET", "/transfer/{name}", export, "admin"),
    ("PUT", "/transfer/{name}", take_over, "admin"),
]
"""Between workers: a model as a clone of it begins."""
MODEL = "/models/{name}"
TABLE: list[tuple[str, str, Handler, str | None]] = [
    ("GET", "/models", models, "read"),
    ("POST", "/backup", backup, "admin"),
    ("GET", MODEL, describe, "read"),
    ("PUT", MODEL, create, "admin"),
    ("DELETE", MODEL, delete, "admin"),
    ("GET", f"{MODEL}/history", history, "read"),
    ("GET", f"{MODEL}/importance", importance, "read"),
    ("GET", f"{MODEL}/file", download, "read"),
    ("POST", f"{MODEL}/clone", clone, "admin"),
    ("GET", f"{MODEL}/snapshots", snapshots, "read"),
    ("POST", f"{MODEL}/snapshots", save, "admin"),
    ("POST", f"{MODEL}/rollback", rollback, "admin"),
    ("GET", f"{MODEL}/challengers", challengers, "read"),
    ("PUT", f"{MODEL}/challengers/{{challenger}}", challenge, "admin"),
    ("DELETE", f"{MODEL}/challengers/{{challenger}}", withdraw, "admin"),
    ("POST", f"{MODEL}/challengers/{{challenger}}/promote", promote, "admin"),
    ("GET", f"{MODEL}/sources", sources, "read"),
    ("GET", f"{MODEL}/keys/{{key}}/sources", sources, "read"),
    ("GET", f"{MODEL}/keys", keys, "read"),
    ("GET", f"{MODEL}/keys/{{key}}", key, "read"),
    ("GET", f"{MODEL}/keys/{{key}}/file", download, "read"),
    ("DELETE", f"{MODEL}/keys/{{key}}", delete_key, "admin"),
    ("GET", "/replication", replication, "read"),
    ("GET", f"{MODEL}/state", state, "read"),
    ("GET", f"{MODEL}/state/keys", state_keys, "read"),
    ("GET", f"{MODEL}/changes", changes, "read"),
]
