"""What each mechanism of drift handling is worth: `Auto` with all of them, and with one switched off at a time.

    python benchmarks/drift/mechanisms.py [--without NAME ...] [--streams NAME ...] [--json FILE] [--print]

Streams of drift_streams.py with a change (seed 0; cut 2,000 rows after the last change): the loss of the 200, 500,
1,000 and 2,000 rows after each change over that of a fresh `Auto(changes=False)` that begins at the change, the mean of
these cells, and how many are at most 1.10. Real streams as in boosters.py, 8,000 rows: the mean loss of all rows over
that with all mechanisms. A mechanism is run where it can matter; other places of the table are empty. What was run is
kept in the JSON file (default: results/drift_mechanisms.json) and not run again; the table is written beside it. A
mechanism that was removed stays in it, marked so.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))

import numpy as np
from auto_drift import LENGTHS, MET, learnt
from drift_streams import Stream, stream
from refitted.streams import read

from nystream.auto import pipeline
from nystream.auto.drift import archive, detectors, handler, hedge, inputs, mixture, succession

RESULTS = Path(__file__).resolve().parents[1] / "results" / "drift_mechanisms.json"
CHANGING = (
    *("abrupt", "gradual", "recurring", "shift", "shift, new places", "sign", "quieter", "xor", "three classes"),
    *("larger", "larger, another"),
)
REAL = ("elec2", "covtype7", "beijing", "bike")
AFTER, ROWS = 2000, 8000
ALL = "all mechanisms"
HEAD = """# What each mechanism of drift handling is worth

Each line of the table switches off one mechanism of drift handling and measures `Auto` without it. A mechanism is
useful if the figures of its line are larger than those of the line "all mechanisms".

- Generated streams have a known change. A ratio is the loss after the change, divided by the loss of a new
  `Auto(changes=False)` that starts at the change. Below 1, `Auto` is better than the new model. A figure is the mean of
  the ratios over the first 200, 500, 1,000 and 2,000 rows after each change.
- Real streams (elec2, covtype7, beijing, bike): the mean loss divided by the mean loss with all mechanisms.
- "cells within 1.10": how many of the single ratios of the generated streams are at most 1.10.
- An empty cell was not measured. "(removed)": nystream does not have this mechanism any more.

A hedge gives weight to learners that need few rows while losses are suspicious and no drift alarm is raised yet. Its
odds are the assumed odds that the stream has changed. Steady experts are the experts that do not forget old rows.
"Losses before the change as first values": the mixture divides squared losses by running means, which begin with the
losses of the incumbent before the change.

`python benchmarks/drift/mechanisms.py` measures and writes this page.

