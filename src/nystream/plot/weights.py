"""Charts of shares along the stream as stacked areas: weights of the parts of a learner, and importance of columns."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import PercentFormatter

from nystream.evaluate.metrics.meters import ImportanceShares, Shares, Weights
from nystream.evaluate.result import Result
from nystream.plot.curves import name_lines
from nystream.plot.labels import Tag
from nystream.plot.style import PALETTE, SMALL, Figure, one_plot, titled
from nystream.runtime.types import Array

__all__ = ["has_importance", "has_weights", "importance_over_time", "weights_chart"]

MOST = 8
"""Columns that have an area of their own."""
FAINT = 0.5
"""How much of a colour is left when it comes the second time."""


def has_weights(result: Result) -> bool:
    """Return whether there are weights to draw: two readings of two parts."""
    return _has(result, Weights)


def has_importance(result: Result) -> bool:
    """Return whether there is importance to draw: two readings of two columns."""
    return _has(result, ImportanceShares)


def weights_chart(result: Result, *, title: str | None = None, size: tuple[float, float] = (7.2, 4.2)) -> Figure:
    """Draw the weights of a learner's parts over the rows, as shares of the sum of their sizes.

    Parameters
    ----------
    result : Result
        Measured with "weights", of a learner that has `weights()`: `Auto`, `Aggregate`, `Mixture`.
    title : str, optional
        Above the plot.
    size : (width, height)
        In inches.

    Examples
    --------
    >>> import nystream
    >>> rows = nystream.streams.sine(200, seed=0)
    >>> result = nystream.prequential(rows, nystream.Auto(), ["mse", "weights"], every=50)
    >>> figure = nystream.plot.weights_chart(result)
    """
    return _areas(result, Weights, title, size)


def importance_over_time(result: Result, *, title: str | None = None, size: tuple[float, float] = (7.2, 4.2)) -> Figure:
    """Draw the importance of the columns along the rows. If there are many columns, the least important are drawn as
    one.

    Parameters
    ----------
    result : Result
        Measured with "importance", of a `nystream.Model` or `Auto`.
    title, size
        As in `weights_chart`.

    Examples
    --------
    >>> import nystream
    >>> rows = nystream.streams.friedman(300, seed=0)
    >>> result = nystream.prequential(rows, nystream.Auto(), ["mse", "importance"], every=100)
    >>> figure = nystream.plot.importance_over_time(result)
    """
    return _areas(result, ImportanceShares, title, size)


def _has(result: Result, meter: type[Shares]) -> bool:
    return len(result["n"]) > 1 and len(meter.parts(result.columns)) > 1


def _areas(result: Result, meter: type[Shares], title: str | None, size: tuple[float, float]) -> Figure:
    name = meter.name
    if not _has(result, meter):
        raise ValueError(f"{result.name} has no two readings of {name}; evaluate with metrics=['{name}', ...]")
    parts = meter.parts(result.columns)
    n = result["n"]
    sizes = np.abs(np.nan_to_num(np.vstack([result[column] for column in parts.values()])))
    shares = sizes / np.maximum(sizes.sum(axis=0), np.finfo(float).tiny)
    names, shares = _fewer(list(parts), shares) if meter is ImportanceShares else (list(parts), shares)
    figure, axes = one_plot(size, "rows", "")
    tops = np.cumsum(shares, axis=0)
    tags = []
    for i, name in enumerate(names):
        color, faint = PALETTE[i % len(PALETTE)], i // len(PALETTE) % 2 == 1
        bottom = tops[i] - shares[i]
        text = f"{name} {shares[i, -1]:.0%}"
        axes.fill_between(n, bottom, tops[i], color=color, alpha=FAINT if faint else 1.0, linewidth=0, label=text)
        axes.plot(n, tops[i], color="white", linewidth=0.5)  # apart, also where neighbours have one colour
        tags.append(Tag(text, color, float(n[-1]), float(tops[i, -1] - shares[i, -1] / 2)))
    axes.set(xlim=(n[0], n[-1]), ylim=(0.0, 1.0))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(visible=False)
    axes.tick_params(labelsize=SMALL)
    titled(axes, title)
    name_lines(figure, [(axes, tags)])
    return figure


def _fewer(names: list[str], shares: Array) -> tuple[list[str], Array]:
    """Return the shares that are largest on average, the largest of them first, and the others as one."""
    order = np.argsort(-shares.mean(axis=1), kind="stable")
    if len(order) <= MOST:
        return [names[i] for i in order], shares[order]
    first, rest = order[: MOST - 1], order[MOST - 1 :]
    return [*(names[i] for i in first), f"{len(rest)} others"], np.vstack([shares[first], shares[rest].sum(axis=0)])
