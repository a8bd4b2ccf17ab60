"""Connections to hostile networks: limits on their number, on headers, and on the time that headers may take."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nystream.serve.json_text import to_json
from nystream.serve.settings import Limits

__all__ = ["connection_class"]

PHRASES = {408: "Request Timeout", 429: "Too Many Requests", 431: "Request Header Fields Too Large"}


def connection_class(limits: Limits, refused: dict[str, int]) -> type[HttpToolsProtocol]:
    """Return the protocol of connections that keep to these limits; `refused` counts those that did not."""
    addresses: Counter[str] = Counter()

    class Connection(HttpToolsProtocol):
        """A connection that is closed when its headers are too slow, too long or too many."""

        _address = ""
        _timer: asyncio.TimerHandle | None = None
        _bytes = 0
        _unparsed = 0
        """Bytes since a part of the request was complete: a header is kept in memory until it ends."""
        _is_over = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._address = self.client[0] if self.client else ""
            addresses[self._address] += 1
            if addresses[self._address] > limits.per_address:
                message = f"this address has {limits.per_address} connections already, which is the most"
                self._refuse(429, "connections per address", message)
                return
            self._begin_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            addresses[self._address] -= 1
            if not addresses[self._address]:
                del addresses[self._address]
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._is_over:
                return
            self._unparsed += len(data)
            super().data_received(data)
            if self._unparsed > limits.header_bytes and not self._is_over:
                self._refuse_long()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._timer is None:
                self._begin_headers()

        def on_url(self, url: bytes) -> None:
            super().on_url(url)
            self._count(len(url))

        def on_header(self, name: bytes, value: bytes) -> None:
            super().on_header(name, value)
            self._unparsed = 0
            self._count(len(name) + len(value))

        def on_headers_complete(self) -> None:
            self._stop_timer()
            self._unparsed = 0
            if not self._is_over:
                super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._unparsed = 0
            if not self._is_over:
                super().on_body(body)

        def on_message_complete(self) -> None:
            self._unparsed = 0
            if not self._is_over:
                super().on_message_complete()

        def _count(self, size: int) -> None:
            self._bytes += size
            if self._is_over:
                return
            if self._bytes > limits.header_bytes:
                self._refuse_long()
            elif len(self.headers) > limits.headers:
                self._refuse(431, "many headers", f"the request has more than {limits.headers} headers")

        def _begin_headers(self) -> None:
            self._bytes = 0
            self._timer = self.loop.call_later(limits.header_seconds, self._late)

        def _late(self) -> None:
            self._timer = None
            self._refuse(408, "slow headers", f"the headers did not come within {limits.header_seconds:g} s")

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _refuse_long(self) -> None:
            self._refuse(431, "long headers", f"the headers have more than {limits.header_bytes} bytes")

        def _refuse(self, status: int, reason: str, message: str) -> None:
            """Answer without the application, and close."""
            self._is_over = True
            self._stop_timer()
            refused[reason] = refused.get(reason, 0) + 1
            body = to_json({"error": message})
            head = (
                f"HTTP/1.1 {status} {PHRASES[status]}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            if not self.transport.is_closing():
                self.transport.write(head.encode() + body)
                self.transport.close()

    return Connection
