"""Run the benchmarks: `make bench`, or `python benchmarks/run.py [NAME ...] [--table] [--list]`.

One folder answers one question: `speed`, `accuracy`, `drift`, `scale`, `reliability`; `serve` and `spark` measure these
two parts. `--list` names all scripts with their first lines; `run.py FOLDER/NAME` runs one with its default options.

Without a folder a name is a script of benchmarks/speed; without names all of them are run. They print ratios measured
side by side, one thread; none of them is a test. The figures are written to results/speed.json, by script with its
commit and machine, and as tables to results/speed.md, which the docs show. With names, only those scripts are run, and
the others' results stay as they were. `--table` writes the tables of the last results.
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
FOLDERS = ("speed", "accuracy", "drift", "scale", "reliability", "serve", "spark")
FOLDER = ROOT / "benchmarks" / "speed"
RESULTS = ROOT / "benchmarks" / "results" / "speed.json"
VARIABLE = "NYSTREAM_BENCH"  # as speed/_results.py has it
SHOWN = ("python", "numpy", "scipy")
HEAD = "| workload | mode | figure | times its reference |\n|---|---|---|---|"


def main() -> int:
    """Run the scripts one after the other. Return the number that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scripts; default: all")
    parser.add_argument("--table", action="store_true", help="measure nothing; tables of the last results")
    parser.add_argument("--list", action="store_true", help="list the scripts of all folders")
    options = parser.parse_args()
    if options.list:
        print("\n".join(list_scripts()))
        return 0
    if others := [name for name in options.names if "/" in name]:
        return sum(run_script(ROOT / "benchmarks" / f"{name}.py", parser) for name in others)
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


def list_scripts() -> list[str]:
    """Return a line for each script: folder, name and the first line of its docstring."""
    scripts = [script for folder in FOLDERS for script in sorted((ROOT / "benchmarks" / folder).glob("[!_]*.py"))]
    return [f"{script.parent.name}/{script.stem:<22} {first_line(script)}" for script in scripts]


def first_line(script: Path) -> str:
    parts = script.read_text().split('"""')
    return parts[1].strip().splitlines()[0] if len(parts) > 2 else ""


def run_script(script: Path, parser: argparse.ArgumentParser) -> bool:
    """Run a script of any folder with its default options. Return whether it failed."""
    if not script.exists():
        parser.error(f"no benchmark {script.parent.name}/{script.stem}; --list names all")
    return subprocess.run([sys.executable, str(script)], check=False).returncode != 0


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
        "This page gives the speed of the learners and feature maps, and compares it with a reference such as plain "
        "NumPy code. `2 x plain NumPy` means twice as fast as plain NumPy. Compare the ratios rather than the absolute "
        "figures: both sides of a ratio were measured in the same run, while the absolute figures depend on the "
        "machine and on its load. One thread is used unless a line names another number.",
        "",
        "`row by row` passes one row in each call; `whole block` and `whole stream` pass many rows in one call.",
        "",
        "`make bench` runs every script of `benchmarks/speed` and writes this page. `make bench-compare COMMIT=abc123` "
        "lists what became slower since a commit.",
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
