"""The river facade: river's own checks, features that come and go, frames, late classes, and pipelines."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from facade_learners import CLASSIFIERS, LEAST_SQUARES, REGRESSORS, blobs, regression
from numpy.testing import assert_allclose
from river import checks, evaluate, metrics, preprocessing

import nystream
from nystream.river import KernelClassifier, KernelRegressor
from nystream.sklearn import OnlineKernelClassifier

NAMES = ["u", "v", "w"]
DOWNLOADS: set[str] = set()
"""river's checks of these kinds of model need no dataset that is not part of river itself: nothing is left out."""


def dicts(X, names=NAMES):
    return [dict(zip(names, row, strict=True)) for row in X.tolist()]


def probabilities(model, rows):
    return np.array([list(model.predict_proba_one(x).values()) for x in rows])


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(KernelRegressor(), id="KernelRegressor"),
        pytest.param(KernelClassifier(CLASSIFIERS["PKRR"]()), id="KernelClassifier of PKRR"),
        pytest.param(KernelClassifier(), id="KernelClassifier", marks=pytest.mark.exhaustive),
    ],
)
def test_every_check_of_river_passes_and_none_is_skipped(model):
    assert model._unit_test_skips() == DOWNLOADS
    passed: Counter[str] = Counter()
    for check in checks.yield_checks(model):
        check(model.clone())
        passed[check.__name__] += 1
    print(type(model).__name__, {"passed": passed.total(), "failed": 0, "skipped": 0, "kinds": len(passed)})
    assert passed.total() >= 25


# -- features that come and go -------------------------------------------------------------------------------------
WIDENING = ["default", *LEAST_SQUARES, "FOGD"]


@pytest.mark.parametrize("name", WIDENING)
def test_a_feature_that_appears_late_counts_as_zero_before(name):
    make = {**REGRESSORS, **LEAST_SQUARES}[name]
    X, y = regression(160)
    X[:130, 2] = 0.0
    late, known = KernelRegressor(make()), KernelRegressor(make())
    for x, target in zip(dicts(X), y, strict=True):
        known.learn_one(x, target)
        late.learn_one({k: v for k, v in x.items() if v != 0.0}, target)
    assert len(late._columns.places) == len(known._columns.places) == 3
    rows = dicts(X[:130])
    p = [late.predict_one(x) for x in rows]
    assert np.corrcoef(p, y[:130])[0, 1] > 0.8
    assert p == [late.predict_one({"u": x["u"], "v": x["v"]}) for x in rows]
    if name in ("KernelRidge", "KernelAWV"):  # the kernel itself, without features drawn for the new column
        assert_allclose(p, [known.predict_one(x) for x in rows], rtol=1e-9, atol=1e-10)
    assert late.predict_one({**rows[0], "w": 3.0}) != p[0]


@pytest.mark.parametrize("name", WIDENING)
def test_a_new_column_leaves_predictions_for_rows_without_it_as_they_were(name):
    make = {**REGRESSORS, **LEAST_SQUARES}[name]
    X, y = regression(130)
    model = KernelRegressor(make())
    for x, target in zip(dicts(X), y, strict=True):
        model.learn_one(x, target)
    before = [model.predict_one(x) for x in dicts(X)]
    model._admit(["z1", "z2"])
    assert_allclose([model.predict_one(x) for x in dicts(X)], before, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "counts_as"), [("default", float("nan")), ("PKRR", 0.0)])
def test_order_absence_none_and_nan_of_features_make_no_difference(name, counts_as):
    X, y = regression()
    X[::3, 1] = counts_as
    plain, ragged = KernelRegressor(REGRESSORS[name]()), KernelRegressor(REGRESSORS[name]())
    for t, (x, target) in enumerate(zip(dicts(X), y, strict=True)):
        plain.learn_one(x, target)
        other = dict(reversed(x.items()))
        if t and t % 3 == 0:
            other = {"w": x["w"], "u": x["u"], **[{}, {"v": None}, {"v": float("nan")}][t % 2 + (t % 4 == 0)]}
        ragged.learn_one(other, target)
    assert [plain.predict_one(x) for x in dicts(X)] == [ragged.predict_one(x) for x in dicts(X)]
    frame = pd.DataFrame(X, columns=NAMES)
    assert_allclose(plain.predict_many(frame), [plain.predict_one(x) for x in dicts(X)], rtol=1e-9, atol=1e-12)
    assert_allclose(
        plain.predict_many(frame[["u", "w"]]), plain.predict_many(frame.assign(v=counts_as)), rtol=0, atol=0
    )


