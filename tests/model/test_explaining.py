"""A model explains itself in the words of its table: importance, reasons of rows, sentences; and the rows it keeps."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import PKRR, SILK, Auto, Encoded, Fourier, Gaussian, Model, Schema, Standardized
from nystream.auto.explain import LAST, recent_share
from nystream.auto.recipe import Recipe
from nystream.compose.novelty import default_novelty
from nystream.explain import ColumnImportance, Importance
from nystream.model.words import sentence

N = 400
rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "size": rng.normal(size=N),
        "brand": rng.choice(["ash", "birch", "cedar"], N),
        "when": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(10_000, size=N), "h"),
        "open": rng.random(N) < 0.5,
        "noise": rng.normal(size=N),
        "note": rng.choice(["good and cheap", "fair enough for me", "never again my friend"], N),
    }
)
LEVEL = TABLE["brand"].map({"ash": 0.0, "birch": 2.0, "cedar": -1.0}).to_numpy()
Y = 2 * TABLE["size"].to_numpy() + LEVEL + 0.1 * rng.normal(size=N)
CLASS = np.where(Y > 0.5, "dear", np.where(Y < -1, "cheap", "fair"))
NUMBERS = TABLE[["size", "noise"]].assign(level=LEVEL)
SMALL = Recipe(rebuilds=(1, 2, 5, 20, 50, 100, 200), landmarks=30, big=50, small=15, metric=100, ring=150, refresh=100)


def small_auto():
    return Auto(recipe=SMALL)


def ridge():
    return Standardized(PKRR(Fourier(Gaussian(2.0), 60, seed=0), lam=0.1))


def trained(what):
    """A model of every kind of task and rows, its rows, and what labels they have."""
    if what == "table":
        model, rows, y = Model(Encoded(small_auto(), experts=True)), TABLE, Y
    elif what == "table of classes":
        model, rows, y = Model(Encoded(small_auto(), experts=True)), TABLE, CLASS
    elif what == "numbers":
        model, rows, y = Model(small_auto()), NUMBERS, Y
    elif what == "any learner":
        model, rows, y = Model(ridge()), NUMBERS, Y
    elif what == "several targets":
        model, rows, y = Model(ridge()), NUMBERS, np.column_stack([Y, NUMBERS["level"]])
    elif what == "classes of margins":
        model, rows, y = Model(SILK(Gaussian(1.5), budget=60)), NUMBERS, np.where(Y > 0, "up", "down")
    else:
        model, rows, y = Model(default_novelty(3), Schema(list(NUMBERS), task="novelty")), NUMBERS, None
    model.run(rows, y)
    return model, rows


KINDS = (
    "table",
    "table of classes",
    "numbers",
    "any learner",
    "several targets",
    "classes of margins",
    "novelty",
)


# -- laws --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("what", KINDS)
def test_explaining_changes_nothing_and_says_the_same_twice(what):
    model, rows = trained(what)
    before = model.to_bytes()
    first = model.importance(), model.explain_row(rows.iloc[[3]]), model.explain()
    second = model.importance(), model.explain_row(rows.iloc[[3]]), model.explain()
    assert model.to_bytes() == before
    assert first == second
    again = nystream.from_bytes(before)
    assert (again.importance(), again.explain_row(rows.iloc[[3]])) == first[:2]
    assert {"importance", "explain_row", "explain"} <= model.abilities


@pytest.mark.parametrize("what", KINDS)
def test_reasons_of_every_row_sum_to_its_prediction_minus_the_mean_of_the_background(what):
    model, rows = trained(what)
    for reasons in model.explain_rows(rows.iloc[:4]):
        assert set(reasons) == set(rows.columns)
        assert_allclose(sum(reasons.values()), reasons.prediction - reasons.base, rtol=1e-10, atol=1e-12)
    found = model.explain_rows(rows.iloc[:4])
    if what == "table of classes":
        P = model.probabilities(rows.iloc[:4])
        assert_allclose([r.prediction for r in found], P.max(axis=1), rtol=1e-10)
        assert [r.of for r in found] == model.predict(rows.iloc[:4]).tolist()
        of = model.explain_row(rows.iloc[[0]], of="cheap")
        assert_allclose(of.prediction, P[0, model.classes.index("cheap")], rtol=1e-10)
    elif what == "classes of margins":
        assert [r.of for r in found] == model.predict(rows.iloc[:4]).tolist()
    else:
        P = model.predict(rows.iloc[:4])
        assert_allclose([r.prediction for r in found], P[:, 0] if P.ndim == 2 else P, rtol=1e-10)
    if what == "several targets":
        second = model.explain_row(rows.iloc[[0]], of=1)
        assert_allclose(second.prediction, P[0, 1], rtol=1e-10)
        assert max(second, key=lambda name: abs(second[name])) == "level"


@pytest.mark.parametrize("what", KINDS)
def test_shares_sum_to_one_in_the_order_of_the_increase(what):
    model, rows = trained(what)
    found = model.importance()
    assert set(found) == set(rows.columns)
    assert_allclose(sum(found.values()), 1.0)
    increases = [c.increase for c in found.columns]
    assert increases == sorted(increases, reverse=True)
    assert all(c.low <= c.increase <= c.high for c in found.columns)
    if what != "novelty":
        strong = {"size", "brand"} if "table" in what else {"size", "level"}
        assert set(list(found)[:2]) == strong
        assert all(c.low > 0 for c in found.columns[:2])
        assert found["noise"] < 0.1


def test_blocks_keep_the_rows_that_steps_keep():
    for rows, y, make in ((NUMBERS, Y, ridge), (TABLE, CLASS, lambda: Encoded(small_auto()))):
        schema = Schema.of(rows, y=y)
        models = [Model(make(), schema, keep=70) for _ in range(3)]
        models[0].run(rows, y)
        for i in range(0, N, 33):
            models[1].run(rows.iloc[i : i + 33], y[i : i + 33])
        for row, label in zip(rows.to_dict("records"), y.tolist(), strict=True):
            models[2].step(row, label)
        kept = [model.recent_ for model in models]
        for other in kept[1:]:
            assert nystream.to_bytes(kept[0]) == nystream.to_bytes(other)
        for name, values in kept[0].columns.items():
            assert_array_equal(values, rows[name].to_numpy()[-70:].astype(values.dtype))


# -- importance --------------------------------------------------------------------------------------------------------
def test_rows_of_ones_own_are_measured_on_without_being_learnt():
    model, _ = trained("numbers")
    fresh = pd.DataFrame({"size": rng.normal(size=300), "noise": rng.normal(size=300), "level": rng.normal(size=300)})
    before = model.to_bytes()
    found = model.importance(fresh, 2 * fresh["size"] + fresh["level"])
    assert found.rows == 300
    assert next(iter(found)) == "size"
    named = Model(small_auto())
    named.run(NUMBERS.assign(price=Y), "price")
    assert named.importance(NUMBERS.assign(price=Y)) == named.importance(NUMBERS, Y)
    with pytest.raises(ValueError, match="y is missing"):
        model.importance(fresh)
    assert model.to_bytes() == before


def test_the_learnt_metric_speaks_of_the_columns_of_the_table():
    for what in ("table", "numbers"):
        model, _ = trained(what)
        learnt = {c.column: c.learnt for c in model.importance().columns}
        assert_allclose(sum(learnt.values()), 1.0)
        assert learnt["size"] > 3 * learnt["noise"]
    other, _ = trained("any learner")
    assert all(np.isnan(c.learnt) for c in other.importance().columns)


def test_auto_alone_calls_columns_by_their_places():
    auto = small_auto()
    with pytest.raises(ValueError, match="seen no row yet, so there is nothing to explain"):
        auto.importance()
    with pytest.raises(ValueError, match="seen no row yet"):
        auto.explain_row([1.0, 2.0, 3.0])
    X = NUMBERS.to_numpy()
    auto.run(X, Y)
    before = auto.to_bytes()
    found = auto.importance()
    assert next(iter(found)) == "0"
    assert_allclose(sum(found.values()), 1.0)
    assert isinstance(found, Importance)
    reasons = auto.explain_row(X[0])
    assert_allclose(sum(reasons.values()), reasons.prediction - reasons.base, rtol=1e-10)
    assert_allclose(reasons.prediction, auto.predict(X[:1])[0], rtol=1e-12)
    assert auto.to_bytes() == before
    classes = small_auto().for_classes()
    classes.run(X, np.digitize(Y, [-1, 1]))
    assert classes.importance().unit == "squared error of probabilities"
    assert_allclose(classes.explain_row(X[0]).prediction, classes.probabilities(X[:1]).max(), rtol=1e-12)


def test_a_model_around_a_learner_that_holds_rows_uses_those():
    auto = small_auto()
    auto.run(NUMBERS.to_numpy(), Y)
    model = Model.around(auto, Schema(list(NUMBERS)))
    assert list(model.importance()) == ["size", "level", "noise"]
    assert "mostly size" in model.explain()


# -- words -------------------------------------------------------------------------------------------------------------
def importance_of(**shares):
    columns = [ColumnImportance(name, share, share, share - 0.01, share + 0.01) for name, share in shares.items()]
    return Importance(columns, "squared error", 1.0, 100, 0.9)


@pytest.mark.parametrize(
    ("shares", "recent", "alarms", "said"),
    [
        (
            {"dep_delay": 0.7, "carrier": 0.2, "origin": 0.1},
            0.2,
            [8120],
            "mostly dep_delay (70 percent) and carrier (20 percent); relies on the last 100 rows for 20 percent; "
            "one drift alarm at row 8,120",
        ),
        ({"a": 0.9, "b": 0.1}, None, [3, 1200], "mostly a (90 percent); two drift alarms at rows 3 and 1,200"),
        ({"a": 1.0}, 0.0, [], "mostly a (100 percent); relies on the last 100 rows for 0 percent"),
        (
            dict.fromkeys("abcdefgh", 0.125),
            None,
            [1, 2, 3, 4, 5],
            "above all a (12 percent), b (12 percent), c (12 percent) and d (12 percent); "
            "5 drift alarms, the first at rows 1, 2 and 3",
        ),
        ({"a": 0.005, "b": 0.0}, None, None, "no column is sure to matter on the last 100 rows"),
    ],
)
def test_sentences(shares, recent, alarms, said):
    assert sentence(importance_of(**shares), recent, alarms) == said


def test_a_model_says_first_what_matters_and_then_what_its_learner_says():
    model, _ = trained("table")
    first, rest = model.explain().split("\n", 1)
    assert first.startswith("mostly size (")
    assert "relies on the last 100 rows for" in first
    assert rest == model.inner.explain()
    other, _ = trained("any learner")
    assert other.explain().startswith("mostly size (")
    assert "\n" not in other.explain()


def test_recent_parts_are_those_that_know_the_last_hundred_rows():
    auto = Auto()
    auto.run(NUMBERS.to_numpy(), Y)
    weights = auto.weights()
    assert LAST in weights
    parts = ("forgets in about", "change", LAST)
    short = [name for name in weights if any(part in name for part in parts)]
    assert len(short) == 4
    assert_allclose(recent_share(auto), sum(weights[name] for name in short))


# -- partial dependence ------------------------------------------------------------------------------------------------
def test_partial_dependence_is_the_mean_prediction_with_one_value_everywhere():
    model, _ = trained("table")
    values, mean, each = model.partial_dependence("brand")
    assert sorted(values) == ["ash", "birch", "cedar"]
    assert each.shape == (N, 3)
    assert_allclose(mean, [model.predict(TABLE.assign(brand=value)).mean() for value in values], rtol=1e-10)
    values, mean, _ = model.partial_dependence("size", points=9)
    assert len(values) == 9
    assert (np.diff(mean) > 0).all()
    values, mean, _ = model.partial_dependence("when", points=5)
    assert values.dtype.kind == "M"
    classes, _ = trained("table of classes")
    _, mean, _ = classes.partial_dependence("size", "dear", points=5)
    assert mean[0] < 0.2 < 0.8 < mean[-1]
    with pytest.raises(ValueError, match="no column 'weight'; there are size, brand"):
        model.partial_dependence("weight")


# -- refusals ----------------------------------------------------------------------------------------------------------
def test_bad_questions_are_refused_in_one_line():
    model, rows = trained("table of classes")
    with pytest.raises(ValueError, match="of='gone' is no class; there are"):
        model.explain_row(rows.iloc[[0]], of="gone")
    with pytest.raises(ValueError, match="takes one row, got 2"):
        model.explain_row(rows.iloc[:2])
    numbers, _ = trained("any learner")
    with pytest.raises(ValueError, match="the model has one target"):
        numbers.explain_row(NUMBERS.iloc[[0]], of="y")
    with pytest.raises(ValueError, match="column 'size' is missing"):
        numbers.explain_row({"noise": 1.0, "level": 2.0})
    several, _ = trained("several targets")
    with pytest.raises(ValueError, match="is no target; there are 0 to 1"):
        several.explain_row(NUMBERS.iloc[[0]], of="price")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert set(numbers.explain_row({**NUMBERS.iloc[0].to_dict(), "more": 1})) == set(NUMBERS)


def test_one_row_is_a_dict_a_row_of_numbers_or_a_table():
    model, _ = trained("any learner")
    x = NUMBERS.iloc[7]
    asked = [model.explain_row(row) for row in (x.to_dict(), x.to_numpy(), NUMBERS.iloc[[7]])]
    assert asked[0] == asked[1] == asked[2]


def test_columns_with_missing_values_are_named():
    rows = NUMBERS.copy()
    rows.loc[::5, "noise"] = np.nan
    model = Model(small_auto())
    model.run(rows, Y)
    assert "values were missing in columns noise: they count as the mean" in model.explain()
