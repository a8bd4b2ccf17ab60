"""Auto beside refitted gradient boosting on twelve streams, prequential: what people do instead of online learning.

    python benchmarks/accuracy/boosters.py [--streams a,b] [--only auto] [--chart FILE] [--report]

needs `pip install -r benchmarks/accuracy/environment-boosters.txt`. LightGBM, CatBoost (300 iterations), XGBoost and
scikit-learn's HistGradientBoosting, else with their defaults, are refitted from scratch on all rows so far after 100,
200, 400, 800, 1,000 rows and then every 1,000 (mnist: every 3,000; the schedule is printed). "+lag": the last label and
the means of the last 5 and 50 are further columns (for more than two classes one-hot and frequencies). Before the first
fit they answer the mean or the most frequent class. Auto has no option; its recipe was chosen on these streams.

Streams and their order as in accuracy/auto_streams.py; bike and beijing in order of time; the first 15,000 rows each.
Errors are error rates, or root mean squared errors over the deviation of all labels, over all rows and the last third.
z: mean of the differences booster - Auto in blocks of 100 rows over its standard error (a last, shorter block is left
out); above 0 Auto is ahead, below -3 it is clearly behind. Seconds are the processor's, one thread, fits and answers.

Every contestant's answers are kept in the folder --cache, after every fit, so each runs once and may be stopped. An
Auto of other sources is run again. A booster that has used --limit seconds on a stream is stopped and reported as not
finished; a larger limit continues it.
"""

from __future__ import annotations

import os
import sys

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse
import json
import math
import tempfile
import warnings
from pathlib import Path

try:
    from refitted.chart import draw
    from refitted.comparing import figures, stream_text, summary
    from refitted.contestants import AUTO, CONTESTANTS
    from refitted.records import Record, answered, kept
    from refitted.streams import STREAMS, read
except ModuleNotFoundError as error:
    sys.exit(f"{error}; pip install -r benchmarks/accuracy/environment-boosters.txt")


def records_of(stream: str, runners: list[str], options: argparse.Namespace) -> dict[str, Record]:
    """Contestant -> record: those who run now, and of the others what the cache has."""
    found: dict[str, Record] = {}
    rows = read(stream, options.rows) if runners else None
    for name, contestant in CONTESTANTS.items():
        if rows is not None and name in runners:
            limit = math.inf if name == AUTO else options.limit
            record: Record | None = answered(options.cache, rows, options.rows, name, limit)
        else:
            record = kept(options.cache, stream, options.rows, name)
        if record is None:
            continue
        found[name] = record
        if name in runners:
            done = f"{len(record.answers):,} of {len(record.y):,} rows, {record.seconds:.1f} s"
            print(f"{stream} {name}: {done}", file=sys.stderr, flush=True)
        elif record.made_by != contestant.made_by(stream):
            print(f"{stream} {name}: as kept, made by {record.made_by}", file=sys.stderr)
    return found


def asked_for(only: str) -> list[str]:
    """Contestants by their whole names, or all whose names contain a word that is nobody's whole name."""
    whole = {name.lower() for name in CONTESTANTS}
    words = only.lower().split(",")
    return [
        name
        for name in CONTESTANTS
        if name.lower() in words or any(word in name.lower() for word in words if word not in whole)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", default=",".join(STREAMS), help="separated by commas; they run in this order")
    parser.add_argument(
        "--only", default="", help="run these, by name (LightGBM) or part of it (light: with and without lags)"
    )
    parser.add_argument("--report", action="store_true", help="run nobody; report what the cache has")
    parser.add_argument("--rows", type=int, default=15_000, help="of a stream, at most")
    parser.add_argument("--limit", type=float, default=3600.0, help="processor seconds of a booster on a stream")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "nystream-boosters")
    parser.add_argument("--chart", type=Path, help="draw error over rows")
    parser.add_argument("--json", type=Path, help="keep the figures")
    options = parser.parse_args()
    names = options.streams.split(",")
    if unknown := [name for name in names if name not in STREAMS]:
        parser.error(f"no stream {', '.join(unknown)}; there are {', '.join(STREAMS)}")
    runners = asked_for(options.only)
    if not runners:
        parser.error(f"nobody is called {options.only}; there are {', '.join(CONTESTANTS)}")
    warnings.simplefilter("ignore")  # boosters warn of columns that are constant so far
    every = {}
    for name in names:
        every[name] = records_of(name, [] if options.report else runners, options)
        if every[name]:
            classes = next(iter(every[name].values())).classes
            print(stream_text(name, classes, figures(every[name])) + "\n", flush=True)
    found = {name: figures(records) for name, records in every.items()}
    print(summary(found))
    if options.chart and any(every.values()):
        draw({name: records for name, records in every.items() if records}, options.chart)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"rows": options.rows, "streams": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
