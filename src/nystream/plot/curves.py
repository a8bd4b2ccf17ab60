"""A metric over the stream, one line per learner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nystream.evaluate.comparison import Comparison
from nystream.evaluate.metrics.base import Direction, Metric
from nystream.evaluate.metrics.names import METRICS
from nystream.evaluate.result import Result
from nystream.plot.labels import Tag, at_ends
from nystream.plot.style import INK, SMALL, Figure, blank, frame, line_style, tick_logs, titled
from nystream.runtime.params import one_of
from nystream.runtime.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axis_name", "curves", "draw_lines", "name_lines", "of_predictions", "sane"]

NAMES = {
    "n": "rows",
    "mse": "mean squared error",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "r2": "R²",
    "auc": "area under the ROC curve",
    "logloss": "log loss",
    "f1": "F1",
    "kappa": "Cohen's kappa",
    "balanced_accuracy": "balanced accuracy",
    "crps": "continuous ranked probability score",
    "pinball": "pinball loss",
    "coverage": "share of labels inside 90 % intervals",
    "width": "mean width of 90 % intervals",
    "winkler": "interval score",
    "rows_per_second": "rows per second",
    "size": "stored points or features",
}
"""Axis labels of metrics whose name is not enough."""

EARLY = 0.1
"""The first readings are the worst: this share of them may leave the axis, if that at least halves its range."""
FAR, FAR_LOG = 20.0, 1e6
"""A learner whose last reading is this many times that of the median learner has diverged and leaves the axis."""


def curves(
    result: Result | Comparison | Iterable[Result],
    y: str = "mse",
    x: str = "n",
    *,
    windowed: int | None = None,
    log: str = "",
    title: str | None = None,
    size: tuple[float, float] = (7.2, 4.2),
) -> Figure:
    """Draw a metric over the rows (or over another column).

    Parameters
    ----------
    result : Result, Comparison, or several results
        Results of `prequential` or `compare`.
    y, x : str
        Columns; `x="seconds"` compares learners at equal time, if it was measured.
    windowed : int, optional
        Draw the metric over the last that many rows; it must have been measured, as "mse@1000" for `windowed=1000`.
    log : "", "x", "y" or "xy"
        Logarithmic axes.
    title : str, optional
        Above the plot.
    size : (width, height)
        In inches.

    Returns
    -------
    matplotlib.figure.Figure
        `savefig("mse.svg")` or `.png`, `.pdf`; it holds no global state and needs no closing.
    """
    results = _several(result)
    figure = blank(*size)
    axes = figure.add_subplot()
    tags = draw_lines(axes, results, y if windowed is None else f"{y}@{windowed}", x, log=log)
    titled(axes, title)
    name_lines(figure, [(axes, tags)])
    return figure


def draw_lines(axes: Axes, results: Sequence[Result], y: str, x: str = "n", *, log: str = "") -> list[Tag]:
    """Draw the lines of `curves` in given axes, and return their names. The position of a learner decides its colour,
    so panels agree.
    """
    one_of("log", log, ("", "x", "y", "xy", "yx"))
    lines = [_points(result, x, y, log) for result in results]
    if not any(len(ys) for _, ys in lines):
        raise ValueError(f"no learner has a value of {y!r} that can be drawn" + (" on a log axis" if log else ""))
    frame(axes, axis_name(x), axis_name(y), log)
    tags = []
    for i, (result, (xs, ys)) in enumerate(zip(results, lines, strict=True)):
        if len(ys):
            style = line_style(i)
            axes.plot(xs, ys, linewidth=1.6, label=result.name, marker="o" if len(ys) == 1 else None, ms=4, **style)
            tags.append(Tag(result.name, style["color"], float(xs[-1]), float(ys[-1])))
    axes.margins(x=0.0 if "x" in log else 0.01)
    drawn = [ys for _, ys in lines if len(ys)]
    better = results[0].directions.get(y, "lower")
    if "y" in log:
        axes.set_ylim(*np.exp(_range([np.log(ys) for ys in sane(drawn, FAR_LOG)], better)))
    else:
        axes.set_ylim(*_range(sane(drawn, FAR), better))
    tick_logs(axes)
    return tags


def name_lines(figure: Figure, panels: Sequence[tuple[Axes, list[Tag]]]) -> None:
    """Write names at the ends of the lines, or a legend if there are too many. Call it last, because it measures the
    layout.
    """
    figure.set_layout_engine("tight")
    figure.draw_without_rendering()
    for axes, tags in panels:
        if not at_ends(axes, tags):
            columns = -(-len(tags) // 18)
            axes.legend(
                loc="upper left",
                bbox_to_anchor=(1.02, 1.0),
                frameon=False,
                fontsize=SMALL,
                labelcolor=INK,
                ncols=columns,
                columnspacing=1.0,
            )


def axis_name(column: str) -> str:
    """Return the name of a column for an axis."""
    metric, at, window = column.partition("@")
    words = NAMES.get(metric, metric.replace("_", " "))
    return f"{words}, last {int(window):,} rows" if at else words


def of_predictions(column: str) -> bool:
    """Return whether a column is a metric of predictions, not a number that the learner reports (`weights[part]`,
    `size`).
    """
    kind = METRICS.get(column.partition("@")[0].partition("[")[0])
    return kind is None or issubclass(kind, Metric)


def sane(lines: list[Array], far: float = FAR) -> list[Array]:
    """Return the lines that have not diverged."""
    typical = float(np.median([abs(ys[-1]) for ys in lines]))
    return [ys for ys in lines if abs(ys[-1]) <= far * typical] if typical > 0 else lines


def _several(result: Result | Comparison | Iterable[Result]) -> list[Result]:
    results = [result] if isinstance(result, Result) else list(result)
    if not results or not all(isinstance(r, Result) for r in results):
        raise ValueError(f"a plot needs a Result, a Comparison or several results, got {result!r}")
    return results


def _points(result: Result, x: str, y: str, log: str) -> tuple[Array, Array]:
    """Return the readings that can be drawn."""
    for column in (x, y):
        if column not in result.columns:
            how = f"; evaluate with metrics=[{column!r}]" if "@" in column else ""
            has = ", ".join(result.columns)
            raise ValueError(f"{column!r} was not measured for {result.name}, which has {has}{how}")
    xs, ys = result[x], result[y]
    keep = np.isfinite(xs) & np.isfinite(ys)
    keep &= (xs > 0) | ("x" not in log)
    keep &= (ys > 0) | ("y" not in log)
    return xs[keep], ys[keep]


def _range(lines: list[Array], better: Direction) -> tuple[float, float]:
    """Return the range of the readings, a little widened; early bad ones that would fill it are left out."""
    later = [ys[int(EARLY * len(ys)) :] for ys in lines]
    low, high = min(ys.min() for ys in lines), max(ys.max() for ys in lines)
    bottom, top = min(ys.min() for ys in later), max(ys.max() for ys in later)
    if better == "lower" and high - low > 2 * (top - low):
        high = top
    elif better == "higher" and high - low > 2 * (high - bottom):
        low = bottom
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return float(low - room), float(high + room)
