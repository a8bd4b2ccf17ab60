"""Contributions of the columns to one prediction: sampled Shapley values."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.explain.importance import AT_ONCE, Ask, Columns
from nystream.runtime.types import Array

__all__ = ["Reasons", "contributions"]

EVALUATIONS = 1000
"""Approximate number of predictions per explained row; more if that allows fewer than `FEWEST` background rows."""
FEWEST = 8
"""Fewest background rows, if there are so many."""


class Reasons(dict[str, float]):
    """The contributions of the columns to one prediction, largest first. They sum to `prediction - base`.

    Attributes
    ----------
    prediction : float
        The explained number: a prediction, or the probability of a class (its score, if there are no probabilities).
    base : float
        Its mean over the rows that the row is compared with.
    of : object
        The class or the target that is explained; None if there is one target.
    """

    def __init__(self, parts: dict[str, float], prediction: float, base: float, of: Any = None) -> None:
        super().__init__(sorted(parts.items(), key=lambda item: -abs(item[1])))
        self.prediction, self.base, self.of = prediction, base, of

    def rescaled(self, factor: float, shift: float = 0.0) -> Reasons:
        """Return the contributions to shift + factor * prediction, the same prediction in another unit."""
        parts = {name: factor * part for name, part in self.items()}
        return Reasons(parts, shift + factor * self.prediction, shift + factor * self.base, self.of)

    def __str__(self) -> str:
        what = "" if self.of is None else f" of {self.of}"
        lines = [f"{self.prediction:.6g}{what}, {self.base:.6g} on average"]
        width = max(map(len, self), default=0)
        return "\n".join([*lines, *(f"{name:<{width}}  {part:+.4g}" for name, part in self.items())])


def contributions(
    ask: Ask, row: Columns, background: Columns, *, seed: int = 0, evaluations: int = EVALUATIONS
) -> tuple[Array, float, float]:
    """Return the contributions (d,) of the columns, the prediction for the row, and the mean over the background rows.

    The columns of a background row are replaced by those of the row one by one, in a random order and then in the
    reverse order. Each change of the prediction is added to its column. The mean over background rows is an unbiased
    estimate of the Shapley values. It is exact if no three columns interact, and the sum is always exact.

    Parameters
    ----------
    ask : function
        A pure function from rows to predictions (n, 1).
    row : one row
    background : rows to compare it with
        If there are too many for the evaluations, evenly spaced ones are used.
    seed : int
        Seed of the random orders.
    evaluations : int
        Approximate number of predictions. Each background row takes 2 (d - 1) + 1 of them for d columns.
    """
    names = list(row)
    d, there = len(names), len(next(iter(background.values())))
    if not there:
        raise ValueError("an explanation needs background rows, and there are none")
    n = min(there, max(FEWEST, evaluations // (2 * max(d - 1, 1) + 1)))
    chosen = np.linspace(0, there - 1, n).round().astype(np.intp)
    rng = np.random.default_rng(seed)
    forth = rng.permuted(np.tile(np.arange(d), (n, 1)), axis=1)  # [walk, column] when the column is replaced
    ranks = np.vstack([forth, d - 1 - forth])
    beside = np.tile(chosen, 2)
    replaced = ranks[:, None, :] < np.arange(1, d)[:, None]  # (walks, d - 1, d)
    flat, behind = replaced.reshape(-1, d), np.repeat(beside, d - 1)
    ends = ask({name: np.concatenate([background[name][chosen], row[name]]) for name in names})[:, 0]
    parts = []
    for i in range(0, len(flat), AT_ONCE):
        mask, rows = flat[i : i + AT_ONCE], behind[i : i + AT_ONCE]
        mixed = {name: np.where(mask[:, j], row[name], background[name][rows]) for j, name in enumerate(names)}
        parts.append(ask(mixed)[:, 0])
    walks = np.empty((2 * n, d + 1))
    walks[:, 0], walks[:, d] = np.tile(ends[:n], 2), ends[n]
    if d > 1:
        walks[:, 1:d] = np.concatenate(parts).reshape(2 * n, d - 1)
    steps = np.diff(walks, axis=1)
    phi = np.take_along_axis(steps, ranks, axis=1).mean(axis=0)
    return phi, float(ends[n]), float(ends[:n].mean())
