"""The outcome as a picture: error against rows per second, one panel a stream."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from nystream.plot.style import INK, SMALL, blank, frame, titled
from peers.contestants import AUTO, CONTESTANTS
from peers.tables import number

__all__ = ["draw"]

COLOURS = {
    "nystream": "#D55E00",
    "river": "#009E73",
    "scikit-learn": "#0072B2",
    "Vowpal Wabbit": "#B0569A",
    "CapyMOA": "#8C6D1F",
    "baseline": "#6B6B6B",
}
MARKERS = {
    AUTO: "*",
    "NystromPKAWV": "o",
    "FOGD": "s",
    "NOLANA": "^",
    "SILK": "D",
    "ARF": "o",
    "HAT": "s",
    "MOA ARF": "o",
    "KNN": "^",
    "Nystroem + SGD": "o",
    "RBFSampler + SGD": "s",
    "VW -q ::": "o",
    "VW -q :: --coin": "s",
    "VW --ksvm": "^",
    "linear ridge": "X",
}
LINE = "no change"
"""Drawn as a line: how fast a label is repeated says nothing."""
HEADING = "Error (lower is better) against rows per second (further right is better), one pass, one thread, defaults"
ACROSS = 5
LEGEND, HEAD = 1.2, 0.4
"""Inches below and above the panels."""
ROOM = 1.25
"""Factor between the outermost points and the frame."""


def draw(results: dict[str, Any], path: Path) -> None:
    """Write the picture."""
    streams = results["streams"]
    across = min(ACROSS, len(streams))
    down = math.ceil(len(streams) / across)
    figure = blank(2.75 * across + 0.3, 2.6 * down + LEGEND + HEAD)
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes, (name, stream) in zip(grid, streams.items(), strict=False):
        _panel(axes, name, stream)
    for axes in grid[len(streams) :]:
        axes.set_visible(False)
    for axes in grid[: len(streams) : across]:
        axes.set_ylabel("error", fontsize=SMALL + 1)
    for axes in grid[max(len(streams) - across, 0) : len(streams)]:
        axes.set_xlabel("rows per second", fontsize=SMALL + 1)
    height = figure.get_figheight()
    figure.tight_layout(rect=(0, LEGEND / height, 1, 1 - HEAD / height), w_pad=0.8, h_pad=1.0)
    figure.text(0.02, 1 - 0.24 / height, HEADING, fontsize=SMALL + 1.5, color=INK, va="center")
    _legend(figure, results["limit"])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _panel(axes: Axes, name: str, stream: dict[str, Any]) -> None:
    found = {one: values for one, values in stream["found"].items() if one != LINE}
    errors = [value for one in found.values() for value in (one["error"], one["Auto, same rows"])]
    rates = [one["rows/s"] for one in found.values()]
    frame(axes, "", "", log="xy")
    axes.set_xlim(min(rates) / 2, max(rates) * 2)
    axes.set_ylim(min(errors) / ROOM, max(errors) * ROOM)
    if LINE in stream["found"] and stream["found"][LINE]["error"] < max(errors) * ROOM:
        axes.axhline(stream["found"][LINE]["error"], color=COLOURS["baseline"], linestyle=(0, (1.5, 2)), linewidth=1)
    for contestant, one in reversed(found.items()):  # ours last, on top
        cut = one["rows"] < stream["rows"]
        if cut:
            x, y, ours = one["rows/s"], one["error"], one["Auto, same rows"]
            axes.plot([x, x], [y, ours], color="#BBBBBB", linewidth=0.9, zorder=1)
            axes.plot(x, ours, marker="*", ms=6, mfc="white", mec=COLOURS["nystream"], mew=0.8, zorder=2)
        axes.plot(one["rows/s"], one["error"], linestyle="", **_style(contestant, cut))
    auto = found[AUTO]
    axes.annotate(
        AUTO,
        (auto["rows/s"], auto["error"]),
        (8, -3),
        textcoords="offset points",
        fontsize=SMALL,
        fontweight="bold",
        color=COLOURS["nystream"],
        zorder=6,
    )
    spread = max(errors) / min(errors)
    axes.yaxis.set_major_locator(
        LogLocator(subs=(1, 2, 5) if spread > 6 else (1, 2, 3, 5) if spread > 2 else range(1, 10))
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value).rstrip("0").removesuffix(".")))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(_thousands))
    unit = "" if stream["classes"] else ", RMSE"
    titled(axes, f"{name}{unit}")
    axes.title.set_fontsize(SMALL + 2)
    axes.text(
        1.0,
        1.03,
        f"{stream['rows']:,} x {stream['columns']}",
        transform=axes.transAxes,
        ha="right",
        fontsize=SMALL - 1,
        color="#777777",
    )


def _style(contestant: str, cut: bool = False) -> dict[str, Any]:
    colour = COLOURS[CONTESTANTS[contestant].family]
    auto = contestant == AUTO
    return {
        "marker": MARKERS[contestant],
        "markersize": 16 if auto else 6.5,
        "markerfacecolor": "white" if cut else colour,
        "markeredgecolor": "white" if not cut else colour,
        "markeredgewidth": 1.2 if cut else 0.7,
        "zorder": 5 if auto else 3,
    }


def _legend(figure: Any, limit: float) -> None:
    """A column a family, and how to read what was cut."""
    blankness = {"linestyle": "", "marker": ""}
    columns: list[list[tuple[Line2D, str]]] = []
    for family in COLOURS:
        entries = [(Line2D([], [], **blankness), family)]
        for name, one in CONTESTANTS.items():
            if one.family == family and name != LINE:
                entries.append(
                    (Line2D([], [], linestyle="", **(_style(name) | {"markersize": 9 if name == AUTO else 6})), name)
                )
        columns.append(entries)
    dotted = Line2D([], [], color=COLOURS["baseline"], linestyle=(0, (1.5, 2)), linewidth=1)
    columns[-1].append((dotted, LINE))
    hollow = Line2D([], [], linestyle="", marker="o", ms=6, mfc="white", mec=INK, mew=1.2)
    star = Line2D([], [], linestyle="", marker="*", ms=7, mfc="white", mec=COLOURS["nystream"], mew=0.8)
    columns.append(
        [
            (Line2D([], [], **blankness), f"hollow: cut after {limit:g} s"),
            (hollow, "error on the rows it learnt"),
            (star, "Auto on the same rows"),
        ]
    )
    places = (0.02, 0.15, 0.25, 0.42, 0.57, 0.69, 0.81)
    for x, entries in zip(places, columns, strict=True):
        handles, labels = zip(*entries, strict=True)
        legend = figure.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(x, LEGEND / figure.get_figheight()),
            frameon=False,
            fontsize=SMALL,
            labelcolor=INK,
            handletextpad=0.4,
            labelspacing=0.3,
            borderaxespad=0.2,
        )
        legend.get_texts()[0].set_fontweight("bold")
        legend.get_texts()[0].set_x(-22)
        figure.add_artist(legend)


def _thousands(value: float, _: object = None) -> str:
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"
