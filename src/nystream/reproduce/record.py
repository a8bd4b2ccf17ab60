"""Files of finished experiments: the outcome, the code, the machine and the seconds."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nystream.reproduce.experiment import Experiment, Setting
from nystream.reproduce.outcome import Outcome

__all__ = ["Record", "perform"]

PACKAGES = ("nystream", "numpy", "scipy")


@dataclass(frozen=True)
class Record:
    """An outcome, and how it was computed."""

    name: str
    title: str
    source: str
    protocol: str
    quick: bool
    seconds: float
    date: str
    commit: str
    versions: dict[str, str]
    machine: str
    outcome: Outcome
    whole: bool = False

    def save(self, path: Path) -> None:
        """Write the record as JSON."""
        plain = {**{k: v for k, v in vars(self).items() if k != "outcome"}, **self.outcome.plain()}
        path.write_text(json.dumps(plain, indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: Path) -> Record:
        """Read the output of `save`."""
        plain = json.loads(path.read_text())
        outcome = Outcome.read({key: plain.pop(key) for key in ("tables", "panels", "remarks")})
        return cls(**plain, outcome=outcome)


def perform(experiment: Experiment, setting: Setting) -> Record:
    """Run an experiment and record code, machine and seconds of processor time."""
    start = time.process_time()  # other programs may be running, and would stretch the time of the clock
    outcome = experiment.run(setting)
    return Record(
        name=experiment.name,
        title=experiment.title,
        source=experiment.source,
        protocol=experiment.protocol,
        quick=setting.quick,
        seconds=round(time.process_time() - start, 1),
        date=datetime.now(UTC).date().isoformat(),
        commit=_commit(),
        versions=_versions(),
        machine=f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        outcome=outcome,
        whole=setting.whole,
    )


def _versions() -> dict[str, str]:
    found: dict[str, Any] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _commit() -> str:
    """Return the commit of the source tree, with + when files differ from it; empty where there is none."""
    here = Path(__file__).parent
    top = Path(_git(here, "rev-parse", "--show-toplevel"))
    ours = (top / "src" / "nystream" / "reproduce" / Path(__file__).name).exists()
    return _git(here, "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*") if ours else ""


def _git(folder: Path, *words: str) -> str:
    try:
        answer = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()
