"""Memory of the automatic learner measured from outside: what a process holds more at its peak than before the model.

    python benchmarks/accuracy/auto_memory.py [--rows 4500] [--columns 22 256 784] [--classes 2 10] [--memory 4MB ...]
                                              [--changes 2500 3900]

One child process for every budget, number of columns and number of classes. It loads everything, makes the stream, runs
a tiny model of the same kind so that code and libraries are in memory, resets the kernel's high-water mark
(/proc/self/clear_refs), notes what is resident, and runs the model over the stream in blocks of 100 rows, past the end
of the warm-up and a refresh. With --changes the function changes at these rows, so that two ensembles live at times;
the last figures are how many young ones were begun, and how many alarms there were. The difference of VmHWM and what
was resident is what the model took, scratch included. glibc is told to give memory back at once
(MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_), or freed blocks of one moment would count in the next. Linux only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}


def resident(field: str) -> int:
    """Bytes of a field of /proc/self/status."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(field))
    return 1024 * int(line.split()[1])


def child(columns: int, classes: int, memory: str, rows: int, changes: list[int]) -> None:
    import ctypes
    import gc

    import numpy as np

    from nystream import Auto
    from nystream.auto.recipe import Recipe

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    s = X[:, 0] + X[:, 1] * X[:, 2]
    for change in changes:
        s[change:] = 1.5 * X[change:, change % 3] - 2 * s[change:]
    y = np.digitize(s, np.quantile(X[:, 0], np.arange(1, classes) / classes)).astype(float)
    tiny = Recipe((1, 2, 5, 20, 60), landmarks=8, big=12, small=5, ring=40, refresh=25, window=30, metric=20)
    Auto(task="classification", recipe=tiny).run(X[:120], y[:120])
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as marks:
        marks.write("5")
    before = resident("VmRSS")
    model = Auto(memory=memory, task="classification")
    most = 0
    for i in range(0, rows, 100):
        model.run(X[i : i + 100], y[i : i + 100])
        most = max(most, model.nbytes)
    began = sum(alarm.outcome not in ("repeated", "over budget", "no memory") for alarm in model.alarms())
    sizes = model.expert_set_.recipe.landmarks, model.expert_set_.recipe.big
    print(resident("VmHWM") - before, most, *sizes, began, len(model.alarms()))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rows", type=int, default=4500)
    options.add_argument("--columns", type=int, nargs="+", default=[22, 256, 784])
    options.add_argument("--classes", type=int, nargs="+", default=[2, 10])
    options.add_argument("--memory", nargs="+", default=["4MB", "16MB", "64MB"])
    options.add_argument("--changes", type=int, nargs="*", default=[])
    options.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        child(given.columns[0], given.classes[0], given.memory[0], given.rows, given.changes)
        return 0
    over = 0
    print("memory  columns classes   peak MB  arrays MB  landmarks  big  begun alarms")
    for memory in given.memory:
        for columns in given.columns:
            for classes in given.classes:
                command = [sys.executable, __file__, "--child", "--rows", str(given.rows), "--memory", memory]
                command += ["--columns", str(columns), "--classes", str(classes)]
                command += ["--changes", *map(str, given.changes)]
                environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ, **ALLOCATOR}
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{memory:>6} {columns:>8} {classes:>7}   {done.stderr.strip().splitlines()[-1]}", flush=True)
                    continue
                peak, arrays, landmarks, big, begun, alarms = (int(word) for word in done.stdout.split())
                verdict = "" if peak <= 1e6 * float(memory.removesuffix("MB")) else "  OVER"
                over += bool(verdict)
                figures = (
                    f"{peak / 1e6:>9.1f} {arrays / 1e6:>10.1f} {landmarks:>10} {big:>4} {begun:>6} {alarms:>6}{verdict}"
                )
                print(f"{memory:>6} {columns:>8} {classes:>7} {figures}", flush=True)
    return over


if __name__ == "__main__":
    sys.exit(main())
