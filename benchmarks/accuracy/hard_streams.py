"""The second-order family on streams that break such learners: finite numbers and positive pivots, or exit code 1.

Every learner on every combination of points (one point for ever, near-duplicates at 1e-9, |x| = 1e6, k(x, x) = 0 in two
rows of three, a mixture of all of these in all sizes), kernel (Gaussian, linear, polynomial), ridge (1, 1e-8) and
labels (within the declared range; up to a million times beyond it): 10,000 rounds, or 1,000 for learners whose cost
grows with the stream. Then the long ones: one point 100,000 times, and, where the cost does not grow, 1,000,000 rounds
of the mixture. For each learner the worst of all streams is printed:

    pivot      smallest pivot of any factor it keeps, over the least that exact arithmetic allows (1)
    largest    |prediction|; margins and unclipped least squares may be large where the labels or the points are
    infinite   predictions and numbers of the state that are not finite
    refused    streams that it says it cannot learn (one line, nothing learnt): exact least squares with a ridge below
               1e-12 k(x, x)

Run: python benchmarks/accuracy/hard_streams.py [--short] [--each] [learners, e.g. KONS]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded
sys.path[:0] = [str(Path(__file__).parents[2] / "tests"), str(Path(__file__).parents[2] / "tests" / "helpers")]

import numpy as np
from hard_cases import CASES, KERNELS, Case, Outcome, labels, mixture, one_point, play, streams

ROUNDS, FEW = 10_000, 1_000
REPEATS, LONG = 100_000, 1_000_000
AFFORDED = dict.fromkeys(
    ("KernelAWV", "KernelRidge clipped", "KONS", "KONS squared hinge", "SecondOrderPerceptron"), 4_000
)
"""Repeats for those that store t^2 numbers, where 100,000 would be 80 GB."""


def outcomes(name: str, case: Case, short: int) -> Iterator[tuple[str, Outcome]]:
    for label, kernel, lam, rows, wild in streams(case):
        n = (ROUNDS if case.bounded else FEW) // short
        rng = np.random.default_rng(0)
        yield label, play(case, KERNELS[kernel], lam, rows(rng, n), labels(rng, n, wild))
    for kernel, lam in (("gaussian", 1e-8), ("linear", 1.0)):
        rng = np.random.default_rng(1)
        n = AFFORDED.get(name, REPEATS) // short
        X, y = one_point(rng, n), labels(rng, n, False)
        yield f"one point, {kernel}, lam={lam:g}", play(case, KERNELS[kernel], lam, X, y)
        if case.bounded:
            n = LONG // short
            X, y = mixture(rng, n), labels(rng, n, not case.signs)
            yield f"mixture, {kernel}, lam={lam:g}, wild labels", play(case, KERNELS[kernel], lam, X, y, looks=20)


def main() -> None:
    options = {word for word in sys.argv[1:] if word.startswith("--")}
    wanted = [word for word in sys.argv[1:] if word not in options]
    print(f"{'learner':<24} {'streams':>7} {'rounds':>10} {'longest':>10} {'pivot':>9} {'largest':>9} {'infinite':>8} "
          f"{'refused':>7} {'seconds':>8}")  # fmt: skip
    broken = 0
    for name, case in CASES.items():
        if wanted and name not in wanted:
            continue
        start, played = time.process_time(), []
        for label, outcome in outcomes(name, case, 10 if "--short" in options else 1):
            played.append(outcome)
            broken += outcome.broken
            if outcome.broken or "--each" in options:
                print(f"  {label:<50} {outcome}{'   BROKEN' if outcome.broken else ''}", flush=True)
        print(
            f"{name:<24} {len(played):>7} {sum(o.rounds for o in played):>10,} {max(o.rounds for o in played):>10,} "
            f"{min(o.pivot for o in played):>9.4g} {max(o.largest for o in played):>9.3g} "
            f"{sum(o.infinite for o in played):>8} {sum(bool(o.refused) for o in played):>7} "
            f"{time.process_time() - start:>8.1f}",
            flush=True,
        )
    print(f"streams on which something broke: {broken}")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
