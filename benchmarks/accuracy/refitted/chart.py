"""Error over rows, one panel a stream: Auto, and each booster with or without lags, whichever erred less."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from nystream.plot.style import INK, PALETTE, SMALL, blank, frame, titled
from refitted.contestants import AUTO, BOOSTERS, LAGGED
from refitted.records import Record

__all__ = ["draw"]

ACROSS = 4
BLOCK = 500
HEADING = (
    f"Error in blocks of {BLOCK} rows (lower is better): Auto learns every row once; boosters are refitted on all rows "
    "so far, now and then"
)
LEGEND, HEAD = 0.45, 0.45
"""Inches below and above the panels."""
COLOURS = {AUTO: PALETTE[1], "LightGBM": PALETTE[0], "CatBoost": PALETTE[2], "HistGB": PALETTE[3]}
DASHED = (0, (4, 1.5))


def draw(every: dict[str, dict[str, Record]], path: Path) -> None:
    """Write the picture."""
    across = min(ACROSS, len(every))
    down = math.ceil(len(every) / across)
    figure = blank(3.1 * across, 2.2 * down + LEGEND + HEAD)
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes, (stream, records) in zip(grid, every.items(), strict=False):
        _panel(axes, stream, records)
    for axes in grid[len(every) :]:
        axes.set_visible(False)
    height = figure.get_figheight()
    figure.tight_layout(rect=(0, LEGEND / height, 1, 1 - HEAD / height), w_pad=0.8, h_pad=1.0)
    heading = textwrap.fill(HEADING, int(13 * figure.get_figwidth()))
    figure.text(0.015, 1 - 0.24 / height, heading, fontsize=SMALL + 1.5, color=INK, va="center")
    handles = [Line2D([], [], color=colour, linewidth=1.8 if name == AUTO else 1.2) for name, colour in COLOURS.items()]
    handles.append(Line2D([], [], color=INK, linestyle=DASHED, linewidth=1.2))
    figure.legend(
        handles,
        [*COLOURS, "with lags (better than without)"],
        loc="lower left",
        ncols=len(handles),
        frameon=False,
        fontsize=SMALL + 0.5,
        labelcolor=INK,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def shown(records: dict[str, Record]) -> list[str]:
    """Auto last, on top; of each booster the one with the least error among those that finished."""
    names = []
    for base in (name for name in BOOSTERS if not name.endswith(LAGGED)):
        done = [name for name in (base, base + LAGGED) if name in records and records[name].finished]
        names += [min(done, key=lambda name: records[name].error())] if done else []
    return [*names, *([AUTO] if AUTO in records else [])]


def _panel(axes: Axes, stream: str, records: dict[str, Record]) -> None:
    frame(axes, "rows", "")
    axes.xaxis.label.set_text("")
    highest = []
    for name in shown(records):
        record, ours = records[name], name == AUTO
        rows, errors = _blocks(record)
        axes.plot(
            rows,
            errors,
            color=COLOURS[name.removesuffix(LAGGED)],
            linestyle=DASHED if name.endswith(LAGGED) else "-",
            linewidth=1.8 if ours else 1.1,
            zorder=4 if ours else 3,
        )
        highest.append(np.sort(errors)[-2])  # the first block of a booster would decide the scale
    if highest:
        axes.set_ylim(0, 1.12 * max(highest))
    titled(axes, stream if next(iter(records.values())).classes else f"{stream}, RMSE / deviation")
    axes.title.set_fontsize(SMALL + 2)


def _blocks(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Rows at the middle of each block, and its error; the last block may be shorter."""
    starts = np.arange(0, len(record.answers), BLOCK)
    ends = np.minimum(starts + BLOCK, len(record.answers))
    errors = np.array([record.error(slice(a, b)) for a, b in zip(starts, ends, strict=True)])
    return (starts + ends) / 2, errors
