"""The chart of what a learner made of parts relies on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream.evaluate.result import Result

pytest.importorskip("matplotlib")
from nystream.plot import report, weights_chart

META = {"rows": 40, "seconds": 0.1}


def result(parts, n=(10, 20, 40)):
    columns = {"n": np.array(n), "mse": np.linspace(1.0, 0.5, len(n))}
    columns |= {f"weights[{name}]": np.array(values) for name, values in parts.items()}
    return Result("mixed", "Mixed()", columns, {"mse": "lower"}, META)


def bands(figure):
    """Heights of the areas at the last reading, from below."""
    heights = []
    for area in figure.axes[0].collections:
        points = area.get_paths()[0].vertices
        last = points[points[:, 0] == points[:, 0].max(), 1]
        heights.append((last.min(), last.max()))
    return heights


def test_areas_are_the_sizes_of_the_weights_as_shares_and_fill_the_axes():
    figure = weights_chart(result({"a": [1.0, 2.0, 1.0], "b": [1.0, -2.0, -3.0], "c": [np.nan, 0.0, 4.0]}))
    assert_allclose(bands(figure), [(0.0, 0.125), (0.125, 0.5), (0.5, 1.0)])
    assert figure.axes[0].get_ylim() == (0.0, 1.0)
    assert figure.axes[0].get_xlim() == (10.0, 40.0)
    names = [text.get_text() for text in figure.axes[0].texts]
    assert names == ["a 12%", "b 38%", "c 50%"]


def test_neighbours_never_look_alike_however_many_parts_there_are():
    figure = weights_chart(result({str(i): [1.0, 1.0, 1.0] for i in range(14)}))
    colours = [tuple(area.get_facecolor()[0]) for area in figure.axes[0].collections]
    assert len(set(colours)) == 14


def test_a_page_has_the_chart_and_its_tables_do_not_repeat_it():
    plain, mixed = report(result({})), report(result({"a": [1.0, 0.5, 0.1], "b": [0.0, 0.5, 0.9]}))
    assert mixed.count("<svg") == plain.count("<svg") + 1
    assert "what mixed relies on" in mixed
    assert "weights[" not in mixed


def test_explanations_of_several_lines_keep_them_on_the_page():
    text = report(result({}), about={"mixed at the end": "a  1\nb <2>", "source": "one line"})
    assert '<td class="words lines">a  1\nb &lt;2&gt;</td>' in text
    assert '<td class="words">one line</td>' in text


@pytest.mark.parametrize("parts", [{}, {"a": [1.0, 1.0, 1.0]}])
def test_without_two_parts_there_is_nothing_to_draw(parts):
    with pytest.raises(ValueError, match="mixed has no two readings of weights"):
        weights_chart(result(parts))
    with pytest.raises(ValueError, match="no two readings"):
        weights_chart(result({"a": [0.5], "b": [0.5]}, n=(40,)))
