"""The speedup by a second thread: the elapsed time of `run` with threads=1 over that with threads=2.

    python benchmarks/speed/threads.py [--repeats 3]

In turn in one process, the least time of several. First what this machine gives two threads that share nothing
(hashing): on a machine that others use it may be next to nothing, and so may the ratios below it. That is why there
are two more columns, of processor time: of one thread over that of the busier of two, which is what two free cores
could give; and of two threads together over that of one, which is what handing over the work costs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import threading
import time
from collections.abc import Callable

import numpy as np
from _results import note

from nystream import FOGD, NORMA, PKAWV, SILK, Aggregate, Auto, Classifier, Fourier, Gaussian, Mixture, Thresholded
from nystream.runtime.threads import VARIABLE, run_parallel
from nystream.video import Pixels

ROWS, COLUMNS, CLASSES = 20_000, 22, 10


def workloads() -> dict[str, Callable[[int], Callable[[], object]]]:
    """By name: what prepares the work for a number of threads, and returns it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)) / np.sqrt(COLUMNS)
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    sign, classes = np.where(f >= 0.8, 1.0, -1.0), rng.permuted(np.arange(ROWS) % CLASSES).astype(float)
    frames = rng.integers(0, 255, (20, 240, 320, 3), dtype=np.uint8)
    kernel, noise = Gaussian(1.0), bytes(20_000_000)
    maps = [Fourier(kernel, 190, seed=i) for i in range(6)]

    def learning(learner: Callable[[int], object], y: np.ndarray, rows: int) -> Callable[[int], Callable[[], object]]:
        return lambda threads: lambda: learner(threads).run(X[:rows], y[:rows])

    def video(threads: int) -> Callable[[], object]:
        model = Pixels(Gaussian(0.1), threads=threads)
        return lambda: [model.step(frame) for frame in frames]

    return {
        "hashing": lambda threads: lambda: run_parallel([lambda: hashlib.sha256(noise).digest()] * 2, threads),
        "Aggregate of 6, a map each": learning(
            lambda t: Aggregate([PKAWV(m) for m in maps], bound=2.0, threads=t), f, 4000
        ),
        "Aggregate of 6, one map": learning(
            lambda t: Aggregate([PKAWV(maps[0], lam=10.0**k) for k in range(-3, 3)], bound=2.0, threads=t), f, 4000
        ),
        "Mixture of 6": learning(
            lambda t: Mixture(
                [NORMA(Gaussian(s), loss="squared", eta=0.2) for s in (0.3, 0.5, 0.7, 1, 1.5, 2)], bound=2.0, threads=t
            ),
            f,
            4000,
        ),
        f"one against {CLASSES - 1}": learning(
            lambda t: Classifier(SILK(kernel, budget=100), threads=t), classes, ROWS
        ),
        "Thresholded": learning(
            lambda t: Thresholded(FOGD(kernel, dim=100, seed=0), criterion="f1", threads=t), sign, ROWS
        ),
        "Pixels, 20 frames of 320x240": video,
        "Auto, 2,000 rows": lambda threads: lambda: Auto(seed=0).run(X[:2000], f[:2000]),
    }


def clocks() -> dict[int, float]:
    """Processor time of every thread so far."""
    return {t.ident: time.clock_gettime(time.pthread_getcpuclockid(t.ident)) for t in threading.enumerate() if t.ident}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--repeats", type=int, default=3)
    repeats = options.parse_args().repeats
    print("| workload | 1 thread, ms | 2 threads, ms | times as fast | by the busier thread | together |")
    print("|---|---|---|---|---|---|")
    for name, prepare in workloads().items():
        wall = dict.fromkeys((1, 2), float("inf"))
        busiest, together = dict(wall), dict(wall)
        for _ in range(repeats if "Auto" not in name else max(1, repeats // 2)):
            for count in wall:
                os.environ[VARIABLE] = str(count)  # for Auto
                work = prepare(count)
                before, began = clocks(), time.perf_counter()
                work()
                wall[count] = min(wall[count], time.perf_counter() - began)
                spent = [now - before.get(thread, 0.0) for thread, now in clocks().items()]
                busiest[count] = min(busiest[count], max(spent))
                together[count] = min(together[count], sum(spent))
        fast, could, cost = wall[1] / wall[2], busiest[1] / busiest[2], together[2] / together[1]
        figures = f"{1e3 * wall[1]:,.0f} | {1e3 * wall[2]:,.0f} | {fast:.2f} | {could:.2f} | {cost:.2f}"
        print(f"| {name} | {figures} |", flush=True)
        note(name, "2 threads", 1e3 * wall[2], "ms", fast, "1 thread")
        note(name, "2 threads, processor time of the busier one", 1e3 * busiest[2], "ms", could, "1 thread")


if __name__ == "__main__":
    main()
