"""The error of the approximated kernel: landmarks that stay, landmarks that move, random features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from nystream.features import AdaptiveNystrom, FeatureMap, Fourier
from nystream.reproduce.experiment import Experiment, Setting
from nystream.reproduce.nolana_tasks import (
    EPS,
    GAMMA,
    IJCNN1,
    PAPER,
    SHUFFLES,
    TASKS,
    USPS,
    directions,
    gaussian,
    prefix,
    read,
    seeds,
)
from nystream.reproduce.outcome import Cell, Line, Outcome, Panel, Table
from nystream.reproduce.protocol import shuffled
from nystream.runtime.types import Array

__all__ = ["FIGURE3", "kernel_errors"]

SIZES, QUICK = (50, 100, 200, 400), (50, 100)
"""Numbers of landmarks, in a full and in a quick run."""
OTHERS = (TASKS[0], IJCNN1)
"""cpusmall and ijcnn1, at the widths and thresholds that their prefixes tell."""
ROWS = 10_000
"""Most rows of a pass."""
MANY = 4
"""So many exceptions are counted, not named."""
POINTS, FEW = 2000, 500
"""On which the kernel is compared; in a quick run."""
ORDER = ("moving, eps 0", "moving, eps above 0", "first m rows", "random features")
"""From the least error to the largest."""


def run(setting: Setting) -> Outcome:
    """Measure the kernel's error by number of landmarks."""
    sizes, points = (QUICK, FEW) if setting.quick else (SIZES, POINTS)
    tables, panels, remarks = [], [], []
    for task in (USPS, *OTHERS):
        X, y = read(task, setting)
        gamma, eps = GAMMA, EPS
        if task is not USPS:
            scale = prefix(task, X, y)[2]
            gamma, eps = 1.0 / scale.width, scale.gaps[0]
        X = shuffled(X, y, 0, ROWS)[0] if len(X) > ROWS else X
        run = partial(kernel_errors, X, sizes, points, gamma=gamma, eps=eps)
        found = [run(seed) for seed in setting.each(seeds(setting), f"{task.name}, shuffles")]
        mean = {name: np.mean([f[name] for f in found], axis=0) for name in ORDER}
        rows: list[tuple[Cell, ...]] = [(m, *(float(mean[name][i]) for name in ORDER)) for i, m in enumerate(sizes)]
        title = f"{task.name}, gamma {gamma:.3g}, eps {eps:.3g}: relative error of the kernel, Frobenius"
        tables.append(Table(title, ("landmarks", *ORDER), tuple(rows), digits=3))
        lines = tuple(Line(name, sizes, mean[name]) for name in ORDER)
        panels.append(Panel(f"{task.name}: error of the kernel", "landmarks", "|K - Z Z'| / |K|", lines, log="xy"))
        remarks.append(f"{task.name}: {_remark(found, mean, sizes)}")
    return Outcome(tuple(tables), tuple(panels), tuple(remarks))


def _remark(found: list[dict[str, list[float]]], mean: dict[str, Array], sizes: tuple[int, ...]) -> str:
    """Say whether the order of the means is the published one, and in which single shuffles it is not."""
    held = all(_ordered(mean, i) for i in range(len(sizes)))
    others = [
        f"shuffle {seed} with {m} landmarks"
        for seed, errors in zip(SHUFFLES, found, strict=False)
        for i, m in enumerate(sizes)
        if not _ordered(errors, i)
    ]
    verdict = "holds for every number of landmarks, as published" if held else "does not hold for every number of them"
    alone = ", ".join(others) if len(others) < MANY else f"{len(others)} of {len(found) * len(sizes)}"
    return (
        f"the order {' < '.join(ORDER)} of the means {verdict}. It does not hold for these shuffles: {alone or 'none'}."
    )


def _ordered(errors: Mapping[str, Sequence[float] | Array], i: int) -> bool:
    return bool((np.diff([errors[name][i] for name in ORDER]) > 0).all())


def kernel_errors(
    X: Array, sizes: tuple[int, ...], points: int, seed: int, *, gamma: float = GAMMA, eps: float = EPS
) -> dict[str, list[float]]:
    """Return |K - Z Z'| / |K| on random points after a pass over the shuffled rows, by map and number of landmarks."""
    stream = X[np.random.default_rng(seed).permutation(len(X))]
    sample = X[np.random.default_rng(100 + seed).choice(len(X), points, replace=False)]
    kernel = gaussian(gamma)
    K = kernel(sample, sample)
    found: dict[str, list[float]] = {}
    for m in sizes:
        maps: dict[str, FeatureMap] = {
            "first m rows": AdaptiveNystrom(kernel, m, eps=np.inf),
            "moving, eps above 0": AdaptiveNystrom(kernel, m, eps=eps),
            "moving, eps 0": AdaptiveNystrom(kernel, m, eps=0.0),
            "random features": Fourier(kernel, 2 * directions(m, X.shape[1]), seed=seed),
        }
        for name, features in maps.items():
            Z = features.fit(stream).transform(sample)
            found.setdefault(name, []).append(float(np.linalg.norm(K - Z @ Z.T) / np.linalg.norm(K)))
    return found


FIGURE3 = Experiment(
    "nolana-figure3",
    "The error of the approximated kernel by landmarks, on three data sets.",
    f"{PAPER}, Figure 3",
    f"|K - Z Z'| / |K| on 2,000 random rows after one pass over at most 10,000 rows; rank 0.8 m; mean of shuffles 1 to "
    f"5. usps: Gaussian kernel of gamma {GAMMA:g}, eps {EPS:g} as in the other figures. cpusmall and ijcnn1: gamma one "
    "over the median squared distance, eps the first quantile of Table 2 of the distance to the first landmarks, both "
    "by the prefix of shuffle 0. Random features have the same memory, (m d + m r) / d directions. Quick: one shuffle, "
    "500 points, 50 and 100 landmarks.",
    run,
    ("usps", "cpusmall", "ijcnn1"),
)
