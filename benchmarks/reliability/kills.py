"""Rounds of kill -9 on a learning server: nothing acknowledged may be lost, doubled or changed.

    python benchmarks/reliability/kills.py [--kill server|worker|replica] [--rounds 100] [--minutes 240]
                                           [--clients 16] [--learner pkrr] [--seed 0] [--early]

With --kill worker the server has two workers and six models, and one of the workers is killed. With --kill replica a
replica is killed, and in every third round its primary too; at the end the replica's files must be equal as well.

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
import signal
import sys
import tempfile
import time
import urllib.error
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "serve"))
from sockets import COLUMNS, Connection, Server, as_json, examples, request

import nystream
from nystream.model.building import build
from nystream.serve.placement import choose_worker

KEYS, WORKERS = 24, 2
PATIENCE = 60.0
"""Seconds after which a worker that does not come back, or a replica that does not become equal, counts as wrong."""
CONFIG = {"columns": COLUMNS, "target": "y", "task": "regression"}


class Clients:
    """Requests sent and answered."""

    def __init__(self, server: Server, early: bool, names: list[str], workers: int) -> None:
        self.server, self.early, self.names, self.workers = server, early, names, workers
        self.acknowledged: dict[tuple[int, int], tuple[str, str | None, np.ndarray, np.ndarray]] = {}
        """By worker and number of the event: model, key, rows and labels."""
        self.rows_early = 0
        self.repeats = self.needless = self.labels = 0
        self.wrong: list[str] = []
        self.stop = False
        self.rounds = 0

    async def run(self, number: int) -> None:
        connection, count = Connection(self.server), 0
        rng = np.random.default_rng(number)
        while not self.stop:
            count += 1
            n = int(rng.integers(1, 20))
            X, y = examples(n, number * 1_000_003 + count)
            draw, tag = rng.random(), f"c{number}-{count}"
            name = self.names[int(rng.integers(len(self.names)))]
            if self.early or draw < 0.5:
                await self.learn(connection, name, None, X, y, tag, "learn")
            elif draw < 0.65:
                await self.learn(connection, name, None, X, y, tag, "step")
            elif draw < 0.85:
                key = f"k{int(rng.integers(KEYS))}"
                await self.learn(connection, name, key, X, y, tag, "learn")
            else:
                await self.late(connection, name, X[:1], y[:1], tag)
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
        self, connection: Connection, name: str, key: str | None, X: np.ndarray, y: np.ndarray, tag: str, kind: str
    ) -> None:
        path = f"/models/{name}/{kind}" if key is None else f"/models/{name}/keys/{key}/{kind}"
        body = as_json(X, y)
        answer = await self.until_answered(connection, path, body, tag)
        if self.early:
            self.rows_early += len(X)
            return
        self.enter(answer, name, key, X, y)
        if random.random() < 0.02:  # a needless repeat has the first answer
            again = await self.until_answered(connection, path, body, tag)
            self.needless += 1
            if again != answer:
                self.wrong.append(f"{tag}: {answer} and then {again}")

    async def late(self, connection: Connection, name: str, X: np.ndarray, y: np.ndarray, tag: str) -> None:
        row = dict(zip(COLUMNS, X[0].tolist(), strict=True))
        body = json.dumps({"rows": [row], "ids": [tag]}).encode()
        await self.until_answered(connection, f"/models/{name}/predict", body, None)
        await asyncio.sleep(random.random() * 0.2)
        body = json.dumps({"id": tag, "label": float(y[0])}).encode()
        answer = await self.until_answered(connection, f"/models/{name}/label", body, tag + "-label")
        self.labels += 1
        self.enter(answer, name, None, X, y)

    def enter(self, answer: dict[str, Any], name: str, key: str | None, X: np.ndarray, y: np.ndarray) -> None:
        event = (choose_worker(name, self.workers) if self.workers else 0, answer.get("event", 0))
        if event in self.acknowledged or not event[1]:
            self.wrong.append(f"event {event} was acknowledged twice: doubled")
        self.acknowledged[event] = (name, key, X, y)


def replayed(
    pattern: nystream.Model, acknowledged: dict[tuple[int, int], Any]
) -> dict[tuple[str, str | None], nystream.Model]:
    """All that was acknowledged, learnt by models alone, in the order of the log."""
    models: dict[tuple[str, str | None], nystream.Model] = {}
    for event in sorted(acknowledged):
        name, key, X, y = acknowledged[event]
        model = models.setdefault((name, key), pattern.clone())
        if len(X) == 1:
            model.step(dict(zip(COLUMNS, X[0].tolist(), strict=True)), float(y[0]))
        else:
            model.run(X, y)
    return models


async def rounds(
    server: Server, replica: Server | None, clients: Clients, count: int, number: int, seconds: float
) -> list[float]:
    """Kill and start again, so many times or until the time is over; return how long the starts took."""
    tasks = [asyncio.create_task(clients.run(i)) for i in range(number)]
    starts = []
    end = time.perf_counter() + seconds
    for done in range(count):
        if time.perf_counter() > end:
            break
        clients.rounds = done + 1
        await asyncio.sleep(random.uniform(0.3, 1.2))
        known: dict[int, int] = {}
        for worker, event in clients.acknowledged:
            known[worker] = max(known.get(worker, 0), event)
        if clients.workers:
            starts.append(await asyncio.to_thread(kill_worker, server, random.randrange(clients.workers)))
        else:
            if replica is not None:
                await asyncio.to_thread(restart, replica)
            if replica is None or done % 3 == 2:
                await asyncio.to_thread(restart, server)
                starts.append(server.starting)
        text = (await asyncio.to_thread(server.get, "/metrics")).decode()
        for worker, last in known.items():
            start = f'nystream_event{{worker="{worker}"}} ' if clients.workers else "nystream_event "
            event = next(int(float(line.split()[1])) for line in text.splitlines() if line.startswith(start))
            if event < last:
                clients.wrong.append(f"round {done}: the log ends at {event}, {last} was acknowledged: lost")
        if sys.stderr.isatty():
            print(f"\rround {done + 1}, {len(clients.acknowledged)} acknowledged", end="", file=sys.stderr)
    await asyncio.sleep(0.5)
    clients.stop = True
    await asyncio.gather(*tasks)
    return starts


def restart(server: Server) -> None:
    server.kill()
    server.start()


def kill_worker(server: Server, number: int) -> float:
    """Kill a worker; return the seconds until every worker is ready again."""
    workers = json.loads(server.get("/readyz"))["workers"]
    os.kill(workers[number]["pid"], signal.SIGKILL)
    began = time.perf_counter()
    while time.perf_counter() - began < PATIENCE:
        try:
            found = json.loads(server.get("/readyz"))["workers"][number]
        except urllib.error.HTTPError:
            time.sleep(0.02)
            continue
        if found["pid"] != workers[number]["pid"]:
            break
    return time.perf_counter() - began


def unequal_files(server: Server, models: dict[tuple[str, str | None], nystream.Model], seconds: float) -> list[str]:
    """Return the models whose files on the server differ; a replica has some time to become equal."""
    end = time.perf_counter() + seconds
    unequal = []
    for (name, key), model in models.items():
        path = f"/models/{name}" + ("" if key is None else f"/keys/{key}") + "/file"
        while True:
            try:
                is_equal = server.get(path) == model.to_bytes()
            except urllib.error.HTTPError:
                is_equal = False
            if is_equal or time.perf_counter() > end:
                break
            time.sleep(0.2)
        if not is_equal:
            unequal.append(path)
    return unequal


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kill", choices=("server", "worker", "replica"), default="server")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=240.0, help="end after this time, whatever the rounds")
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
    workers = WORKERS if given.kill == "worker" else 0
    names = [f"power{k}" for k in range(6)] if workers else ["power"]
    if workers:
        options["workers"] = workers
    server = Server(folder, options)
    server.start()
    config = CONFIG if given.learner == "auto" else {**CONFIG, "learner": given.learner}
    for name in names:
        server.send("PUT", f"/models/{name}", config)
    replica = None
    if given.kill == "replica":
        replica = Server(folder / "replica", {**options, "follow": f"http://127.0.0.1:{server.port}"})
        replica.start()
    clients = Clients(server, given.early, names, workers)
    began = time.perf_counter()
    starts = asyncio.run(rounds(server, replica, clients, given.rounds, given.clients, 60 * given.minutes))
    rows = sum(json.loads(server.get(f"/models/{name}"))["champion"]["rows"] for name in names)
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
    unequal = unequal_files(server, models, 0.0)
    behind = [] if replica is None else unequal_files(replica, models, PATIENCE)
    code = server.stop() or (0 if replica is None else replica.stop())
    mine = sum(models[name, None].n_seen for name in names)
    numbers: dict[int, list[int]] = {}
    for worker, event in sorted(clients.acknowledged):
        numbers.setdefault(worker, []).append(event)
    holes = sum(len(events) != events[-1] for events in numbers.values())
    found = {
        "learner": given.learner,
        "killed": given.kill,
        "rounds": clients.rounds,
        "clients": given.clients,
        "acknowledged": len(clients.acknowledged),
        "rows of the model": rows,
        "lost rows": max(0, mine - rows),
        "doubled rows": max(0, rows - mine),
        "numbers distinct and without holes": "replicas take numbers too" if replica else not holes,
        "repeats after a kill": clients.repeats,
        "needless repeats": clients.needless,
        "late labels": clients.labels,
        "models": len(models),
        "not equal to the byte": unequal,
        "replica not equal to the byte": behind if replica else None,
        "wrong": clients.wrong[:5],
        "slowest start s": round(max(starts, default=0.0), 2),
        "exit code after SIGTERM": code,
        "seconds": round(time.perf_counter() - began),
    }
    print(json.dumps(found))
    shutil.rmtree(folder)
    return 0 if not (unequal or behind or clients.wrong or mine != rows or code) else 1


if __name__ == "__main__":
    sys.exit(main())
