"""Place names without overlaps: at the ends of lines, or around points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nystream.plot.style import SMALL
from nystream.runtime.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

__all__ = ["Tag", "around", "at_ends", "spread"]

GAP = 14.0
"""Pixels (at 72 dpi) between the end of the axes and the names."""
ROOM = 1.25
"""Height of a line of text over its font size."""


LEADER = {"arrowstyle": "-", "linewidth": 0.7, "alpha": 0.6, "shrinkA": 2, "shrinkB": 1, "relpos": (0.0, 0.5)}
"""The thin line from the end of the axes to the left of a name."""

PLACES = (
    *((8, 0), (-8, 0), (0, 9), (0, -9)),
    *((7, 8), (7, -8), (-7, 8), (-7, -8)),
    *((8, 17), (8, -17), (-8, 17), (-8, -17)),
)
"""Where a name may stand around its point, in points, best first."""


class Tag(NamedTuple):
    """A name, its colour, and the point in data coordinates that it belongs to."""

    text: str
    color: str
    x: float
    y: float


def at_ends(axes: Axes, tags: Sequence[Tag]) -> bool:
    """Write the names to the right of the axes, each at the height of its point or as near as there is room.

    False, and nothing written, if there is not enough height for all of them.
    """
    if not tags:
        return True
    figure = axes.figure
    low, high = axes.get_window_extent().y0, axes.get_window_extent().y1
    step = SMALL * ROOM * figure.dpi / 72
    if step * len(tags) > high - low + step:
        return False
    wanted = axes.transData.transform([(tag.x, tag.y) for tag in tags])[:, 1]
    placed = spread(np.clip(wanted, low, high), step, low - step / 2, high + step / 2)
    for tag, height, y in zip(tags, wanted, placed, strict=True):
        lost = " ↑" if height > high + 1 else " ↓" if height < low - 1 else ""
        start = axes.transData.inverted().transform((0.0, np.clip(height, low, high)))[1]
        axes.annotate(
            tag.text + lost,
            xy=(1.0, start),
            xycoords=axes.get_yaxis_transform(),
            xytext=(GAP, (y - np.clip(height, low, high)) * 72 / figure.dpi),
            textcoords="offset points",
            color=tag.color,
            fontsize=SMALL,
            va="center",
            annotation_clip=False,
            arrowprops={**LEADER, "color": tag.color},
        )
    return True


def spread(wanted: Array, step: float, low: float, high: float) -> Array:
    """Return heights at least `step` apart and inside [low + step/2, high - step/2], as near as possible to the wanted
    ones (least squares).

    With z_i = height of the i-th from below minus i * step, the heights must not decrease in z: isotonic regression,
    by pooling neighbours that violate it, and clipping to the range that is left.
    """
    order = np.argsort(wanted, kind="stable")
    z = wanted[order] - step * np.arange(len(wanted))
    pools: list[tuple[float, int]] = []  # mean and number of members
    for value in z:
        mean, count = float(value), 1
        while pools and pools[-1][0] >= mean:
            last, members = pools.pop()
            mean, count = (mean * count + last * members) / (count + members), count + members
        pools.append((mean, count))
    fitted = np.repeat([mean for mean, _ in pools], [count for _, count in pools])
    top = high - step / 2 - step * (len(wanted) - 1)
    placed = np.empty(len(wanted))
    placed[order] = np.clip(fitted, low + step / 2, max(top, low + step / 2)) + step * np.arange(len(wanted))
    return placed


def around(axes: Axes, tags: Sequence[Tag]) -> None:
    """Write each name beside its point, where it covers no point and no other name if such a place exists."""
    points = axes.transData.transform([(tag.x, tag.y) for tag in tags]) if tags else np.zeros((0, 2))
    taken: list[Bbox] = []
    limits = axes.get_window_extent()
    for tag in sorted(tags, key=lambda t: -t.y):
        best, fewest = None, np.inf
        for dx, dy in PLACES:
            text = axes.annotate(
                tag.text,
                xy=(tag.x, tag.y),
                xytext=(dx, dy),
                textcoords="offset points",
                ha="left" if dx > 0 else "right" if dx < 0 else "center",
                va="center" if abs(dy) < 9 else "bottom" if dy > 0 else "top",
                color=tag.color,
                fontsize=SMALL,
            )
            box = text.get_window_extent()
            outside = box.x0 < limits.x0 or box.x1 > limits.x1 + 20 or box.y0 < limits.y0 or box.y1 > limits.y1 + 10
            clashes = sum(box.overlaps(b) for b in taken) + int(box.padded(3).count_contains(points)) + 2 * outside
            if clashes < fewest:
                if best is not None:
                    best.remove()
                best, fewest = text, clashes
            else:
                text.remove()
            if fewest == 0:
                break
        if best is not None:
            taken.append(best.get_window_extent())
