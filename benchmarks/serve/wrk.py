"""Learning requests per second as multiples of a bare server that appends to a file and calls fdatasync.

    python benchmarks/serve/wrk.py [--seconds 4] [--rounds 3] [--connections 1 32] [--json FILE]

The bare server runs on uvicorn too. One thread writes what waits to a file, calls fdatasync once, and answers: no
parsing, no learning. Both servers are loaded by `wrk` (Debian: apt-get install wrk) in turns, since the speed of disks
changes from minute to minute; each ratio comes from two neighbouring runs. Also prints /healthz of both.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

LIGHT = {"learner": "fogd", "settings": {"dim": 64}, "columns": ["a", "b"], "target": "y", "task": "regression"}
SCRIPT = """wrk.method = "POST"
wrk.body = '{"row": {"a": 0.5, "b": -1.0}, "label": 1.0}'
wrk.headers["Content-Type"] = "application/json"
"""
PORT_LINE = "http://127.0.0.1:"
TIMES = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def serve_bare(path: str) -> None:
    """Append each body to a file and answer when it is on the disk."""
    import asyncio
    import socket

    import uvicorn

    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write() -> None:
        while True:
            some = [waiting.get()]
            while True:
                try:
                    some.append(waiting.get_nowait())
                except queue.Empty:
                    break
            os.write(handle, b"".join(body for _, _, body in some))
            os.fdatasync(handle)
            some[0][0].call_soon_threadsafe(settle, [future for _, future, _ in some])

    def settle(futures: list[Any]) -> None:
        for future in futures:
            if not future.done():
                future.set_result(None)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] == "POST":
            body, more = b"", True
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            waiting.put((loop, future, body))
            await future
        headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})

    threading.Thread(target=write, daemon=True).start()
    place = socket.socket()
    place.bind(("127.0.0.1", 0))
    print(f"{PORT_LINE}{place.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, access_log=False, log_level="warning", lifespan="off", loop="uvloop", http="httptools")
    uvicorn.Server(config).run(sockets=[place])


def start(*command: str) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if PORT_LINE in line:
            return process, int(line.rstrip().rpartition(":")[2])
    raise RuntimeError("the server did not start")


def call(port: int, method: str, path: str, body: Any) -> None:
    import urllib.request

    content = json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", content, {"Content-Type": "application/json"})
    request.method = method
    urllib.request.urlopen(request, timeout=60).close()


def wrk(url: str, script: str | None, connections: int, seconds: int) -> dict[str, float]:
    """Load an address; return requests a second and the median and 99 % latency in milliseconds."""
    threads = min(connections, 2)
    command = [
        "wrk",
        "--latency",
        f"-t{threads}",
        f"-c{connections}",
        f"-d{seconds}s",
        *(["-s", script] if script else []),
    ]
    text = subprocess.run([*command, url], capture_output=True, text=True, check=True, timeout=seconds + 60).stdout
    if "Non-2xx" in text:
        raise RuntimeError(text)
    found = {"requests/s": float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])}  # type: ignore[index]
    for name, label in (("median ms", "50%"), ("99 % ms", "99%")):
        value, unit = re.search(rf"{label}\s+([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
        found[name] = float(value) * TIMES[unit]
    return found


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] == "bare":
        serve_bare(sys.argv[2])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk is not installed")
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "learn.lua"
        script.write_text(SCRIPT)
        try:
            bare, bare_port = start(__file__, "bare", str(Path(folder) / "bare.log"))
            processes.append(bare)
            more = ["--workers", str(given.workers)] if given.workers else []
            served = ["-m", "nystream.cli.main", "serve", str(Path(folder) / "served"), "--port", "0", *more]
            own, own_port = start(*served)
            processes.append(own)
            for _ in range(600):
                try:
                    call(own_port, "PUT", "/models/light", LIGHT)
                    break
                except OSError:
                    threading.Event().wait(0.1)
            tables = {}
            for what, path, body in (
                ("learn, 1 row", "/models/light/learn", str(script)),
                ("healthz", "/healthz", None),
            ):
                for connections in given.connections:
                    pairs = []
                    for _ in range(given.rounds):
                        one = wrk(f"http://127.0.0.1:{bare_port}/", body, connections, given.seconds)
                        other = wrk(f"http://127.0.0.1:{own_port}{path}", body, connections, given.seconds)
                        pairs.append((one, other))
                    tables[what, connections] = pairs
        finally:
            for process in processes:
                process.terminate()
                process.wait(60)
                if process.stdout is not None:
                    process.stdout.close()
    found = {}
    titles = ("bare /s", "nystream /s", "times slower", "bare 99 % ms", "ours")
    print(f"{'':14} {'connections':>11}", *(f"{title:>12}" for title in titles))
    for (what, connections), pairs in tables.items():

        def middle(name: str, k: int, pairs: list[Any] = pairs) -> float:
            return statistics.median(pair[k][name] for pair in pairs)

        ratio = statistics.median(one["requests/s"] / other["requests/s"] for one, other in pairs)
        row = (middle("requests/s", 0), middle("requests/s", 1), ratio, middle("99 % ms", 0), middle("99 % ms", 1))
        digits = (0, 0, 2, 1, 1)
        print(f"{what:14} {connections:11}", *(f"{v:12.{n}f}" for v, n in zip(row, digits, strict=True)))
        found[f"{what}, {connections} connections"] = [round(value, 2) for value in row]
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
