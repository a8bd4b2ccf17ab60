"""What a learner made of parts relies on, over the stream: the parts' weights as a stack of areas."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import PercentFormatter

from nystream.evaluate.result import Result
from nystream.metrics.meters import Weights
from nystream.plot.curves import name_lines
from nystream.plot.labels import Tag
from nystream.plot.style import PALETTE, SMALL, Figure, blank, frame, titled

__all__ = ["has_weights", "weights_chart"]

FAINT = 0.5
"""How much of a colour is left when it comes the second time."""


def has_weights(result: Result) -> bool:
    """Whether there is something to draw: two readings of two parts."""
    return len(result["n"]) > 1 and len(Weights.parts(result.columns)) > 1


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
    if not has_weights(result):
        raise ValueError(f"{result.name} has no two readings of weights; evaluate with metrics=['weights', ...]")
    parts = Weights.parts(result.columns)
    n = result["n"]
    sizes = np.abs(np.nan_to_num(np.vstack([result[column] for column in parts.values()])))
    shares = sizes / np.maximum(sizes.sum(axis=0), np.finfo(float).tiny)
    figure = blank(*size)
    axes = figure.add_subplot()
    frame(axes, "rows", "")
    tops = np.cumsum(shares, axis=0)
    tags = []
    for i, name in enumerate(parts):
        color, faint = PALETTE[i % len(PALETTE)], i // len(PALETTE) % 2 == 1
        bottom = tops[i] - shares[i]
        axes.fill_between(n, bottom, tops[i], color=color, alpha=FAINT if faint else 1.0, linewidth=0)
        axes.plot(n, tops[i], color="white", linewidth=0.5)  # apart, also where neighbours have one colour
        tags.append(Tag(f"{name} {shares[i, -1]:.0%}", color, float(n[-1]), float(tops[i, -1] - shares[i, -1] / 2)))
    axes.set(xlim=(n[0], n[-1]), ylim=(0.0, 1.0))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(visible=False)
    axes.tick_params(labelsize=SMALL)
    titled(axes, title)
    name_lines(figure, [(axes, tags)])
    return figure
