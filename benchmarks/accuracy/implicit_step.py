"""Implicit against explicit steps at equal eta and lam on the drifting Gaussians: errors in 2000 rounds.

    python benchmarks/accuracy/implicit_step.py [seeds]         (default 100; 8 take a few seconds)

ILK and NORMA (hinge loss, C = 1, Gaussian kernel exp(-|x - x'|^2), nothing is ever dropped) with the same step size and
the same ridge: when both are tuned the implicit step has no advantage here; what it has is robustness against a step
that is too large.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from nystream.kernels import Gaussian
from nystream.learners import ILK, NORMA
from nystream.streams import drifting_gaussians

KERNEL = Gaussian(np.sqrt(0.5))
ETAS, LAMS = (0.1, 0.3, 1.0, 3.0, 10.0), (0.01, 0.03, 0.1)


def errors(eta: float, lam: float, seeds: int) -> tuple[float, float]:
    """Mean number of wrong signs, f = 0 decides +1: ILK, NORMA."""
    found = np.zeros(2)
    for seed in range(seeds):
        X, y = drifting_gaussians(seed=seed)
        for i, model in enumerate((ILK(KERNEL, eta=eta, lam=lam), NORMA(KERNEL, eta=eta, lam=lam))):
            found[i] += np.sum(np.where(model.run(X, y) >= 0, 1.0, -1.0) != y)
    return float(found[0] / seeds), float(found[1] / seeds)


def table(seeds: int) -> dict[tuple[float, float], tuple[float, float]]:
    """(eta, lam) -> errors of ILK and NORMA; NORMA needs eta lam < 1."""
    return {(e, m): errors(e, m, seeds) for e in ETAS for m in LAMS if e * m < 1}


def main(seeds: int) -> None:
    found = table(seeds)
    print(f"drifting Gaussians, 2000 rounds, mean errors over {seeds} seeds")
    print(f"{'eta':>6} {'lam':>6} {'ILK':>8} {'NORMA':>8} {'ILK/NORMA':>10}")
    for (eta, lam), (ilk, norma) in found.items():
        print(f"{eta:>6g} {lam:>6g} {ilk:>8.1f} {norma:>8.1f} {ilk / norma:>10.3f}")
    ratios = {key: ilk / norma for key, (ilk, norma) in found.items()}
    large = [ratio for (eta, _), ratio in ratios.items() if eta >= 3]
    mean = np.mean(list(found.values()), axis=0)
    print(f"mean: ILK {mean[0]:.0f}, NORMA {mean[1]:.0f}")
    print(f"largest ratio {max(ratios.values()):.3f}; for eta >= 3 between {min(large):.3f} and {max(large):.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
