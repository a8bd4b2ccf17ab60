"""One worker process: it serves a folder of its own on a socket that only the front process reaches.

The front starts it as ``python -m nystream.serve.worker``, writes what it needs to its standard input, and keeps that
open. When the input ends, the front is gone, and the worker ends at once: everything acknowledged is in the log.
"""

from __future__ import annotations

import os
import pickle
import socket
import sys
import threading
from pathlib import Path

from nystream.serve.folder import FolderLock
from nystream.serve.logs import start_log
from nystream.serve.placement import LOCK_SECONDS
from nystream.serve.refusals import Refusal
from nystream.serve.routes import quick, routes, worker_table
from nystream.serve.running import prepare_process, serve
from nystream.serve.service import Service
from nystream.serve.settings import Settings
from nystream.serve.tokens import ROLES, Tokens

__all__ = ["ForwardedRoles"]

KEEP_ALIVE = 86_400
"""Seconds that a connection of the front may be idle: only the front closes it."""


class ForwardedRoles(Tokens):
    """Roles that the front has checked: its requests name a role where others have a token."""

    def __init__(self) -> None:
        super().__init__(None)
        self.needed = True

    def check(self, header: str | None, role: str) -> str:
        """Refuse a request whose role is not enough."""
        if ROLES.index(self.role(header)) < ROLES.index(role):
            raise Refusal(403, f"this needs the role {role}; the token has the role {header}")
        return ""

    def role(self, header: str | None) -> str:
        """Return the role that the front named."""
        if header not in ROLES:
            raise Refusal(401, "a worker answers its front process alone")
        return header


def main() -> None:
    """Serve until SIGTERM, or until the front is gone."""
    given: tuple[int, Settings, Path] = pickle.load(sys.stdin.buffer)
    number, settings, path = given
    threading.Thread(target=_end_with_front, name="front", daemon=True).start()
    prepare_process()
    log = start_log(settings.log_format, requests=False, worker=number)
    lock = FolderLock(settings.folder, wait=LOCK_SECONDS)
    try:
        service = Service(settings)
        service.tokens = ForwardedRoles()
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as place:
            place.bind(str(path))
            place.listen(1024)
            table = worker_table()
            serve(service, routes(service, table), quick(service, table), place, _report, keep_alive=KEEP_ALIVE)
    finally:
        lock.release()
        log.stop()
    sys.stdout.flush()
    os._exit(0)  # the thread that waits for the end of the front would keep the process


def _report(stop: object) -> None:
    """Tell the front that the socket is open."""
    print("ready", flush=True)


def _end_with_front() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
