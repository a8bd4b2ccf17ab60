"""Processor time of `nystream --help` and of `nystream run` on ten rows.

Run: python benchmarks/speed/start.py [--before PYTHON]

The least of several starts, byte code compiled. The limit is an interpreter that does nothing but what the command
cannot do without: typer with rich for the help; a command of typer that does nothing, NumPy, and the BLAS that the
compiled loops call.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from _before import measured
from _results import note

REPEATS = 5
WANTED = 0.4
NOTHING = """
import numpy, typer
from nystream.cli.blas import load_alone
from nystream.cli.plain import pass_plain_values
load_alone()
app = typer.Typer()
app.command()(lambda: None)
app.command("run")(lambda rows: None)
group = typer.main.get_command(app)
pass_plain_values(group)
pass_plain_values(group.commands["run"])
group(["run", "10"], standalone_mode=False)
"""
LIMITS = {"--help": "import typer.rich_utils", "run, fogd": NOTHING, "run": NOTHING}


def cost(*command: str) -> float:
    """Seconds of processor time, user and system."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    best = float("inf")
    for _ in range(REPEATS):
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], env=environment, check=True, capture_output=True)
        stop = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, stop.ru_utime + stop.ru_stime - start.ru_utime - start.ru_stime)
    return best


def starts() -> dict[str, float]:
    """Seconds by command line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ten.csv"
        path.write_text("a,b,c,y\n" + "".join(f"{i},{i % 3},{i / 7},{i % 5}\n" for i in range(10)))
        nystream = ("-m", "nystream.cli.main")
        return {
            "--help": cost(*nystream, "--help"),
            "run, fogd": cost(*nystream, "run", str(path), "--learner", "fogd", "--quiet"),
            "run": cost(*nystream, "run", str(path), "--quiet"),
        }


def main() -> None:
    now, before = measured(starts, __doc__)
    print(f"{'command':>10} {'before':>7} {'now':>7} {'wanted':>7} {'limit':>7}   seconds of processor time")
    for name, taken in now.items():
        earlier = before[name] if before else float("nan")
        least = cost("-c", LIMITS[name])
        print(f"{name:>10} {earlier:7.2f} {taken:7.2f} {WANTED:7.2f} {least:7.2f}")
        against = (earlier / taken, "before") if before else ()
        note(f"nystream {name}", "starting", taken, "s", *against, before=earlier if before else None, limit=least)


if __name__ == "__main__":
    main()
