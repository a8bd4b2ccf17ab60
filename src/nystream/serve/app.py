"""The HTTP application: who may ask, how much, for how long; and every failure as one sentence."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from nystream.serve.json_text import to_json
from nystream.serve.logs import Audit, RequestInfo, current_request, new_request_id
from nystream.serve.metrics import Timings
from nystream.serve.rates import Rates
from nystream.serve.refusals import Refusal, report_failure
from nystream.serve.service import Service
from nystream.serve.settings import LONGEST_KEY, Settings, is_loopback
from nystream.serve.tokens import ROLES, Tokens

__all__ = ["PAGE_HEADERS", "Call", "Handler", "Host", "answered", "application", "endpoint", "refuse_on_replica"]

logger = logging.getLogger("nystream.serve")
requests_logger = logging.getLogger("nystream.serve.requests")
DRAINED = 8
"""Times the largest body that is read of one that is longer, so that the client sees why it is refused."""
LONGEST_PATH = 300
"""Characters of a path that are logged."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ON_REPLICAS = ("backup",)
"""Requests of more than the role read that replicas answer too."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
PAGE_HEADERS = {
    **HEADERS,
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


class Call:
    """A request that was let in: its service, its body, and what its headers say."""

    def __init__(self, service: Service, request: Request, body: bytes) -> None:
        self.service, self.request, self.body = service, request, body

    @property
    def path(self) -> dict[str, str]:
        return self.request.path_params

    @property
    def query(self) -> Any:
        return self.request.query_params if self.request.scope["query_string"] else {}

    @property
    def kind(self) -> str:
        return self.request.headers.get("content-type", "")

    def idempotency(self) -> tuple[str | None, bytes]:
        """Return the key under which the answer is remembered, and a digest of the request."""
        key = self.request.headers.get("idempotency-key")
        if not key:
            return None, b""
        if len(key) > LONGEST_KEY or not key.isprintable():
            raise Refusal(422, f"Idempotency-Key must be 1 to {LONGEST_KEY} printable characters")
        scope = self.request.scope
        digest = hashlib.blake2b(f"{scope['path']}?".encode() + scope["query_string"] + b"\0", digest_size=16)
        digest.update(self.body)
        return key, digest.digest()


Handler = Callable[[Call], Awaitable[Response]]


class Host(Protocol):
    """What a request meets before its handler: a service, or the front process of several workers."""

    settings: Settings
    tokens: Tokens
    rates: Rates
    audit: Audit
    timings: Timings
    refused: dict[str, int]


def answered(body: bytes | dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response with JSON."""
    content = body if isinstance(body, bytes) else to_json(body)
    return Response(content, status, {**HEADERS, **(headers or {})}, "application/json")


def refused(refusal: Refusal) -> Response:
    return answered({"error": refusal.message}, refusal.status, refusal.headers)


