"""The style of all charts: colours that colour-blind readers can distinguish, few lines, a light grid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
except ImportError as error:
    raise ImportError("nystream.plot needs matplotlib; install it with: pip install 'nystream[plot]'") from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "AXIS",
    "GRID",
    "INK",
    "LARGE",
    "PALETTE",
    "SMALL",
    "Figure",
    "blank",
    "finish",
    "frame",
    "line_style",
    "one_plot",
    "show_dates",
    "tick_logs",
    "titled",
]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#6B6B6B")
"""Okabe and Ito, Color universal design (2008): without yellow, which is hard to see on white; grey for black."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (7, 2, 1.5, 2)))
"""When the colours have been used, they come again with the next of these."""

INK = "#333333"
GRID = "#E3E3E3"
AXIS = "#999999"
"""The grey of axes, ticks and reference lines."""
SMALL, NORMAL, LARGE = 8.5, 9.5, 11.5
"""Font sizes in points."""
ROUND = (1, 2, 5, 10)
"""Ticks are multiples of these, times a power of ten."""
COUNTED = ("rows", "rows per second", "bytes", "regret", "stored points or features")
"""Axes whose numbers are written as 10k."""
DECADES = 2.5
"""Logarithmic axes shorter than this need more ticks than powers of ten."""


def blank(width: float, height: float) -> Figure:
    """Return a figure, its size in inches, that belongs to no window and to no global state."""
    figure = Figure(figsize=(width, height), dpi=150, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def one_plot(size: tuple[float, float], x: str, y: str) -> tuple[Figure, Axes]:
    """Return a figure of this size, and its only plot, with the names of its axes."""
    figure = blank(*size)
    axes = figure.add_subplot()
    frame(axes, x, y)
    return figure, axes


def finish(figure: Figure, axes: Axes, title: str | None) -> Figure:
    """Set the title, fit the layout to the figure, and return the figure."""
    titled(axes, title)
    figure.set_layout_engine("tight")
    return figure


def show_dates(axes: Axes) -> None:
    """Write the values of the horizontal axis as dates, as short as they can be."""
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def line_style(i: int) -> dict[str, Any]:
    """Return colour and dashes of line i. All pairs differ for 28 lines."""
    return {"color": PALETTE[i % len(PALETTE)], "linestyle": DASHES[i // len(PALETTE) % len(DASHES)]}


def frame(axes: Axes, x: str, y: str, log: str = "") -> None:
    """Set the names and scales of the axes and a light grid behind the lines, and remove the box."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(AXIS)
    for axis, name in ((axes.xaxis, x), (axes.yaxis, y)):
        axis.label.set(text=name, color=INK, fontsize=NORMAL)
        axis.set_tick_params(which="both", colors=INK, labelsize=SMALL, color=AXIS)
    axes.set_axisbelow(True)
    axes.grid(visible=True, color=GRID, linewidth=0.8)
    if "x" in log:
        axes.set_xscale("log")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=ROUND))
    if "y" in log:
        axes.set_yscale("log")
    else:
        axes.yaxis.set_major_locator(MaxNLocator(7, steps=ROUND))
    for axis, name in ((axes.xaxis, x), (axes.yaxis, y)):
        if name in COUNTED:
            axis.set_major_formatter(FuncFormatter(_count))


def tick_logs(axes: Axes) -> None:
    """Set ticks at 1, 2 and 5 in each decade of a logarithmic axis with few decades. Call it after setting limits."""
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() == "log" and math.log10(high / low) < DECADES:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(FuncFormatter(_count))
            axis.set_minor_formatter(NullFormatter())


def titled(axes: Axes, title: str | None) -> None:
    """Write a title above the left edge of the axes."""
    if title:
        axes.set_title(title, loc="left", fontsize=LARGE, color=INK, pad=10)


def _count(value: float, _: object = None) -> str:
    """Format a count: 10k rather than 10000."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"
