"""Mean log loss of AIOLI beside ONS and FOGD at three ridges, and on a stream where the step of ONS collapses.

First rows of ijcnn1, cod-rna and covtype (class 2 against the rest; the last two in a fixed mixed order), inputs
standardised over these rows, 100 Fourier features of a Gaussian as wide as the median distance. AIOLI and ONS with its
theoretical step, exp(-clip), at the same clips; ONS at twice the ridge, because its metric starts as lam I and that of
AIOLI as 2 lam I. FOGD with three steps and the ridge lam/rows a round. Then labels drawn from a logistic model with
|f| <= 20 on 5 columns: comparators need clip 20, where the step of ONS is exp(-20). Its last column is the regret
against the f that the labels were drawn from, at the second ridge. --plot draws the mean log loss so far, at the second
ridge.

Run: NYSTREAM_DATA=DIR python benchmarks/accuracy/improper_logistic.py [rows, default 10000] [--plot FILE]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

from nystream import AIOLI, FOGD, ONS, Fourier, Gaussian, Learner, datasets
from nystream.scaling.distance import median_distance

RIDGES = (0.001, 0.01, 0.1)
CLIPS = (3.0, 10.0)
STRIDE = 25_033
"""Rows i * STRIDE mod n: an order without the order of the file."""


Curves = dict[str, dict[str, np.ndarray]]
"""Log losses by rows, of each stream and learner, at the second ridge."""


def log_losses(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, -y * p)


def line(stream: str, title: str, losses: list[np.ndarray], curves: Curves, more: str = "") -> None:
    """Print the mean losses at the ridges."""
    curves.setdefault(stream, {})[title] = losses[1]
    print(f"{stream:<9} {title:<22} " + " ".join(f"{loss.mean():>8.4f}" for loss in losses) + more, flush=True)


def load(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.load(name)
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    if name != "ijcnn1":
        order = np.arange(len(X)) * STRIDE % len(X)
        X, y = X[order], y[order]
    X, y = X[:rows], y[:rows]
    positive = 1 if name == "covtype" else max(set(y.tolist()))  # lodgepole pine, class 2 of the file, is number 1
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), np.where(y == positive, 1.0, -1.0)


def learners(features: Fourier, lam: float) -> Iterator[tuple[str, Learner]]:
    for clip in CLIPS:
        yield f"AIOLI clip {clip:g}", AIOLI(features, clip=clip, lam=lam)
    yield "AIOLI clip 10, sharp", AIOLI(features, clip=10.0, lam=lam, curvature="sharp")
    for clip in CLIPS:
        yield f"ONS clip {clip:g}", ONS(features, loss="logistic", clip=clip, lam=2 * lam)


def real(name: str, rows: int, curves: Curves) -> None:
    try:
        X, y = load(name, rows)
    except (FileNotFoundError, ValueError) as error:
        print(f"{name} left out: {error}", file=sys.stderr)
        return
    sigma = float(median_distance(X))
    features = Fourier(Gaussian(sigma), 100, seed=0)
    found: dict[str, list[np.ndarray]] = {}
    for lam in RIDGES:
        for title, learner in learners(features, lam):
            found.setdefault(title, []).append(log_losses(learner.run(X, y), y))
    for title, losses in found.items():
        line(name, title, losses, curves)
    for eta in (0.3, 3.0, 30.0):
        losses = [
            log_losses(FOGD(Gaussian(sigma), dim=100, loss="logistic", eta=eta, lam=lam / rows, seed=0).run(X, y), y)
            for lam in RIDGES
        ]
        line(name, f"FOGD eta {eta:g}", losses, curves)


def wide_margin(rows: int, curves: Curves) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (rows, 5))
    w = 20 * np.sign(rng.normal(size=5)) / 5
    f = X @ w
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-f)), 1.0, -1.0)
    best = float(np.logaddexp(0, -y * f).sum())
    print(f"\n|f| <= 20, {rows} rows: log loss at ridges {', '.join(map(str, RIDGES))}; regret against f at the second")
    for title, make in (
        ("AIOLI clip 20", lambda lam: AIOLI(clip=20.0, lam=lam)),
        ("ONS clip 20", lambda lam: ONS(loss="logistic", clip=20.0, lam=2 * lam)),
        ("ONS clip 3", lambda lam: ONS(loss="logistic", clip=3.0, lam=2 * lam)),
    ):
        losses = [log_losses(make(lam).run(X, y), y) for lam in RIDGES]
        line("margin 20", title, losses, curves, f" {losses[1].sum() - best:>10.1f}")


def draw(curves: Curves, path: str) -> None:
    import matplotlib.pyplot as plt

    shown = ("AIOLI clip 10", "ONS clip 10", "AIOLI clip 20", "ONS clip 20", "ONS clip 3", "FOGD eta 3")
    figure, axes = plt.subplots(1, len(curves), figsize=(3.6 * len(curves), 3.4), squeeze=False)
    for axis, (stream, learners) in zip(axes[0], curves.items(), strict=True):
        for title, losses in learners.items():
            if title in shown:
                rows = np.arange(1, len(losses) + 1)
                axis.plot(rows[20:], (np.cumsum(losses) / rows)[20:], label=title)
        axis.set(title=stream, xlabel="rows", xscale="log", yscale="log")
        axis.legend(fontsize=7)
    axes[0][0].set_ylabel("mean log loss so far")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    plot = sys.argv[sys.argv.index("--plot") + 1] if "--plot" in sys.argv else None
    given = [a for a in sys.argv[1:] if a.isdigit()]
    rows = int(given[0]) if given else 10_000
    curves: Curves = {}
    print(f"{'stream':<9} {'learner':<22} " + " ".join(f"lam {lam:<4g}" for lam in RIDGES))
    for name in ("ijcnn1", "cod-rna", "covtype"):
        real(name, rows, curves)
    wide_margin(rows, curves)
    if plot:
        draw(curves, plot)


if __name__ == "__main__":
    main()
