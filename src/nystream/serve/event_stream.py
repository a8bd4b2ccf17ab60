"""The event stream: what happens, to everybody who listens, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from nystream.serve.json_text import to_json
from nystream.serve.refusals import Refusal, report_failure

__all__ = ["Bus"]

WAITING = 256
"""Events that wait for a slow listener; the oldest give way."""
TICK = 1.0
"""Seconds between two readings that are sent to listeners."""
QUIET = 15.0
"""Seconds of silence after which a comment shows that the connection lives."""


class Bus:
    """Listeners of the event loop. Once a second, while somebody listens, all learn how the models are doing."""

    def __init__(self, most: int, tick: Callable[[str | None], Awaitable[dict[str, Any]]]) -> None:
        self._most, self._tick = most, tick
        self._queues: dict[asyncio.Queue[bytes | None], str | None] = {}
        """Each with the name of the model that its listener wants to hear of; None: of all."""
        self._tickless: set[asyncio.Queue[bytes | None]] = set()
        """Those whose listeners do not want the numbers of every second."""
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    @property
    def listeners(self) -> int:
        return len(self._queues)

    def publish(self, kind: str, body: dict[str, Any]) -> None:
        """Tell everybody who wants to hear of that model. Called in the event loop."""
        wanted = [None, body.get("model")]
        self._send([waiting for waiting, model in self._queues.items() if model in wanted], kind, body)

    def _send(self, queues: list[asyncio.Queue[bytes | None]], kind: str, body: dict[str, Any]) -> None:
        if not queues:
            return
        text = b"event: " + kind.encode() + b"\ndata: " + to_json(body) + b"\n\n"
        for waiting in queues:
            if waiting.full():
                waiting.get_nowait()
            waiting.put_nowait(text)

    def stream(self, model: str | None = None, *, ticks: bool = True) -> AsyncIterator[bytes]:
        """Yield what happens from now on, of all models or of one; without `ticks` no regular readings."""
        if self._closed:
            raise Refusal(503, "the server is stopping", {"Retry-After": "5"})
        if len(self._queues) >= self._most:
            raise Refusal(429, f"{self._most} listen already, which is the most", {"Retry-After": "10"})
        mine: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)
        self._queues[mine] = model
        if not ticks:
            self._tickless.add(mine)
        elif self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._ticks())
        return self._heard(mine)

    async def _heard(self, mine: asyncio.Queue[bytes | None]) -> AsyncIterator[bytes]:
        try:
            yield b": nystream\n\n"
            while True:
                try:
                    text = await asyncio.wait_for(mine.get(), QUIET)
                except TimeoutError:
                    text = b": still here\n\n"
                if text is None:
                    return
                yield text
        finally:
            self._queues.pop(mine, None)
            self._tickless.discard(mine)

    async def _ticks(self) -> None:
        while len(self._queues) > len(self._tickless):
            for model in {wanted for q, wanted in self._queues.items() if q not in self._tickless}:
                try:
                    body = await self._tick(model)
                except Exception as error:  # the listeners stay, and hear the numbers of the next second
                    report_failure(error, "the numbers for the event stream")
                    continue
                listeners = [q for q, wanted in self._queues.items() if wanted == model and q not in self._tickless]
                self._send(listeners, "tick", body)
            await asyncio.sleep(TICK)
        self._task = None

    def close(self) -> None:
        """End all streams: the server stops."""
        self._closed = True
        for waiting in self._queues:
            if waiting.full():
                waiting.get_nowait()
            waiting.put_nowait(None)
