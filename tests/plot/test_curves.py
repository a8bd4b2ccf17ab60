import itertools
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.text import Annotation, Text

from nystream.evaluate import Comparison, Result
from nystream.plot import curves, race_chart
from nystream.plot.style import PALETTE, line_style

NAMES = ["PKAWV", "FOGD", "KONS", "SketchedKONS", "NystromPKAWV", "NORMA", "RandomBudgetPerceptron"]


def raced(k=5, readings=40, **changes):
    """Results of k learners; the regret of every third is not known."""
    rng = np.random.default_rng(0)
    n = 100.0 * np.arange(1, readings + 1)
    results = []
    for i, name in zip(range(k), NAMES + [f"L{j}" for j in range(40)], strict=False):
        mse = 0.3 + 0.1 * i + 2.0 * np.exp(-n / 800) + 0.01 * rng.normal(size=readings)
        columns = {"n": n, "mse": mse, "mse@500": mse + 0.05 * rng.normal(size=readings)}
        columns["regret"] = np.full(readings, np.nan) if i % 3 == 2 else 10 * (i + 1) * np.log(n)
        columns["seconds"] = n * (i + 1) * 1e-5
        columns.update({key: change(columns[key], i) for key, change in changes.items()})
        directions = dict.fromkeys(columns, "lower")
        results.append(Result(name, "", columns, directions, {"rows": int(n[-1]), "seconds": 0.01 * (i + 1)}))
    return Comparison(results)


def drawn(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def names_of(figure):
    return {a.get_text(): a for axes in figure.axes for a in axes.texts if isinstance(a, Annotation)}


def boxes(axes):
    renderer = axes.figure.canvas.get_renderer()
    return [Text.get_window_extent(a, renderer) for a in axes.texts]  # without the line that leads to the name


def inside(box, figure):
    return box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1


def test_lines_show_the_columns_of_every_learner():
    comparison = raced()
    axes = curves(comparison, "mse").axes[0]
    lines = drawn(axes)
    assert list(lines) == comparison.names
    for result in comparison:
        np.testing.assert_array_equal(lines[result.name].get_xdata(), result["n"])
        np.testing.assert_array_equal(lines[result.name].get_ydata(), result["mse"])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("rows", "mean squared error")


def test_one_result_a_list_and_a_comparison_can_all_be_drawn():
    comparison = raced(3)
    for given, count in [(comparison, 3), (list(comparison), 3), (comparison["FOGD"], 1)]:
        assert len(curves(given).axes[0].get_lines()) == count


def test_learners_without_a_value_are_left_out_and_keep_the_colours_of_the_others():
    lines = drawn(curves(raced(5), "regret").axes[0])
    assert list(lines) == ["PKAWV", "FOGD", "SketchedKONS", "NystromPKAWV"]
    assert lines["SketchedKONS"].get_color() == line_style(3)["color"]


@pytest.mark.parametrize("k", [1, 5, 12])
def test_names_stand_at_the_ends_of_lines_without_overlap_and_inside_the_figure(k):
    figure = curves(raced(k), "mse", title="a title")
    figure.canvas.draw()
    axes = figure.axes[0]
    assert set(names_of(figure)) == set(drawn(axes))
    for a, b in itertools.combinations(boxes(axes), 2):
        assert a.y1 <= b.y0 + 1 or b.y1 <= a.y0 + 1
    for box in boxes(axes):
        assert box.x0 > axes.get_window_extent().x1
        assert inside(box, figure)


def test_too_many_names_become_a_legend():
    axes = curves(raced(40), "mse").axes[0]
    assert not axes.texts
    assert len(axes.get_legend().get_texts()) == 40


def test_a_learner_that_diverged_leaves_the_axis_and_its_name_says_so():
    figure = curves(raced(5, mse=lambda mse, i: mse * 1e9 if i == 4 else mse), "mse")
    assert figure.axes[0].get_ylim()[1] < 3.0
    assert "NystromPKAWV ↑" in names_of(figure)


def test_early_readings_leave_the_axis_only_where_they_would_fill_it():
    tall = curves(raced(3, mse=lambda mse, i: np.r_[100.0, mse[1:]]), "mse").axes[0].get_ylim()
    assert tall[1] < 3.0
    full = curves(raced(3), "mse").axes[0].get_ylim()
    assert full[1] > max(r["mse"].max() for r in raced(3))
    rising = curves(raced(2), "regret").axes[0].get_ylim()
    assert rising[0] < min(r["regret"].min() for r in raced(2))


def test_windows_and_other_abscissae_are_columns():
    axes = curves(raced(2), "mse", "seconds", windowed=500, log="xy").axes[0]
    assert axes.get_ylabel() == "mean squared error, last 500 rows"
    assert axes.get_xlabel() == "seconds"
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_are_of_the_kind_that_their_name_says_and_show_the_lines(kind, tmp_path):
    path = tmp_path / f"mse.{kind}"
    curves(raced(5), "mse").savefig(path)
    if kind == "png":
        pixels = imread(path)[..., :3]
        for color in PALETTE[:5]:
            target = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
            assert (np.abs(pixels - target).max(axis=2) < 0.02).sum() > 200
    elif kind == "svg":
        assert ET.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        assert all(color.lower() in path.read_text(encoding="utf-8") for color in PALETTE[:5])
    else:
        assert path.read_bytes().startswith(b"%PDF")


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match=r"'mae' was not measured for PKAWV, which has n, mse"):
        curves(raced(), "mae")
    with pytest.raises(ValueError, match=r"'mse@9' was not measured.*evaluate with metrics=\['mse@9'\]"):
        curves(raced(), "mse", windowed=9)
    with pytest.raises(ValueError, match="no learner has a value of 'regret'"):
        curves(raced()["KONS"], "regret")
    with pytest.raises(ValueError, match="that can be drawn on a log axis"):
        curves(raced(1, mse=lambda mse, i: -mse), "mse", log="y")
    with pytest.raises(ValueError, match="log must be one of"):
        curves(raced(), log="z")
    with pytest.raises(ValueError, match="a plot needs a Result"):
        curves([])


