"""Every speed benchmark in one run, one thread: `make bench`, or `python benchmarks/run.py [NAME ...] [--table]`.

Each script of benchmarks/speed prints ratios measured side by side; none of them is a test. What they measured is
written to results/speed.json, by script with its commit and machine, and as tables to results/speed.md, which the docs
show. With names, only those scripts are run, and the others' results stay as they were; `--table` writes the tables of
what there is.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from nystream.cli.surroundings import surroundings

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "speed"
RESULTS = ROOT / "benchmarks" / "results" / "speed.json"
VARIABLE = "NYSTREAM_BENCH"  # as speed/_results.py has it
SHOWN = ("python", "numpy", "scipy")
HEAD = "| workload | mode | figure | times its reference |\n|---|---|---|---|"


def main() -> int:
    """Run the scripts one after the other; the number that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scripts; default: all")
    parser.add_argument("--table", action="store_true", help="measure nothing; tables of the last results")
    options = parser.parse_args()
    scripts = {script.stem: script for script in sorted(FOLDER.glob("[!_]*.py"))}
    if unknown := set(options.names) - set(scripts):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(scripts)}")
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results = {name: result for name, result in results.items() if name in scripts}
    failed = 0
    for name in () if options.table else options.names or scripts:
        print(f"\n== {name}", flush=True)
        code, result = measured(scripts[name])
        failed += code != 0
        if code == 0 and result["lines"]:
            results[name] = result
            RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")
    RESULTS.with_suffix(".md").write_text(page(dict(sorted(results.items()))))
    return failed


def measured(script: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Its exit code, and what it noted, with the circumstances."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        began = time.monotonic()
        code = subprocess.run(
            [sys.executable, str(script), *arguments], env={**os.environ, **one, VARIABLE: str(notes)}, check=False
        ).returncode
        lines = [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
    return code, {
        "title": (script.read_text().split('"""')[1].splitlines()[0]).split(" Run: ")[0].split(" python bench")[0],
        "commit": git("rev-parse", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks/speed")),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - began, 1),
        "load": round(os.getloadavg()[0], 1),
        "machine": {"processor": processor(), **surroundings()},
        "lines": lines,
    }


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False).stdout.strip()


def processor() -> str:
    """Its name, where the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "unknown"
    return next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")), "")


def page(results: dict[str, Any]) -> str:
    """The page results/speed.md."""
    parts = [
        "# Speed",
        "",
        "Made by `make bench`: every script of `benchmarks/speed`, one after the other, one thread unless it says "
        "otherwise. Machines differ and are shared: read the ratios, which were measured side by side in one run. "
        "`make bench-compare COMMIT=abc123` says what became slower since a commit.",
    ]
    for name, result in results.items():
        machine = result["machine"]
        versions = ", ".join(f"{package} {machine[package]}" for package in SHOWN if package in machine)
        commit = f"{result['commit'][:10]}{' with changes' if result['changed'] else ''}"
        parts += ["", f"## {name}", "", f"{result['title'].rstrip(':')}", "", HEAD]
        for line in result["lines"]:
            times = "" if line["ratio"] is None else f"{line['ratio']:.3g} x {line['reference']}"
            parts.append(f"| {line['workload']} | {line['mode']} | {figure(line['value'])} {line['unit']} | {times} |")
        parts += [
            "",
            f"{result['date'][:10]}, commit {commit}, {machine['processor']}, {machine['instruction set']}, load "
            f"{result['load']:g}; {versions}; `python benchmarks/run.py {name}`",
        ]
    return "\n".join(parts) + "\n"


def figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
