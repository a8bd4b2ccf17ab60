"""Latency of light requests while heavy ones run: an explanation over 4,096 columns and a learn of 20,000 rows.

    python benchmarks/reliability/heavy.py [--seconds 20] [--columns 4096] [--rows 20000] [--json FILE]

Prints, alone and then under the heavy load: /healthz, one-row predictions and one-row learns of a light model
(milliseconds: median, 99 %, largest). The server is a process of its own; the clients share its machine.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

LIGHT = {"learner": "fogd", "settings": {"dim": 64}, "columns": ["a", "b"], "target": "y", "task": "regression"}


class Caller:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self._http.request(method, path, content, {"Content-Type": "application/json"})
        answer = self._http.getresponse()
        return answer.status, json.loads(answer.read())


def start(folder: str, *options: str) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-m", "nystream.cli.main", "serve", folder, "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline().rstrip().rpartition(":")[2])


def measure(port: int, seconds: float) -> dict[str, list[float]]:
    """Return the latencies of light requests, each kind sent by one connection without pause."""
    times: dict[str, list[float]] = {}
    end = time.perf_counter() + seconds

    def run(name: str, method: str, path: str, body: Any, pause: float) -> None:
        caller, found = Caller(port), times.setdefault(name, [])
        while time.perf_counter() < end:
            began = time.perf_counter()
            status, answer = caller.call(method, path, body)
            found.append(time.perf_counter() - began)
            assert status == 200, answer
            time.sleep(pause)

    row = {"a": 0.5, "b": -1.0}
    jobs = [
        ("GET /healthz", "GET", "/healthz", None, 0.005),
        ("predict, 1 row, light model", "POST", "/models/light/predict", {"row": row}, 0.01),
        ("learn, 1 row, light model", "POST", "/models/light/learn", {"row": row, "label": 1.0}, 0.01),
    ]
    threads = [threading.Thread(target=run, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--columns", type=int, default=4096)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        process, port = start(folder, "--timeout", "10min")  # a busy machine may need long for the heavy requests
        try:
            caller = Caller(port)
            caller.call("PUT", "/models/light", LIGHT)
            caller.call("PUT", "/models/wide", {})
            caller.call("PUT", "/models/heavy", {})
            caller.call("POST", "/models/light/learn", {"row": {"a": 0.0, "b": 1.0}, "label": 1.0})
            wide = rng.normal(size=(60, given.columns))
            for part in range(0, 60, 10):
                rows = wide[part : part + 10]
                status, answer = caller.call(
                    "POST", "/models/wide/learn", {"rows": rows.tolist(), "labels": rows[:, 0].tolist()}
                )
                assert status == 200, answer
            tables = {"alone": measure(port, given.seconds / 2)}
            stop = threading.Event()
            done = {"explanations": 0, "rows learnt": 0, "refused": 0}

            def explain() -> None:
                mine = Caller(port)
                body = json.dumps({"rows": wide[:1].tolist(), "explain": True}).encode()
                while not stop.is_set():
                    status, _ = mine.call("POST", "/models/wide/predict", body)
                    done["explanations" if status == 200 else "refused"] += 1

            def learn() -> None:
                mine = Caller(port)
                X = rng.normal(size=(given.rows, 6))
                content = {"rows": X.tolist(), "labels": np.sin(X[:, 0]).tolist()}
                body = json.dumps(content).encode()  # once: it would hold up the threads that measure
                while not stop.is_set():
                    status, _ = mine.call("POST", "/models/heavy/learn", body)
                    done["rows learnt" if status == 200 else "refused"] += given.rows if status == 200 else 1

            heavy = [threading.Thread(target=explain), threading.Thread(target=learn)]
            for thread in heavy:
                thread.start()
            time.sleep(1.0)
            tables["under load"] = measure(port, given.seconds)
            stop.set()
            for thread in heavy:
                thread.join()
        finally:
            process.terminate()
            process.wait(60)
    found: dict[str, Any] = {"done beside": done}
    print(f"{'':32} {'':10} {'median':>8} {'99 %':>8} {'largest':>8}  ms")
    for load, kinds in tables.items():
        for name, times in kinds.items():
            ms = np.array(times) * 1e3
            figures = [round(float(v), 2) for v in (np.median(ms), np.percentile(ms, 99), ms.max())]
            found[f"{name}, {load}"] = figures
            print(f"{name:32} {load:10} {figures[0]:8.2f} {figures[1]:8.2f} {figures[2]:8.2f}  of {len(times):,}")
    print("done beside:", done)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
