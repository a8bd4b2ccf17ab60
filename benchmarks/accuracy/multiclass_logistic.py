"""Mean log loss of K classes: GAF beside AIOLI one against the rest and FOGD with the softmax loss, at three ridges.

First rows of covtype (seven classes) and usps (ten) in a fixed mixed order, inputs standardised over these rows, 40
Fourier features of a Gaussian as wide as the median distance. FOGD with three steps and the ridge lam/rows a round.
Then a linear stream of four classes whose true scores reach 10, where the last column is the regret against the
scores that the labels were drawn from, at the second ridge; and one input with labels that were thought least likely.

Run: NYSTREAM_DATA=DIR python benchmarks/accuracy/multiclass_logistic.py [rows, default 2000]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from scipy import special

from nystream import AIOLI, FOGD, GAF, Classifier, Fourier, Gaussian, Learner, datasets
from nystream.scaling.distance import median_distance

RIDGES = (0.001, 0.01, 0.1)
STRIDE = 25_033
"""Rows i * STRIDE mod n: an order without the order of the file."""


def played(learner: Learner, X: np.ndarray, y: np.ndarray, K: int) -> float:
    """Sum of the log losses; every row's probabilities are asked before its label is learnt."""
    model = Classifier(learner)
    model.reserve(X.shape[1], K)
    total = 0.0
    for x, label in zip(X, y.tolist(), strict=True):
        total -= np.log(max(float(model.probabilities(x[None], ahead=1)[0, label]), 1e-300))
        model.step(x, label)
    return total


def load(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.load(name)
    X, y = np.asarray(X, dtype=float), np.unique(np.asarray(y), return_inverse=True)[1]
    order = np.arange(len(X)) * STRIDE % len(X)
    X, y = X[order[:rows]], y[order[:rows]]
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), y


def learners(features: Fourier | None, lam: float, clip: float) -> Iterator[tuple[str, Learner]]:
    yield f"GAF clip {clip:g}", GAF(features, clip=clip, lam=lam)
    yield f"AIOLI clip {clip:g}", AIOLI(features, clip=clip, lam=lam)


def show(stream: str, title: str, losses: list[float], seconds: float, rows: int, more: str = "") -> None:
    shown = " ".join(f"{loss / rows:>8.4f}" for loss in losses)
    print(f"{stream:<9} {title:<14} {shown} {seconds / len(losses) / rows * 1e3:>9.2f} {more}", flush=True)


def real(name: str, rows: int) -> None:
    try:
        X, y = load(name, rows)
    except (FileNotFoundError, ValueError) as error:
        print(f"{name} left out: {error}", file=sys.stderr)
        return
    K, G = int(y.max()) + 1, Gaussian(float(median_distance(X)))
    found: dict[str, tuple[list[float], float]] = {}
    for lam in RIDGES:
        choices = list(learners(Fourier(G, 40, seed=0), lam, 5.0))
        choices += [
            (f"FOGD eta {eta:g}", FOGD(G, dim=40, loss="softmax", eta=eta, lam=lam / rows, seed=0))
            for eta in (0.3, 3.0, 30.0)
        ]
        for title, learner in choices:
            start = time.process_time()
            loss = played(learner, X, y, K)
            losses, seconds = found.get(title, ([], 0.0))
            found[title] = ([*losses, loss], seconds + time.process_time() - start)
    for title, (losses, seconds) in found.items():
        show(name, title, losses, seconds, len(X))


def wide_margin(rows: int) -> None:
    rng = np.random.default_rng(0)
    X, W = rng.uniform(-1, 1, (rows, 5)), 2 * np.sign(rng.normal(size=(5, 4)))
    F = X @ W
    y = (F + rng.gumbel(size=F.shape)).argmax(axis=1)
    best = -float(special.log_softmax(F, axis=1)[np.arange(rows), y].sum())
    for i in range(2):
        start = time.process_time()
        losses, title = [], ""
        for lam in RIDGES:
            title, learner = list(learners(None, lam, 10.0))[i]
            losses.append(played(learner, X, y, 4))
        show("margin 10", title, losses, time.process_time() - start, rows, f"regret {losses[1] - best:.1f}")
    losses = [
        played(FOGD(Gaussian(2.0), dim=200, loss="softmax", eta=eta, seed=0), X, y, 4) for eta in (1.0, 3.0, 10.0)
    ]
    show("margin 10", "FOGD, 3 steps", losses, 0.0, rows)


def adversary(rows: int) -> None:
    """One input; the label is the class with the least probability. The constant scores 0 lose log 4 a round."""
    x = np.array([2.0])
    for title, learner in learners(None, 0.01, 10.0):
        model = Classifier(learner)
        model.reserve(1, 4)
        total = 0.0
        for _ in range(rows):
            p = model.probabilities(x[None], ahead=1)[0]
            total -= np.log(max(float(p.min()), 1e-300))
            model.step(x, int(p.argmin()))
        print(f"least likely label, {rows} rows: {title}: regret {total - rows * np.log(4):.1f} against scores of 0")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{'stream':<9} {'learner':<14} " + " ".join(f"lam {lam:<4g}" for lam in RIDGES) + "  ms a row")
    for name in ("covtype", "usps"):
        real(name, rows)
    wide_margin(rows)
    adversary(rows)


if __name__ == "__main__":
    main()