def test_no_global_state_is_touched(tmp_path):
    before = dict(mpl.rcParams)
    race_chart(raced(3), tmp_path / "race.png")
    assert dict(mpl.rcParams) == before
    check = "import sys, nystream.plot; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_without_matplotlib_the_message_names_the_extra():
    code = "import sys; sys.modules['matplotlib'] = None; import nystream.plot"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'nystream[plot]'" in done.stderr


class TestRaceChart:
    def test_it_has_a_panel_for_everything_measured(self, tmp_path):
        figure = race_chart(raced(6), tmp_path / "race.svg", title="demo")
        assert [axes.get_title(loc="left") for axes in figure.axes] == [
            "mean squared error so far (lower is better)",
            "mean squared error, last 500 rows (lower is better)",
            "regret so far (lower is better)",
            "mean squared error against speed",
        ]
        assert ET.parse(tmp_path / "race.svg").getroot().tag.endswith("svg")

    def test_without_regret_and_windows_two_panels_are_left(self):
        results = raced(2)
        for result in results:
            del result.columns["regret"], result.columns["mse@500"]
        assert len(race_chart(results).axes) == 2

    def test_the_last_panel_sets_the_error_against_the_speed(self):
        comparison = raced(4)
        points = [line.get_xydata()[0] for line in race_chart(comparison).axes[-1].get_lines()]
        assert [tuple(p) for p in points] == [(r.rows / r.seconds, r.final["mse"]) for r in comparison]

    def test_a_learner_that_diverged_is_a_triangle_at_the_top(self):
        comparison = raced(4, mse=lambda mse, i: mse * 1e9 if i == 1 else mse)
        figure = race_chart(comparison)
        points = figure.axes[-1].get_lines()
        assert [point.get_marker() for point in points] == ["o", "o", "o", "^"]
        assert points[-1].get_ydata()[0] == figure.axes[-1].get_ylim()[1] < 1.0
        assert "FOGD ↑" in [text.get_text() for text in figure.axes[-1].texts]

    @pytest.mark.parametrize("k", [2, 7])
    def test_no_names_overlap_and_none_is_cut(self, k):
        figure = race_chart(raced(k))
        figure.canvas.draw()
        for axes in figure.axes:
            assert len(boxes(axes)) == len(axes.get_lines())
            for a, b in itertools.combinations(boxes(axes), 2):
                inner = (min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0))
                assert min(inner) <= 1
            assert all(inside(box, figure) for box in boxes(axes))

    def test_a_race_without_a_metric_of_predictions_is_refused(self):
        columns = {"n": np.ones(1), "seconds": np.ones(1)}
        with pytest.raises(ValueError, match="a race is about predictions"):
            race_chart(Comparison([Result("a", "", columns, {}, {"rows": 1, "seconds": 1.0})]))
