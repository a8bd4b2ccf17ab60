"""The ROC chart: one line per curve, its area in the legend, saved where asked."""

from __future__ import annotations

import numpy as np

from nystream.evaluate.metrics.roc import ROC
from nystream.plot.roc import roc_chart


def test_each_curve_is_a_line_with_its_area(tmp_path):
    positive = np.arange(400) % 2 == 0
    curves = {
        name: ROC().update(positive, positive * gain + np.sin(np.arange(400.0))) for name, gain in (("a", 1), ("b", 3))
    }
    figure = roc_chart(curves, tmp_path / "roc.png", title="both")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        f"{name}: area {roc.area:.4f}" for name, roc in curves.items()
    ]
    for line, roc in zip(axes.lines[1:], curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack(roc.curve()[:2]))
    assert axes.get_title("left") == "both"
    assert (tmp_path / "roc.png").stat().st_size > 5000
