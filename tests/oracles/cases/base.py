"""What a case is: a learner, a random stream and the predictions of its slow definition; and how far they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from laws import by_steps
from nystream.losses import Loss, MulticlassHinge, Softmax, StructuredHinge, as_loss

ROUNDS, CLASSES = 300, 4
FIVE = ("squared", "logistic", "squared_hinge", "hinge", "absolute")
FAR = np.abs(np.subtract.outer(np.arange(float(CLASSES)), np.arange(float(CLASSES))))
LABELLED: dict[str, Loss] = {
    "multiclass_hinge": MulticlassHinge(CLASSES),
    "softmax": Softmax(CLASSES),
    "structured_hinge": StructuredHinge(FAR),
    "similar labels": StructuredHinge(FAR, np.exp(-FAR)),
}
"""Losses of classes, all of which are known at the start: an unknown one would score -inf."""


@dataclass(frozen=True)
class Trial:
    """Fresh, equal learners, one stream, and what the definition predicts for it, (n,) or (n, K)."""

    make: Callable[[], Any]
    X: np.ndarray
    Y: np.ndarray | None
    expected: np.ndarray
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class Case:
    """One row of the table; `trial(seed)` draws its stream and learner."""

    part: str
    learner: str
    variant: str
    loss: str
    setting: str
    tolerance: float
    trial: Callable[[int], Trial]

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.learner, self.variant, self.loss, self.setting)))


@dataclass(frozen=True)
class Difference:
    """Largest |difference| of predictions to the definition: `run` on all rows, on random blocks, a loop of `step`."""

    run: float
    blocks: float
    step: float

    @property
    def worst(self) -> float:
        """nan where any is."""
        return float(np.max([self.run, self.blocks, self.step]))

    def or_larger(self, other: Difference) -> Difference:
        pairs = zip((self.run, self.blocks, self.step), (other.run, other.blocks, other.step), strict=True)
        return Difference(*(float(np.max(pair)) for pair in pairs))


def named(loss: str) -> Loss:
    """The loss of that name, of CLASSES classes if it is one of classes."""
    return LABELLED.get(loss) or as_loss(loss)


def outputs_of(loss: str) -> int:
    return CLASSES if named(loss).multiclass else 1


def stream(
    kind: str | Loss, seed: int, *, n: int = ROUNDS, d: int = 3, bound: float = 1.0, repeats: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """n points in [-1, 1]^d, of the later half every third an earlier one with a new label, and labels of that kind.

    Real labels lie within 0.97 bound. The labels are noisy, so that every learner keeps making mistakes.
    """
    labels = kind.labels if isinstance(kind, Loss) else kind
    rng = np.random.default_rng((seed, n, d))
    X = rng.uniform(-1, 1, (n, d))
    if repeats:
        X[n // 2 :: 3] = X[: len(X[n // 2 :: 3])]
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.4 * rng.normal(size=n)
    if labels == "sign":
        return X, np.where(f >= 0, 1.0, -1.0)
    if labels == "class":
        return X, np.digitize(f, [-0.5, 0.0, 0.5]).astype(float)
    return X, 0.97 * bound * np.tanh(f)


def weights_for(seed: int) -> np.ndarray:
    """Weights in [0.5, 2], all different, but for every seventh, which is 0."""
    w = np.random.default_rng((seed, 1)).uniform(0.5, 2.0, ROUNDS)
    return np.where(np.arange(ROUNDS) % 7 == 0, 0.0, w)


def measured(trial: Trial, seed: int) -> Difference:
    """The three ways of one trial; the blocks are those of the seed, of 1 to 60 rows."""
    rows = len(trial.X)
    expected = trial.expected.reshape(rows, -1)

    def off(P: np.ndarray) -> float:
        return float(np.abs(np.asarray(P).reshape(rows, -1) - expected).max())

    def block(learner: Any, part: slice) -> np.ndarray:
        return learner.run(*(a[part] for a in (trial.X, trial.Y, trial.weights) if a is not None))

    cuts = np.cumsum(np.random.default_rng((seed, 2)).integers(1, 61, rows))
    cuts = [0, *cuts[cuts < rows].tolist(), rows]
    parts = trial.make()
    blocks = [block(parts, slice(a, b)) for a, b in pairwise(cuts)]
    return Difference(off(block(trial.make(), slice(None))), off(np.concatenate(blocks)), off(_stepped(trial)))


def _stepped(trial: Trial) -> np.ndarray:
    learner = trial.make()
    if trial.Y is None:
        return np.array([learner.step(x) for x in trial.X])
    if trial.weights is None:
        return by_steps(learner, trial.X, trial.Y)
    return np.array([learner.step(*row) for row in zip(trial.X, trial.Y, trial.weights, strict=True)])


def largest(case: Case, streams: int) -> Difference:
    """Over the streams of seeds 0, 1, ..."""
    found = Difference(0.0, 0.0, 0.0)
    for seed in range(streams):
        found = found.or_larger(measured(case.trial(seed), seed))
    return found
