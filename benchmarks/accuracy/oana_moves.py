"""How often landmarks move on usps, beside the published counts.

    python benchmarks/accuracy/oana_moves.py

Si, Kumar, Li (arXiv:1802.07887), usps, 100 landmarks: number of rounds that move a landmark, by eps. 9298 digits in
[-1, 1], the training file followed by the test file, in this order and in that of default_rng(0).permutation(9298).
What NOLANA gains by it is `nystream reproduce nolana-table1`. NYSTREAM_DATA names the folder of the datasets.
"""

from __future__ import annotations

import os
import pathlib
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from nystream import streams
from nystream.dictionary import MovingLandmarks

DATA = pathlib.Path(os.environ.get("NYSTREAM_DATA", pathlib.Path(__file__).parents[3] / "shared" / "data"))
EPS = (0, 25, 50, 100, 200, 300)
PUBLISHED = (9298, 7742, 5523, 1262, 23, 0)
LANDMARKS = 100


def usps() -> np.ndarray:
    """Rows, training file first."""
    parts = []
    for name in ("usps.bz2", "usps.t.bz2"):
        path = DATA / "usps" / name
        if not path.exists():
            sys.exit(f"{path} is not there; set NYSTREAM_DATA to the folder of the datasets")
        parts.append(streams.open_stream(path).load()[0])
    return np.vstack(parts)


def moves(X: np.ndarray, eps: float, count: str) -> int:
    landmarks = MovingLandmarks(eps, count=count)
    landmarks.start(X[:LANDMARKS])
    for x in X:
        landmarks.observe(x)
    return landmarks.moves


def line(name: str, values: list[str]) -> None:
    print(f"{name:>44} " + " ".join(f"{v:>7}" for v in values), flush=True)


def main() -> None:
    X = usps()
    order = np.random.default_rng(0).permutation(len(X))
    line("eps", [str(e) for e in EPS])
    line("moves, published", [str(n) for n in PUBLISHED])
    for name, rows in (("file order", X), ("shuffled", X[order])):
        for count in ("moves", "all"):
            line(f"moves, {name}, N counts {count}", [str(moves(rows, e, count)) for e in EPS])


if __name__ == "__main__":
    main()
