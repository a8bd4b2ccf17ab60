"""The alarm on inputs alone: false alarms where rows are exchangeable, and the rows that it takes after a shift.

    python benchmarks/drift/input_alarm.py [KIND ...] [--rows 1000000] [--trials 20] [--seed 0] [--reach 1700]

Every shift that is detected counts as a false alarm, though for `Auto` it is a warning unless the loss confirms it
within 100 rows. Delays: the median over the trials of the rows to the first one after row 4,000, from where on all
columns are shifted by 1, 2 and 4 of their interquartile ranges (at least 1); "-": not within 2,000 rows in half of
them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np

from nystream.auto.drift.inputs import InputDetector
from nystream.auto.drift.memory import REACH
from nystream.auto.rows import Rows

Draw = Callable[[np.random.Generator, int], np.ndarray]

RARE = (0.5, 0.2, 0.1, 0.01, 0.003, 0.001, 0.0005, 0.0002)
POOL = 200
KINDS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=(n, 5)),
    "normal, one column": lambda rng, n: rng.normal(size=(n, 1)),
    "uniform": lambda rng, n: rng.random((n, 10)),
    "t of 2 degrees": lambda rng, n: rng.standard_t(2, size=(n, 5)),
    "Cauchy": lambda rng, n: rng.standard_cauchy(size=(n, 3)),
    "lognormal": lambda rng, n: np.exp(2 * rng.normal(size=(n, 3))),
    "three values": lambda rng, n: rng.integers(3, size=(n, 4)).astype(float),
    "rare events": lambda rng, n: (rng.random((n, len(RARE))) < RARE).astype(float),
    "constant columns": lambda rng, n: np.hstack([np.full((n, 3), [0.0, 7.0, 1e9]), rng.normal(size=(n, 1))]),
    "duplicated rows": lambda rng, n: rng.normal(size=(POOL, 5))[rng.integers(POOL, size=n)],
    "missing values": lambda rng, n: np.where(rng.random((n, 5)) < 0.3, np.nan, rng.normal(size=(n, 5))),
}
SHIFTS = (1, 2, 4)
AT, AFTER, BLOCK = 4000, 2000, 256


def shifts(X: np.ndarray, reach: int = REACH) -> list[int]:
    """Rows at which the alarm sounds."""
    alarm, found = InputDetector(REACH), []
    alarm.start()
    for begin in range(0, len(X), BLOCK):
        end = min(len(X), begin + BLOCK)
        past = X[max(0, end - REACH - BLOCK) : end]
        _, *new = alarm.shifts(X[begin:end], begin, lambda k, past=past: Rows(past[-k:], past, None), reach)
        found += [shift.row for shift in new]
    return found


def delay(draw: Draw, shift: float, rng: np.random.Generator, reach: int) -> float:
    """Rows from the shift to the first alert after it."""
    X = draw(rng, AT + AFTER)
    low, high = np.nanpercentile(X, [25, 75], axis=0)
    X[AT:] += shift * np.maximum(high - low, 1.0)
    return float(next((row - AT + 1 for row in shifts(X, reach) if row >= AT), np.inf))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("kinds", nargs="*", metavar="KIND", help="default: all")
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--trials", type=int, default=20)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--reach", type=int, default=REACH, help="rows that are kept")
    given = options.parse_args()
    print("| inputs | false alarms | in rows | " + " | ".join(f"rows after +{s}" for s in SHIFTS) + " |")
    print("|---" * (3 + len(SHIFTS)) + "|")
    false = rows = 0
    for kind in given.kinds or KINDS:
        rng = np.random.default_rng([given.seed, list(KINDS).index(kind)])
        found = len(shifts(KINDS[kind](rng, given.rows), given.reach))
        false, rows = false + found, rows + given.rows
        delays = [np.median([delay(KINDS[kind], s, rng, given.reach) for _ in range(given.trials)]) for s in SHIFTS]
        told = " | ".join(f"{d:.0f}" if np.isfinite(d) else "-" for d in delays)
        print(f"| {kind} | {found} | {given.rows:,} | {told} |", flush=True)
    print(f"\nFalse alarms: {false} in {rows:,} rows; wanted: fewer than one in 100,000")
    return int(false * 100_000 >= rows)


if __name__ == "__main__":
    sys.exit(main())
