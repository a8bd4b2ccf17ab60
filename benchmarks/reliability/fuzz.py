"""Hostile requests to every route: no 5xx, nothing learnt, no file outside the folder.

    python benchmarks/reliability/fuzz.py [--requests 100000] [--seed 0]

Bodies are random bytes, damaged JSON, CSV and Arrow, and JSON of the right shape with wrong values; names, keys, ids,
tokens, headers and queries are hostile too. With tokens, half of the requests come without the right one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1] / "serve"))
from sockets import ARROW, Connection, Server, as_arrow, as_json, examples

from nystream.serve.openapi import described
from nystream.serve.tokens import added

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1e308,
    -0.0,
    2**63,
    10**30,
    "",
    "x",
    "\x00",
    "NaN",
    "inf",
    "1_0",
    "\ud7ff",
    "é" * 300,
    "../..",
    [],
    {},
    [[]],
    [[1]],
    {"a": {}},
    "9" * 400,
    [None],
    {"": ""},
    "2024-01-01",
    "<script>",
    "'; drop table event; --",
]
NAMES = [
    "m",
    "m",
    "m",
    "n",
    "n",
    "nobody",
    "..",
    ".",
    "",
    "%",
    "a/b",
    "x" * 300,
    "\x00",
    "é",
    "m\n",
    "log.db",
    "*",
    "lock",
    "-",
]
FIELDS = [
    "rows",
    "row",
    "labels",
    "label",
    "weights",
    "ids",
    "id",
    "snapshot",
    "name",
    "learner",
    "settings",
    "columns",
    "target",
    "task",
    "classes",
    "drop",
    "standardize",
    "alarm_error",
    "copy",
    "remember",
    "interval",
    "explain",
    "probabilities",
    "q",
]
KINDS = ["application/json", "text/csv", ARROW, "application/octet-stream", "", "x/y", "application/json; charset=x"]


class Fuzzer:
    def __init__(self, seed: int, token: str) -> None:
        self.rng, self.token = random.Random(seed), token
        self.samples = [as_json(*examples(3, 0)), b"a,b\n1,2\n3,x\n", as_arrow(*examples(3, 0))]
        self.operations = [
            (method.upper(), path)
            for path, operations in described()["paths"].items()
            for method in operations
            if method != "parameters" and path != "/events"
        ]

    def value(self, depth: int = 0) -> Any:
        rng = self.rng
        if depth < 2 and rng.random() < 0.3:
            return [self.value(depth + 1) for _ in range(rng.randrange(4))]
        if depth < 2 and rng.random() < 0.3:
            return {rng.choice([*FIELDS, "x0", "x1"]): self.value(depth + 1) for _ in range(rng.randrange(4))}
        return rng.choice(VALUES)

    def body(self) -> bytes:
        rng, draw = self.rng, self.rng.random()
        if draw < 0.2:
            return rng.randbytes(rng.randrange(200))
        if draw < 0.5:
            sample = bytearray(rng.choice(self.samples))
            for _ in range(rng.randrange(1, 6)):
                sample[rng.randrange(len(sample))] = rng.randrange(256)
            return bytes(sample[: rng.randrange(1, len(sample))] if rng.random() < 0.5 else sample)
        return json.dumps({rng.choice(FIELDS): self.value() for _ in range(rng.randrange(1, 4))}).encode()

    def request(self, port: int) -> tuple[str, str, bytes]:
        rng = self.rng
        method, path = rng.choice(self.operations)
        for part in ("{name}", "{key}", "{challenger}", "{file}"):
            path = path.replace(part, quote(rng.choice(NAMES), safe="" if rng.random() < 0.9 else "/"))
        if rng.random() < 0.2:
            path += "?" + "&".join(f"{rng.choice(FIELDS)}={quote(str(rng.choice(VALUES)))}" for _ in range(2))
        if rng.random() < 0.05:
            method = rng.choice(["PATCH", "HEAD", "OPTIONS", "TRACE", "DELETE"])
        if method == "HEAD":
            method = "PATCH"  # an answer to HEAD has no body to read
        tokens = [self.token, self.token, "wrong", "", "é".encode().decode("latin-1"), self.token[:-1]]
        headers = [
            f"Host: 127.0.0.1:{port}",
            f"Content-Type: {rng.choice(KINDS)}",
            f"Authorization: Bearer {rng.choice(tokens)}",
        ]
        if rng.random() < 0.1:
            headers.append(f"Idempotency-Key: {'k' * rng.choice([1, 5, 300])}")
        if rng.random() < 0.05:
            headers.append("Origin: http://evil.example")
        body = self.body() if method in ("POST", "PUT", "PATCH") else b""
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *headers, f"Content-Length: {len(body)}"])
        return method, path, head.encode("latin-1", "replace") + b"\r\n\r\n" + body


async def fuzz(server: Server, fuzzer: Fuzzer, count: int) -> tuple[Counter[int], list[str]]:
    connection = Connection(server)
    seen: Counter[int] = Counter()
    wrong: list[str] = []
    for _ in range(count):
        method, path, content = fuzzer.request(server.port)
        try:
            status, answer = await connection.call(content)
        except (OSError, asyncio.IncompleteReadError, ValueError):
            connection.close()
            seen[0] += 1  # closed without an answer, as after a request that is no HTTP
            continue
        seen[status] += 1
        if status >= 500:
            wrong.append(f"{method} {path} {content[-300:]!r}: {status} {answer[:300]!r}")
        if status in (400, 413):
            connection.close()
    return seen, wrong


PARTS = 4
"""Parts of the run after each of which memory is read."""


def resident(server: Server) -> int:
    """Memory of the server in MiB."""
    assert server.process is not None
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) // 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    outer = Path(tempfile.mkdtemp(prefix="fuzz-"))
    token = added(outer / "tokens", "learn")  # one that may not create and delete what is looked at
    admin = added(outer / "tokens", "admin")
    server = Server(outer / "d", {"tokens": str(outer / "tokens")})
    server.token = admin
    server.start()
    config = {"columns": ["x0", "x1"], "target": "y", "task": "regression", "learner": "pkrr"}
    server.send("PUT", "/models/m", config)
    server.send("POST", "/models/m/learn", {"rows": [[1.0, 2.0], [2.0, 1.0]], "labels": [1.0, 2.0]})
    server.send("PUT", "/models/n", {})  # nobody knows its rows yet
    before = server.get("/models/m/file")
    memory = [resident(server)]
    fuzzer = Fuzzer(given.seed, token)
    seen: Counter[int] = Counter()
    wrong: list[str] = []
    for _ in range(PARTS):
        some, bad = asyncio.run(fuzz(server, fuzzer, given.requests // PARTS))
        seen += some
        wrong += bad
        memory.append(resident(server))
    after = json.loads(server.get("/models/m"))["champion"]["rows"]
    learnt = seen[200] and server.get("/models/m/file") != before
    names = sorted(path.name for path in outer.iterdir())
    inside = sorted(path.name for path in (outer / "d").iterdir())
    code = server.stop()
    print(
        json.dumps(
            {
                "requests": given.requests,
                "statuses": dict(sorted(seen.items())),
                "5xx": wrong[:5],
                "rows learnt by accident": after - 2,
                "memory MiB at the start and after each quarter": memory,
                "model changed": bool(learnt),
                "files": names,
                "files of the server": inside,
                "exit code": code,
            }
        )
    )
    shutil.rmtree(outer)
    return 0 if not wrong and names == ["d", "tokens"] and not code else 1


if __name__ == "__main__":
    sys.exit(main())
