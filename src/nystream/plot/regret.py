"""A chart of regret beside its bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nystream.evaluate.result import Result
from nystream.plot.curves import draw_lines, name_lines
from nystream.plot.style import Figure, blank, line_style, titled

__all__ = ["regret_chart"]

DOTS = (0, (1, 1.4))
"""Dashes of the lines of bounds: dots and gaps in line widths, as matplotlib takes them."""
FAR = 5.0
"""A bound this many times the largest regret would press it to the floor: both are drawn on a logarithmic axis then."""


def regret_chart(
    results: Sequence[Result], *, title: str | None = None, size: tuple[float, float] = (7.2, 4.2)
) -> Figure:
    """Draw the regret of each learner that has one. Its bound, where it was measured, is dotted in the same colour.

    Parameters
    ----------
    results : several results
        Measured with "regret", and "regret_bound" for the bounds.
    title : str, optional
        Above the plot.
    size : (width, height)
        In inches.
    """
    known = [r for r in results if "regret_bound" in r.columns and np.isfinite(r["regret_bound"]).any()]
    highest = max((float(np.nanmax(r["regret_bound"])) for r in known), default=0.0)
    regrets = [value for r in results if np.isfinite(value := r.final.get("regret", np.nan))]
    log = "y" if regrets and min(regrets) > 0 and highest > FAR * max(regrets) else ""
    figure = blank(*size)
    axes = figure.add_subplot()
    tags = draw_lines(axes, results, "regret", log=log)
    low, high = axes.get_ylim()
    for i, result in enumerate(results):
        if result in known:
            bound = result["regret_bound"]
            drawn = np.isfinite(bound) & ((bound > 0) | (log == ""))
            color = line_style(i)["color"]
            axes.plot(result["n"][drawn], bound[drawn], color=color, linewidth=1.4, linestyle=DOTS)
            high = max(high, float(bound[drawn].max(initial=0.0)) * (1.6 if log else 1.05))
    axes.set_ylim(low, high)
    axes.set_ylabel("")
    titled(axes, title)
    name_lines(figure, [(axes, tags)])
    return figure
