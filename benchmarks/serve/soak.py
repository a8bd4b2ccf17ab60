"""A day of rows at a fast pace: memory flat, disk bounded, a quick restart.

    python benchmarks/serve/soak.py [--rows 1000000] [--models 20] [--keys 1000]

Rows go to all models in Arrow blocks, and to keys one request each, with late labels and snapshots in between. At every
tenth of the rows: resident memory, bytes of the log and of the snapshots, rows a second. At the end the process is
killed and the time of the restart is taken, until it is ready.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sockets import ARROW, COLUMNS, Connection, Server, as_arrow, as_json, examples, request

BLOCK = 500
CONFIG = {"columns": COLUMNS, "target": "y", "task": "regression", "learner": "fogd", "settings": {"dim": 64}}


def memory(pid: int) -> float:
    """Resident megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def disk(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


async def client(server: Server, number: int, given: argparse.Namespace, sent: list[int]) -> None:
    connection, count = Connection(server), 0
    rng = np.random.default_rng(number)
    blocks = [as_arrow(*examples(BLOCK, number * 100 + k)) for k in range(10)]
    ones = [examples(1, number * 100 + k) for k in range(50)]
    while sent[0] < given.rows:
        name = f"m{rng.integers(given.models)}"
        if rng.random() < 0.3:
            content = request(
                server.port, f"/models/{name}/learn?label=y", blocks[count % 10], ARROW, f"{number}-{count}"
            )
            sent[0] += BLOCK
            await done(connection, content)
        elif rng.random() < 0.9:
            key = f"k{rng.integers(given.keys)}"
            body = as_json(*ones[count % 50])
            content = request(server.port, f"/models/m0/keys/{key}/learn", body, key=f"{number}-{count}")
            sent[0] += 1
            await done(connection, content)
        else:
            X, y = ones[count % 50]
            row = dict(zip(COLUMNS, X[0].tolist(), strict=True))
            ids = {"row": row, "ids": [f"{number}-{count}"]}
            await done(connection, request(server.port, f"/models/{name}/predict", json.dumps(ids).encode()))
            if rng.random() < 0.8:  # some labels never come
                late = json.dumps({"id": f"{number}-{count}", "label": float(y[0])}).encode()
                await done(connection, request(server.port, f"/models/{name}/label", late))
                sent[0] += 1
        count += 1
    connection.close()


async def done(connection: Connection, content: bytes) -> None:
    while True:
        status, answer = await connection.call(content)
        if status == 200:
            return
        assert status == 429, answer
        await asyncio.sleep(0.05)


async def soak(server: Server, given: argparse.Namespace) -> list[dict[str, float]]:
    sent, readings, began = [0], [], time.perf_counter()
    tasks = [asyncio.create_task(client(server, number, given, sent)) for number in range(16)]
    for tenth in range(1, 11):
        while sent[0] < given.rows * tenth / 10 and not all(task.done() for task in tasks):
            await asyncio.sleep(0.05)
        assert server.process is not None
        readings.append(
            {
                "rows": sent[0],
                "memory MB": round(memory(server.process.pid)),
                "disk MB": round(disk(server.folder), 1),
                "rows/s": round(sent[0] / (time.perf_counter() - began)),
            }
        )
        print(json.dumps(readings[-1]), flush=True)
    await asyncio.gather(*tasks)
    return readings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--keys", type=int, default=1000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    options = {
        "memory": 20_000_000,
        "answers_for": 10.0,
        "limits": {"open_labels": 1000},
        "retention": {"every": 5.0, "all_for": 20.0, "hourly_for": 30.0, "daily_for": 40.0},
    }
    server = Server(folder, options)
    server.start()
    for k in range(given.models):
        server.send("PUT", f"/models/m{k}", CONFIG)
    readings = asyncio.run(soak(server, given))
    rows = sum(found["rows"] for found in json.loads(server.get("/models"))["models"])
    server.kill()
    server.start()
    again = sum(found["rows"] for found in json.loads(server.get("/models"))["models"])
    print(
        json.dumps(
            {
                "restart s": round(server.starting, 2),
                "of it": server.recovered,
                "rows before and after": [rows, again],
                "memory at a half and at the end MB": [readings[4]["memory MB"], readings[-1]["memory MB"]],
                "disk at a half and at the end MB": [readings[4]["disk MB"], readings[-1]["disk MB"]],
            }
        )
    )
    server.stop()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
