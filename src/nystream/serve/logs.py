"""What the server writes down: its log as lines of text or JSON, and the audit log of who did what with which result.

Neither has tokens or rows in it. Lines are written by a thread of their own, so that no request waits for the disk.
"""

from __future__ import annotations

import itertools
import json
import logging
import logging.handlers
import os
import queue
import sys
import time
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Audit", "RequestInfo", "current_request", "new_request_id", "start_log"]

AUDIT_BYTES, AUDIT_FILES = 64 * 2**20, 5
"""Size of an audit file, and how many older ones are kept."""
_count = itertools.count(1)
_process = f"{os.getpid():x}-{time.time_ns() // 10**6 & 0xFFFFFFFF:x}"


@dataclass(slots=True)
class RequestInfo:
    """What is known of a request before it is done."""

    id: str
    address: str
    method: str
    path: str
    model: str | None = None
    who: str = ""


current_request: ContextVar[RequestInfo | None] = ContextVar("request", default=None)
"""The request that this task works on; log lines carry its id, address and model."""


def new_request_id(given: str | None) -> str:
    """Return the caller's own id if it is usable, else a new one."""
    if given and len(given) <= 64 and given.isascii() and given.isprintable():
        return given
    return f"{_process}-{next(_count):x}"


class _Lines(logging.Formatter):
    """Log records as lines of JSON, or as text with the same fields at the end."""

    def __init__(self, *, as_json: bool, worker: int | None = None) -> None:
        super().__init__()
        self._as_json, self._worker = as_json, worker

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "worker": self._worker,
        }
        request: RequestInfo | None = getattr(record, "request", None)
        if request is not None:
            fields |= {"request": request.id, "address": request.address, "model": request.model}
        fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        if self._as_json:
            return json.dumps({name: value for name, value in fields.items() if value is not None})
        more = "".join(
            f" {name}={value}"
            for name, value in fields.items()
            if name not in ("time", "level", "message", "traceback") and value is not None
        )
        trace = f"\n{fields['traceback']}" if "traceback" in fields else ""
        return f"{fields['time']} {fields['level']}: {fields['message']}{more}{trace}"


def _add_request(record: logging.LogRecord) -> bool:
    if not hasattr(record, "request"):
        record.request = current_request.get()
    return True


def start_log(kind: str, *, requests: bool, worker: int | None = None) -> logging.handlers.QueueListener:
    """Write the log of the server to standard error, as "text" or "json"; with `requests` a line for each request."""
    out = logging.StreamHandler(sys.stderr)
    out.setFormatter(_Lines(as_json=kind == "json", worker=worker))
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    sender = logging.handlers.QueueHandler(waiting)
    sender.prepare = lambda record: record  # type: ignore[method-assign]  # keep the traceback for the formatter
    sender.addFilter(_add_request)
    for name in ("nystream.serve", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [sender], False
    logging.getLogger("nystream.serve").setLevel(logging.INFO)
    logging.getLogger("nystream.serve.requests").setLevel(logging.INFO if requests else logging.WARNING)
    listener = logging.handlers.QueueListener(waiting, out)
    listener.start()
    return listener


class Audit:
    """A file with a line of JSON for every change and every refusal of access; `every`: for every request.

    A line has the time, the request's id, who (the name of the token in the file of tokens, never the token), from
    where, what, and the result. Rows and bodies are never in it.
    """

    def __init__(self, path: Path | None, *, every: bool = False) -> None:
        self._every = every
        self._listener: logging.handlers.QueueListener | None = None
        if path is None:
            return
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.close(handle)
        file = logging.handlers.RotatingFileHandler(path, maxBytes=AUDIT_BYTES, backupCount=AUDIT_FILES)
        file.setFormatter(logging.Formatter("%(message)s"))
        self._listener = logging.handlers.QueueListener(self._waiting, file)
        self._listener.start()

    def write(self, request: RequestInfo, role: str | None, status: int, seconds: float) -> None:
        """Note a request that was answered."""
        if self._listener is None or not (self._every or role == "admin" or status in (401, 403)):
            return
        now = time.time()
        line = json.dumps(
            {
                "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z",
                "request": request.id,
                "who": request.who,
                "address": request.address,
                "method": request.method,
                "path": request.path,
                "status": status,
                "ms": round(seconds * 1e3, 1),
            }
        )
        self._waiting.put(logging.makeLogRecord({"msg": line}))

    def close(self) -> None:
        """Write what waits."""
        if self._listener is not None:
            self._listener.stop()
            for handler in self._listener.handlers:
                handler.close()
