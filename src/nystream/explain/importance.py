"""Importance of columns: how much the error grows if the values of a column are shuffled among the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from nystream.runtime.params import at_least, positive
from nystream.runtime.types import Array

__all__ = ["Ask", "ColumnImportance", "Columns", "Importance", "Losses", "permutation_importance"]

Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]
"""Rows as columns: arrays of equal length and any kind."""
Ask: TypeAlias = Callable[[Columns], Array]
"""A pure function from rows to predictions (n, K)."""
Losses: TypeAlias = Callable[[Array, npt.NDArray[np.intp]], Array]
"""A function from predictions (n, K) and positions of their labels to losses (n,)."""
EVALUATIONS = 12_000
"""Largest number of predictions, except for tables with very many columns."""
REPEATS = 4
"""Largest number of other rows that each value is moved to."""
FEWEST = 16
"""Fewest rows that are used, if there are so many."""
AT_ONCE = 4096
"""Predictions in one call."""
RESAMPLES = 400
"""Number of bootstrap resamples."""
LEAST = 1e-6
"""Lower limit of the present error, as a share of the error of a constant prediction."""


class ColumnImportance(NamedTuple):
    """The importance of one column.

    `increase` says how much larger the error gets, as a share of the present one, when the column's values go to other
    rows: 0.5 is half as much again. It lies between `low` and `high` for rows like these with the coverage asked for.
    `share` is its part in the sum over all columns, those below 0 counting as 0. `learnt` is the column's part in
    the metrics that the learner's experts have learnt, weighted by what the experts count for; nan where there is none.
    """

    column: str
    share: float
    increase: float
    low: float
    high: float
    learnt: float = float("nan")


class Importance(dict[str, float]):
    """A dict of column to share, the most important first. The shares sum to 1; `columns` has the figures behind them.

    Attributes
    ----------
    columns : list of ColumnImportance
        In the same order.
    unit : str
        Name of the error: "squared error", "squared error of probabilities", "error rate" or "score".
    present : float
        The error of the unchanged rows.
    rows : int
        Number of rows on which it was measured.
    coverage : float
        Of the intervals.
    """

    def __init__(self, columns: list[ColumnImportance], unit: str, present: float, rows: int, coverage: float) -> None:
        super().__init__({c.column: c.share for c in columns})
        self.columns = columns
        self.unit, self.present, self.rows, self.coverage = unit, present, rows, coverage

    def __str__(self) -> str:
        width = max([len(c.column) for c in self.columns] + [6])
        learnt = any(c.learnt == c.learnt for c in self.columns)
        title = f"{'column':<{width}}  {'share':>6}  {'increase':>9}  {f'{self.coverage:.0%} interval':>20}"
        lines = [title + ("  learnt" if learnt else "")]
        for c in self.columns:
            interval = f"{_percent(c.low)} to {_percent(c.high)}"
            line = f"{c.column:<{width}}  {c.share:6.1%}  {_percent(c.increase):>9}  {interval:>20}"
            lines.append(line + (f"  {c.learnt:6.1%}" if learnt else ""))
        lines.append(
            f"increase: how much the {self.unit} ({self.present:.4g} on {self.rows:,} rows) grows if the values of the "
            "column are shuffled among the rows"
        )
        return "\n".join(lines)


def permutation_importance(
    ask: Ask,
    columns: Columns,
    losses: Losses,
    *,
    unit: str,
    constant: float,
    learnt: Mapping[str, float] | None = None,
    repeats: int = REPEATS,
    coverage: float = 0.9,
    seed: int = 0,
) -> Importance:
    """Return the importance of every column for rows in the order in which they came.

    The values of a column are moved along a random cycle through all rows, so that no row keeps its own. The increase
    is the relative change of the mean loss. The interval comes from a block bootstrap of the rows; blocks are longer if
    neighbouring rows are more alike. It covers the choice of the rows for this function. It does not cover a function
    that would have been learnt from other rows.

    Parameters
    ----------
    ask, columns, losses
        The function, the rows, and the losses of its answers.
    unit, constant
        What the loss is called, and the mean loss of a constant answer.
    learnt : mapping, optional
        Shares of the columns in learnt metrics.
    repeats : int
        Cycles for each column; fewer, then fewer rows, where there are many columns.
    coverage : float
        Of the intervals.
    seed : int
    """
    at_least("repeats", repeats, 1)
    positive("coverage", coverage, below=1.0)
    names = list(columns)
    total = len(next(iter(columns.values())))
    if total < 2:
        raise ValueError(f"importance needs at least 2 rows whose values can change places, got {total}")
    n = min(total, max(FEWEST, EVALUATIONS // max(1, len(names))))
    repeats = min(repeats, max(1, EVALUATIONS // (n * max(1, len(names)))))
    kept: Columns = {name: values[-n:] for name, values in columns.items()}
    places = np.arange(total - n, total)
    rng = np.random.default_rng(seed)
    base = losses(ask(kept), places)
    donors = [_cycle(n, rng) for _ in range(repeats)]
    gains, given = np.empty((2, n, len(names)))
    moves = [(j, donor) for j in range(len(names)) for donor in donors]
    found: list[Array] = []
    several = max(1, AT_ONCE // n)
    for i in range(0, len(moves), several):
        part = moves[i : i + several]
        rows = {
            name: np.concatenate([kept[name][donor] if j == k else kept[name] for k, donor in part])
            for j, name in enumerate(names)
        }
        found += np.split(losses(ask(rows), np.tile(places, len(part))), len(part))
    for j in range(len(names)):
        after = found[j * repeats : (j + 1) * repeats]
        gains[:, j] = np.mean(after, axis=0) - base
        given[:, j] = _by_donor(np.array(after) - base, donors)
    least = max(LEAST * constant, np.finfo(float).tiny)
    increase = gains.mean(axis=0) / max(float(base.mean()), least)
    low, high = _interval(gains + given - gains.mean(axis=0), base, least, coverage, rng)
    above = np.maximum(increase, 0.0)
    shares = above / above.sum() if above.sum() > 0 else np.full(len(names), 1 / len(names))
    known = learnt or {}
    order = np.argsort(-increase, kind="stable")
    listed = [
        ColumnImportance(
            names[j],
            float(shares[j]),
            float(increase[j]),
            float(min(low[j], increase[j])),
            float(max(high[j], increase[j])),
            float(known.get(names[j], np.nan)),
        )
        for j in order.tolist()
    ]
    return Importance(listed, unit, float(base.mean()), n, coverage)


def _cycle(n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return the row from which each row gets its value: a random cycle through all rows."""
    order = rng.permutation(n)
    donor = np.empty(n, dtype=np.intp)
    donor[order] = np.roll(order, 1)
    return donor


