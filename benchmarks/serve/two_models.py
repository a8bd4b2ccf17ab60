"""Two heavy models in one process and in two workers: wall time, and the processor time of each process.

    python benchmarks/serve/two_models.py [--rows 4000] [--learner auto]

The processor time of the busiest process is what the wall time would be on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sockets import Server

from nystream.serve.placement import choose_worker

TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def learn(port: int, name: str, rows: int, seed: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    rng = np.random.default_rng(seed)
    for _ in range(rows // 200):
        X = rng.normal(size=(200, 6))
        body = json.dumps({"rows": X.tolist(), "labels": np.sin(X[:, 0]).tolist()}).encode()
        connection.request("POST", f"/models/{name}/learn", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
    connection.close()


def measure(workers: int, rows: int, config: dict[str, Any]) -> dict[str, Any]:
    names = [next(f"m{k}" for k in range(99) if choose_worker(f"m{k}", 2) == worker) for worker in (0, 1)]
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "d", {"workers": workers, "limits": {"seconds": 600.0}})
        server.start()
        try:
            for name in names:
                server.send("PUT", f"/models/{name}", config)
            assert server.process is not None
            pids = [server.process.pid]
            pids += [found["pid"] for found in json.loads(server.get("/readyz")).get("workers", [])]
            before = [processor_seconds(pid) for pid in pids]
            began = time.perf_counter()
            threads = [threading.Thread(target=learn, args=(server.port, name, rows, 0)) for name in names]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            wall = time.perf_counter() - began
            used = [round(processor_seconds(pid) - old, 2) for pid, old in zip(pids, before, strict=True)]
        finally:
            server.stop()
    return {"wall s": round(wall, 1), "processor s by process": used, "busiest s": max(used)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--learner", default="auto")
    given = parser.parse_args()
    config = {} if given.learner == "auto" else {"learner": given.learner}
    one, two = measure(0, given.rows, config), measure(2, given.rows, config)
    print("one process:", one)
    print("two workers:", two)
    print(f"the busiest process does {two['busiest s'] / one['busiest s']:.2f} of the work of one process")


if __name__ == "__main__":
    main()
