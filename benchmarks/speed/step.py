"""One row at a time against the same rows in blocks: what a call of `step` costs above its round.

    python benchmarks/speed/step.py [NAME ...] [--before PYTHON]    (data: NYSTREAM_DATA, default ../shared/data)

Every learner of the registry learns the first rows of ijcnn1; from that state on, the next rows are learnt by `step`,
and, from the same state again, by `run` in blocks. Both end in the same state, to the bit, so that their difference is
the call, its checks and what a block shares among its rows (one product for all its features or kernel rows, one pass
over a factor). The limit is what a row alone cannot do without: a call of a Python method that does nothing but return,
and reading the numbers of the model once, at the speed at which this machine reads as many again and again; `over` and
`times` are a `step` above it and in units of it. No limit is given where a row reads a part of the model only. Two more
columns tell the call from the matrix that is read for every row: `alone`, `run` of one row after the other, with all
that a block does once; and, for factors A = L D L', `apart`, the blocks again with a pass over the factor for every
row: a `step` above that is the call alone. `--before`: an interpreter with an earlier nystream, whose times are printed
beside.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded
os.environ["NYSTREAM_THREADS"] = "1"  # what another thread does for a block is not counted

import copy
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from _before import measured
from _results import note
from _timing import by_rows, in_turn, rows_of_ijcnn1

sys.path.insert(0, str(Path(__file__).resolve().parent / "commits"))
from limits import bare_call, reading, state_bytes

from nystream.learners import DoublySGD
from nystream.model.building import build
from nystream.registry import LEARNERS

WARM, ROWS, BLOCK, DIM, REPEATS = 1500, 512, 256, 100, 7
TARGET = 1.5
"""Microseconds that a `step` may cost above the same round inside a block."""
ENOUGH = 2.0
"""Seconds after which a slow learner is not measured again."""
SETTINGS: dict[str, dict[str, Any]] = {"bsgd": {"lam": 1e-4}, "dual-sgd": {"lam": 1e-4}}
BUDGET = {"budget": 100, "landmarks": 100}
PARTLY = ("sparse-linear", "gaussian-filter", "auto")
"""Learners of which a row reads a part."""


def learner_of(name: str) -> Any:
    """A learner of the registry, with budgets of 100 where it has one."""
    has = LEARNERS[name].cls._names()
    settings = {key: value for key, value in BUDGET.items() if key in has}
    return build(name, None, settings | SETTINGS.get(name, {}), sigma=0.7, dim=DIM, seed=0)


def main() -> None:
    only = [name for name in sys.argv[1:] if name in LEARNERS]
    sys.argv = [argument for argument in sys.argv if argument not in only]
    here, before = measured(lambda: taken(only), __doc__)
    print(f"{here['stream']}, {WARM} rows learnt before, {ROWS} measured, blocks of {BLOCK}, d = {here['d']}")
    print(
        f"bare call of a Python method: {here['bare']:.2f} us; target: at most {TARGET} us above the round in a block"
    )
    head = f"{'learner':>24} {'step, us':>9} {'run, us':>9} {'above':>7} {'':>6} {'apart':>9} {'alone':>9}"
    print(f"{head} {'limit':>7} {'over':>7} {'times':>6} {'before' if before else '':>7}")
    for name, (step, run, alone, apart, limit) in here["learners"].items():
        verdict = "" if step - run <= TARGET else "missed"
        earlier = f"{np.subtract(*before['learners'][name][:2]):.2f}" if before else ""
        passes = f"{apart:.2f}" if apart else ""
        least = f"{limit:>7.2f} {step - limit:>7.2f} {step / limit:>6.1f}" if limit else f"{'':>22}"
        note(name, "row by row", 1e6 / max(step, 1e-9), "rows/s", run / step, "the same rows in blocks")
        above = f"{name:>24} {step:>9.2f} {run:>9.2f} {step - run:>7.2f} {verdict:>6}"
        print(f"{above} {passes:>9} {alone:>9.2f} {least} {earlier:>7}")


def taken(only: list[str]) -> dict[str, Any]:
    """Microseconds a row of every learner, by `step` and by `run`."""
    stream, X, y = rows_of_ijcnn1(WARM + ROWS)
    first, rest = slice(0, WARM), slice(WARM, None)
    found = {}
    for name in only or LEARNERS:
        learner = learner_of(name)
        learner.run(X[first], y[first])
        found[name] = (*times(learner, X[rest], y[rest]), limit_of(name, learner, X[rest], y[rest]))
    return {"stream": stream, "d": X.shape[1], "bare": bare_call() * 1e6, "learners": found}


def limit_of(name: str, learner: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Microseconds, the mean of the model before these rows and after them; 0 where none is known."""
    if name in PARTLY:
        return 0.0
    later = copy.deepcopy(learner)
    later.run(X, y)
    size = [state_bytes(model) + directions(model) for model in (learner, later)]
    return 1e6 * (bare_call() + sum(map(reading, size)) / 2)


def directions(learner: Any) -> int:
    """Bytes of those that are a function of the seed, and so no part of the model."""
    return 8 * learner.size * learner.d_ if isinstance(learner, DoublySGD) else 0


def times(learner: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, ...]:
    """(by step, by run, by run of single rows, by run without shared passes or 0), each from a copy of this state."""
    best = dict.fromkeys(("step", "run", "alone", "apart"), float("inf"))
    factors = bool(factors_of(learner))
    began = time.thread_time()
    for _ in range(REPEATS):
        if time.thread_time() - began > ENOUGH:
            break
        one, two, three, four = (copy.deepcopy(learner) for _ in range(4))
        works = {
            "step": lambda one=one: by_rows(one.step, X, y),
            "run": lambda two=two: in_blocks(two, X, y, BLOCK),
            "alone": lambda three=three: in_blocks(three, X, y, 1),
        }
        if factors:
            for factor in factors_of(four):
                factor.samples = 1
            works["apart"] = lambda four=four: in_blocks(four, X, y, BLOCK)
        for key, value in in_turn(works, 1).items():
            best[key] = min(best[key], value)
    return tuple(best[key] / len(X) * 1e6 if np.isfinite(best[key]) else 0.0 for key in best)


def in_blocks(learner: Any, X: np.ndarray, y: np.ndarray, size: int) -> None:
    for i in range(0, len(X), size):
        learner.run(X[i : i + size], y[i : i + size])


def factors_of(learner: Any) -> list[Any]:
    """The compiled rounds, of this learner or of those it holds, that can be told how many rows share a pass."""
    parts = [learner, *getattr(learner, "experts", [])]
    solvers = [getattr(part, "solver_", None) for part in parts]
    engines = [getattr(solver, name, None) for solver in solvers for name in ("engine", "_newton")]
    return [engine for engine in engines if hasattr(engine, "samples")]


if __name__ == "__main__":
    main()
