"""A chart of a forecast: the last labels, the next ones, and intervals around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.forecast import Forecaster
from nystream.plot.style import AXIS, INK, PALETTE, SMALL, Figure, finish, one_plot, show_dates
from nystream.runtime.params import at_least

__all__ = ["forecast"]

COVERAGES = (0.9, 0.5)
"""Of the bands, the widest first."""
CYCLES = 3
"""Horizons of history that are drawn by default."""
MEMBERS = 3
"""Members that are drawn, those with the largest weight."""


def forecast(
    forecaster: Forecaster,
    X: Any = None,
    *,
    history: int | None = None,
    members: bool = False,
    title: str | None = None,
    size: tuple[float, float] = (8.4, 4.2),
) -> Figure:
    """Draw the last labels, the forecast of the next ones, and bands that cover 50 and 90 of 100 labels.

    Parameters
    ----------
    forecaster : Forecaster
    X : rows of inputs, optional
        Of the next rows, where labels came with inputs.
    history : int, optional
        Labels that are drawn, at most 2,048; default: three horizons.
    members : bool
        Whether the three members with the largest weights are drawn too.
    title : str, optional
        Above the plot.
    size : (width, height)
        In inches.

    Examples
    --------
    >>> import numpy as np
    >>> import nystream
    >>> f = nystream.Forecaster(12, season=12)
    >>> made = f.run(np.sin(np.arange(120) * np.pi / 6))
    >>> figure = nystream.plot.forecast(f)
    """
    past = forecaster.history(at_least("history", history or CYCLES * forecaster.horizon, 1))
    made = forecaster.forecast(X=X)
    rows = np.arange(forecaster.n_seen - len(past), forecaster.n_seen + len(made))
    times = forecaster.times(rows)
    x: Any = rows if times is None else times
    figure, axes = one_plot(size, "row" if times is None else "", "")
    ahead = x[len(past) :]
    axes.plot(x[: len(past)], past, color=INK, linewidth=1.2, label="labels")
    for coverage, shade in zip(COVERAGES, (0.18, 0.3), strict=True):
        low, high = forecaster.forecast_interval(coverage, X)
        if np.isfinite(low).all() and np.isfinite(high).all():
            label = f"{coverage:.0%} interval"
            axes.fill_between(ahead, low, high, color=PALETTE[0], alpha=shade, linewidth=0, label=label)
    axes.plot(ahead, made, color=PALETTE[0], linewidth=2.0, label="forecast")
    if members:
        weights = {name: float(w[: len(made)].mean()) for name, w in forecaster.weights().items()}
        for color, name in zip(PALETTE[1:], sorted(weights, key=lambda k: -weights[k])[:MEMBERS], strict=False):
            line = forecaster._member_forecast(name, X)
            axes.plot(ahead, line, color=color, linewidth=1.0, linestyle="--", label=f"{name} ({weights[name]:.0%})")
    axes.axvline(ahead[0], color=AXIS, linewidth=0.8)
    if times is not None:
        show_dates(axes)
    axes.legend(frameon=False, fontsize=SMALL, loc="upper left", ncols=2)
    axes.margins(x=0.01, y=0.18)
    return finish(figure, axes, title)
