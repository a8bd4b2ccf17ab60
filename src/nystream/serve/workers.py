"""The worker processes of a front: started, watched, and started again when they die."""

from __future__ import annotations

import asyncio
import logging
import pickle
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from nystream.serve.folder import worker_folder
from nystream.serve.refusals import Refusal
from nystream.serve.settings import Settings

__all__ = ["Reply", "Worker", "worker_settings"]

logger = logging.getLogger("nystream.serve")
SOON = 5.0
"""Seconds after its start in which a worker that dies is started again only after a pause."""
PAUSES = (0.1, 5.0)
"""Shortest and longest pause, in seconds."""
SHARE = 0.4
"""Share of the time to end that workers have, after the connections of the front are closed."""


def worker_settings(settings: Settings, number: int) -> Settings:
    """Return the settings of one worker. The front has checked tokens, rates and sizes; memory and log are shared."""
    limits = replace(
        settings.limits, body=2**40, rate=None, per_address=2**31, connections=2 * settings.limits.connections
    )
    return replace(
        settings,
        folder=worker_folder(settings.folder, number),
        tokens=None,
        origins=(),
        audit="off",
        workers=0,
        memory=max(settings.memory // settings.workers, 1),
        log_bytes=None if settings.log_bytes is None else max(settings.log_bytes // settings.workers, 1),
        drain=max(2.0, SHARE * settings.drain),
        limits=limits,
    )


class Worker:
    """One worker process and the connections to it."""

    def __init__(self, number: int, settings: Settings, sockets: Path) -> None:
        self.number, self._settings = number, settings
        self._socket = sockets / str(number)
        self._channel = Channel(self._socket)
        self._process: Process | None = None
        self._is_stopping = asyncio.Event()
        self.is_up = asyncio.Event()
        """Set while the process takes requests."""
        self.restarts = 0

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def keep_running(self) -> None:
        """Start the process, and start it again whenever it ends, until `stop`."""
        pause = 0.0
        while not self._is_stopping.is_set():
            began = time.monotonic()
            try:
                code = await self._run()
                how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
            except OSError as error:  # the machine has no process or no memory left for it
                how = f"cannot be started: {error}"
            if self._is_stopping.is_set():
                return
            self.restarts += 1
            pause = min(max(2 * pause, PAUSES[0]), PAUSES[1]) if time.monotonic() - began < SOON else 0.0
            logger.error("worker %d %s; it is started again", self.number, how)
            await asyncio.sleep(pause)

    async def _run(self) -> int:
        """Run the process once; return its exit code."""
        command = (sys.executable, "-m", "nystream.serve.worker")
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, start_new_session=True)
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):  # it is dead already
            process.stdin.write(pickle.dumps((self.number, self._settings, self._socket)))
            await process.stdin.drain()
        try:
            if await process.stdout.readline():
                self.is_up.set()
            return await process.wait()
        finally:
            self.is_up.clear()
            self._channel.close()

    async def request(self, method: str, target: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        """Send a request to the process; refuse it where the process is down."""
        if not self.is_up.is_set():
            raise self._down()
        try:
            return await self._channel.request(method, target, headers, body)
        except OSError:
            raise self._down() from None

    def _down(self) -> Refusal:
        message = f"worker {self.number}, which has this model, is being started again; repeat the request"
        return Refusal(503, message, {"Retry-After": "1"})

    async def events(self) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Yield what happens in the worker: kind and body. Raises OSError when the process is gone."""
        async for chunk in self._channel.stream("/events?ticks=no", {"authorization": "admin"}):
            kind, _, rest = chunk.decode().partition("\ndata: ")
            if kind.startswith("event: "):
                yield kind.removeprefix("event: "), orjson.loads(rest)

    def send_signal(self, kind: signal.Signals) -> None:
        """Send a signal to the process, if there is one."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(kind)

    def expect_end(self) -> None:
        """Do not start the process again when it ends: the server is stopping."""
        self._is_stopping.set()

    async def stop(self, seconds: float) -> bool:
        """Ask the process to end; return whether it ended by itself within so many seconds."""
        self.expect_end()
        self.send_signal(signal.SIGTERM)
        if self._process is None:
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
            return True
        except TimeoutError:
            self.send_signal(signal.SIGKILL)
            await self._process.wait()
            return False


# -- HTTP to a worker, over a socket of this machine ------------------------------------------------------------------
class Reply(NamedTuple):
    """The answer of a worker; the names of the headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def is_refusal(self) -> bool:
        """Whether this is an error and nothing else; a worker that is not ready yet says more."""
        return self.status >= 400 and self.body.startswith(b'{"error"')


class Channel:
    """Keep-alive connections to one worker, opened as they are needed. Raises OSError where the worker is gone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def request(self, method: str, target: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        """Send a request and wait for the whole answer."""
        reader, writer = await self._connection()
        try:
            writer.write(_head(method, target, {**headers, "content-length": str(len(body))}) + body)
            status, found = await _read_head(reader)
            content = await reader.readexactly(int(found.get("content-length", "0")))
        except BaseException as error:
            writer.close()
            if isinstance(error, asyncio.IncompleteReadError | ValueError):
                raise ConnectionError("the worker closed the connection") from None
            raise
        if found.get("connection", "").lower() == "close":
            writer.close()
        else:
            self._idle.append((reader, writer))
        return Reply(status, found, content)

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection that nobody uses and the worker has not closed, or open one."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_unix_connection(str(self._path))

    async def stream(self, target: str, headers: dict[str, str]) -> AsyncIterator[bytes]:
        """Yield the chunks of an answer that does not end."""
        reader, writer = await asyncio.open_unix_connection(str(self._path))
        try:
            writer.write(_head("GET", target, headers))
            await _read_head(reader)
            while size := int(await reader.readuntil(b"\r\n"), 16):
                yield (await reader.readexactly(size + 2))[:-2]
        except (asyncio.IncompleteReadError, ValueError):
            raise ConnectionError("the worker closed the connection") from None
        finally:
            writer.close()

    def close(self) -> None:
        """Close the connections that nobody uses."""
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()


def _head(method: str, target: str, headers: dict[str, Any]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines[1:] if line)
    return int(lines[0].split(" ", 2)[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}
