"""Accuracy against time and memory: this package, river, scikit-learn, Vowpal Wabbit and CapyMOA on ten real streams.

    python benchmarks/accuracy/peers.py [STREAM ...] [--full] [--limit 60] [--rows 20000] [--jobs N] [--only NAME ...]
    python benchmarks/accuracy/peers.py --draw

needs `pip install -r benchmarks/accuracy/environment-peers.txt`, Java (for CapyMOA) and Linux. All methods follow one
protocol: they read a stream once and predict every row before they get its label (scikit-learn: every block of 100
rows). Streams and their order are those of auto_streams.py. `--full` adds ijcnn1, cod-rna, covtype and mnist at full
length. A method that was stopped on the first 20,000 rows of a stream does not take part in it at full length, if both
are run.

No method is tuned (settings: peers/contestants.py), but Auto was designed on these ten streams. Columns are
standardised by the rows so far, except for trees and `Auto`. Gaussian kernels have gamma 1/d. The feature maps of
scikit-learn are fitted on the first 1,000 rows beforehand. For numbers, the mean of the earlier labels is subtracted
from each label, except for river and `Auto`, which do not need it.

Time is processor time of one thread. It includes building the model. It does not include making the dictionaries of
river and the (standardised) lines of text of Vowpal Wabbit. A method that has used `--limit` seconds on a stream is
stopped, and its error is compared with that of Auto on the same rows. Auto is never stopped. With --limit 20, a run
takes about 15 minutes on a quiet machine, with --full about 23. `--jobs` methods run at the same time (default: one for
each core). This changes no error, and it changes processor time little if each method has a core.

Memory is the growth of the resident memory of the process to its highest value. Each method has its own process, and
libraries are loaded before. The size of the saved model is measured too (nystream: `nbytes` at its largest, others: a
pickle or a file). Written: results/peers.json, results/peers.md, docs/images/peers.png. `--draw` makes the last two
from the first. `--only` measures Auto and the named methods anew on the streams of the last results, and keeps the
figures of all other methods.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

try:
    import numpy as np
    from auto_streams import READERS, REGRESSION, read
    from peers.chart import draw
    from peers.contestants import AUTO, CONTESTANTS
    from peers.running import Outcome, Stream, measure
    from peers.tables import tables
    from tqdm import tqdm

    from nystream.runtime.processes import in_processes, processes
except ModuleNotFoundError as error:
    sys.exit(f"{error}; pip install -r benchmarks/accuracy/environment-peers.txt")

ROOT = Path(__file__).resolve().parents[2]
FULL = "-full"
LONG = [name + FULL for name in ("ijcnn1", "cod-rna", "covtype7", "mnist")]
DISTRIBUTIONS = ("nystream", "numpy", "scipy", "river", "scikit-learn", "vowpalwabbit", "capymoa")


def stream_named(name: str, rows: int) -> Stream:
    source = name.removesuffix(FULL)
    X, y = read(source, rows if source == name else sys.maxsize)
    return Stream(name, X, y, 0 if source in REGRESSION else int(y.max()) + 1)


def compare(
    stream: Stream,
    names: list[str],
    limit: float,
    jobs: int,
    bar: tqdm,
    kept: dict[str, dict[str, float]] | None = None,
) -> dict[str, dict[str, float]]:
    """Contestant -> figures. `kept` has earlier figures of contestants that do not run."""
    working: dict[str, str] = {}
    outcomes: dict[str, Outcome] = {}

    def told(name: str, rows: int) -> None:
        working[name] = f"{name} {rows / len(stream.y):.0%}"
        bar.set_description(f"{stream.name} {', '.join(working.values())}")

    tasks = {name: partial(measure, CONTESTANTS[name].build, stream, None if name == AUTO else limit) for name in names}
    for name, outcome in in_processes(tasks, jobs, told):
        outcomes[name] = outcome
        working.pop(name, None)
        bar.update()
    found: dict[str, dict[str, float]] = {}
    for name in names:
        outcome = outcomes[name]
        found[name] = {
            **outcome.figures,
            "rows": outcome.rows,
            "Auto, same rows": reference_error(outcomes[AUTO].losses, outcome.rows, stream.classes),
            "rows/s": outcome.rows / outcome.seconds,
            "resident": outcome.resident,
            "saved": outcome.saved,
        }
        bar.write(f"{stream.name:>13} {name:<17} " + "  ".join(f"{k} {v:,.4g}" for k, v in found[name].items()))
    for name, one in (kept or {}).items():
        reference = reference_error(outcomes[AUTO].losses, int(one["rows"]), stream.classes)
        found.setdefault(name, {**one, "Auto, same rows": reference})
    return {name: found[name] for name in CONTESTANTS if name in found}


def reference_error(losses: np.ndarray, rows: int, classes: int) -> float:
    """The error of Auto on the first rows."""
    mean = float(losses[:rows].mean())
    return mean if classes else mean**0.5


def entered(stream: str) -> list[str]:
    """Who can take part."""
    regression = stream.removesuffix(FULL) in REGRESSION
    return [name for name, one in CONTESTANTS.items() if one.regression or not regression]


def about(limit: float, jobs: int) -> dict[str, object]:
    """Under what circumstances it was measured."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=False).stdout
    return {
        "commit": commit or None,
        "changed": bool(changed),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "limit": limit,
        "jobs": jobs,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {name: importlib.metadata.version(name) for name in DISTRIBUTIONS},
        "settings": {name: f"{one.family}: {one.settings}" for name, one in CONTESTANTS.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", nargs="*", help=f"of {', '.join([*READERS, *LONG])}; default: the first ten")
    parser.add_argument("--full", action="store_true", help="the long ones too")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each peer on each stream")
    parser.add_argument("--rows", type=int, default=20_000, help="of a stream, at most; the long ones are not cut")
    parser.add_argument("--jobs", type=int, default=processes(), help="contestants that run at the same time")
    parser.add_argument("--draw", action="store_true", help="measure nothing; table and chart of the last results")
    parser.add_argument(
        "--only", nargs="+", default=[], help=f"measure Auto and these anew; of {', '.join(CONTESTANTS)}"
    )
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results" / "peers.json")
    parser.add_argument("--chart", type=Path, default=ROOT / "docs" / "images" / "peers.png")
    options = parser.parse_args()
    if unknown := set(options.streams) - {*READERS, *LONG}:
        parser.error(f"no stream {', '.join(sorted(unknown))}; there are {', '.join([*READERS, *LONG])}")
    if unknown := set(options.only) - set(CONTESTANTS):
        parser.error(f"nobody is called {', '.join(sorted(unknown))}; there are {', '.join(CONTESTANTS)}")
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {options.jobs}")
    if options.draw or options.only:
        results = json.loads(options.json.read_text())
        if options.only:
            chosen = [name for name in results["streams"] if not options.streams or name in options.streams]
            results = measured_again(results, chosen, {AUTO, *options.only}, options)
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    else:
        names = options.streams or [*READERS, *(LONG if options.full else [])]
        results = measured(names, options.rows, options.limit, options.jobs)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    text = tables(results, options.json.parent)
    options.json.with_suffix(".md").write_text(text)
    draw(results, options.chart)
    print(text)


def measured(names: list[str], rows: int, limit: float, jobs: int) -> dict[str, object]:
    """All streams, one after the other."""
    found: dict[str, dict[str, object]] = {}
    with tqdm(total=sum(len(entered(name)) for name in names), unit="run", smoothing=0) as bar:
        for name in names:
            stream = stream_named(name, rows)
            who = [one for one in entered(name) if not _was_cut(found.get(name.removesuffix(FULL)), one)]
            bar.total -= len(entered(name)) - len(who)
            found[name] = {
                "rows": len(stream.y),
                "columns": stream.X.shape[1],
                "classes": stream.classes,
                "full": name.endswith(FULL),
                "found": compare(stream, who, limit, jobs, bar),
            }
    return {**about(limit, jobs), "streams": found}


def measured_again(
    results: dict[str, Any], streams: list[str], who: set[str], options: argparse.Namespace
) -> dict[str, Any]:
    """The results with new figures of these contestants on these streams."""
    with tqdm(unit="run", smoothing=0) as bar:
        for name in streams:
            stream, one = stream_named(name, options.rows), results["streams"][name]
            assert len(stream.y) == one["rows"], f"{name} had {one['rows']:,} rows, now {len(stream.y):,}: give --rows"
            runners = [each for each in entered(name) if each in who]
            one["found"] = compare(stream, runners, options.limit, options.jobs, bar, one["found"])
    new = about(options.limit, options.jobs)
    again = {"methods": [name for name in CONTESTANTS if name in who], "streams": streams}
    again |= {key: new[key] for key in ("commit", "changed", "date", "limit", "versions")}
    return results | {"settings": new["settings"], "again": [*results.get("again", []), again]}


def _was_cut(earlier: dict[str, Any] | None, name: str) -> bool:
    """On the first rows of the same stream: it would come no further on all of them."""
    return earlier is not None and earlier["found"][name]["rows"] < earlier["rows"]


if __name__ == "__main__":
    main()
