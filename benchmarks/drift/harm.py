"""What drift handling costs where nothing changes: `Auto()` beside `Auto(changes=False)` on shuffled streams.

    python benchmarks/drift/harm.py [STREAM ...] [--rows 6000] [--json FILE] [--print]

The streams of boosters.py in random order: no two rows differ in distribution, so every alarm is a false one. Error:
rate of wrong labels, or the root of the mean squared error, of all rows predicted before their label; loss: log loss or
mean squared error. Wanted: the error with drift handling at most 1.005 of that without on average, and 1.02 at worst.
`landmarks`: of the large ridge, with and without: memory for a candidate comes out of `memory=`. What was run is kept
in the JSON file (default: results/drift_harm.json) and not run again; the table is written beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))

import numpy as np
from auto_streams import LEAST
from refitted.streams import read

from nystream import Auto

RESULTS = Path(__file__).resolve().parents[1] / "results" / "drift_harm.json"
STREAMS = ("casp", "bike", "beijing", "ijcnn1", "cod-rna", "cpusmall", "weather")
MEAN, WORST = 1.005, 1.02
HEAD = """# What drift handling costs where nothing changes

`Auto` detects drift and adapts to it. This page shows what this costs on streams without drift: real streams whose rows
are in random order, so that every drift alarm is false. The figures are ratios: the error, or the loss, of `Auto()`
over that of `Auto(changes=False)`. Above 1, drift handling makes the result worse. The error is the error rate or the
root mean squared error; the loss is the log loss or the mean squared error. The last column gives the landmarks of the
large ridge with and without drift handling, since both share the same memory.

`python benchmarks/drift/harm.py` measures and writes this page.

"""


def figures(name: str, rows: int, *, changes: bool) -> dict[str, Any]:
    stream = read(name, rows)
    order = np.random.default_rng(1).permutation(len(stream.y))
    X, y = stream.X[order], stream.y[order]
    model = Auto(task="classification" if stream.classes else "regression", changes=changes)
    parts = [model.run(X[i : i + 256], y[i : i + 256]) for i in range(0, len(y), 256)]
    found: dict[str, Any] = {}
    if stream.classes:
        P = np.concatenate(parts[1:])  # the first part may have fewer columns: not all classes are known
        labels = y[len(parts[0]) :].astype(int)
        found["error"] = float((P.argmax(axis=1) != labels).mean())
        found["loss"] = float(-np.maximum(P[np.arange(len(P)), labels], np.log(LEAST)).mean())
    else:
        found["loss"] = float(np.mean((np.concatenate(parts).ravel() - y) ** 2))
        found["error"] = found["loss"] ** 0.5
    found["landmarks"] = model.pipeline_.sizes_.big
    found["alarms"] = len(model.alarms()) if changes else 0
    return found


def table(known: dict[str, Any]) -> str:
    lines = ["| shuffled | error with / without | loss with / without | alarms | landmarks with / without |"]
    lines.append("|---|---|---|---|---|")
    errors, losses = [], []
    for name, one in known["streams"].items():
        ours, plain = one["with"], one["without"]
        errors.append(ours["error"] / plain["error"])
        losses.append(ours["loss"] / plain["loss"])
        sizes = f"{ours['landmarks']:,} / {plain['landmarks']:,}"
        lines.append(f"| {name} | {errors[-1]:.4f} | {losses[-1]:.4f} | {ours['alarms']} | {sizes} |")
    means = [float(np.exp(np.mean(np.log(v)))) for v in (errors, losses)]
    lines.append(f"| mean | {means[0]:.4f} | {means[1]:.4f} | | |")
    lines.append(f"| worst | {max(errors):.4f} | {max(losses):.4f} | | |")
    met = means[0] <= MEAN and max(errors) <= WORST
    wanted = f"Target: error ratios of at most {MEAN} on average and {WORST} at worst; {'met' if met else 'missed'}."
    return "\n".join(lines) + f"\n\nEach stream has {known['rows']:,} rows. {wanted}\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("streams", nargs="*", default=list(STREAMS))
    options.add_argument("--rows", type=int, default=6000)
    options.add_argument("--json", type=Path, default=RESULTS)
    options.add_argument("--print", action="store_true", help="run nothing, print the table of what was kept")
    given = options.parse_args()
    known = json.loads(given.json.read_text()) if given.json.exists() else {"rows": given.rows, "streams": {}}
    if known["rows"] != given.rows:
        sys.exit(f"{given.json} has figures of {known['rows']:,} rows; give another --json for {given.rows:,}")
    for name in [] if given.print else given.streams:
        if name not in known["streams"]:
            pair = [figures(name, given.rows, changes=changes) for changes in (True, False)]
            known["streams"][name] = {"with": pair[0], "without": pair[1]}
            given.json.write_text(json.dumps(known, indent=1) + "\n")
            print(f"{name}: {pair[0]['error'] / pair[1]['error']:.4f}", file=sys.stderr, flush=True)
    text = table(known)
    print(text)
    given.json.with_suffix(".md").write_text(HEAD + text)


if __name__ == "__main__":
    main()
