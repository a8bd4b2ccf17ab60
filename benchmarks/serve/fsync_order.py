"""Every answer to a learning request comes after a sync of its own: seen in the system calls.

    python benchmarks/serve/fsync_order.py [--seconds 3]

kill -9 cannot show a missing sync, because what was written stays in the page cache. So `strace` watches the server
while one client learns: between any two successful answers there has to be a finished fsync or fdatasync. The negative
control runs the same with SQLite's synchronous=OFF and has to be caught.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from load import DECLARED
from sockets import Connection, Server, as_json, examples, request

CALLS = "fdatasync,fsync,msync,sendto,write,writev,sendmsg"
SYNCED = re.compile(r"(fdatasync|fsync|msync)(\(.*= 0$| resumed.*= 0$)")


async def learn(server: Server, seconds: float) -> int:
    connection, count = Connection(server), 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        body = as_json(*examples(3, count))
        status, answer = await connection.call(request(server.port, "/models/m/learn", body, key=f"k{count}"))
        assert status == 200, answer
        count += 1
    connection.close()
    return count


def traced(folder: Path, synchronous: str, seconds: float) -> tuple[int, int]:
    """Answers to learning requests, and how many of them came without a sync since the answer before."""
    trace = folder / f"trace-{synchronous}"
    wrap = ["strace", "-f", "-qq", "-e", f"trace={CALLS}", "-s", "24", "-o", str(trace)]
    server = Server(folder / synchronous, {"synchronous": synchronous, "retention": {"every": 3600.0}}, wrap)
    server.start()
    server.send("PUT", "/models/m", {**DECLARED, "learner": "fogd", "settings": {"dim": 20}})
    done = asyncio.run(learn(server, seconds))
    server.stop_child()
    answers = without = 0
    synced = False
    for line in trace.read_text(errors="replace").splitlines():
        if SYNCED.search(line):
            synced = True
        elif "HTTP/1.1 200" in line:
            answers += 1
            without += not synced
            synced = False
        elif "HTTP/1.1 201" in line:  # the model is there; from now on answers are counted
            answers = without = 0
            synced = False
    assert answers == done, (answers, done)
    return answers, without


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    if shutil.which("strace") is None:
        print("strace is not installed", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="fsync-"))
    answers, without = traced(folder, "FULL", given.seconds)
    wrong, caught = traced(folder, "OFF", given.seconds)
    print(
        json.dumps(
            {
                "answers": answers,
                "without a sync before them": without,
                "negative control": {"answers": wrong, "without a sync before them": caught},
            }
        )
    )
    shutil.rmtree(folder)
    return 0 if not without and caught > wrong // 2 else 1


if __name__ == "__main__":
    sys.exit(main())
