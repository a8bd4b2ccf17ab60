"""A race on one page: error over the stream, regret, and error against speed."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import numpy as np

from nystream.evaluate.comparison import Comparison
from nystream.plot.curves import axis_name, draw_lines, name_lines, of_predictions, sane
from nystream.plot.labels import Tag, around
from nystream.plot.style import INK, LARGE, Figure, blank, frame, line_style, tick_logs, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_speed", "heading", "race_chart"]

WIDTH, HEIGHT = 6.0, 3.7
"""Inches of a panel."""


def race_chart(
    comparison: Comparison,
    path: str | os.PathLike[str] | None = None,
    *,
    metric: str | None = None,
    title: str | None = None,
    log: str = "",
) -> Figure:
    """Draw a comparison: the metric over all rows so far and over a window, the regret, and the metric against speed.
    Panels without readings are left out.

    Parameters
    ----------
    comparison : Comparison
        What `compare` gave.
    path : path, optional
        Where to save it; .png, .svg or .pdf.
    metric : str, optional
        The metric of predictions to draw; the first that was measured otherwise.
    title : str, optional
        Above all panels.
    log : "" or "y"
        Logarithmic errors.
    """
    results = list(comparison)
    name = metric if metric is not None else _first(comparison)
    panels = [name]
    panels += [m for m in comparison.metrics if m.startswith(f"{name}@")][:1]
    if "regret" in comparison.metrics and any(map(math.isfinite, comparison.final("regret").values())):
        panels.append("regret")
    columns = 2 if len(panels) in (1, 3) else 3
    rows = 2 if len(panels) == 3 else 1
    figure = blank(WIDTH * columns, HEIGHT * rows)
    named = []
    for i, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, i + 1)
        tags = draw_lines(axes, results, panel, log=log if panel != "regret" else "")
        axes.set_ylabel("")
        titled(axes, heading(panel, comparison))
        named.append((axes, tags))
    last = figure.add_subplot(rows, columns, len(panels) + 1)
    tags = draw_speed(last, comparison, name, log)
    titled(last, f"{axis_name(name)} against speed")
    if title:
        figure.suptitle(title, fontsize=LARGE + 2, color=INK, x=0.01, ha="left", weight="bold")
    name_lines(figure, named)
    figure.draw_without_rendering()  # the names have taken their room: now places around points can be measured
    around(last, tags)
    if path is not None:
        figure.savefig(path)
    return figure


def _first(comparison: Comparison) -> str:
    for name in comparison.metrics:
        if of_predictions(name):
            return name
    raise ValueError(f"a race is about predictions; measure e.g. mse, not only {', '.join(comparison.metrics)}")


def heading(panel: str, comparison: Comparison) -> str:
    better = next(r.directions.get(panel, "lower") for r in comparison if panel in r.columns)
    return f"{axis_name(panel)}{'' if '@' in panel else ' so far'} ({better} is better)"


def draw_speed(axes: Axes, comparison: Comparison, name: str, log: str) -> list[Tag]:
    """Draw each learner as a point: rows per second and last reading. A diverged learner is a triangle at the top."""
    frame(axes, "rows per second", "", "x" + log)
    finals = {r.name: r.final[name] for r in comparison if r.seconds > 0 and math.isfinite(r.final.get(name, math.nan))}
    kept = [float(values[0]) for values in sane([np.array([value]) for value in finals.values()])] if finals else []
    tags = []
    for shown in (True, False):  # those that diverged last: the others set the limits
        height = axes.get_ylim()[1]
        for i, result in enumerate(comparison):
            if result.name in finals and (finals[result.name] in kept) == shown:
                x, y = result.rows / result.seconds, finals[result.name] if shown else height
                color = line_style(i)["color"]
                axes.plot(x, y, "o" if shown else "^", color=color, ms=7, mec="white", mew=0.8, clip_on=shown)
                tags.append(Tag(result.name if shown else f"{result.name} ↑", color, x, y))
        axes.margins(x=0.15, y=0.12)
        axes.set_ylim(axes.get_ylim() if shown else (axes.get_ylim()[0], height))
    tick_logs(axes)
    return tags
