"""A server from start to end: lock, recover, listen, and on SIGTERM finish what waits, save, and end with success."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

import uvicorn
import uvloop
from starlette.routing import Route

from nystream.serve.app import Host, application
from nystream.serve.connections import connection_class
from nystream.serve.event_stream import Bus
from nystream.serve.folder import FolderLock, has_workers, mend_permissions
from nystream.serve.front import Front, route_table
from nystream.serve.logs import start_log
from nystream.serve.routes import TABLE, quick, routes
from nystream.serve.service import Service
from nystream.serve.settings import Settings, is_loopback

__all__ = ["Server", "listening", "prepare_process", "run", "serve"]

logger = logging.getLogger("nystream.serve")
Stopper: TypeAlias = Callable[[], object]

GRACE = 0.6
"""Share of the time to end that open connections have; the rest is for rows that wait and for snapshots."""
SWITCH = 0.001
"""Seconds that a thread may keep the interpreter while another waits: answers wait for it, so shorter than usual."""


class Server(Host, Protocol):
    """A service, or the front process of several workers."""

    bus: Bus
    connections_refused: dict[str, int]
    ended_in_time: bool

    def start(self) -> None:
        """Begin to take requests, in the event loop."""

    def ask_to_stop(self) -> None:
        """Begin to stop: from now on the time to end is counted."""

    def refresh_tokens(self) -> None:
        """Read the file of tokens again."""

    async def finish(self) -> bool:
        """Finish what waits and end; return whether everything was done in time."""


class _Server(uvicorn.Server):
    """uvicorn whose end is ours: it would pass a signal on to itself when it has stopped, and not end with 0."""

    def __init__(self, config: uvicorn.Config, service: Server) -> None:
        super().__init__(config)
        self._service = service

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for kind in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(kind, self.ask_to_stop)
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError, AttributeError):
            loop.add_signal_handler(signal.SIGHUP, self._service.refresh_tokens)
        yield

    def ask_to_stop(self) -> None:
        """Begin to stop: no new connections; event streams end; the others finish."""
        self._service.ask_to_stop()
        self._service.bus.close()
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True


def run(settings: Settings, *, quiet: bool = False) -> None:
    """Serve a folder until SIGTERM or SIGINT."""
    if settings.tokens is None and not is_loopback(settings.host):
        raise ValueError(
            f"without --tokens the server listens on this machine alone, and {settings.host} is not; give --tokens FILE"
        )
    if settings.follow is not None and settings.workers:
        raise ValueError("a replica is one process: give --follow without --workers")
    if has_workers(settings.folder) and not settings.workers:
        raise ValueError(f"{settings.folder} was served with --workers; give --workers N (any N; models move to fit)")
    prepare_process()
    log = start_log(settings.log_format, requests=settings.log_requests)
    lock = FolderLock(settings.folder)
    try:
        for path in mend_permissions(settings.folder, settings.tokens):
            logger.warning("other users could read %s; its permissions are mended", path)
        found = listening(settings.host, settings.port)
        service: Server
        if settings.workers:
            service = front = Front(settings)
            table = route_table(front)
        else:
            service, table = Service(settings), TABLE
        host, port = found.getsockname()[:2]
        if not quiet:
            _announce(settings, host, port)
        try:
            serve(service, routes(service, table), quick(service, table), found)
        finally:
            found.close()
        if not service.ended_in_time:
            logger.warning("not all was done before the end; the next start learns what only the log has")
    finally:
        lock.release()
        log.stop()
    if not service.ended_in_time:
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(0)  # a thread still learns or predicts; everything that was acknowledged is in the log


def prepare_process() -> None:
    """Set what a server needs of its process: short turns of threads, no end by SIGHUP, files for the owner alone."""
    sys.setswitchinterval(SWITCH)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a terminal that closes ends nothing
    os.umask(0o077)


def serve(
    service: Server,
    paths: list[Route],
    fast: dict[tuple[str, Any], Any],
    place: socket.socket,
    started: Callable[[Stopper], None] | None = None,
    *,
    keep_alive: int = 5,
) -> None:
    """Answer on a socket until asked to stop: by a signal, or by what `started` is given, from any thread."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(service, application(service, paths, fast), place, started, keep_alive))


async def _serve(
    service: Server, app: Any, place: socket.socket, started: Callable[[Stopper], None] | None, keep_alive: int
) -> None:
    service.start()
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        log_config=None,
        http=connection_class(service.settings.limits, service.connections_refused),
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=service.settings.limits.connections,
        timeout_keep_alive=keep_alive,
        timeout_graceful_shutdown=max(1, int(GRACE * service.settings.drain)),
        h11_max_incomplete_event_size=65_536,
    )
    config.load()
    server = _Server(config, service)
    loop = asyncio.get_running_loop()
    if started is not None:
        started(lambda: loop.call_soon_threadsafe(server.ask_to_stop))
    try:
        await server.serve(sockets=[place])
    finally:
        service.ended_in_time = await service.finish()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(1024)
    except OSError as error:
        found.close()
        raise OSError(error.errno, f"cannot listen on {host} port {port}: {error.strerror}") from None
    return found


def _announce(settings: Settings, host: str, port: int) -> None:
    shown: Any = f"[{host}]" if ":" in host else host
    print(f"nystream: serving {settings.folder} at http://{shown}:{port}", flush=True)
    if settings.tokens is None:
        print("nystream: no --tokens: only this machine is served, and anybody on it may do everything", flush=True)
