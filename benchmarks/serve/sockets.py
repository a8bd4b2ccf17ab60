"""HTTP over keep-alive sockets with next to no cost, and servers as processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

HERE = Path(__file__).parent
COLUMNS = [f"x{j}" for j in range(6)]
ARROW = "application/vnd.apache.arrow.stream"


class Server:
    """A server process on a port that the system chose."""

    def __init__(self, folder: Path, options: dict[str, Any] | None = None, wrap: list[str] | None = None) -> None:
        self.folder, self.options, self.wrap, self.port = folder, options or {}, wrap or [], 0
        self.process: subprocess.Popen[str] | None = None
        self.starting = 0.0
        self.token = self.recovered = ""

    def start(self) -> None:
        began = time.perf_counter()
        command = [sys.executable, str(HERE / "start.py"), str(self.folder), str(self.port), json.dumps(self.options)]
        self.process = subprocess.Popen([*self.wrap, *command], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if "http://" not in line:
            raise RuntimeError(f"the server did not start: {line!r}")
        self.port = int(line.rstrip().rpartition(":")[2])
        while True:
            try:
                self.get("/readyz")
                break
            except OSError:
                time.sleep(0.005)
        self.starting = time.perf_counter() - began

    def get(self, path: str) -> bytes:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=self._headers())
        with urllib.request.urlopen(request, timeout=30) as answer:
            content: bytes = answer.read()
            return content

    def send(self, method: str, path: str, body: Any) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode(),
            method=method,
            headers={"Content-Type": "application/json", **self._headers()},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop_child(self) -> None:
        """Stop the server inside a wrapper, which ends with it."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        code = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def request(port: int, path: str, body: bytes, kind: str = "application/json", key: str | None = None) -> bytes:
    """The bytes of a POST."""
    named = f"Idempotency-Key: {key}\r\n" if key else ""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: {kind}\r\n{named}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Connection:
    """One keep-alive connection, opened again when it broke."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.streams: Any = None

    async def call(self, content: bytes) -> tuple[int, bytes]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            reader, writer = self.streams
            writer.write(content)
            head = await reader.readuntil(b"\r\n\r\n")
            low = head.lower()
            at = low.index(b"content-length:") + 15
            size = int(low[at : low.index(b"\r\n", at)])
            return int(head[9:12]), await reader.readexactly(size)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            raise

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


def examples(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(COLUMNS)))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def as_json(X: np.ndarray, y: np.ndarray | None) -> bytes:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in X.tolist()]
    return json.dumps({"rows": rows} if y is None else {"rows": rows, "labels": y.tolist()}).encode()


def as_arrow(X: np.ndarray, y: np.ndarray) -> bytes:
    table = pa.table({**{name: X[:, j] for j, name in enumerate(COLUMNS)}, "y": y})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
