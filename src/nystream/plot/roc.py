"""The ROC curve of a detector, with its area."""

from __future__ import annotations

import os
from collections.abc import Mapping

from nystream.evaluate.metrics.roc import ROC
from nystream.plot.style import INK, SMALL, Figure, blank, frame, line_style, titled

__all__ = ["roc_chart"]


def roc_chart(
    curves: Mapping[str, ROC], path: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> Figure:
    """Draw true positive rates against false positive rates. The legend gives the area of each curve.

    Parameters
    ----------
    curves : mapping of names to ROC
    path : path, optional
        Where to save it; .png, .svg or .pdf.
    title : str, optional
        Above the plot.
    """
    figure = blank(5.2, 4.6)
    axes = figure.add_subplot()
    frame(axes, "false positive rate", "true positive rate")
    axes.plot([0, 1], [0, 1], color="#BBBBBB", linewidth=1, linestyle=(0, (3, 3)))
    for i, (name, roc) in enumerate(curves.items()):
        false, true, _ = roc.curve()
        axes.plot(false, true, linewidth=1.8, label=f"{name}: area {roc.area:.4f}", **line_style(i))
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    axes.legend(loc="lower right", fontsize=SMALL, frameon=False, labelcolor=INK)
    titled(axes, title)
    figure.tight_layout()
    if path is not None:
        figure.savefig(path)
    return figure
