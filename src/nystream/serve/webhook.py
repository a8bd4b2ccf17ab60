"""Alarms sent to a URL, in a thread of their own: a slow or absent receiver delays nothing."""

from __future__ import annotations

import logging
import queue
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from nystream.serve.json_text import to_json

__all__ = ["Webhook"]

WAITING = 1000
"""Alarms that wait to be sent; further ones are dropped, since a dead receiver must not fill the memory."""
ATTEMPTS = 3
"""Attempts to send an alarm."""
SECONDS = 5.0
"""Time limit of an attempt, and of the last ones when the server stops."""
logger = logging.getLogger("nystream.serve")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class Webhook:
    """Posts JSON objects; after three attempts, or when a thousand wait, one is given up and counted."""

    def __init__(self, url: str | None) -> None:
        if url is not None and urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"--webhook must be an http or https URL, got {url!r}")
        self._url = url
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue(WAITING)
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._closing = False
        self.failures = 0
        self._thread: threading.Thread | None = None
        if url is not None:
            self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)
            self._thread.start()

    def send(self, body: dict[str, Any]) -> None:
        if self._url is None:
            return
        try:
            self._queue.put_nowait(body)
        except queue.Full:
            self.failures += 1

    def _run(self) -> None:
        while True:
            body = self._queue.get()
            if body is None:
                return
            self._post(body)

    def _post(self, body: dict[str, Any]) -> None:
        assert self._url is not None
        for attempt in range(ATTEMPTS):
            request = urllib.request.Request(self._url, to_json(body), {"Content-Type": "application/json"})
            try:
                with self._opener.open(request, timeout=SECONDS):
                    return
            except (OSError, ValueError) as error:
                logger.warning("webhook, attempt %d: %s", attempt + 1, error)
                if not self._closing and attempt + 1 < ATTEMPTS:
                    time.sleep(0.5 * 2**attempt)
        self.failures += 1

    def close(self, seconds: float) -> None:
        """Send what waits, for so many seconds at most."""
        self._closing = True
        if self._thread is not None:
            with suppress(queue.Full):  # as many wait as can be
                self._queue.put_nowait(None)
            self._thread.join(min(seconds, SECONDS))