def test_a_missing_value_is_no_zero_to_the_default_learner():
    X, y = regression(300)
    X[:, 1] += 20.0
    y = y + 20.0
    model = KernelRegressor()
    for t, (x, target) in enumerate(zip(dicts(X), y, strict=True)):
        model.learn_one({**x, "v": None} if t % 4 == 0 else x, target)
    assert abs(model.predict_one({"u": 0.0, "w": 0.0}) - y.mean()) < 3 * y.std()
    assert_allclose([model.predict_one(x) for x in dicts(X)], y, atol=4 * y.std())


def test_intervals_and_explanations_come_from_learners_that_have_them():
    X, y = regression(300)
    model, classifier = KernelRegressor(), KernelClassifier()
    assert model.predict_interval_one({"u": 1.0}) == (-np.inf, np.inf)
    assert "no row" in model.explain()
    assert "no row" in classifier.explain()
    for x, target in zip(dicts(X), y, strict=True):
        model.learn_one(x, target)
        classifier.learn_one(x, target > 0)
    low, high = model.predict_interval_one(dicts(X)[0], coverage=0.8)
    assert low < model.predict_one(dicts(X)[0]) < high
    assert_allclose(model.predict_quantile_one(dicts(X)[0], 0.9), high)
    assert np.isnan(KernelRegressor().predict_quantile_one({"u": 1.0}, 0.9))
    assert "regression on 3 columns" in model.explain()
    assert "classification on 3 columns" in classifier.explain()
    other = KernelRegressor(REGRESSORS["PKRR"]())
    with pytest.raises(nystream.Unable, match="PKRR has no intervals"):
        other.predict_interval_one({"u": 1.0})
    with pytest.raises(nystream.Unable, match="PKRR has no quantiles"):
        other.predict_quantile_one({"u": 1.0}, 0.5)
    with pytest.raises(ValueError, match="learnt nothing yet, so there is nothing to explain"):
        other.explain()


def test_features_never_seen_in_learning_are_ignored_in_prediction():
    X, y = regression(50)
    model = KernelRegressor()
    assert model.predict_one({"u": 1.0}) == 0.0
    assert model.predict_one({}) == 0.0
    for x, target in zip(dicts(X), y, strict=True):
        model.learn_one(x, target)
    assert model.predict_one({**dicts(X)[0], "novel": 5.0}) == model.predict_one(dicts(X)[0])
    before = pickle.dumps(model)
    model.predict_many(pd.DataFrame(X, columns=["novel", "v", "u"]))
    assert pickle.dumps(model) == before


def test_a_stream_may_start_without_any_feature():
    model = KernelRegressor()
    for x in ({}, {}, {"a": 1.0}, {"b": 2.0, "a": 1.0}):
        model.learn_one(x, 3.0)
    assert model.predict_one({}) == pytest.approx(3.0, rel=0.1)


