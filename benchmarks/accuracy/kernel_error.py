"""Relative error of the approximated kernel on usps: fixed landmarks, moving landmarks, random features.

    python benchmarks/accuracy/kernel_error.py

|K - Z Z'| / |K| (Frobenius) on 2000 random digits, Gaussian kernel of gamma 0.01. Landmarks are the first m rows of the
stream, rank 0.8 m; they stay, or follow the whole stream with eps = 50 or 0. Random features get the same memory,
m d + m r numbers: floor((m d + m r) / d) directions. Streams: default_rng(s).permutation(9298), s = 0..4; points drawn
by default_rng(100 + s). Mean over the five, standard deviation in brackets. Exits with an error where the means are not
in the order  eps 0 < eps 50 < first m rows < random features;  streams that are not are named. NYSTREAM_DATA names the
folder of the datasets.
"""

from __future__ import annotations

import os
import pathlib
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from nystream import streams
from nystream.features import AdaptiveNystrom, FeatureMap, Fourier
from nystream.kernels import Gaussian

DATA = pathlib.Path(os.environ.get("NYSTREAM_DATA", pathlib.Path(__file__).parents[3] / "shared" / "data"))
SIZES, STREAMS, POINTS, GAMMA = (50, 100, 200), range(5), 2000, 0.01
EARLIER = {50: (0.238, 0.153, 0.135, 0.529), 100: (0.173, 0.118, 0.107, 0.353), 200: (0.125, 0.094, 0.085, 0.226)}
"""What another implementation measured on one stream, the same columns."""
NAMES = ("first m rows", "moving, eps 50", "moving, eps 0", "random features")
ORDER = [2, 1, 0, 3]
"""From the least error to the largest."""


def usps() -> np.ndarray:
    blocks = []
    for name in ("usps.bz2", "usps.t.bz2"):
        path = DATA / "usps" / name
        if not path.exists():
            sys.exit(f"{path} is not there; set NYSTREAM_DATA to the folder of the datasets")
        blocks.append(streams.open_stream(path).load()[0])
    return np.vstack(blocks)


def maps(kernel: Gaussian, m: int, d: int, seed: int) -> list[FeatureMap]:
    directions = (m * d + m * (4 * m // 5)) // d
    moving = [AdaptiveNystrom(kernel, m, eps=eps) for eps in (np.inf, 50.0, 0.0)]
    return [*moving, Fourier(kernel, 2 * directions, seed=seed)]


def main() -> None:
    X = usps()
    kernel = Gaussian((2 * GAMMA) ** -0.5)
    errors = np.empty((len(STREAMS), len(SIZES), len(NAMES)))
    for i, seed in enumerate(STREAMS):
        stream = X[np.random.default_rng(seed).permutation(len(X))]
        points = X[np.random.default_rng(100 + seed).choice(len(X), POINTS, replace=False)]
        K = kernel(points, points)
        for j, m in enumerate(SIZES):
            for k, features in enumerate(maps(kernel, m, X.shape[1], seed)):
                Z = features.fit(stream).transform(points)
                errors[i, j, k] = np.linalg.norm(K - Z @ Z.T) / np.linalg.norm(K)
    print(f"{'m':>4} " + " ".join(f"{name:>22}" for name in NAMES))
    for j, m in enumerate(SIZES):
        cells = [f"{errors[:, j, k].mean():.3f} ({errors[:, j, k].std(ddof=1):.3f})" for k in range(len(NAMES))]
        print(f"{m:>4} " + " ".join(f"{cell:>22}" for cell in cells))
        print(f"{'':>4} " + " ".join(f"{f'earlier {value:.3f}':>22}" for value in EARLIER[m]))
    for j, m in enumerate(SIZES):
        for seed, row in zip(STREAMS, errors[:, j][:, ORDER], strict=True):
            if (np.diff(row) <= 0).any():
                print(
                    f"another order: m = {m}, stream {seed}: " + ", ".join(f"{value:.3f}" for value in errors[seed, j])
                )
    if (np.diff(errors.mean(axis=0)[:, ORDER], axis=1) <= 0).any():
        sys.exit("the means are in another order")
    print("means: eps 0 < eps 50 < first m rows < random features, for every m")


if __name__ == "__main__":
    main()
