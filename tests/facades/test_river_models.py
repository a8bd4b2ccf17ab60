"""The river facade around its model: refused rows, saved, several targets, class weights, strings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from facade_learners import LEAST_SQUARES, REGRESSORS, blobs, regression
from numpy.testing import assert_allclose

import nystream
from nystream.auto.recipe import Recipe
from nystream.river import KernelClassifier, KernelRegressor

NAMES = ["u", "v", "w"]
SMALL = nystream.Auto(
    recipe=Recipe((1, 2, 5, 14, 40, 100, 200), landmarks=20, big=30, small=6, ring=40, refresh=50, window=15)
)


def dicts(X, names=NAMES):
    return [dict(zip(names, row, strict=True)) for row in X.tolist()]


def probabilities(model, rows):
    return np.array([list(model.predict_proba_one(x).values()) for x in rows])


@pytest.mark.parametrize("make", [KernelRegressor, KernelClassifier])
def test_a_row_that_is_refused_leaves_no_column_behind(make):
    model = make(nystream.ONS(clip=2.0))
    with pytest.raises(ValueError, match="does not take weights"):
        model.learn_one({"a": 1.0}, 1.0, w=2.0)
    with pytest.raises(ValueError, match="does not take weights"):
        model.learn_many(pd.DataFrame({"b": [1.0]}), pd.Series([1.0]), w=2.0)
    with pytest.raises(ValueError, match="weights must be"):
        model.learn_one({"c": 1.0}, 1.0, w=-1.0)
    with pytest.raises(ValueError, match="missing"):
        model.learn_one({"d": 1.0}, float("nan"))
    assert model._columns.places == {}


# -- what a model inside gives -------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:rows lack columns of the model")
def test_a_saved_estimator_goes_on_where_it_stopped(tmp_path):
    X, y = regression(160)
    labels = np.where(y > 0, "up", "down").tolist()
    for make, targets in ((KernelRegressor, y.tolist()), (KernelClassifier, labels)):
        model = make()
        for x, target in zip(dicts(X[:100]), targets, strict=False):
            model.learn_one(x, target)
        model.save(tmp_path / "m.nys")
        twin = make.load(tmp_path / "m.nys")
        for x, target in zip(dicts(X[100:]), targets[100:], strict=True):
            assert twin.predict_one(x) == model.predict_one(x)
            twin.learn_one({**x, "late": 1.0}, target)
            model.learn_one({**x, "late": 1.0}, target)
        assert twin.predict_one(dicts(X)[0]) == model.predict_one(dicts(X)[0])
        model.save(tmp_path / "m.nys")
        table = nystream.load(tmp_path / "m.nys")
        assert table.schema_.names == [*NAMES, "late"]
        assert table.predict(dicts(X)[:1], ahead=1)[0] == model.predict_one(dicts(X)[0])
    with pytest.raises(ValueError, match="holds a model of classification; KernelRegressor is for regression"):
        KernelRegressor.load(tmp_path / "m.nys")
    with pytest.raises(ValueError, match="nothing to save"):
        KernelRegressor().save(tmp_path / "m.nys")


def test_several_targets_are_a_dict_that_comes_back(tmp_path):
    X, y = regression()
    model, alone = KernelRegressor(REGRESSORS["PKRR"]()), KernelRegressor(REGRESSORS["PKRR"]())
    for t, (x, target) in enumerate(zip(dicts(X), y.tolist(), strict=True)):
        both = {"load": target, "half": target / 2}
        model.learn_one(x, both if t % 2 else dict(reversed(both.items())))
        alone.learn_one(x, target)
    p = model.predict_one(dicts(X)[0])
    assert p == {"half": pytest.approx(p["load"] / 2), "load": pytest.approx(alone.predict_one(dicts(X)[0]))}
    frame = pd.DataFrame(X, columns=NAMES)
    assert list(model.predict_many(frame).columns) == list(p)
    many = KernelRegressor(REGRESSORS["PKRR"]())
    many.learn_many(frame, pd.DataFrame({"half": y / 2, "load": y}))
    assert_allclose(many.predict_many(frame), model.predict_many(frame), rtol=1e-8, atol=1e-10)
    for bad in (1.0, {"load": 1.0}, {"load": 1.0, "third": 2.0}):
        with pytest.raises(ValueError, match="y is not what it was before: half, load"):
            model.learn_one(dicts(X)[0], bad)
    with pytest.raises(ValueError, match="one number"):
        alone.learn_one(dicts(X)[0], {"load": 1.0})
    model.save(tmp_path / "m.nys")
    assert KernelRegressor.load(tmp_path / "m.nys").predict_one(dicts(X)[0]) == p


def test_class_weights_count_as_weights_of_rows():
    X, y = blobs()
    rows = dicts(X, NAMES[:2])
    weights = {"ash": 3.0, "birch": 1.0, "cedar": 0.5}
    by_class = KernelClassifier(LEAST_SQUARES["PKRR"](), class_weight=weights)
    by_row = KernelClassifier(LEAST_SQUARES["PKRR"]())
    for x, label in zip(rows, y.tolist(), strict=True):
        by_class.learn_one(x, label)
        by_row.learn_one(x, label, w=weights[label])
    assert_allclose(probabilities(by_class, rows), probabilities(by_row, rows), rtol=1e-9, atol=1e-12)
    assert by_class.clone().class_weight == weights


def test_strings_in_the_first_row_are_categories_to_the_default_learner(tmp_path):
    rng = np.random.default_rng(0)
    sizes, shops = rng.normal(size=200).tolist(), rng.choice(["a", "b"], 200).tolist()
    rows = [{"size": size, "shop": shop} for size, shop in zip(sizes, shops, strict=True)]
    y = [x["size"] + 5 * (x["shop"] == "b") for x in rows]
    model, many = KernelRegressor(), KernelRegressor()
    errors = []
    for x, target in zip(rows, y, strict=True):
        errors.append(abs(model.predict_one(x) - target))
        model.learn_one(x, target)
    assert np.mean(errors[100:]) < 0.3
    assert model.predict_one({"shop": "never seen"}) == pytest.approx(np.mean(y), abs=3.0)
    many.learn_many(pd.DataFrame(rows), pd.Series(y))
    assert_allclose(many.predict_many(pd.DataFrame(rows)), [model.predict_one(x) for x in rows], rtol=1e-7)
    model.save(tmp_path / "m.nys")
    assert KernelRegressor.load(tmp_path / "m.nys").predict_one(rows[0]) == model.predict_one(rows[0])
    classifier = KernelClassifier()
    for x, target in zip(rows, y, strict=True):
        classifier.learn_one(x, "high" if target > 2 else "low")
    assert sum(classifier.predict_one(x) == ("high" if t > 2 else "low") for x, t in zip(rows, y, strict=True)) > 180
    with pytest.raises(ValueError, match="column 'shop' is of kind 'category'"):
        KernelRegressor(REGRESSORS["PKRR"]()).learn_one(rows[0], y[0])


# -- features of every kind come and go ----------------------------------------------------------------------------
LATE = {
    "number": lambda t: [1.5, 4.0][t % 2],
    "boolean": lambda t: bool(t % 2),
    "category": lambda t: ["red", "blue"][t % 2],
    "time": lambda t: f"2024-01-{1 + t % 2:02d} {10 + t % 2}:30",
    "text": lambda t: f"the {['sea', 'storm'][t % 2]} is near the {t % 7} houses of {t} people",
}
FIRST = {
    "numbers": lambda rng: {"size": float(rng.normal())},
    "a category": lambda rng: {"size": float(rng.normal()), "shop": str(rng.choice(["a", "b"]))},
}


@pytest.mark.parametrize("begun", [60, 1200], ids=["while kinds may change", "after kinds are final"])
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("kind", LATE)
def test_a_feature_of_any_kind_appears_late_is_learnt_and_vanishes(kind, first, begun, tmp_path):
    rng = np.random.default_rng(1)
    model = KernelRegressor(SMALL)
    for _ in range(begun):
        x = FIRST[first](rng)
        model.learn_one(x, x["size"])
    before = model.predict_one({"size": 0.5})
    errors = []
    for t in range(300):
        x = {**FIRST[first](rng), "late": LATE[kind](t)}
        target = x["size"] + 8.0 * (t % 2)
        errors.append(abs(model.predict_one(x) - target))
        model.learn_one(x, target)
        if t == 100:
            model.save(tmp_path / "m.nys")
            model = KernelRegressor.load(tmp_path / "m.nys")
    assert np.mean(errors[-100:]) < 2.0  # 4 without the feature
    numbers = first == "numbers" and kind == "boolean"  # rows of numbers alone are kept as numbers
    assert model._model.schema_.columns["late"] == ("number" if numbers else kind)
    gone = model.predict_one({"size": 0.5})  # without it again
    assert np.isfinite(gone)
    assert gone != before
    frame = pd.DataFrame([{**FIRST[first](rng), "late": LATE[kind](t)} for t in range(6)])
    one = [model.predict_one(row) for row in frame.to_dict("records")]
    assert_allclose(model.predict_many(frame), one, rtol=1e-9, atol=1e-9)


def test_a_string_among_digits_makes_a_category_in_the_river_facade_too():
    rows = [{"zip": zip_code, "u": float(t % 3)} for t, zip_code in enumerate(["12345", "23456"] * 15 + ["AB1"] * 3)]
    y = [5.0 * (x["zip"] == "AB1") + x["u"] for x in rows]
    model, told = KernelRegressor(SMALL), nystream.Model(SMALL, nystream.Schema({"zip": "category", "u": "number"}))
    for x, target in zip(rows, y, strict=True):
        assert np.isfinite(model.predict_one(x))  # of a value that does not fit too
        model.learn_one(x, target)
    told.run(rows, y)
    assert_allclose([model.predict_one(x) for x in rows], told.predict(rows, ahead=1), rtol=1e-9, atol=1e-9)


def test_explanations_name_late_features():
    rng = np.random.default_rng(0)
    model = KernelRegressor(SMALL)
    for t in range(200):
        x = {"size": float(rng.normal()), **({"shop": "ab"[t % 2]} if t > 50 else {})}
        model.learn_one(x, x["size"] + 9.0 * (x.get("shop") == "b"))
    assert set(model.importance()) == {"size", "shop"}
    assert set(model.explain_row({"size": 1.0, "shop": "b"})) == {"size", "shop"}


@pytest.mark.parametrize("begun", [60, 1200], ids=["while kinds may change", "after kinds are final"])
def test_a_string_where_a_feature_was_a_number_is_learnt(begun, tmp_path):
    rng = np.random.default_rng(1)
    model = KernelRegressor(SMALL)
    for _ in range(begun):
        size = float(rng.normal())
        model.learn_one({"size": size, "u": 1.5}, size)
    errors, rows, targets = [], [], []
    for t in range(200):
        rows.append({"size": ["large", "small"][t % 2] if t % 4 else float(rng.normal()), "u": 1.5})
        targets.append(rows[-1]["size"] if t % 4 == 0 else 8.0 * (t % 2))
        errors.append(abs(model.predict_one(rows[-1]) - targets[-1]))
        model.learn_one(rows[-1], targets[-1])
    words = [error for t, error in enumerate(errors) if t % 4]
    assert np.mean(words[-75:]) < 2.0  # 4 if the words do not count
    assert model._model.schema_.columns == {"size": "number", "u": "number", "size (text)": "category"}
    low, high = model.predict_interval_one(rows[-1])
    assert low <= model.predict_quantile_one(rows[-1], 0.5) <= high
    assert "size (text)" in model.explain_row(rows[-1])
    model.save(tmp_path / "m.nys")
    one = [KernelRegressor.load(tmp_path / "m.nys").predict_one(row) for row in rows[-8:]]
    assert_allclose(model.predict_many(pd.DataFrame(rows[-8:])), one, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="'size' is inf"):
        model.learn_one({"size": np.inf, "u": 1.5}, 1.0)


def test_a_frame_with_a_string_among_numbers_is_learnt_as_its_rows():
    rng = np.random.default_rng(2)
    rows = [{"size": "large" if t % 9 == 8 else float(rng.normal()), "u": float(t % 3)} for t in range(120)]
    labels = ["up" if t % 9 == 8 else "down" for t in range(120)]
    one, many = KernelClassifier(), KernelClassifier()
    for row, label in zip(rows, labels, strict=True):
        one.learn_one(row, label)
    for part in (slice(0, 50), slice(50, 120)):
        many.learn_many(pd.DataFrame(rows[part]), pd.Series(labels[part]))
    frame = pd.DataFrame(rows[-20:])
    assert_allclose(many.predict_proba_many(frame), one.predict_proba_many(frame), rtol=1e-7, atol=1e-9)
    assert many.predict_many(frame).tolist() == [one.predict_one(row) for row in rows[-20:]]
    when = {"size": "large", "u": "2024-01-05 10:30"}
    assert one.predict_one(when) in ("up", "down")
