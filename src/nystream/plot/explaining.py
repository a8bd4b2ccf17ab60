"""Charts of importance of columns with intervals, and of the predictions along one column."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter

from nystream.explain import Importance
from nystream.model import Model
from nystream.plot.style import AXIS, INK, PALETTE, SMALL, Figure, finish, one_plot, show_dates

__all__ = ["importance_chart", "partial_dependence"]

MOST = 25
"""Columns that are drawn."""
ROW = 0.27
"""Inches of height for each of them."""
LETTERS = 40
"""Of a name beside a bar."""
DATES = 160
"""Times at which predictions are drawn, all of them times of rows: enough to show the course of days and weeks."""
LINES = 40
"""Rows whose own course is drawn beside the mean."""


def importance_chart(
    importance: Importance, *, title: str | None = None, size: tuple[float, float] | None = None
) -> Figure:
    """Draw how much larger the error is without each column: a bar for each column, and a line for its interval.

    Parameters
    ----------
    importance : Importance
        What `Model.importance()` gave.
    title : str, optional
        Above the plot.
    size : (width, height), optional
        In inches; by default as high as the columns need.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.friedman(300, seed=0)
    >>> model = nystream.Model()
    >>> p = model.run(X, y)
    >>> figure = nystream.plot.importance_chart(model.importance())
    """
    shown = importance.columns[:MOST]
    size = size or (7.2, 1.1 + ROW * max(4, len(shown)))
    figure, axes = one_plot(size, f"increase of the {importance.unit}, as a share of the present one", "")
    places = np.arange(len(shown))[::-1]
    values = np.array([c.increase for c in shown])
    axes.barh(places, values, height=0.62, color=PALETTE[0], linewidth=0)
    for place, column in zip(places.tolist(), shown, strict=True):
        axes.plot([column.low, column.high], [place, place], color=INK, linewidth=1.2, solid_capstyle="butt")
    axes.axvline(0.0, color=AXIS, linewidth=0.8)
    axes.set_yticks(places, [_short(c.column) for c in shown])
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.margins(x=0.04)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0%}"))
    left = len(importance.columns) - len(shown)
    note = f"{importance.coverage:.0%} intervals; {importance.rows:,} rows" + (
        f"; {left:,} columns more" if left else ""
    )
    axes.annotate(
        note,
        (1, 0.02),
        xycoords="axes fraction",
        xytext=(-4, 2),
        textcoords="offset points",
        ha="right",
        fontsize=SMALL,
        color=AXIS,
    )
    return finish(figure, axes, title)


def partial_dependence(
    model: Model,
    column: str,
    of: Any = None,
    *,
    title: str | None = None,
    size: tuple[float, float] = (7.2, 4.2),
) -> Figure:
    """Draw the mean prediction over a model's last rows for each value of one column, and the predictions of some rows.

    Of classes it is the probability of `of`, by default the last class; see `Model.partial_dependence`. Times are drawn
    as points at times of rows, since nothing is known in between.

    Parameters
    ----------
    model : Model
    column : str
    of : class, or target of several, optional
    title : str, optional
        Above the plot.
    size : (width, height)
        In inches.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.friedman(300, seed=0)
    >>> model = nystream.Model()
    >>> p = model.run(X, y)
    >>> figure = nystream.plot.partial_dependence(model, "3")
    """
    dates = model.schema_ is not None and model.schema_.columns.get(column) == "time"
    values, mean, each = model.partial_dependence(column, of, **({"points": DATES} if dates else {}))
    what = model.classes[-1] if of is None and model.classes else of
    answer = "prediction" if what is None else f"probability of {what}" if model.classes else f"prediction of {what}"
    answer = answer if not model.classes or model.inner.can("probabilities") else f"score of {what}"
    figure, axes = one_plot(size, column, answer)
    some = np.linspace(0, len(each) - 1, min(LINES, len(each))).round().astype(np.intp)
    if values.dtype == object:
        order = np.argsort(-mean, kind="stable")
        places = np.arange(len(values))[::-1]
        axes.plot(each[some][:, order].T, places, "o", color="#BBBBBB", markersize=2.0, alpha=0.5)
        axes.plot(mean[order], places, "o", color=PALETTE[0], markersize=6)
        axes.set_yticks(places, [_short("missing" if v is None else str(v)) for v in values[order]])
        axes.xaxis.label.set_text(axes.get_ylabel())
        axes.yaxis.label.set_text(column)
        axes.set_ylim(-0.7, len(values) - 0.3)
    elif values.dtype.kind == "M":  # points: between two times of rows the hour and the weekday are other ones
        axes.plot(values, each[some].T, "o", color="#BBBBBB", markersize=1.5, alpha=0.3, markeredgewidth=0)
        axes.plot(values, mean, "o", color=PALETTE[0], markersize=3.5, markeredgewidth=0)
        show_dates(axes)
        axes.set_xlabel(column)  # dates had taken its place
    else:
        x = values.astype(np.float64)
        axes.plot(x, each[some].T, color="#BBBBBB", linewidth=0.6, alpha=0.5)
        axes.plot(x, mean, color=PALETTE[0], linewidth=2.2)
    return finish(figure, axes, title)


def _short(name: str) -> str:
    return name if len(name) <= LETTERS else name[: LETTERS - 1] + "…"
