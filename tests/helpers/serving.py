"""Servers for tests: in a thread of this process, or as a process of their own that can be killed."""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from nystream.serve.routes import quick, routes
from nystream.serve.running import listening, serve
from nystream.serve.service import Service
from nystream.serve.settings import Limits, Settings
from nystream.serve.writer import Command, Writer

JSON = "application/json"
PATIENCE = 300.0
"""Seconds that a request, and the end of a server, may take where a test says nothing else: machines can be busy."""
CONFIG = {"columns": ["a", "b"], "target": "y", "task": "regression", "learner": "pkrr", "settings": {"lam": 0.1}}
"""A small model that can forget rows."""


class Calls:
    """Requests to a port of this machine."""

    port: int
    token: str | None = None

    def call(
        self, method: str, path: str, body: Any = None, *, kind: str = JSON, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        status, content, _ = self.raw(method, path, body, kind=kind, headers=headers)
        return status, json.loads(content)

    def raw(
        self, method: str, path: str, body: Any = None, *, kind: str = JSON, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Content-Type": kind} if content is not None else {}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, content, {**sent, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    def post(self, path: str, body: Any, key: str | None = None) -> Any:
        """The answer to a request that has to succeed."""
        status, found = self.call("POST", path, body, headers={"Idempotency-Key": key} if key else None)
        assert status in (200, 201), (status, found)
        return found

    def create(self, name: str, config: dict[str, Any] | None = None) -> None:
        status, found = self.call("PUT", f"/models/{name}", CONFIG if config is None else config)
        assert status == 201, found

    def file(self, name: str) -> bytes:
        status, content, _ = self.raw("GET", f"/models/{name}/file")
        assert status == 200, content
        return content


def wait_until_ready(server: Calls, seconds: float = PATIENCE) -> None:
    """Wait until every model is ready or quarantined."""
    deadline = time.monotonic() + seconds
    while server.call("GET", "/readyz")[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.005)


class Running(Calls):
    """A server in a thread."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        patient = {"limits": Limits(seconds=PATIENCE), "drain": PATIENCE}
        self.service = Service(Settings(folder, port=0, **{**patient, **settings}))
        self._socket = listening("127.0.0.1", 0)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._ready = threading.Event()
        self._stop: Any = None
        service = self.service
        arguments = (service, routes(service), quick(service), self._socket, self._started)
        self._thread = threading.Thread(target=serve, args=arguments, daemon=True)

    def _started(self, stop: Any) -> None:
        self._stop = stop
        self._ready.set()

    def __enter__(self) -> Running:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        try:
            wait_until_ready(self)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._thread.join(PATIENCE + 100)
        self._socket.close()
        assert not self._thread.is_alive()


class _Copied(Command):
    """Copies the folder while the thread that writes does nothing else."""

    alone = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.future: Future[Path] = Future()

    def execute(self, writer: Writer) -> Path:
        shutil.copytree(writer.store.folder, self._folder, copy_function=_copy_if_there)
        return self._folder


def _copy_if_there(source: str, target: str) -> None:
    with suppress(FileNotFoundError):  # a snapshot that is written aside has just got its name
        shutil.copy2(source, target)


def after_a_crash(running: Running, folder: Path) -> Path:
    """What the disk would hold if the process were killed now."""
    copied = _Copied(folder)
    running.service.writer.submit(copied)
    return copied.future.result(PATIENCE)


def has_ended(pid: int) -> bool:
    """Tell whether a process is gone, or is a zombie that its parent has not reaped yet."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    if not Path("/proc/self/stat").exists():  # no Linux
        return False
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it went away meanwhile
        return True
    return status.rpartition(")")[2].split()[0] in "ZX"


class Process(Calls):
    """A server as `nystream serve` starts it. A fixture kills those that a test leaves behind."""

    running: ClassVar[set[Process]] = set()

    def __init__(self, folder: Path, *options: str, wait: bool = True) -> None:
        command = [sys.executable, "-m", "nystream.cli.main", "serve", str(folder), "--port", "0"]
        command += ["--timeout", f"{PATIENCE}s", "--drain-seconds", f"{PATIENCE}", *options]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # a pipe that nobody reads would stop the server
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._errors, text=True)
        Process.running.add(self)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.port = int(line.rstrip().rpartition(":")[2]) if "http://" in line else 0
        try:
            if self.port and wait:
                wait_until_ready(self)
        except BaseException:
            self.kill()
            raise

    def end(self) -> tuple[int, str]:
        """Exit code and what it wrote."""
        try:
            out, _ = self.process.communicate(timeout=PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            Process.running.discard(self)
        with self._errors as errors:
            errors.seek(0)
            return self.process.returncode, out + errors.read()

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def terminate(self) -> tuple[int, str]:
        self.process.terminate()
        return self.end()


def free_port() -> int:
    """A free port that a server can have again after its end: the system gives it to no other connection by itself."""
    for port in random.Random(os.getpid()).sample(range(20_000, 32_000), 1000):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("there is no free port")


def rows(n: int, seed: int = 0) -> tuple[list[dict[str, float]], list[float]]:
    """Rows and labels as JSON has them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    return [dict(zip("ab", row, strict=True)) for row in X.tolist()], y.tolist()


def learn(server: Calls, path: str, n: int, seed: int = 0, verb: str = "learn", key: str | None = None) -> Any:
    """Teach some rows."""
    found, labels = rows(n, seed)
    return server.post(f"{path}/{verb}", {"rows": found, "labels": labels}, key)


def fill_two_models(server: Any) -> None:
    """Create models "m" and "other" with keys, open predictions, snapshots, and events that no snapshot covers."""
    for name in ("m", "other"):
        server.create(name)
        for seed in range(4):
            learn(server, f"/models/{name}", 5, seed, key=f"{name}-{seed}")
        learn(server, f"/models/{name}/keys/parked", 3)
        server.post(f"/models/{name}/snapshots", {})
        learn(server, f"/models/{name}/keys/k", 3)
        server.post(f"/models/{name}/predict", {"row": {"a": 1.0, "b": 2.0}, "ids": ["late"]})
        for seed in range(4, 8):
            learn(server, f"/models/{name}", 5, seed, key=f"{name}-{seed}")