"""


def quiet_steady(own: detectors.RankDetector, x: np.ndarray, row: int, **options: Any) -> Any:
    """A detector that never sounds where it watches the steady experts; the others stay as they are."""
    if own.alike and own.bar == 1e6:
        if options.get("evidence") is not None:
            options["evidence"].level[:] = 0.0
        return len(x), None
    return see(own, x, row, **options)


def no_shifts(own: inputs.InputDetector, *_: Any) -> list[inputs.Shift]:
    return [inputs.Shift(*own.alert_)]


def flat_line(own: mixture.Mixture, inputs_: mixture.Inputs, *labels: Any) -> tuple[np.ndarray, ...]:
    """Members of the mixture, with what the incumbent predicts in place of the line."""
    members = list(targets_of(own, inputs_, *labels))
    members[3 if own.has_candidate else 1] = members[0]
    return tuple(members)


def without_stack(own: mixture.Mixture, inputs_: mixture.Inputs, *labels: Any) -> tuple[np.ndarray, ...]:
    """Members of the mixture of targets, with what the candidate predicts in place of the stack."""
    members = list(targets_of(own, inputs_, *labels))
    if own.has_candidate:
        members[2] = members[1]
    return tuple(members)


def without_usual(own: mixture.Mixture, labels: Any, outputs: int, where: Any, usual: Any = None) -> None:
    start(own, labels, outputs, where)


def from_bet(own: detectors.RankDetector, end: int, left: int, *, falls: bool = False) -> int:
    return min(max(left, end - own.reach, 0), end - 1)


def first_alone(evidence: list[detectors.Evidence], part: slice) -> hedge.Stronger:
    first = evidence[0].of(part)
    return first.level.tolist(), first.left.tolist(), [False] * len(first.level)


see, targets_of, start = detectors.RankDetector.see, mixture.Mixture._targets_of, mixture.Mixture.start
OFF: dict[str, Callable[[], Any]] = {
    "re-estimated change point": lambda: patch.object(
        succession.Succession, "_estimate_again", lambda _, phase, *__: phase.since
    ),
    "row of the first small p-value": lambda: patch.object(detectors.RankDetector, "change_point", from_bet),
    "archive": lambda: patch.object(archive.Archive, "copy", lambda *_: None),
    "hedge": lambda: patch.object(succession.Succession, "hedge", lambda *_: None),
    "odds by how large losses are": lambda: patch.object(succession, "odds", lambda *_: hedge.HEDGE.odds),
    "steady experts begin hedges": lambda: patch.object(handler, "stronger", first_alone),
    "usual squares": lambda: patch.object(mixture.Mixture, "start", without_usual),
    "stack of incumbent and candidate": lambda: patch.object(mixture.Mixture, "_targets_of", without_stack),
    "few-row ridge around the last rows": lambda: patch.object(succession, "centred", lambda where, _: where),
    "few-row ridge": lambda: patch.object(pipeline, "MOST_FEW", 1),
    "line": lambda: patch.object(mixture.Mixture, "_targets_of", flat_line),
    "detector on inputs": lambda: patch.object(inputs.InputDetector, "shifts", no_shifts),
    "detector on steady experts": lambda: patch.object(detectors.RankDetector, "see", quiet_steady),
    "falling losses": lambda: patch.object(handler, "LIMITS", dataclasses.replace(detectors.LIMITS, settled=1 << 40)),
    "labels since the change as they came": lambda: patch.object(pipeline.Pipeline, "_trust_labels", lambda *_: None),
    "outlier bounds of the candidate": lambda: patch.object(
        pipeline.Pipeline, "_admit_for_candidate", lambda _, __, own: own
    ),
}
TITLES = {
    "row of the first small p-value": "change point by the first small p-value",
    "archived models tried again": "archived models tried again after the alarm",
    "later half of the losses of an archived model": "recall by the later half of the losses",
    "odds by how large losses are": "odds of a hedge that depend on the size of the losses",
    "steady experts begin hedges": "hedges that begin by losses of steady experts",
    "usual squares": "losses before the change as first values",
    "few-row ridge around the last rows": "few-row ridge centred at the last rows",
    "line": "linear correction of the incumbent",
    "falling losses": "detection of falling losses",
    "labels since the change as they came": "labels since the change without winsorising",
}
"""Names of mechanisms on the page, where they differ from those on the command line and in the results."""


def ratios(name: str, fresh: dict[str, Any]) -> list[float]:
    """Of a stream with changes: losses after each change over those of a fresh copy."""
    data = stream(name, 0)
    last = data.changes[-1] + AFTER
    ours, _ = learnt(Stream(data.X[:last], data.y[:last], data.regression, data.changes))
    found = []
    for start, end in zip(data.changes, [*data.changes[1:], last], strict=True):
        key = f"{name}/{start}"
        if key not in fresh:
            losses, _ = learnt(Stream(data.X[:end], data.y[:end], data.regression, []), start, changes=False)
            fresh[key] = [float(losses[:n].sum()) for n in LENGTHS if start + n <= end]
        lengths = [n for n in LENGTHS if start + n <= end]
        found += [float(ours[start : start + n].sum()) / best for n, best in zip(lengths, fresh[key], strict=True)]
    return found


def mean_loss(name: str) -> float:
    """Of a real stream."""
    rows = read(name, ROWS)
    losses, _ = learnt(Stream(rows.X, rows.y, rows.classes == 0, []))
    return float(losses.mean())


def run(switched: list[str], streams: list[str], path: Path) -> None:
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"fresh": {}, "found": {}}
    for name in streams:
        for without in switched:
            found = known["found"].setdefault(without, {})
            if name in found:
                continue
            with patch.object(sys, "dont_write_bytecode", True) if without == ALL else OFF[without]():
                found[name] = ratios(name, known["fresh"]) if name in CHANGING else mean_loss(name)
            path.write_text(json.dumps(known, indent=1) + "\n")
            shown = found[name] if isinstance(found[name], list) else [found[name]]
            print(f"{name}, without {without}: " + " ".join(f"{v:.3f}" for v in shown), file=sys.stderr, flush=True)


def table(path: Path) -> str:
    known = json.loads(path.read_text())["found"]
    names = [name for name in (*CHANGING, *REAL) if name in known[ALL]]
    lines = [
        "| without | " + " | ".join(names) + " | cells within 1.10 |",
        "|---|" + "---|" * (len(names) + 1),
    ]
    for without, found in known.items():
        cells, met, of = [], 0, 0
        for name in names:
            one = found.get(name)
            if one is None:
                cells.append("")
            elif isinstance(one, list):
                cells.append(f"{np.mean(one):.3f}")
                met, of = met + sum(v <= MET for v in one), of + len(one)
            else:
                cells.append(f"{one / known[ALL][name]:.3f}")
        name = TITLES.get(without, without) + ("" if without in (ALL, *OFF) else " (removed)")
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {met} of {of} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--without", nargs="+", default=[ALL, *OFF], choices=[ALL, *OFF])
    options.add_argument("--streams", nargs="+", default=[*CHANGING, *REAL], choices=[*CHANGING, *REAL])
    options.add_argument("--json", type=Path, default=RESULTS)
    options.add_argument("--print", action="store_true", help="run nothing, print the table of what was kept")
    given = options.parse_args()
    if not given.print:
        run(given.without, given.streams, given.json)
    text = table(given.json)
    print(text)
    given.json.with_suffix(".md").write_text(HEAD + text)


if __name__ == "__main__":
    main()
