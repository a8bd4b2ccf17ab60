"""Acknowledged learns a second and their latencies, beside the bare learner and the bare sync of this disk.

    python benchmarks/serve/load.py [--seconds 2.5] [--learners cheap,auto] [--clients 1,16,64] [--rows 1,10,100,1000]

All in one run, clients on the same machine. The cheap learner is FOGD with 64 features. The last lines are
predictions of 16 clients while 16 others learn as fast as they are answered.
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
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sockets import ARROW, COLUMNS, Connection, Server, as_arrow, as_json, examples, request

import nystream

CHEAP = {"learner": "fogd", "settings": {"dim": 64}, "standardize": False}
CONFIGS: dict[str, dict[str, Any]] = {"cheap": CHEAP, "auto": {}}
DECLARED = {"columns": COLUMNS, "target": "y", "task": "regression"}


async def client(
    server: Server, path: str, bodies: list[bytes], kind: str, end: float, tag: str, out: list[float], bad: list[int]
) -> None:
    connection, count = Connection(server), 0
    learning = not path.endswith("/predict")
    while time.perf_counter() < end:
        key = f"{tag}-{count}" if learning else None
        content = request(server.port, path, bodies[count % len(bodies)], kind, key)
        began = time.perf_counter()
        status, _ = await connection.call(content)
        if status == 200:
            out.append(time.perf_counter() - began)
        else:
            bad.append(status)
        count += 1
    connection.close()


def summary(times: list[float], wall: float, rows: int, bad: list[int]) -> dict[str, Any]:
    found = np.array(times or [np.nan]) * 1e3
    return {
        "requests/s": round(len(times) / wall),
        "rows/s": round(len(times) * rows / wall),
        "p50 ms": round(float(np.percentile(found, 50)), 2),
        "p99 ms": round(float(np.percentile(found, 99)), 2),
        "refused": len(bad),
    }


async def load(server: Server, name: str, clients: int, rows: int, form: str, seconds: float) -> dict[str, Any]:
    blocks = [examples(rows, seed) for seed in range(8)]
    bodies = [as_arrow(X, y) if form == "arrow" else as_json(X, y) for X, y in blocks]
    path = f"/models/{name}/learn" + ("?label=y" if form == "arrow" else "")
    kind = ARROW if form == "arrow" else "application/json"
    times: list[float] = []
    bad: list[int] = []
    began = time.perf_counter()
    tag = os.urandom(4).hex()
    jobs = [client(server, path, bodies, kind, began + seconds, f"{tag}-{i}", times, bad) for i in range(clients)]
    await asyncio.gather(*jobs)
    return summary(times, time.perf_counter() - began, rows, bad)


async def predict_while_learning(server: Server, name: str, learners: int, rows: int, seconds: float) -> dict[str, Any]:
    learn = [as_json(*examples(rows, seed)) for seed in range(8)]
    ask = [as_json(examples(1, seed)[0], None) for seed in range(8)]
    times: list[float] = []
    learnt: list[float] = []
    bad: list[int] = []
    began = time.perf_counter()
    tag = os.urandom(4).hex()
    await asyncio.gather(
        *(
            client(server, f"/models/{name}/predict", ask, "application/json", began + seconds, "", times, bad)
            for _ in range(16)
        ),
        *(
            client(
                server, f"/models/{name}/learn", learn, "application/json", began + seconds, f"{tag}-{i}", learnt, bad
            )
            for i in range(learners)
        ),
    )
    wall = time.perf_counter() - began
    return {**summary(times, wall, 1, bad), "rows learnt/s meanwhile": round(len(learnt) * rows / wall)}


def bare(config: dict[str, Any], rows: int, seconds: float) -> float:
    """Rows a second of the learner alone in one process, in blocks of this size."""
    learner = (
        nystream.model.building.build(config["learner"], "regression", config["settings"], standardize=False)
        if config
        else None
    )
    model = nystream.Model(learner, nystream.Schema(COLUMNS, target="y", task="regression"))
    X, y = examples(8 * rows, 0)
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        at = count % 8 * rows
        if rows == 1:
            model.step(dict(zip(COLUMNS, X[at].tolist(), strict=True)), float(y[at]))
        else:
            model.run(X[at : at + rows], y[at : at + rows])
        count += 1
    return count * rows / (time.perf_counter() - began)


def bare_sync(folder: Path, seconds: float) -> dict[str, float]:
    """Milliseconds of writing 200 bytes and syncing them."""
    times = []
    handle = os.open(folder / "sync", os.O_CREAT | os.O_WRONLY)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        os.write(handle, b"x" * 200)
        os.fdatasync(handle)
        times.append((time.perf_counter() - began) * 1e3)
    os.close(handle)
    return {"p50 ms": round(float(np.percentile(times, 50)), 3), "p99 ms": round(float(np.percentile(times, 99)), 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--learners", default="cheap,auto")
    parser.add_argument("--clients", default="1,16,64")
    parser.add_argument("--rows", default="1,10,100,1000")
    parser.add_argument("--forms", default="json,arrow")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="load-"))
    show({"what": "bare sync of this disk", **bare_sync(folder, given.seconds)})
    server = Server(folder / "server")
    server.start()
    sizes = [int(n) for n in given.rows.split(",")]
    for name in given.learners.split(","):
        config = CONFIGS[name]
        server.send("PUT", f"/models/{name}", {**config, **DECLARED})
        for rows in sizes:
            show(
                {
                    "what": "bare learner",
                    "learner": name,
                    "rows": rows,
                    "rows/s": round(bare(config, rows, given.seconds)),
                }
            )
            for clients in (int(n) for n in given.clients.split(",")):
                for form in given.forms.split(","):
                    found = asyncio.run(load(server, name, clients, rows, form, given.seconds))
                    show({"learner": name, "clients": clients, "rows": rows, "form": form, **found})
        for rows in sizes[:1] + sizes[2:3]:
            found = asyncio.run(predict_while_learning(server, name, 16, rows, given.seconds))
            show({"what": "16 predict, 16 learn", "learner": name, "rows of a learn": rows, **found})
    server.stop()
    shutil.rmtree(folder)


def show(found: dict[str, Any]) -> None:
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
