"""The plot of a record: its panels side by side, then its pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from nystream.plot.curves import name_lines
from nystream.plot.labels import Tag
from nystream.plot.style import INK, LARGE, SMALL, Figure, blank, frame, line_style, tick_logs, titled
from nystream.reproduce.outcome import Outcome, Panel, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

WIDTH, HEIGHT, ACROSS = 5.6, 3.6, 3
"""Inches of a panel, and how many stand beside each other."""


def draw(outcome: Outcome, title: str, path: Path) -> Figure:
    """Draw panels and pictures and save them as a PNG."""
    count = len(outcome.panels) + len(outcome.pictures)
    across = min(count, 2 if count == 4 else ACROSS)
    down = math.ceil(count / across)
    figure = blank(WIDTH * across, HEIGHT * down + 0.4)
    names = list(dict.fromkeys(line.name for panel in outcome.panels for line in panel.lines))
    named = []
    for i, panel in enumerate(outcome.panels):
        axes = figure.add_subplot(down, across, i + 1)
        named.append((axes, _draw(axes, panel, names)))
    for i, picture in enumerate(outcome.pictures, len(outcome.panels)):
        _show(figure.add_subplot(down, across, i + 1), picture)
    figure.suptitle(title, fontsize=LARGE + 1, color=INK, x=0.01, ha="left", weight="bold")
    name_lines(figure, named)
    figure.savefig(path, dpi=90)
    return figure


def _draw(axes: Axes, panel: Panel, names: list[str]) -> list[Tag]:
    """Lines and marks; a line keeps its colour in all panels."""
    frame(axes, panel.x, panel.y, panel.log)
    tags = []
    for line in panel.lines:
        style = line_style(names.index(line.name))
        if line.dashed:
            style["linestyle"] = (0, (4, 3))
        if line.marks:
            style["linestyle"] = "none"
        axes.plot(line.x, line.y, linewidth=1.6, marker="o" if line.marks or len(line.x) < 12 else "", ms=4, **style)
        if line.x:
            tags.append(Tag(line.name, style["color"], line.x[-1], line.y[-1]))
    tick_logs(axes)
    titled(axes, panel.title)
    return tags


def _show(axes: Axes, picture: Picture) -> None:
    axes.imshow(picture.pixels, cmap="gray" if picture.pixels.ndim == 2 else None, interpolation="nearest")
    axes.set_axis_off()
    axes.set_title(picture.title, loc="left", fontsize=SMALL, color=INK)
