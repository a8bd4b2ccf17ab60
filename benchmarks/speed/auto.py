"""What a row of the automatic learner costs: flat after the warm-up, pauses where it rebuilds, single steps.

    python benchmarks/speed/auto.py [--rows 120000] [--deadlines-only | --pauses-only] [--columns 22] [--repeats 1]
                                   [--memory 64MB] [--steps 12000]

A generated stream of 22 columns, one thread: rows per second of processor time for every 10,000 rows from row 20,000
on, in one call; the longest calls of `step` in the first rows (with more memory landmarks grow after 6,400 and 12,800
of them, so take 16,000), with their rows, by the processor's clock and by
the one on the wall, again where the function changes at row 6,000, and where labels become noisier from there on, and
alarms wait until bets have won 1e110, so that more than 1,000 rows since have to be learnt by a fresh copy. Then, for
deadlines of 0.05 to 5 ms, what `step` and `run` take per row after the warm-up, a refresh included, by both clocks,
and the error on rows 4,000 to 6,000 over the deviation of the labels.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _results import note

from nystream import Auto
from nystream.auto.budget import slowness


def generated(rows: int, columns: int = 22) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)


def flat(X: np.ndarray, y: np.ndarray, memory: str) -> None:
    model = Auto(memory=memory)
    model.run(X[:20_000], y[:20_000])
    speeds = []
    for i in range(20_000, len(X), 10_000):
        start = time.process_time()
        model.run(X[i : i + 10_000], y[i : i + 10_000])
        speeds.append(10_000 / (time.process_time() - start))
    note("Auto, 22 columns, after the warm-up", "whole stream", float(np.median(speeds)), "rows/s")
    print("rows/s by 10,000 rows:", " ".join(f"{s:,.0f}" for s in speeds), f"; {model.nbytes:,} bytes")


def stepped(X: np.ndarray, y: np.ndarray, memory: str, bar: float | None) -> tuple[Auto, np.ndarray]:
    """A model after single steps, and seconds of each by both clocks; `bar` of the alarms, if it is another one."""
    model, seconds = Auto(memory=memory), np.zeros((len(y), 2))
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        begun = time.process_time(), time.perf_counter()
        model.step(x, label)
        seconds[i] = time.process_time() - begun[0], time.perf_counter() - begun[1]
        if not i and bar is not None and model.pipeline_.drift_ is not None:
            model.pipeline_.drift_.loss_.bar = model.pipeline_.drift_.steady_.bar = bar
    return model, seconds


def pauses(X: np.ndarray, y: np.ndarray, what: str, repeats: int, memory: str, bar: float | None = None) -> None:
    """The longest of single steps, each the least of several runs of the same, and how many are over 20 ms."""
    model, seconds = stepped(X, y, memory, bar)
    for _ in range(repeats - 1):
        seconds = np.minimum(seconds, stepped(X, y, memory, bar)[1])
    for clock, taken in zip(("processor", "wall"), 1e3 * seconds.T, strict=True):
        longest = np.argsort(-taken)[:6].tolist()
        if clock == "processor":
            note(f"Auto, {X.shape[1]} columns, {what}", "longest step", float(taken[longest[0]]), "ms")
        shown = ", ".join(f"{taken[i]:.1f} ms at row {i + 1:,}" for i in longest)
        print(f"longest steps, {what}, {clock}: {shown}; over 20 ms: {(taken > 20).sum()}", flush=True)
    alarms = [f"{alarm.row:,} (change at {alarm.change:,}, {alarm.outcome})" for alarm in model.alarms()]
    print("alarms:", ", ".join(alarms) or "none")


def changed(X: np.ndarray, y: np.ndarray, at: int) -> np.ndarray:
    """Labels of another function from this row on."""
    y = y.copy()
    y[at:] = 2 * np.cos(2 * X[at:, 3]) - X[at:, 0]
    return y


def noisier(y: np.ndarray, at: int) -> np.ndarray:
    """Labels with noise that grows over 2,000 rows from this one on."""
    y, sizes = y.copy(), 0.1 + 0.5 * np.minimum(np.arange(len(y) - at) / 2000, 1)
    y[at:] += sizes * np.random.default_rng(1).normal(size=len(sizes))
    return y


def timed(model: Auto, X: np.ndarray, y: np.ndarray, single: bool) -> tuple[float, float, np.ndarray]:
    """Milliseconds a row of processor and wall clock, and the predictions."""
    started = time.process_time(), time.perf_counter()
    P = np.array([model.step(*pair) for pair in zip(X, y, strict=True)]) if single else model.run(X, y)
    ended = time.process_time(), time.perf_counter()
    return (*(1e3 * (b - a) / len(X) for a, b in zip(started, ended, strict=True)), P)


def deadlines(X: np.ndarray, y: np.ndarray, given: tuple[float | None, ...]) -> None:
    print(f"slowness {slowness():g}")
    print("deadline  step ms (wall)  run ms (wall)  error  experts")
    for deadline in given:
        model = Auto(deadline=None if deadline is None else f"{deadline}ms")
        try:
            model.run(X[:4000], y[:4000])
        except ValueError as refused:
            print(f"{deadline:>7}ms  {refused}")
            continue
        step, step_wall, P = timed(model, X[4000:6000], y[4000:6000], True)
        run, run_wall, _ = timed(model, X[6000:8000], y[6000:8000], False)
        error = np.sqrt(np.mean((P - y[4000:6000]) ** 2)) / y.std()
        recipe = model.expert_set_.recipe
        sizes = (
            f"{len(model.expert_set_.names)}: {' '.join(model.expert_set_.names)}; m = {recipe.landmarks}, {recipe.big}"
        )
        over = "" if deadline is None or max(step, run) <= deadline else "  OVER"
        times = f"{step:8.3f} ({step_wall:.3f}) {run:6.3f} ({run_wall:.3f})"
        print(f"{deadline or 'none':>7} ms {times} {error:6.3f}  {sizes}{over}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rows", type=int, default=120_000)
    options.add_argument("--deadlines-only", action="store_true")
    options.add_argument("--pauses-only", action="store_true")
    options.add_argument("--columns", type=int, default=22)
    options.add_argument("--repeats", type=int, default=1, help="runs of single steps, of which the least counts")
    options.add_argument("--memory", default="64MB")
    options.add_argument("--steps", type=int, default=12_000, help="rows of which single steps are looked at")
    given = options.parse_args()
    X, y = generated(given.steps if given.pauses_only else given.rows, given.columns)
    if not given.deadlines_only and not given.pauses_only:
        flat(X, y, given.memory)
    if not given.deadlines_only:
        X, y = X[: given.steps], y[: given.steps]
        pauses(X, y, "one function", given.repeats, given.memory)
        pauses(X, changed(X, y, 6000), "another from row 6,000 on", given.repeats, given.memory)
        pauses(X, noisier(y, 6000), "noisier from row 6,000 on", given.repeats, given.memory, 1e110)
    if given.pauses_only:
        return
    deadlines(X, y, (0.05, 0.1, 0.2, 0.5, 1, 5, None))


if __name__ == "__main__":
    main()
