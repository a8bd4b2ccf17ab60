"""What a fit costs, predicted and measured: seconds of cores, bytes of every level, the driver's memory.

    python benchmarks/spark/cost_model.py [--rows 100000,1000000] [--partitions 10,100,1000] [--features 200]

The model of `nystream.spark.fit`: a fit of n rows in P partitions takes a + P t + n r + M m seconds of cores. Workers
merge in `merge_rounds(s)` rounds of at most 64, 8 ... groups, s the bytes of a partial model; so M = P - 1 merges in
all. The rounds shuffle P s, 64 s ... bytes, and the driver receives what the last round leaves.
m and s are measured in this process. a, t and r come from three fits: the fewest rows in the fewest partitions, the
same with ten times as many partitions, the most rows in the fewest partitions. All other fits are predictions.
Seconds are of cores, of Java and of all Pythons; other work on the machine hardly changes them. The driver's memory is
the largest that its Python process had.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
from typing import Any

from running import COLUMNS, cpu_seconds, examples, session

import nystream
import nystream.spark
from nystream.spark.tasks import LIMITS, merge_rounds


def pattern(features: int) -> nystream.PKRR:
    return nystream.PKRR(nystream.Fourier(nystream.Gaussian(2.0), features, seed=1), lam=0.1)


def frame_of(spark: Any, rows: int, partitions: int) -> Any:
    columns = [f"randn({seed}) as {name}" for seed, name in enumerate(COLUMNS)]
    frame = spark.range(0, rows, 1, partitions).selectExpr(*columns)
    frame = frame.selectExpr("*", "sin(2 * x0) + x1 * x2 as y").cache()
    frame.count()
    return frame


def shuffled(spark: Any) -> int:
    """Bytes that this session has written for shuffles so far."""
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(executors.apply(i).totalShuffleWrite() for i in range(executors.size()))


def merging(features: int) -> tuple[float, int]:
    """Seconds of a core for a merge of two partial models that are bytes, and these bytes."""
    X, y = examples(4000)
    parts = [pattern(features), pattern(features)]
    for i, part in enumerate(parts):
        part.run(X[i::2], y[i::2])
    content = [part.to_bytes() for part in parts]
    began = time.process_time()
    for _ in range(20):
        left, right = map(nystream.from_bytes, content)
        left.merge(right)
    return (time.process_time() - began) / 20, len(content[0])


def levels(partitions: int, state: int) -> list[int]:
    """Partial models before every round, and after the last one."""
    found = [partitions]
    for level in range(merge_rounds(state)):
        found.append(min(found[-1], max(1, LIMITS.groups // LIMITS.fan**level)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="100000,1000000")
    parser.add_argument("--partitions", default="10,100,1000")
    parser.add_argument("--features", type=int, default=200)
    given = parser.parse_args()
    all_rows, all_partitions = ([int(n) for n in text.split(",")] for text in (given.rows, given.partitions))
    if len(all_rows) < 2 or len(all_partitions) < 2:
        parser.error("--rows and --partitions each need two values or more: the costs come from their differences")
    merge, _ = merging(given.features)
    spark = session()
    measured: dict[tuple[int, int], dict[str, float]] = {}
    learner = pattern(given.features)
    learner.reserve(len(COLUMNS), 1)
    state = int(learner.nbytes)  # it does not grow with rows
    nystream.spark.fit(frame_of(spark, 1000, 2), pattern(given.features), COLUMNS, "y")  # starts the workers
    for rows, partitions in itertools.product(all_rows, all_partitions):
        frame = frame_of(spark, rows, partitions)
        began, used, before = time.perf_counter(), cpu_seconds(), shuffled(spark)
        model = nystream.spark.fit(frame, pattern(given.features), COLUMNS, "y")
        measured[rows, partitions] = {
            "cores": cpu_seconds() - used,
            "clock": time.perf_counter() - began,
            "shuffled": shuffled(spark) - before,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        assert model.n_seen == rows
        print(f"  {rows:,} rows, {partitions:,} partitions: {measured[rows, partitions]}", flush=True)
        frame.unpersist()
    spark.stop()
    printed(measured, all_rows, all_partitions, merge, state)


def printed(
    measured: dict[tuple[int, int], dict[str, float]], rows: list[int], partitions: list[int], merge: float, state: int
) -> None:
    base, more_parts, more_rows = (rows[0], partitions[0]), (rows[0], partitions[1]), (rows[-1], partitions[0])

    def without_merges(case: tuple[int, int]) -> float:
        return measured[case]["cores"] - merge * (case[1] - 1)

    task = max(0.0, (without_merges(more_parts) - without_merges(base)) / (partitions[1] - partitions[0]))
    row = max(0.0, (without_merges(more_rows) - without_merges(base)) / (rows[-1] - rows[0]))
    start = without_merges(base) - partitions[0] * task - rows[0] * row
    print(
        f"\na = {start:.2f} s, t = {1000 * task:.1f} ms a partition, r = {1e6 * row:.2f} microseconds a row, "
        f"m = {1000 * merge:.1f} ms a merge, s = {state:,} bytes\n"
    )
    print("| rows | partitions | partial models by level | shuffled, MB: predicted | measured | to the driver, MB |")
    print("|---|---|---|---|---|---|")
    for case in measured:
        counts = levels(case[1], state)
        print(
            f"| {case[0]:,} | {case[1]:,} | {', '.join(map(str, counts))} | {sum(counts[:-1]) * state / 1e6:.1f} | "
            f"{measured[case]['shuffled'] / 1e6:.1f} | {counts[-1] * state / 1e6:.1f} |"
        )
    print("\n| rows | partitions | s of cores: predicted | measured | on the clock | driver's Python at most, MB |")
    print("|---|---|---|---|---|---|")
    for case, found in measured.items():
        known = case in (base, more_parts, more_rows)
        predicted = start + case[1] * task + case[0] * row + (case[1] - 1) * merge
        shown = "calibration" if known else f"{predicted:.1f}"
        print(
            f"| {case[0]:,} | {case[1]:,} | {shown} | {found['cores']:.1f} | {found['clock']:.1f} | "
            f"{found['memory']:.0f} |"
        )


if __name__ == "__main__":
    main()
