"""The automatic learner where labels come late: rows are predicted as they come, and learnt so many rows later.

    python benchmarks/accuracy/delayed.py [--rows 6000] [--delays 1 5 24]

Error rate, or root mean squared error over the deviation of the labels, of rows from 1,000 on: of `Auto(delay=k)`; of
`Auto()`, which takes the last label that it has for that of the row before; and of `Auto(lags=False)`.
bike and beijing are hourly, elec2 half-hourly. None of them was used to choose anything here.
"""

from __future__ import annotations

import argparse

import numpy as np
from refitted.streams import Stream, read

from nystream import Auto
from nystream.runtime.blas import single_threaded

STREAMS = ("bike", "beijing", "elec2", "weather")
SINCE = 1000
OPTIONS = {"delay told": {"told": True}, "not told": {}, "without lags": {"lags": False}}


def error(stream: Stream, delay: int, told: bool = False, lags: bool = True) -> float:
    task = "classification" if stream.classes else "regression"
    model = Auto(task=task, delay=delay if told else 0, lags=lags)
    X, y, wrong = stream.X, stream.y, []
    for t in range(len(y)):
        if t >= SINCE:
            p = model.predict(X[t : t + 1])
            wrong.append(float(p.argmax() != y[t]) if stream.classes else float((p.item() - y[t]) ** 2))
        if t >= delay:
            model.step(X[t - delay], y[t - delay])
    return float(np.mean(wrong)) if stream.classes else float(np.sqrt(np.mean(wrong)) / y[SINCE:].std())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--delays", type=int, nargs="+", default=[1, 5, 24])
    options = parser.parse_args()
    print(f"{'':>8} {'delay':>6} " + " ".join(f"{name:>13}" for name in OPTIONS))
    with single_threaded():
        for name in STREAMS:
            stream = read(name, options.rows)
            for delay in options.delays:
                found = " ".join(f"{error(stream, delay, **more):13.4f}" for more in OPTIONS.values())
                print(f"{name:>8} {delay:6d} {found}", flush=True)


if __name__ == "__main__":
    main()
