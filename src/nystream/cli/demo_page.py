"""The web server of `nystream demo`: one page, its files, a stream of events, a button. Standard library only."""

from __future__ import annotations

import json
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from types import TracebackType
from typing import Any

from nystream.cli.demo_stream import Demo

__all__ = ["DemoServer"]

FILES = {
    "/": ("cli/assets/demo.html", "text/html; charset=utf-8"),
    "/demo.js": ("cli/assets/demo.js", "text/javascript; charset=utf-8"),
    "/demo.css": ("cli/assets/demo.css", "text/css; charset=utf-8"),
    "/page.css": ("serve/assets/page.css", "text/css; charset=utf-8"),
    "/chart.js": ("serve/assets/chart.js", "text/javascript; charset=utf-8"),
    "/shown.js": ("serve/assets/shown.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("serve/assets/icon.svg", "image/svg+xml"),
}
"""Path -> file of the package, and its type. Style and charts are those of the server's pages."""
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
LAST_WORDS = 1.0
"""Seconds that open pages have at the end to read that the demo has ended."""
PAUSE = 5.0
"""Seconds after which a silent stream of events sends a comment, so that a closed page is noticed."""


class DemoServer:
    """Serves the page of a demo on this machine alone, from threads of its own."""

    def __init__(self, demo: Demo, port: int = 0) -> None:
        self._streams = _Streams()
        handler = type("DemoHandler", (_Handler,), {"demo": demo, "streams": self._streams})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.2,), daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> DemoServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._streams.wait_for_end(LAST_WORDS)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Streams:
    """Counts the streams of events that are open."""

    def __init__(self) -> None:
        self._open = 0
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            self._open += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def wait_for_end(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._open, seconds)


class _Handler(BaseHTTPRequestHandler):
    demo: Demo
    streams: _Streams

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if not self._is_from_here():
            return
        if path == "/events":
            with self.streams:
                self._send_events()
        elif path in FILES:
            file, kind = FILES[path]
            self._send(200, kind, _read(file))
        else:
            self._send(404, "text/plain; charset=utf-8", b"There is nothing here.\n")

    def do_POST(self) -> None:
        """Handle the button. Browsers let no other site send this header."""
        if not self._is_from_here():
            return
        if self.path != "/replace" or self.headers.get("X-Nystream-Demo") != "1":
            self._send(403, "text/plain; charset=utf-8", b"Only the page of the demo may do this.\n")
            return
        self.demo.replace_heating()
        self._send(204, "text/plain; charset=utf-8", b"")

    def _is_from_here(self) -> bool:
        """Refuse names of other sites that lead to this machine."""
        host = self.headers.get("Host", "").rpartition(":")[0]
        if host in ("127.0.0.1", "localhost"):
            return True
        self._send(403, "text/plain; charset=utf-8", b"Use the address that nystream demo has printed.\n")
        return False

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self._end_headers(kind)
        self.wfile.write(body)

    def _end_headers(self, kind: str) -> None:
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()

    def _send_events(self) -> None:
        self.send_response(200)
        self._end_headers("text/event-stream")
        count = 0
        try:
            while True:
                if not self.demo.wait(count, PAUSE):
                    self.wfile.write(b": still here\n\n")
                    continue
                count, update = self.demo.update(count)
                self.wfile.write(b"data: " + json.dumps(update).encode() + b"\n\n")
                if update["stopped"]:
                    return
        except OSError:
            return  # the page was closed

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the terminal shows the address."""


@cache
def _read(file: str) -> bytes:
    return (resources.files("nystream") / file).read_bytes()
