"""Small pictures, one a learner: microseconds of a row against what grows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from growing.learners import AXES
from nystream.plot.style import INK, PALETTE, SMALL, blank, frame

__all__ = ["draw"]

ACROSS = 6
COLOURS = dict(zip(AXES, (PALETTE[6], PALETTE[0], PALETTE[1], PALETTE[2]), strict=True))
MARKERS = dict(zip(AXES, "x^os", strict=True))
HEADING = "Microseconds of a row against rows, columns, size and classes, one at a time"


def draw(results: dict[str, Any], path: Path) -> None:
    """Write the picture."""
    learners = results["learners"]
    down = math.ceil(len(learners) / ACROSS)
    figure = blank(2.0 * ACROSS + 0.4, 1.75 * down + 0.9)
    grid = figure.subplots(down, ACROSS, sharex=True, sharey=True, squeeze=False)
    for axes in grid.ravel()[len(learners) :]:
        axes.set_visible(False)
    for axes, (name, sweeps) in zip(grid.ravel(), learners.items(), strict=False):
        frame(axes, "", "", log="xy")
        axes.set_title(name, fontsize=SMALL, color=INK, loc="left", pad=3)
        for axis in AXES:
            points = sweeps[axis]["points"]
            axes.plot(
                [x for x, _ in points],
                [1e6 * seconds for _, seconds in points],
                color=COLOURS[axis],
                marker=MARKERS[axis],
                markersize=3,
                linewidth=1.2,
            )
        for ticks in (axes.xaxis, axes.yaxis):
            ticks.set_major_locator(LogLocator(numticks=7))
            ticks.set_minor_formatter(NullFormatter())
            ticks.set_major_formatter(FuncFormatter(_short))
            ticks.set_tick_params(labelsize=SMALL - 1.5)
    figure.suptitle(HEADING, fontsize=11, color=INK, x=0.01, ha="left", y=0.995)
    handles = [Line2D([], [], color=COLOURS[a], marker=MARKERS[a], markersize=4, label=a) for a in AXES]
    figure.legend(handles=handles, loc="upper right", ncols=len(AXES), frameon=False, fontsize=SMALL, borderaxespad=0.2)
    figure.tight_layout(rect=(0, 0, 1, 0.975), h_pad=0.5, w_pad=0.4)
    figure.savefig(path)


def _short(value: float, _: Any) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"
