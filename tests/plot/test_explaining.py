"""Plots of importance and of the course of one column: what is drawn is what was measured."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import nystream
from nystream import PKRR, Encoded, Fourier, Gaussian, Model, Schema
from nystream.explain import ColumnImportance, Importance
from nystream.plot import importance_chart, importance_over_time, partial_dependence, report
from nystream.plot.weights import has_importance

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "x": rng.normal(size=150),
        "kind": rng.choice(["a", "b", None], 150),
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(150), "D"),
    }
)


def model(labels):
    found = Model(Encoded(PKRR(Fourier(Gaussian(3.0), 40, seed=0))), Schema.of(TABLE, y=labels))
    found.run(TABLE, labels)
    return found


def texts(axes):
    return [tick.get_text() for tick in axes.get_yticklabels()]


def test_bars_are_the_increases_and_lines_the_intervals(tmp_path):
    importance = model(TABLE["x"].to_numpy()).importance()
    figure = importance_chart(importance, title="what matters")
    axes = figure.axes[0]
    assert texts(axes) == [c.column for c in importance.columns]
    assert_allclose([bar.get_width() for bar in axes.patches], [c.increase for c in importance.columns])
    intervals = [line.get_xdata() for line in axes.get_lines()[: len(importance)]]
    assert_allclose(intervals, [[c.low, c.high] for c in importance.columns])
    assert "squared error" in axes.get_xlabel()
    for ending in ("svg", "png"):
        figure.savefig(tmp_path / f"bars.{ending}")
    assert ET.parse(tmp_path / "bars.svg").getroot().tag.endswith("svg")


def test_of_very_many_columns_the_first_are_drawn_and_the_others_counted():
    columns = [ColumnImportance(f"{'long name ' * 9}{j}", 0.025, 1.0 - j / 40, 0.0, 1.0) for j in range(40)]
    axes = importance_chart(Importance(columns, "error rate", 0.1, 100, 0.9)).axes[0]
    assert len(texts(axes)) == 25
    assert all(len(name) <= 40 for name in texts(axes))
    assert any("15 columns more" in note.get_text() for note in axes.texts)


def test_the_course_of_numbers_words_and_dates():
    numbers = model(2 * TABLE["x"].to_numpy())
    axes = partial_dependence(numbers, "x").axes[0]
    values, mean, _ = numbers.partial_dependence("x")
    assert_allclose(axes.get_lines()[-1].get_xydata(), np.column_stack([values, mean]))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "prediction")
    axes = partial_dependence(numbers, "kind").axes[0]
    assert sorted(texts(axes)) == ["a", "b", "missing"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("prediction", "kind")
    figure = partial_dependence(numbers, "when", title="over the year")
    figure.draw_without_rendering()
    assert figure.axes[0].get_xlabel() == "when"
    known = set(numbers.recent_.columns["when"].tolist())
    for line in figure.axes[0].get_lines():  # points at times of rows, and nothing between them
        assert line.get_linestyle() == "None"
        assert line.get_marker() == "o"
        assert set(np.asarray(line.get_xdata()).tolist()) <= known
    assert len(figure.axes[0].get_lines()[-1].get_xdata()) == min(len(known), 160)
    classes = model(np.where(TABLE["x"] > 0, "up", "down"))
    assert partial_dependence(classes, "x", "up").axes[0].get_ylabel() == "probability of up"
    assert partial_dependence(classes, "x").axes[0].get_ylabel() == f"probability of {classes.classes[-1]}"


def test_importance_over_time_is_a_stack_of_shares_and_stands_in_the_report():
    X = rng.normal(size=(200, 12))
    learner = Model(PKRR(Fourier(Gaussian(4.0), 60, seed=0)), Schema([f"c{j}" for j in range(12)], task="regression"))
    result = nystream.prequential((X, 3 * X[:, 4] + X[:, 7]), learner, ["mse", "importance"], every=50)
    assert has_importance(result)
    figure = importance_over_time(result)
    names = [a.get_text() for a in figure.axes[0].texts]
    assert len(names) == 8
    assert names[0].startswith("c4 ")
    assert any(name.startswith("5 others ") for name in names)
    page = report(result)
    assert "what the predictions of" in page
    assert "importance[c4]" not in page
    plain = nystream.prequential(
        (X, X[:, 4]), PKRR(Fourier(Gaussian(4.0), 20, seed=0)), ["mse", "importance"], every=50
    )
    assert not has_importance(plain)
    with pytest.raises(ValueError, match=r"no two readings of importance; evaluate with metrics=\['importance'"):
        importance_over_time(plain)
