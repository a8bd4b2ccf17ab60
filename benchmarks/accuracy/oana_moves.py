"""How often landmarks move on usps, and what NOLANA gains by it, beside the published table.

    python benchmarks/accuracy/oana_moves.py

Si, Kumar, Li (arXiv:1802.07887), usps, 100 landmarks, rank 80: number of rounds that move a landmark and accuracy of
the predictions made before each label, by eps. 9298 digits in [-1, 1], the training file followed by the test file.
Moves depend on the order of the rows alone; the accuracy is that of the multi-class hinge loss, Gaussian kernel of
gamma 0.01, eta 2, in the order of default_rng(0).permutation(9298). NYSTREAM_DATA names the folder of the datasets.
"""

from __future__ import annotations

import os
import pathlib
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from nystream import streams
from nystream.dictionary import MovingLandmarks
from nystream.kernels import Gaussian
from nystream.learners import NOLANA

DATA = pathlib.Path(os.environ.get("NYSTREAM_DATA", pathlib.Path(__file__).parents[3] / "shared" / "data"))
EPS = (0, 25, 50, 100, 200, 300)
PUBLISHED = {"moves": (9298, 7742, 5523, 1262, 23, 0), "accuracy": (92.0, 91.9, 92.1, 90.9, 90.3, 90.5)}
LANDMARKS, GAMMA, ETA = 100, 0.01, 2.0


def usps() -> tuple[np.ndarray, np.ndarray]:
    """Rows and digits, training file first."""
    parts = []
    for name in ("usps.bz2", "usps.t.bz2"):
        path = DATA / "usps" / name
        if not path.exists():
            sys.exit(f"{path} is not there; set NYSTREAM_DATA to the folder of the datasets")
        parts.append(streams.open_stream(path).load())
    return np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts]) - 1


def moves(X: np.ndarray, eps: float, count: str) -> int:
    landmarks = MovingLandmarks(eps, count=count)
    landmarks.start(X[:LANDMARKS])
    for x in X:
        landmarks.observe(x)
    return landmarks.moves


def line(name: str, values: list[str]) -> None:
    print(f"{name:>44} " + " ".join(f"{v:>7}" for v in values), flush=True)


def main() -> None:
    X, y = usps()
    order = np.random.default_rng(0).permutation(len(X))
    line("eps", [str(e) for e in EPS])
    line("moves, published", [str(n) for n in PUBLISHED["moves"]])
    for name, rows in (("file order", X), ("shuffled", X[order])):
        for count in ("moves", "all"):
            line(f"moves, {name}, N counts {count}", [str(moves(rows, e, count)) for e in EPS])
    line("accuracy, published", [str(a) for a in PUBLISHED["accuracy"]])
    kernel = Gaussian((2 * GAMMA) ** -0.5)
    for rank, by in ((80, "gd_ls"), (100, "ls_gd")):
        found, taken = [], []
        for eps in EPS:
            start = time.perf_counter()
            model = NOLANA(kernel, landmarks=LANDMARKS, rank=rank, eps=eps, loss="multiclass_hinge", eta=ETA, order=by)
            P = model.run(X[order], y[order])
            found.append(f"{100 * np.mean(P.argmax(axis=1) == y[order]):.1f}")
            taken.append(f"{time.perf_counter() - start:.1f}")
        line(f"accuracy, shuffled, rank {rank}, {by}", found)
        line("seconds", taken)


if __name__ == "__main__":
    main()
