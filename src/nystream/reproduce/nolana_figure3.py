"""The error of the approximated kernel: landmarks that stay, landmarks that move, random features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nystream.features import AdaptiveNystrom, FeatureMap, Fourier
from nystream.reproduce.experiment import Experiment, Setting
from nystream.reproduce.nolana_tasks import EPS, GAMMA, PAPER, SHUFFLES, USPS, directions, gaussian, read, seeds
from nystream.reproduce.outcome import Cell, Line, Outcome, Panel, Table
from nystream.runtime.types import Array

__all__ = ["FIGURE3", "kernel_errors"]

SIZES, QUICK = (50, 100, 200, 400), (50, 100)
POINTS, FEW = 2000, 500
"""On which the kernel is compared; in a quick run."""
ORDER = ("moving, eps 0", "moving, eps 50", "first m rows", "random features")
"""From the least error to the largest."""


def run(setting: Setting) -> Outcome:
    """The kernel's error by number of landmarks."""
    X, _ = read(USPS, setting)
    sizes, points = (QUICK, FEW) if setting.quick else (SIZES, POINTS)
    found = [kernel_errors(X, sizes, points, seed) for seed in setting.each(seeds(setting), "shuffles")]
    names = list(found[0])
    mean = {name: np.mean([f[name] for f in found], axis=0) for name in names}
    rows: list[tuple[Cell, ...]] = [(m, *(float(mean[name][i]) for name in names)) for i, m in enumerate(sizes)]
    table = Table("usps: relative error of the kernel, Frobenius", ("landmarks", *names), tuple(rows), digits=3)
    lines = tuple(Line(name, sizes, mean[name]) for name in names)
    panel = Panel("Relative error of the kernel", "landmarks", "|K - Z Z'| / |K|", lines, log="xy")
    return Outcome((table,), (panel,), _remarks(found, mean, sizes))


def _remarks(found: list[dict[str, list[float]]], mean: dict[str, Array], sizes: tuple[int, ...]) -> tuple[str, ...]:
    """Whether the order of the means is the published one, and of which single shuffles it is not."""
    held = all(_ordered(mean, i) for i in range(len(sizes)))
    others = [
        f"shuffle {seed} with {m} landmarks"
        for seed, errors in zip(SHUFFLES, found, strict=False)
        for i, m in enumerate(sizes)
        if not _ordered(errors, i)
    ]
    verdict = "holds for every number of landmarks, as published" if held else "does not hold, unlike the published one"
    alone = ", ".join(others) or "none"
    return (f"The order {' < '.join(ORDER)} of the means {verdict}; single shuffles without it: {alone}.",)


def _ordered(errors: Mapping[str, Sequence[float] | Array], i: int) -> bool:
    return bool((np.diff([errors[name][i] for name in ORDER]) > 0).all())


def kernel_errors(X: Array, sizes: tuple[int, ...], points: int, seed: int) -> dict[str, list[float]]:
    """|K - Z Z'| / |K| on random points after a pass over the shuffled rows, by map, for each number of landmarks."""
    stream = X[np.random.default_rng(seed).permutation(len(X))]
    sample = X[np.random.default_rng(100 + seed).choice(len(X), points, replace=False)]
    kernel = gaussian(GAMMA)
    K = kernel(sample, sample)
    found: dict[str, list[float]] = {}
    for m in sizes:
        maps: dict[str, FeatureMap] = {
            "first m rows": AdaptiveNystrom(kernel, m, eps=np.inf),
            "moving, eps 50": AdaptiveNystrom(kernel, m, eps=EPS),
            "moving, eps 0": AdaptiveNystrom(kernel, m, eps=0.0),
            "random features": Fourier(kernel, 2 * directions(m, X.shape[1]), seed=seed),
        }
        for name, features in maps.items():
            Z = features.fit(stream).transform(sample)
            found.setdefault(name, []).append(float(np.linalg.norm(K - Z @ Z.T) / np.linalg.norm(K)))
    return found


FIGURE3 = Experiment(
    "nolana-figure3",
    "The error of the approximated kernel by landmarks.",
    f"{PAPER}, Figure 3",
    f"usps, Gaussian kernel of gamma {GAMMA:g}, rank 0.8 m: |K - Z Z'| / |K| on 2,000 random rows after one pass; mean "
    "of shuffles 1 to 5. Random features have the same memory, (m d + m r) / d directions. Quick: one shuffle, 500 "
    "rows, 50 and 100 landmarks.",
    run,
    ("usps",),
)
