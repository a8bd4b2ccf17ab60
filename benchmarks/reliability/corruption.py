"""Flipped bytes and truncations in every file of a server's folder: each is found, or provably changes nothing.

    python benchmarks/reliability/corruption.py [--harms 200] [--seed 0]

Two folders with two models each are made: of a server that was killed, and of one that ended by itself. Each harm is
done to a copy, `nystream verify` looks at it, and a server starts on another copy. A harm is found where verify or the
start says so. It is harmless where nothing was said and every model, key, open prediction and idempotency key is the
same to the byte. It is silent, and a failure, where something differs and nothing was said.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

sys.path[:0] = [str(Path(__file__).parents[2] / "tests"), str(Path(__file__).parents[2] / "tests" / "helpers")]
from serving import Running, after_a_crash, fill_two_models, learn

from nystream.serve import Retention
from nystream.serve.verify import verify

NAMES = ("m", "other")


def served(server: Any) -> dict[str, Any]:
    """Everything that a server gives of its models; None for one that it does not serve."""
    found: dict[str, Any] = {}
    for name in NAMES:
        status, described = server.call("GET", f"/models/{name}")
        if status != 200 or described["state"] != "ready":
            found[name] = None
            continue
        files = [server.raw("GET", f"/models/{name}{part}/file")[1] for part in ("", "/keys/k", "/keys/parked")]
        repeats = []
        for seed in range(8):  # idempotency keys that were used: the rows must not be learnt again
            try:
                repeats.append(learn(server, f"/models/{name}", 5, seed, key=f"{name}-{seed}")["event"])
            except AssertionError as refusal:
                repeats.append(str(refusal))
        after = server.call("GET", f"/models/{name}")[1]
        if after["state"] != "ready":  # an answer that it should have repeated was found damaged
            found[name] = None
            continue
        found[name] = (files, repeats, described["open_labels"], after["champion"]["rows"])
    return found


def harm(folder: Path, rng: random.Random) -> tuple[str, str]:
    """Flip one bit, or cut a file off; the kind of file, and what was done."""
    files = [folder / name for name in ("log.db", "log.db-wal", "witness", "log.head", "closed")]
    kinds = [path for path in files if path.exists() and path.stat().st_size]
    path = rng.choice([*kinds, folder / "snapshots"])
    kind = path.name
    if path.is_dir():
        path = rng.choice(sorted(path.iterdir()))
    size = path.stat().st_size
    place = rng.randrange(size)
    if rng.random() < 0.25:
        os.truncate(path, place)
        return kind, f"{path.name} cut off at {place} of {size}"
    with open(path, "rb+") as file:
        file.seek(place)
        byte = file.read(1)[0] ^ (1 << rng.randrange(8))
        file.seek(place)
        file.write(bytes([byte]))
    return kind, f"{path.name} flipped at {place} of {size}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harms", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    logging.getLogger("nystream.serve").setLevel(logging.CRITICAL + 1)
    place = Path(tempfile.mkdtemp(prefix="corruption-"))
    with Running(place / "stopped", replay=600.0, retention=Retention(every=1e12)) as server:
        fill_two_models(server)
        after_a_crash(server, place / "killed")
    expected = {}
    for kind in ("killed", "stopped"):
        with Running(shutil.copytree(place / kind, place / f"{kind}-whole")) as server:
            expected[kind] = served(server)
    rng = random.Random(given.seed)
    outcomes: Counter[str] = Counter()
    by_file: dict[str, Counter[str]] = {}
    silent: list[str] = []
    refused: list[str] = []
    others = Counter[str]()
    for k in range(given.harms):
        kind = rng.choice(("killed", "stopped"))
        copy = shutil.copytree(place / kind, place / "harmed")
        file, text = harm(copy, rng)
        again = shutil.copytree(copy, place / "again")
        try:
            report = verify(again)
            said = not report.is_good
        except Exception as error:
            said = True
            refused.append(f"verify: {text}: {type(error).__name__}: {error}")
        try:
            with Running(copy) as server:
                after = served(server)
                found = bool(server.service.store.findings)
        except Exception as error:
            refused.append(f"start: {kind} {text}: {type(error).__name__}: {error}"[:200])
            after, found = dict.fromkeys(NAMES), True
        changed = [name for name in NAMES if after[name] != expected[kind][name]]
        wrong = [name for name in changed if after[name] is not None]
        if changed and (wrong or not (found or said)):
            silent.append(f"{kind} {text}: {wrong or changed}")
            outcome = "silent"
        elif changed:
            outcome = "found, model quarantined"
            how = "cut off" if "cut off" in text else "flipped"
            others[f"{file} {how}: {len(NAMES) - len(changed)} of {len(NAMES)} models served"] += 1
        elif found or said:
            outcome = "found, everything served"
        else:
            outcome = "harmless: bytes that nobody reads, everything equal"
        outcomes[outcome] += 1
        by_file.setdefault(file, Counter())[outcome] += 1
        shutil.rmtree(copy)
        shutil.rmtree(again)
        if sys.stderr.isatty():
            print(f"\r{k + 1} {dict(outcomes)}", end="", file=sys.stderr)
    shutil.rmtree(place)
    print(
        json.dumps(
            {
                "harms": given.harms,
                "seed": given.seed,
                "outcomes": dict(outcomes),
                "by file": {file: dict(found) for file, found in sorted(by_file.items())},
                "where a model was quarantined": dict(others),
                "silent": silent[:10],
                "did not start": refused[:10],
            },
            indent=1,
        )
    )
    return 1 if silent or refused else 0


if __name__ == "__main__":
    sys.exit(main())