def endpoint(service: Host, handler: Handler, role: str | None) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler behind its role, its limits and its time."""
    limits = service.settings.limits
    name = handler.__name__
    timing = service.timings.of_route(name)

    async def called(request: Request) -> Response:
        began = time.perf_counter()
        info = _describe(request)
        before = current_request.set(info)
        try:
            response = await answer(request, info)
        finally:
            current_request.reset(before)
        seconds = time.perf_counter() - began
        response.raw_headers.append((b"x-request-id", info.id.encode()))
        timing.observe(seconds)
        service.timings.count(name, response.status_code)
        service.audit.write(info, role, response.status_code, seconds)
        if requests_logger.isEnabledFor(logging.INFO):
            fields = {"status": response.status_code, "ms": round(seconds * 1e3, 1), "who": info.who or None}
            about = {"request": info, "fields": fields}
            requests_logger.info("%s %s", info.method, info.path, extra=about)
        return response

    async def answer(request: Request, info: RequestInfo) -> Response:
        received = False
        try:
            _check_origin(request, service)
            if role is not None:
                info.who = service.tokens.check(request.headers.get("authorization"), role)
                service.rates.check(info.who or info.address)
                if role != ROLES[0] and name not in ON_REPLICAS:
                    refuse_on_replica(service.settings)
            async with asyncio.timeout(limits.seconds):
                body = await _body(request, limits.body) if request.method in ("POST", "PUT") else b""
                received = True
                return await handler(Call(cast(Service, service), request, body))
        except Refusal as refusal:
            service.refused["not allowed" if refusal.status in (401, 403) else "bad request"] += 1
            return refused(refusal)
        except TimeoutError:
            service.refused["too slow"] += 1
            if not received:
                message = f"the request did not come within {limits.seconds:g} s"
                return refused(Refusal(408, message, {"Connection": "close"}))
            message = f"the request took more than {limits.seconds:g} s; repeat it with the same Idempotency-Key"
            return refused(Refusal(503, message, {"Retry-After": "1"}))
        except asyncio.CancelledError:  # uvicorn ends what is open when the time to end is nearly over
            message = "the server is stopping; repeat the request with the same Idempotency-Key"
            return refused(Refusal(503, message, {"Retry-After": "5", "Connection": "close"}))
        except ClientDisconnect:
            return refused(Refusal(400, "the client went away"))
        except Exception as error:
            return refused(report_failure(error, name))

    return called


def refuse_on_replica(settings: Settings) -> None:
    """Refuse what would change a model of a replica."""
    if settings.follow is not None:
        raise Refusal(403, f"this server is a replica, which learns from {settings.follow} alone; send it there")


def _describe(request: Request) -> RequestInfo:
    scope = request.scope
    client, names = scope.get("client"), scope.get("path_params", {})
    id = new_request_id(request.headers.get("x-request-id"))
    path = scope["path"][:LONGEST_PATH]
    return RequestInfo(id, client[0] if client else "", request.method, path, names.get("name"))


def _check_origin(request: Request, service: Host) -> None:
    """Refuse requests that a page of another site makes a browser send, also under a made-up name of this machine."""
    host = request.headers.get("host", "")
    if not service.tokens.needed:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if not is_loopback(name.strip("[]")[:LONGEST_PATH]):
            raise Refusal(403, f"without tokens only this machine is served, and it is not called {host[:60]!r}")
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host and origin not in service.settings.origins:
        raise Refusal(403, f"pages of {origin[:60]!r} may not call this server; see --origin")


async def _body(request: Request, most: int) -> bytes:
    declared = request.headers.get("content-length", "")
    is_long = declared.isdigit() and int(declared) > most
    if is_long and request.headers.get("expect", "").lower() == "100-continue":
        raise Refusal(413, f"the body has {declared} bytes, more than {most}", {"Connection": "close"})
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most or is_long:
            is_long = True
            parts.clear()  # the rest is read and dropped: a client that is still sending does not read an answer
            if size > DRAINED * most:
                break
            continue
        parts.append(part)
    if is_long:
        found = f"{declared} bytes" if declared.isdigit() else "more bytes than allowed"
        raise Refusal(413, f"the body has {found}; at most {most} are taken", {"Connection": "close"})
    return b"" if not parts else parts[0] if len(parts) == 1 else b"".join(parts)


async def _not_found(request: Request, error: Exception) -> Response:
    """Answer what no route takes: 404 for a path, 405 for a method."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    text = {404: "there is nothing here; see /openapi.json", 405: "this path does not take that method"}
    return refused(Refusal(status, text.get(status, "the request cannot be answered"), headers))


def application(service: Host, routes: list[Route], quick: dict[tuple[str, Any], Any]) -> Any:
    """Return the application with all routes.

    `quick` has the endpoints that are called by the thousand. They are looked up before the list of routes, which costs
    more than many a learner.
    """
    app = _routed(service, routes)
    if service.settings.origins:
        return app

    async def called(scope: Any, receive: Any, send: Any) -> None:
        found = _find(quick, scope) if scope["type"] == "http" else None
        if found is None:
            return await app(scope, receive, send)
        response = await found(Request(scope, receive))
        return await response(scope, receive, send)

    return called


def _find(quick: dict[tuple[str, Any], Any], scope: Any) -> Any:
    """Return the endpoint of a frequent request, or None; enter the names of its path into the scope.

    The key of a path without names is the method and the path. That of POST /models/NAME/VERB, and of
    POST /models/NAME/keys/KEY/VERB, is the verb and the number of parts.
    """
    found = quick.get((scope["method"], scope["path"]))
    if found is not None or scope["method"] != "POST":
        return found
    parts = scope["path"].split("/")
    found = quick.get((parts[-1], len(parts)))
    if found is None or parts[1] != "models" or "" in parts[1:] or (len(parts) == 6 and parts[3] != "keys"):
        return None
    scope["path_params"] = {"name": parts[2]} if len(parts) == 4 else {"name": parts[2], "key": parts[4]}
    return found


def _routed(service: Host, routes: list[Route]) -> Starlette:
    origins = list(service.settings.origins)
    cors = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "PUT", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Idempotency-Key"],
    )
    app = Starlette(
        routes=routes,
        middleware=[cors] if origins else [],
        exception_handlers={404: _not_found, 405: _not_found, HTTPException: _not_found},
    )
    app.router.redirect_slashes = False
    return app
