"""Draw the plot of a record: its panels side by side, then its pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from nystream.plot.curves import name_lines
from nystream.plot.labels import Tag
from nystream.plot.style import INK, LARGE, PALETTE, SMALL, Figure, blank, frame, line_style, tick_logs, titled
from nystream.reproduce.outcome import Outcome, Panel, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

WIDTH, HEIGHT, ACROSS = 5.6, 3.6, 3
"""Inches of a panel, and how many stand beside each other."""
SHAPES = "osD^"
"""Of points, where colours return."""


def draw(outcome: Outcome, title: str, path: Path) -> Figure:
    """Draw the panels, each picture below them over the whole width, and save it all as a PNG."""
    count = len(outcome.panels)
    across = max(1, min(count, 2 if count == 4 else ACROSS))
    down = math.ceil(count / across)
    heights = [HEIGHT] * down
    heights += [WIDTH * across * p.pixels.shape[0] / p.pixels.shape[1] + 0.3 for p in outcome.pictures]
    figure = blank(WIDTH * across, sum(heights) + 0.4)
    grid = figure.add_gridspec(len(heights), across, height_ratios=heights)
    names = list(dict.fromkeys(line.name for panel in outcome.panels for line in panel.lines))
    named = []
    for i, panel in enumerate(outcome.panels):
        axes = figure.add_subplot(grid[i // across, i % across])
        named.append((axes, _draw(axes, panel, names)))
    for i, picture in enumerate(outcome.pictures, down):
        _show(figure.add_subplot(grid[i, :]), picture)
    figure.suptitle(title, fontsize=LARGE + 1, color=INK, x=0.01, ha="left", weight="bold")
    name_lines(figure, named)
    figure.savefig(path, dpi=90)
    return figure


def _draw(axes: Axes, panel: Panel, names: list[str]) -> list[Tag]:
    """Draw the lines and marks of a panel and return their labels; a line keeps its colour in all panels."""
    frame(axes, panel.x, panel.y, panel.log)
    tags = []
    for line in panel.lines:
        style, shape = line_style(names.index(line.name)), SHAPES[names.index(line.name) // len(PALETTE) % len(SHAPES)]
        if line.dashed:
            style["linestyle"] = (0, (4, 3))
        if line.marks:
            style["linestyle"] = "none"
        axes.plot(line.x, line.y, linewidth=1.6, marker=shape if line.marks or len(line.x) < 12 else "", ms=4, **style)
        if line.x:
            tags.append(Tag(line.name, style["color"], line.x[-1], line.y[-1]))
    tick_logs(axes)
    titled(axes, panel.title)
    return tags


def _show(axes: Axes, picture: Picture) -> None:
    axes.imshow(picture.pixels, cmap="gray" if picture.pixels.ndim == 2 else None, interpolation="nearest")
    axes.set_axis_off()
    axes.set_title(picture.title, loc="left", fontsize=SMALL, color=INK)