def test_bad_values_are_refused_by_name_and_change_nothing():
    X, y = regression(30)
    model = KernelRegressor()
    for x, target in zip(dicts(X), y, strict=True):
        model.learn_one(x, target)
    before = pickle.dumps(model)
    good = dicts(X)[0]
    for x, target, message in [
        ({**good, "new": ["red"]}, 1.0, "column 'new' holds lists or dicts"),
        ({**good, "new": 1.0, "v": float("inf")}, 1.0, "'v' is inf"),
        ({**good, "new": 1.0}, float("nan"), "y is missing"),
        ({**good, "new": 1.0}, None, "y is missing"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.learn_one(x, target)
        assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="X has inf at row 0, column 0"):
        model.learn_many(pd.DataFrame({"u": [np.inf]}), pd.Series([1.0]))
    assert pickle.dumps(model) == before
    numbers = KernelRegressor(REGRESSORS["PKRR"]())
    numbers.learn_one(good, 1.0)
    with pytest.raises(ValueError, match="'new' must be a number, got 'red'"):
        numbers.learn_one({**good, "new": "red"}, 1.0)
    with pytest.raises(ValueError, match="X must hold numbers in every column"):
        numbers.learn_many(pd.DataFrame({"u": ["a"]}), pd.Series([1.0]))


def test_a_learner_whose_width_is_fixed_says_so():
    model = KernelRegressor(nystream.PKRR(nystream.features.Taylor(nystream.Gaussian(1.0), degree=2)))
    model.learn_one({"a": 1.0}, 1.0)
    with pytest.raises(TypeError, match="cannot take more columns"):
        model.learn_one({"a": 1.0, "b": 1.0}, 1.0)
    assert model.predict_one({"a": 1.0, "b": 1.0}) == model.predict_one({"a": 1.0})


FIXED = {"pkawv", "pkrr", "aggregate"}
"""Examples of the registry whose features (Taylor) are made for a number of columns."""


@pytest.mark.parametrize("name", nystream.registry.LEARNERS)
def test_every_learner_of_the_registry_takes_a_late_feature_or_says_that_it_cannot(name):
    learner = nystream.registry.LEARNERS[name].example
    if learner.labels == "none":
        pytest.skip(f"{name} learns without labels")
    model = KernelRegressor(learner) if learner.labels == "real" else KernelClassifier(learner)
    targets = [1.0, -0.5] if learner.labels == "real" else ["yes", "no"]
    rows = dicts(regression(40)[0])
    for t, x in enumerate(rows):
        model.learn_one(x, targets[t % 2])
    before = [model.predict_one(x) for x in rows]
    state = pickle.dumps(model)
    if name in FIXED:
        with pytest.raises(TypeError, match="cannot take more columns"):
            model.learn_one({**rows[0], "late": 1.0}, targets[0])
        assert pickle.dumps(model) == state
        return
    model.learn_one({**rows[0], "late": 1.0}, targets[0])
    model = pickle.loads(state)
    model._admit(["late"])
    after = [model.predict_one(x) for x in rows]
    assert after == (pytest.approx(before, rel=1e-9) if learner.labels == "real" else before)


class Averaged(nystream.Kernel):
    """A width that grows with the number of columns: columns of zeros do change its values."""

    def __call__(self, X, Y):
        return np.exp(-((X[:, None] - Y) ** 2).mean(axis=2))


def test_a_kernel_that_sees_columns_of_zeros_refuses_a_new_feature():
    model = KernelRegressor(nystream.KernelRidge(Averaged()))
    model.learn_one({"a": 1.0}, 1.0)
    before = pickle.dumps(model.predict_one({"a": 1.0}))
    with pytest.raises(TypeError, match="does not ignore columns of zeros"):
        model.learn_one({"a": 1.0, "b": 1.0}, 1.0)
    assert pickle.dumps(model.predict_one({"a": 1.0})) == before


# -- rows and frames -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("name", REGRESSORS)
def test_learn_many_equals_learn_one_over_its_rows_for_targets(name, library):
    X, y = regression(150)
    one, many = KernelRegressor(REGRESSORS[name]()), KernelRegressor(REGRESSORS[name]())
    for x, target in zip(dicts(X), y, strict=True):
        one.learn_one(x, target)
    for i in range(0, 150, 40):
        frame = library.DataFrame(dict(zip(NAMES, X[i : i + 40].T, strict=True)))
        many.learn_many(frame, library.Series(y[i : i + 40]))
    frame = library.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    assert_allclose([one.predict_one(x) for x in dicts(X)], many.predict_many(frame).to_numpy(), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_learn_many_equals_learn_one_over_its_rows_for_labels(name):
    X, y = blobs()
    rows = dicts(X, NAMES[:2])
    one, many = KernelClassifier(CLASSIFIERS[name]()), KernelClassifier(CLASSIFIERS[name]())
    for x, label in zip(rows, y.tolist(), strict=True):
        one.learn_one(x, label)
    frame = pd.DataFrame(rows, index=np.arange(150) + 7)
    for i in range(0, 150, 40):
        many.learn_many(frame[i : i + 40], pd.Series(y[i : i + 40]))
    P = many.predict_proba_many(frame)
    assert list(P.columns) == list(one.predict_proba_one(rows[0]))
    assert_allclose(P.to_numpy(), probabilities(one, rows), rtol=1e-7, atol=1e-10)
    assert many.predict_many(frame).tolist() == [one.predict_one(x) for x in rows]
    assert many.predict_many(frame).index[0] == 7


def test_weights_count_as_repetitions():
    X, y = regression(60)
    weights = np.random.default_rng(0).integers(1, 4, size=60).astype(float)
    make = LEAST_SQUARES["PKRR"]
    weighted, repeated, many = KernelRegressor(make()), KernelRegressor(make()), KernelRegressor(make())
    for x, target, w in zip(dicts(X), y, weights, strict=True):
        weighted.learn_one(x, target, w=w)
        for _ in range(int(w)):
            repeated.learn_one(x, target)
    many.learn_many(pd.DataFrame(X, columns=NAMES), pd.Series(y), w=pd.Series(weights))
    for model in (repeated, many):
        assert_allclose(
            [weighted.predict_one(x) for x in dicts(X)], [model.predict_one(x) for x in dicts(X)], rtol=1e-8, atol=1e-10
        )


def test_bad_weights_and_lengths_are_refused_and_one_weight_serves_all_rows():
    X, y = blobs()
    frame, labels = pd.DataFrame(X, columns=NAMES[:2]), pd.Series(y)
    one, each = KernelClassifier(), KernelClassifier()
    one.learn_many(frame, labels, w=2.0)
    each.learn_many(frame, labels, w=np.full(150, 2.0))
    assert one.predict_proba_many(frame).equals(each.predict_proba_many(frame))
    before = pickle.dumps(one)
    for w, target, message in [
        (-1.0, labels, "at least 0"),
        ([1.0, 2.0], labels, "each of the 150"),
        (None, labels[:9], "y has 9"),
    ]:
        with pytest.raises(ValueError, match=message):
            one.learn_many(frame, target, w=w)
    with pytest.raises(ValueError, match="at least 0"):
        one.learn_one({"u": 1.0}, "ash", w=-1.0)
    with pytest.raises(ValueError, match="y has 9"):
        KernelRegressor().learn_many(frame, pd.Series(np.zeros(9)))
    assert pickle.dumps(one) == before


# -- classes -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_two_facades_give_the_same_probabilities(name):
    X, y = blobs()
    river, sklearn = KernelClassifier(CLASSIFIERS[name]()), OnlineKernelClassifier(CLASSIFIERS[name]())
    rows = dicts(X, NAMES[:2])
    for x, label in zip(rows, y.tolist(), strict=True):
        river.learn_one(x, label)
    sklearn.partial_fit(X, y)
    P = [[river.predict_proba_one(x)[label] for label in sklearn.classes_] for x in rows]
    next_row = sklearn.model_.probabilities(X, ahead=1)[:, sklearn.numbers_]  # sklearn's own predictions: later rows
    assert_allclose(P, next_row, rtol=1e-7, atol=1e-9)
    assert [river.predict_one(x) for x in rows] == sklearn.model_.predict(X, ahead=1).tolist()
    if name != "default":
        assert_allclose(P, sklearn.predict_proba(X), rtol=1e-7, atol=1e-9)


def test_labels_come_back_as_they_were_given():
    model = KernelClassifier()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    labels = [True, "yes", 3, (1, 2), False]
    for _ in range(5):
        for i, label in enumerate(labels):
            model.learn_one({"a": float(i)}, label)
    for i, label in enumerate(labels):
        assert model.predict_one({"a": float(i)}) is label or model.predict_one({"a": float(i)}) == label
    assert list(model.predict_proba_one({"a": 0.0})) == labels
    with pytest.raises(ValueError, match="missing label"):
        model.learn_one({"a": 0.0}, None)


# -- river's own tools ---------------------------------------------------------------------------------------------
def friedman(n=400, seed=0):
    rng = np.random.default_rng(seed)
    for row in rng.uniform(size=(n, 5)):
        y = 10 * np.sin(np.pi * row[0] * row[1]) + 20 * (row[2] - 0.5) ** 2 + 10 * row[3] + 5 * row[4] + rng.normal()
        yield dict(zip("abcde", row.tolist(), strict=True)), float(y)


def test_a_pipeline_with_a_scaler_is_evaluated_progressively_and_beats_the_mean():
    def mae(model):
        return evaluate.progressive_val_score(friedman(), model, metrics.MAE()).get()

    targets = np.array([y for _, y in friedman()])
    about_mean = np.abs(targets - targets.mean()).mean()
    assert mae(preprocessing.StandardScaler() | KernelRegressor()) < 0.6 * about_mean
    ridge = nystream.KernelRidge(nystream.Gaussian(2.0))
    assert mae(preprocessing.StandardScaler() | KernelRegressor(ridge)) < 0.6 * about_mean
    assert mae(KernelRegressor()) < 0.6 * about_mean


def test_a_clone_starts_afresh_and_a_pickle_goes_on():
    X, y = blobs()
    rows = dicts(X, NAMES[:2])
    model = KernelClassifier(CLASSIFIERS["PKRR"]())
    for x, label in zip(rows[:80], y[:80].tolist(), strict=True):
        model.learn_one(x, label)
    assert model.clone().predict_proba_one(rows[0]) == {}
    twin = pickle.loads(pickle.dumps(model))
    for x, label in zip(rows[80:], y[80:].tolist(), strict=True):
        model.learn_one(x, label)
        twin.learn_one(x, label)
    assert (probabilities(model, rows) == probabilities(twin, rows)).all()


def test_a_learner_of_the_other_task_is_refused():
    with pytest.raises(ValueError, match="use KernelClassifier"):
        KernelRegressor(CLASSIFIERS["one versus rest, hinge"]())
    with pytest.raises(TypeError, match="nystream learner or None"):
        KernelRegressor("fogd")


def test_without_river_the_import_names_the_extra():
    program = "import sys; sys.modules['river'] = None; import nystream.river"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'nystream[river]'" in done.stderr.splitlines()[-1]