def _by_donor(gains: Array, donors: list[npt.NDArray[np.intp]]) -> Array:
    """Reorder the gains (repeats, n) of rows by the row that gave its value away, and return the means."""
    given = np.empty_like(gains)
    for row, gain, donor in zip(given, gains, donors, strict=True):
        row[donor] = gain
    return given.mean(axis=0)


def _interval(
    gains: Array, base: Array, least: float, coverage: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return quantiles of the increase over a circular block bootstrap of the rows.

    A row has two contributions: the loss at the row, and the losses at the rows that got its value. `gains` is their
    sum minus its mean; its variance is that of the mean over pairs of rows.
    """
    n = len(base)
    length = _stretch(gains)
    starts = rng.integers(n, size=(RESAMPLES, -(-n // length)))
    rows = ((starts[:, :, None] + np.arange(length)) % n).reshape(RESAMPLES, -1)[:, :n]
    counts = np.zeros((RESAMPLES, n))
    np.add.at(counts, (np.arange(RESAMPLES)[:, None], rows), 1.0)
    ratios = (counts @ gains) / np.maximum(counts @ base, n * least)[:, None]
    low, high = np.quantile(ratios, [(1 - coverage) / 2, (1 + coverage) / 2], axis=0)
    return low, high


def _stretch(gains: Array) -> int:
    """Return the block length by the rule of Politis and White (2004) for an autoregression fitted to the gains."""
    n = len(gains)
    gone = gains - gains.mean(axis=0)
    own = np.maximum((gone**2).sum(axis=0), np.finfo(float).tiny)
    memory = float(np.clip(((gone[1:] * gone[:-1]).sum(axis=0) / own).max(), 0.0, 0.97))
    length = n ** (1 / 3) * max(1.0, (np.sqrt(6.0) * memory / (1 - memory**2)) ** (2 / 3))
    return max(1, min(round(length), n // 4))


def _percent(value: float) -> str:
    return f"{value:+.1%}" if abs(value) < 10 else f"{value:+,.0%}"
