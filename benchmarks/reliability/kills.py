"""Rounds of kill -9 on a learning server: nothing acknowledged may be lost, doubled or changed.

    python benchmarks/reliability/kills.py [--rounds 100] [--clients 16] [--learner pkrr] [--seed 0] [--early]

Clients learn, step, learn by key, and remember predictions and send their labels later; every request has an
idempotency key and is repeated with it until it is answered. Snapshots are taken every second or so and memory holds
only some of the keyed models. At the end all that was acknowledged is learnt again here, by `nystream.Model` alone, in
the order of the log: the server's model files must be equal to the byte. With --early the server answers before it
commits: the negative control, which has to be caught.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "serve"))
from sockets import COLUMNS, Connection, Server, as_json, examples, request

import nystream
from nystream.model.building import build

NAME, KEYS = "power", 24
CONFIG = {"columns": COLUMNS, "target": "y", "task": "regression"}


class Clients:
    """Requests sent and answered."""

    def __init__(self, server: Server, early: bool) -> None:
        self.server, self.early = server, early
        self.acknowledged: dict[int, tuple[str | None, np.ndarray, np.ndarray, str]] = {}
        self.rows_early = 0
        self.repeats = self.needless = self.labels = 0
        self.wrong: list[str] = []
        self.stop = False

    async def run(self, number: int) -> None:
        connection, count = Connection(self.server), 0
        rng = np.random.default_rng(number)
        while not self.stop:
            count += 1
            n = int(rng.integers(1, 20))
            X, y = examples(n, number * 1_000_003 + count)
            draw, tag = rng.random(), f"c{number}-{count}"
            if self.early or draw < 0.5:
                await self.learn(connection, f"/models/{NAME}/learn", None, X, y, tag, "learn")
            elif draw < 0.65:
                await self.learn(connection, f"/models/{NAME}/step", None, X, y, tag, "step")
            elif draw < 0.85:
                key = f"k{int(rng.integers(KEYS))}"
                await self.learn(connection, f"/models/{NAME}/keys/{key}/learn", key, X, y, tag, "learn")
            else:
                await self.late(connection, X[:1], y[:1], tag)
        connection.close()

    async def until_answered(self, connection: Connection, path: str, body: bytes, key: str | None) -> dict[str, Any]:
        content = None
        while True:
            content = request(self.server.port, path, body, key=key)
            try:
                status, answer = await connection.call(content)
            except (OSError, asyncio.IncompleteReadError):
                self.repeats += 1
                await asyncio.sleep(0.02)
                continue
            if status == 200:
                return dict(json.loads(answer))
            if status not in (429, 503):
                self.wrong.append(f"{path}: {status} {answer[:200]!r}")
                return {}
            await asyncio.sleep(0.01)

    async def learn(
        self, connection: Connection, path: str, key: str | None, X: np.ndarray, y: np.ndarray, tag: str, kind: str
    ) -> None:
        body = as_json(X, y)
        answer = await self.until_answered(connection, path, body, tag)
        if self.early:
            self.rows_early += len(X)
            return
        self.enter(answer, key, X, y, kind)
        if random.random() < 0.02:  # a needless repeat has the first answer
            again = await self.until_answered(connection, path, body, tag)
            self.needless += 1
            if again != answer:
                self.wrong.append(f"{tag}: {answer} and then {again}")

    async def late(self, connection: Connection, X: np.ndarray, y: np.ndarray, tag: str) -> None:
        row = dict(zip(COLUMNS, X[0].tolist(), strict=True))
        body = json.dumps({"rows": [row], "ids": [tag]}).encode()
        await self.until_answered(connection, f"/models/{NAME}/predict", body, None)
        await asyncio.sleep(random.random() * 0.2)
        body = json.dumps({"id": tag, "label": float(y[0])}).encode()
        answer = await self.until_answered(connection, f"/models/{NAME}/label", body, tag + "-label")
        self.labels += 1
        self.enter(answer, None, X, y, "label")

    def enter(self, answer: dict[str, Any], key: str | None, X: np.ndarray, y: np.ndarray, kind: str) -> None:
        event = answer.get("event", 0)
        if event in self.acknowledged or not event:
            self.wrong.append(f"event {event} was acknowledged twice: doubled")
        self.acknowledged[event] = (key, X, y, kind)


def replayed(pattern: nystream.Model, acknowledged: dict[int, Any]) -> dict[str | None, nystream.Model]:
    """All that was acknowledged, learnt by models alone, in the order of the log."""
    models: dict[str | None, nystream.Model] = {}
    for event in sorted(acknowledged):
        key, X, y, _ = acknowledged[event]
        model = models.setdefault(key, pattern.clone())
        if len(X) == 1:
            model.step(dict(zip(COLUMNS, X[0].tolist(), strict=True)), float(y[0]))
        else:
            model.run(X, y)
    return models


async def rounds(server: Server, clients: Clients, count: int, number: int) -> list[float]:
    tasks = [asyncio.create_task(clients.run(i)) for i in range(number)]
    starts = []
    for done in range(count):
        await asyncio.sleep(random.uniform(0.3, 1.2))
        known = max(clients.acknowledged, default=0)
        server.kill()
        await asyncio.to_thread(server.start)
        starts.append(server.starting)
        text = (await asyncio.to_thread(server.get, "/metrics")).decode()
        event = next(int(float(line.split()[1])) for line in text.splitlines() if line.startswith("nystream_event "))
        if event < known:
            clients.wrong.append(f"round {done}: the log ends at {event}, {known} was acknowledged: lost")
        if sys.stderr.isatty():
            print(f"\rround {done + 1}, {len(clients.acknowledged)} acknowledged", end="", file=sys.stderr)
    await asyncio.sleep(0.5)
    clients.stop = True
    await asyncio.gather(*tasks)
    return starts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--learner", default="pkrr")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--early", action="store_true")
    given = parser.parse_args()
    random.seed(given.seed)
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    options = {
        "memory": 400_000,
        "replay": 0.2,
        "acknowledge_early": given.early,
        "retention": {"every": 1.0, "all_for": 5.0, "hourly_for": 6.0, "daily_for": 7.0},
    }
    server = Server(folder, options)
    server.start()
    config = CONFIG if given.learner == "auto" else {**CONFIG, "learner": given.learner}
    server.send("PUT", f"/models/{NAME}", config)
    clients = Clients(server, given.early)
    began = time.perf_counter()
    starts = asyncio.run(rounds(server, clients, given.rounds, given.clients))
    rows = json.loads(server.get(f"/models/{NAME}"))["champion"]["rows"]
    if given.early:
        print(
            json.dumps(
                {
                    "negative control": "answers before the commit",
                    "rows acknowledged": clients.rows_early,
                    "rows learnt": rows,
                    "caught": rows < clients.rows_early,
                }
            )
        )
        server.stop()
        shutil.rmtree(folder)
        return 0 if rows < clients.rows_early else 1
    schema = nystream.Schema(COLUMNS, target="y", task="regression")
    learner = None if given.learner == "auto" else build(given.learner, "regression")
    models = replayed(nystream.Model(learner, schema), clients.acknowledged)
    unequal = [
        key
        for key, model in models.items()
        if server.get(f"/models/{NAME}" + ("" if key is None else f"/keys/{key}") + "/file") != model.to_bytes()
    ]
    code = server.stop()
    events = sorted(clients.acknowledged)
    mine = models[None].n_seen
    found = {
        "learner": given.learner,
        "rounds": given.rounds,
        "clients": given.clients,
        "acknowledged": len(events),
        "rows of the model": rows,
        "lost rows": max(0, mine - rows),
        "doubled rows": max(0, rows - mine),
        "numbers distinct and without holes": events == list(range(1, len(events) + 1)),
        "repeats after a kill": clients.repeats,
        "needless repeats": clients.needless,
        "late labels": clients.labels,
        "models": len(models),
        "not equal to the byte": unequal,
        "wrong": clients.wrong[:5],
        "slowest start s": round(max(starts), 2),
        "exit code after SIGTERM": code,
        "seconds": round(time.perf_counter() - began),
    }
    print(json.dumps(found))
    shutil.rmtree(folder)
    return 0 if not (unequal or clients.wrong or mine != rows or code) else 1


if __name__ == "__main__":
    sys.exit(main())
