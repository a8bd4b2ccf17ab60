import csv
import io

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream.evaluate import Comparison, Result, compare, prequential
from oracles.evaluate import Blocks, Linear, Ridge, regression_stream, sign_stream

METRICS = ["mse", "regret", "size"]


def two():
    return {"weak": Ridge(lam=100.0), "strong": Ridge(lam=0.1)}


def test_each_learner_fares_as_if_it_were_alone_though_the_stream_is_read_once():
    X, y = regression_stream(230)
    stream = Blocks(X, y)
    result = compare(stream, two(), METRICS, every=100)
    assert stream.given == 230
    for name, learner in two().items():
        alone = prequential((X, y), learner, METRICS, every=100)
        for column in alone.columns:
            assert_array_equal(result[name][column], alone[column])


def test_learners_are_trained_in_place():
    learners = two()
    compare(regression_stream(40), learners, "mse")
    assert [learner.n_seen for learner in learners.values()] == [40, 40]


def test_a_list_is_named_by_class_with_numbers_where_classes_repeat():
    result = compare(sign_stream(20), [Ridge(), Linear(), Ridge(lam=2.0)], ["accuracy"])
    assert result.names == ["Ridge 1", "Linear", "Ridge 2"]


class Parts(Ridge):
    """A learner whose parts have weights; one of them is there from row 20 on."""

    def weights(self):
        return {"old": 1.0} if self.n_seen < 20 else {"old": 0.25, "new": 0.75}


def test_weights_of_parts_are_columns_of_those_who_have_some_and_nobody_is_best_in_them():
    result = compare(regression_stream(30), {"parts": Parts(), "whole": Ridge()}, ["mse", "weights"], every=10)
    assert_array_equal(result["parts"]["weights[old]"], [1.0, 0.25, 0.25])
    assert_array_equal(result["parts"]["weights[new]"], [np.nan, 0.75, 0.75])
    assert result["whole"].metrics == ["mse"]
    assert result.best("weights[old]") is None
    assert result.best("mse") == "parts"  # the first of equals
    assert result.table().count("*") == 1
    again = Comparison.from_json(result.to_json())
    assert_array_equal(again["parts"]["weights[new]"], result["parts"]["weights[new]"])


def test_progress_is_told_of_every_learner_at_every_reading():
    told = []
    compare(regression_stream(25), two(), "mse", every=10, progress=lambda s: told.append((s.n, s.name)))
    assert told == [(n, name) for n in (10, 20, 25) for name in ("weak", "strong")]


def test_the_best_is_found_by_the_direction_of_the_metric():
    result = compare(sign_stream(200), {"a": Ridge(), "b": Linear(eta=0.0)}, ["accuracy", "mse", "regret"])
    assert result.best("accuracy") == result.best("mse") == "a"
    assert result.best("regret") == "a"  # the other does not know its regret
    assert np.isnan(result.final("regret")["b"])
    columns = {"n": np.ones(1), "mse": np.full(1, np.nan)}
    nowhere = Comparison([Result("x", "X()", columns, {"mse": "lower"}, {"rows": 1})])
    assert nowhere.best("mse") is None


def test_the_table_marks_the_best():
    def part(name, *values):
        columns = dict(zip(("n", "mse", "r2"), map(np.atleast_1d, (5.0, *values)), strict=True))
        return Result(name, "", columns, {"mse": "lower", "r2": "higher"}, {"rows": 5, "seconds": 1.0})

    parts = [part("a", 0.5, 0.25), part("long", 12.0, np.nan)]
    assert str(Comparison(parts)).splitlines() == [
        "learner     mse        r2",
        "-------  -------  --------",
        "a         0.500*  0.25000*",
        "long     12.000         -",
        "5 rows; * best",
    ]


def test_json_round_trip_keeps_all_results(tmp_path):
    result = compare(regression_stream(50), two(), [*METRICS, "r2@3"], every=20)
    result.save(tmp_path / "c.json")
    back = Comparison.from_json((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert str(back) == str(result)
    assert back.to_json() == result.to_json()
    with pytest.raises(ValueError, match="not a comparison"):
        Comparison.from_json("[]")


def test_csv_has_a_line_for_each_learner_and_reading(tmp_path):
    result = compare(regression_stream(50), two(), METRICS, every=20)
    result.save(tmp_path / "c.csv")
    lines = list(csv.DictReader(io.StringIO((tmp_path / "c.csv").read_text(encoding="utf-8"))))
    assert [(line["learner"], line["n"]) for line in lines] == [(a, n) for a in two() for n in ("20", "40", "50")]
    assert [float(line["mse"]) for line in lines[:3]] == result["weak"]["mse"].tolist()


def test_an_interruption_keeps_every_learner():
    class Stream:
        def blocks(self, size):
            X, y = regression_stream(30)
            yield X, y
            raise KeyboardInterrupt

    result = compare(Stream(), two(), "mse", every=20)
    assert result.interrupted
    assert [r["n"].tolist() for r in result] == [[20, 30], [20, 30]]
    assert "interrupted" in str(result)


def test_what_cannot_be_compared_is_refused():
    stream, learner = regression_stream(10), Ridge()
    with pytest.raises(ValueError, match="learners is empty"):
        compare(stream, {}, "mse")
    with pytest.raises(ValueError, match="one learner object occurs twice"):
        compare(stream, {"a": learner, "b": learner}, "mse")
    with pytest.raises(ValueError, match="b: logloss needs probabilities"):
        compare(sign_stream(10), {"a": Linear(), "b": Ridge()}, "logloss")
    with pytest.raises(ValueError, match="distinct names"):
        Comparison([])
    result = compare(stream, {"a": learner}, "mse")
    with pytest.raises(KeyError, match=r"no result .*; there are a"):
        result["b"]
    with pytest.raises(KeyError, match=r"mae.* was not measured"):
        result.final("mae")
