"""The scikit-learn facade around its model: saved, without labels, with class weights, on frames with strings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from facade_learners import LEAST_SQUARES, blobs, fourier, regression
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import nystream
from nystream.sklearn import OnlineKernelClassifier, OnlineKernelRegressor

EXACT = {"rtol": 1e-10, "atol": 1e-10}


# -- what a model inside gives -------------------------------------------------------------------------------------
def test_grid_search_reaches_into_the_default_learner():
    X, y = regression(90)
    search = GridSearchCV(OnlineKernelRegressor(), {"learner__memory": ["1MB", "2MB"]}, cv=2).fit(X, y)
    assert search.best_estimator_.learner.memory in ("1MB", "2MB")
    assert clone(OnlineKernelClassifier()).set_params(learner__lags=False).learner.lags is False
    assert OnlineKernelRegressor().set_params(learner=None).learner is None


@pytest.mark.parametrize("named", [False, True])
def test_a_saved_estimator_goes_on_where_it_stopped_and_is_a_model_to_everybody(tmp_path, named):
    X, y = regression()
    labels = np.where(y > 0, "up", "down")
    rows = pd.DataFrame(X, columns=["u", "v", "w"]) if named else X
    for make, target in ((OnlineKernelRegressor, y), (OnlineKernelClassifier, labels)):
        model = make().partial_fit(rows[:80], target[:80])
        model.save(tmp_path / "m.nys")
        twin = make.load(tmp_path / "m.nys")
        assert hasattr(twin, "feature_names_in_") is named
        assert_array_equal(
            twin.predict_then_learn(rows[80:], target[80:]), model.predict_then_learn(rows[80:], target[80:])
        )
        assert_array_equal(twin.predict(rows), model.predict(rows))
        assert_array_equal(
            nystream.load(tmp_path / "m.nys").predict(X[:5]), make.load(tmp_path / "m.nys").predict(rows[:5])
        )
    with pytest.raises(ValueError, match="holds a model of classification; OnlineKernelRegressor is for regression"):
        OnlineKernelRegressor.load(tmp_path / "m.nys")
    nystream.PKRR(fourier()).save(tmp_path / "m.nys")
    with pytest.raises(ValueError, match="holds no trained model"):
        OnlineKernelRegressor.load(tmp_path / "m.nys")
    with pytest.raises(NotFittedError):
        OnlineKernelRegressor().save(tmp_path / "m.nys")


def test_rows_without_a_label_are_predicted_and_not_learnt():
    X, y = regression()
    some = np.arange(120) % 4 != 1
    holes = np.where(some, y, np.nan)
    model, alone = OnlineKernelRegressor(), OnlineKernelRegressor()
    p = model.predict_then_learn(X, holes)
    assert p.shape == (120,)
    assert_array_equal(p[some], alone.predict_then_learn(X[some], y[some]))
    assert (model.learner_.n_seen, model.model_.n_unlabelled) == (90, 30)
    labels = np.where(y > 0, "up", "down").astype(object)
    labels[~some] = None
    classifier, other = OnlineKernelClassifier(), OnlineKernelClassifier()
    p = classifier.predict_then_learn(X, labels)
    assert_array_equal(p[some], other.predict_then_learn(X[some], labels[some].astype(str)))
    assert_array_equal(OnlineKernelClassifier().partial_fit(X, labels).predict(X), classifier.predict(X))
    with pytest.raises(ValueError, match="NaN"):
        OnlineKernelRegressor().fit(X, holes)
    with pytest.raises(ValueError, match="y has 119 labels for the 120 rows of X"):
        OnlineKernelRegressor().predict_then_learn(X, holes[1:])


def test_class_weights_count_as_weights_of_rows():
    X, y = blobs()
    make = LEAST_SQUARES["PKRR"]
    weights = {"ash": 3.0, "birch": 1.0, "cedar": 0.5}
    by_class = OnlineKernelClassifier(make(), class_weight=weights).fit(X, y)
    by_row = OnlineKernelClassifier(make()).fit(X, y, sample_weight=[weights[label] for label in y])
    assert_allclose(by_class.decision_function(X), by_row.decision_function(X), **EXACT)
    balanced = OnlineKernelClassifier(make(), class_weight="balanced").fit(X, y)
    counts = {label: (y == label).sum() for label in weights}
    by_row = OnlineKernelClassifier(make()).fit(X, y, sample_weight=[150 / (3 * counts[label]) for label in y])
    assert_allclose(balanced.decision_function(X), by_row.decision_function(X), **EXACT)
    stream = (
        OnlineKernelClassifier(make(), class_weight="balanced").partial_fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    )
    whole = OnlineKernelClassifier(make(), class_weight="balanced").partial_fit(X, y)
    assert_allclose(stream.decision_function(X), whole.decision_function(X), **EXACT)
    with pytest.raises(ValueError, match="does not take weights"):
        OnlineKernelClassifier(nystream.ONS(fourier(), clip=2.0), class_weight="balanced").fit(X, y)
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a dict"):
        OnlineKernelClassifier(class_weight="even").fit(X, y)


def test_a_rare_class_is_found_more_often_with_balanced_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    rare = (X[:, 0] + X[:, 1] > 2.2) ^ (rng.random(600) < 0.02)
    found = {}
    for weight in (None, "balanced"):
        model = OnlineKernelClassifier(LEAST_SQUARES["PKRR"](), class_weight=weight)
        p = model.predict_then_learn(X, np.where(rare, "rare", "usual"))
        found[weight] = np.mean(p[200:][rare[200:]] == "rare")
    assert found["balanced"] > found[None] + 0.1


def mixed(n=200):
    rng = np.random.default_rng(0)
    city = rng.choice(["Oslo", "Bonn", "Rome"], size=n)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="h")
    frame = pd.DataFrame({"temp": rng.normal(size=n), "city": city, "when": when, "open": rng.random(n) < 0.5})
    frame.loc[::9, "city"] = None
    return frame, 3 * (city == "Rome") + frame["temp"].to_numpy() + 0.1 * rng.normal(size=n)


def test_frames_with_strings_and_times_are_learnt_as_they_are(tmp_path):
    frame, y = mixed()
    model = OnlineKernelRegressor().fit(frame, y)
    assert model.score(frame, y) > 0.6
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert_array_equal(model.predict(frame[["when", "open", "city", "temp"]]), model.predict(frame))
    model.save(tmp_path / "m.nys")
    assert_array_equal(OnlineKernelRegressor.load(tmp_path / "m.nys").predict(frame), model.predict(frame))
    labels = np.where(y > 1, "high", "low")
    classifier = OnlineKernelClassifier().partial_fit(frame[:100], labels[:100])
    p = classifier.predict_then_learn(frame[100:], labels[100:])
    assert np.mean(p == labels[100:]) > 0.7
    weighted = OnlineKernelRegressor().fit(frame, y, sample_weight=(np.arange(200) % 2).astype(float))
    assert_array_equal(weighted.predict(frame), OnlineKernelRegressor().fit(frame[1::2], y[1::2]).predict(frame))
    with pytest.raises(ValueError, match=r"column 'city' is of kind 'category'.*Encoded"):
        OnlineKernelRegressor(nystream.PKRR(fourier())).fit(frame, y)


@pytest.mark.parametrize("library", ["polars", "arrow"])
def test_other_frames_with_strings_give_the_same(library):
    frame, y = mixed()
    table = pl.from_pandas(frame) if library == "polars" else pl.from_pandas(frame).to_arrow()
    expected = OnlineKernelRegressor().fit(frame, y).predict(frame)
    assert_array_equal(OnlineKernelRegressor().fit(table, y).predict(table), expected)
