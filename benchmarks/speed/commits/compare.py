"""What became slower since another commit: `make bench-compare COMMIT=abc123`.

    python benchmarks/speed/commits/compare.py COMMIT [--names NAME ...] [--expected NAME ...] [--rounds 3]
        [--limit 1.10]

Builds the commit beside this one (out/compare/COMMIT, kept for the next time; an interrupted build goes on where it
stopped; dependencies are those of this environment) and runs one workload per learner, row by row and as a whole
stream, about 100 ms each, under both: a process of each in turn, several turns, new processes in every round, the least
processor time of all. What seems slower is measured again, longer, before it is said. One thread, of ours and of the
linear algebra.

Prints before and after of everything; exit code 1 if something is slower by more than 10 percent. Names after
`--expected` were changed on purpose: they are listed apart and do not count.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
KEPT = ROOT / "out" / "compare"
WORKLOADS = Path(__file__).parent / "workloads.py"
SECONDS = 0.1
"""Of one measurement, about."""
TURNS = 3
"""Of each side in a round."""
AGAIN = 3
"""Times as many rounds for what seems slower."""
SIDES = ("before", "after")
Key = tuple[str, str]


@dataclass
class Side:
    """A running process of one of the two commits."""

    process: subprocess.Popen[str]

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of the workloads ended: {request}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@dataclass
class Times:
    """The least seconds of either side, or why there are none."""

    rows: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    error: str = ""

    @property
    def ratio(self) -> float:
        """Above 1: slower than before."""
        return self.seconds["after"] / self.seconds["before"]

    def microseconds(self, side: str) -> float:
        return 1e6 * self.seconds[side] / self.rows


def built(commit: str) -> Path:
    """The folder that holds the package of the commit."""
    kept = KEPT / commit
    site, tree, build, new = (kept / name for name in ("site", "tree", "build", "new"))
    if not site.exists():
        if not tree.exists():  # not a worktree of git, which would have to be told when it goes
            packed, unpacked = kept / "tree.tar", kept / "unpacked"
            kept.mkdir(parents=True, exist_ok=True)
            run(["git", "archive", "--format=tar", f"--output={packed}", commit])
            shutil.rmtree(unpacked, ignore_errors=True)
            with tarfile.open(packed) as archive:
                archive.extractall(unpacked, filter="data")
            packed.unlink()
            unpacked.rename(tree)
        print(f"building {commit[:12]}: the core is compiled, which takes minutes ...", flush=True)
        began = time.monotonic()
        shutil.rmtree(new, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]
        run([*pip, f"-Cbuild-dir={build}", "--target", str(new), str(tree)])
        new.rename(site)  # only now it is there
        for used in (tree, build):
            shutil.rmtree(used)
        print(f"built in {time.monotonic() - began:.0f} s", flush=True)
    return site


def run(command: list[str]) -> str:
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # the tools that build it
    environment = {**os.environ, "PATH": beside}
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{answer.stdout}{answer.stderr}")
    return answer.stdout.strip()


@contextmanager
def sides(site: Path) -> Iterator[dict[str, Side]]:
    """A fresh process of each commit."""
    around = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    around |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NYSTREAM_THREADS"), "1")
    started: dict[str, Side] = {}
    try:
        for name in SIDES:
            environment = {**around, "PYTHONPATH": str(site)} if name == "before" else around
            command = [sys.executable, str(WORKLOADS)]
            started[name] = Side(
                subprocess.Popen(
                    command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
                )
            )
        homes = [Path(side.ask()["home"]) for side in started.values()]
        if not homes[0].is_relative_to(site) or homes[1].is_relative_to(site):
            sys.exit(f"the two processes have the packages {homes[0]} and {homes[1]}")
        yield started
    finally:
        for side in started.values():
            side.process.kill()
            side.process.wait()


def measure(site: Path, keys: list[Key], found: dict[Key, Times], rounds: int, turns: int) -> None:
    """Add rounds of measurements: in every turn one of each side, the other one first in the next."""
    for round_ in range(rounds):
        with sides(site) as both:
            for key in keys:
                times = found.setdefault(key, Times())
                if not times.rows and not times.error:
                    times.rows = fitting(both["after"], key)
                for turn in range(turns):
                    order = SIDES if (round_ + turn) % 2 else SIDES[::-1]
                    for name in order if not times.error else ():
                        answer = both[name].ask(name=key[0], mode=key[1], rows=times.rows)
                        if "error" in answer:
                            times.error = f"{name}: {answer['error']}"
                            break
                        times.seconds[name] = min(times.seconds.get(name, float("inf")), answer["seconds"])
        print(f"round {round_ + 1} of {rounds}: {len(keys)} workloads", file=sys.stderr, flush=True)


def fitting(side: Side, key: Key) -> int:
    """Rows that take about as long as wanted: doubled until they do, which costs of growing learners are fair to."""
    rows, most = 250, side.ask()["most"]
    while rows < most:
        answer = side.ask(name=key[0], mode=key[1], rows=rows)
        if answer.get("seconds", SECONDS) >= SECONDS / 1.5:
            break
        rows *= 2
    return int(rows)


def table(found: dict[Key, Times]) -> str:
    lines = ["| learner | mode | rows | before, us | after, us | after / before |", "|---|---|---|---|---|---|"]
    for (name, mode), times in sorted(found.items(), key=lambda item: -item[1].ratio if not item[1].error else 0.0):
        if times.error:
            lines.append(f"| {name} | {mode} | | | | {times.error} |")
            continue
        cells = f"{times.rows:,} | {times.microseconds('before'):.2f} | {times.microseconds('after'):.2f}"
        lines.append(f"| {name} | {mode} | {cells} | {times.ratio:.2f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--names", nargs="*", help="workloads; default: all")
    parser.add_argument("--expected", nargs="*", default=[], help="workloads that were changed on purpose")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1.10, help="after / before that is too much")
    options = parser.parse_args()
    commit = run(["git", "rev-parse", "--verify", f"{options.commit}^{{commit}}"])
    site = built(commit)
    with sides(site) as both:
        there = both["after"].ask()
    if unknown := {*(options.names or ()), *options.expected} - set(there["names"]):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(there['names'])}")
    names = options.names or there["names"]
    keys = [(name, mode) for name in names for mode in there["modes"] if (name, mode) != ("pixels", "row by row")]
    found: dict[Key, Times] = {}
    measure(site, keys, found, options.rounds, TURNS)

    def slower() -> list[Key]:
        return [key for key, times in found.items() if not times.error and times.ratio > options.limit]

    if seeming := [key for key in slower() if key[0] not in options.expected]:
        measure(site, seeming, found, AGAIN, TURNS * options.rounds)
    print(f"\nbefore: {commit[:12]}, after: {run(['git', 'describe', '--always', '--dirty=+', '--exclude=*'])}\n")
    print(table(found))
    worse = [
        f"{name}, {mode}: {found[name, mode].ratio:.2f}" for name, mode in slower() if name not in options.expected
    ]
    meant = [f"{name}, {mode}: {found[name, mode].ratio:.2f}" for name, mode in found if name in options.expected]
    if meant:
        print("\nchanged on purpose: " + "; ".join(meant))
    said = f"slower by more than {options.limit - 1:.0%}: "
    print("\n" + said + ("; ".join(worse) if worse else "nothing"))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
