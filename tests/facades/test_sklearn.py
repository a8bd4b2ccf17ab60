"""The scikit-learn facade: scikit-learn's own checks, labels, weights, frames, late classes, and test-then-train."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from facade_learners import CLASSIFIERS, LEAST_SQUARES, REGRESSORS, blobs, fourier, regression
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nystream
from nystream.sklearn import OnlineKernelClassifier, OnlineKernelRegressor

EXACT = {"rtol": 1e-10, "atol": 1e-10}


def test_every_check_of_scikit_learn_passes_but_for_three_whose_reasons_are_given():
    program = Path(__file__).parents[1] / "helpers" / "facade_checks.py"
    done = subprocess.run(
        [sys.executable, str(program)], env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 7
    for line in lines:
        print(line["estimator"], line["counts"], f"{line['seconds']} s")
        shuffled = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
        novelty = line["estimator"] == "OnlineKernelNovelty()"
        expected = shuffled if line["estimator"].endswith("()") and not novelty else []
        narrow = line["estimator"].startswith("OnlineKernelClassifier(learner=PKAWV")
        expected += ["check_class_weight_classifiers"] * narrow
        assert list(line["not passed"]) == expected
        assert line["counts"] == {"passed": line["counts"]["passed"], **({"xfail": len(expected)} if expected else {})}
        assert line["counts"]["passed"] >= (45 if novelty else 55)
        if line["estimator"] == "OnlineKernelClassifier()":
            assert "check_class_weight_classifiers" in line["passed"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kinds", [2, 3])
def test_a_class_that_weighs_ten_million_times_as_much_as_the_others_is_predicted(kinds, seed):
    """What scikit-learn's check_class_weight_classifiers asks of one data set, asked of more."""
    X, y = make_blobs(centers=kinds, random_state=seed, cluster_std=20)
    weight = {k: 1000 if k == 0 else 0.0001 for k in range(kinds)}
    model = OnlineKernelClassifier(class_weight=weight).fit(X[:50], y[:50])
    assert np.mean(model.predict(X[50:]) == 0) > 0.87


# -- parameters ----------------------------------------------------------------------------------------------------
def test_grid_search_reaches_into_the_learner_through_a_pipeline():
    X, y = blobs()
    learner = nystream.FOGD(nystream.Gaussian(2.0), dim=40, loss="logistic", seed=0)
    model = make_pipeline(StandardScaler(), OnlineKernelClassifier(learner))
    rate, width = "onlinekernelclassifier__learner__eta", "onlinekernelclassifier__learner__kernel__sigma"
    search = GridSearchCV(model, {rate: [1e-6, 0.3], width: [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {rate: 0.3, width: 1.0}
    assert repr(learner) == repr(nystream.FOGD(nystream.Gaussian(2.0), dim=40, loss="logistic", seed=0))
    assert cross_val_score(search.best_estimator_, X, y, cv=3).mean() > cross_val_score(model, X[:, :1], y, cv=3).mean()


def test_the_learner_given_is_a_pattern_that_is_never_trained():
    learner = nystream.KernelRidge(nystream.Gaussian(1.0))
    X, y = regression()
    model = OnlineKernelRegressor(learner).fit(X, y)
    assert learner.n_seen == 0
    assert model.learner is learner
    assert model.learner_.n_seen == len(X)
    assert clone(model).learner is not learner
    assert clone(model).set_params(learner__kernel__sigma=3.0).learner.kernel.sigma == 3.0


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_pickled_model_goes_on_as_the_original(name, tmp_path):
    X, y = blobs()
    model = OnlineKernelClassifier(CLASSIFIERS[name]()).partial_fit(X[:70], y[:70])
    joblib.dump(model, tmp_path / "model.joblib")
    for twin in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
        twin.partial_fit(X[70:], y[70:])
        again = pickle.loads(pickle.dumps(model)).partial_fit(X[70:], y[70:])
        assert_array_equal(twin.predict_proba(X), again.predict_proba(X))


# -- regression ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", REGRESSORS)
def test_predict_then_learn_is_test_then_train(name):
    X, y = regression()
    block, rows = OnlineKernelRegressor(REGRESSORS[name]()), OnlineKernelRegressor(REGRESSORS[name]())
    p = block.predict_then_learn(X, y)
    q = [rows.predict_then_learn(X[t : t + 1], y[t : t + 1])[0] for t in range(len(X))]
    assert_allclose(p, q, rtol=1e-7, atol=1e-9)
    assert_allclose(block.predict(X), rows.predict(X), rtol=1e-7, atol=1e-9)
    before = OnlineKernelRegressor(REGRESSORS[name]()).partial_fit(X[:80], y[:80])
    assert_allclose(before.model_.predict(X[80:81], ahead=1)[0], p[80], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", [n for n in REGRESSORS if n != "default"])
def test_fit_is_one_pass_of_partial_fit(name):
    X, y = regression()
    one = OnlineKernelRegressor(REGRESSORS[name]()).fit(X, y)
    two = OnlineKernelRegressor(REGRESSORS[name]()).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert_allclose(one.predict(X), two.predict(X), rtol=1e-7, atol=1e-9)
    assert_array_equal(one.fit(X, y).predict(X), clone(one).fit(X, y).predict(X))


@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_weights_count_as_repetitions_whatever_the_order(name):
    X, y = regression(50)
    weights = np.random.default_rng(0).integers(0, 4, size=50)
    order = np.random.default_rng(1).permutation(50)
    weighted = OnlineKernelRegressor(LEAST_SQUARES[name]()).fit(X[order], y[order], sample_weight=weights[order])
    repeated = OnlineKernelRegressor(LEAST_SQUARES[name]()).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6, atol=1e-9)


def test_weights_of_one_and_zero_serve_every_learner_and_others_are_refused_where_not_understood():
    X, y = blobs()
    ones_and_zeros = (np.arange(150) % 3 > 0).astype(float)
    learner = nystream.ONS(fourier(), clip=2.0)
    kept = OnlineKernelClassifier(learner).fit(X[ones_and_zeros > 0], y[ones_and_zeros > 0])
    assert_array_equal(OnlineKernelClassifier(learner).fit(X, y, ones_and_zeros).predict(X), kept.predict(X))
    with pytest.raises(ValueError, match="does not take weights"):
        OnlineKernelClassifier(learner).fit(X, y, 2 * ones_and_zeros)
    for bad, message in [(-ones_and_zeros, "negative"), (0 * ones_and_zeros, "zero")]:
        with pytest.raises(ValueError, match=message):
            OnlineKernelClassifier(learner).fit(X, y, bad)


def test_several_targets_are_learnt_as_one_by_one():
    X, y = regression()
    Y = np.column_stack([y, -2 * y, y**2])
    model = OnlineKernelRegressor(nystream.Baseline()).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    for k in range(3):
        alone = OnlineKernelRegressor(nystream.Baseline()).fit(X, Y[:, k])
        assert_allclose(model.predict(X)[:, k], alone.predict(X), **EXACT)
    default = OnlineKernelRegressor().fit(X, Y)  # its metric is learnt from all targets
    assert default.score(X, Y) > 0.90
    with pytest.raises(ValueError, match="one output"):
        OnlineKernelRegressor(nystream.ONS(fourier(), clip=2.0)).fit(X, Y)


@pytest.mark.parametrize("name", nystream.registry.LEARNERS)
def test_every_learner_of_the_registry_works_in_the_facade_of_its_task(name):
    learner = nystream.registry.LEARNERS[name].example
    X, y = blobs(d=3)
    targets = np.tanh(X[:, 0]) + 0.5 * np.sin(X[:, 1])
    if learner.labels == "real":
        model = OnlineKernelRegressor(learner).partial_fit(X[:100], targets[:100]).partial_fit(X[100:], targets[100:])
        assert np.corrcoef(model.predict(X), targets)[0, 1] > 0.5
        assert model.learner_.n_seen == 150
    if learner.labels != "none":
        model = OnlineKernelClassifier(learner).partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
        assert model.score(X, y) > 0.5
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


# -- frames --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("library", [pd, pl])
def test_frames_bring_their_names(library):
    X, y = regression()
    frame = library.DataFrame(dict(zip(["u", "v", "w"], X.T, strict=True)))
    model = OnlineKernelRegressor().fit(frame, library.Series(y))
    assert_array_equal(model.feature_names_in_, ["u", "v", "w"])
    assert model.n_features_in_ == 3
    assert_array_equal(model.predict(frame), OnlineKernelRegressor().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["w", "v", "u"]])
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame.rename(columns={"u": "new"}) if library is pd else frame.rename({"u": "new"}), y)


# -- classes -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("labels", [("ash", "birch"), (True, False), (3, -7, 5), ("c", "a", "b", "d")])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_of_any_kind_come_back_and_scores_probabilities_and_predictions_agree(name, labels):
    X, y = blobs(labels=labels)
    model = OnlineKernelClassifier(CLASSIFIERS[name]()).fit(X, y)
    assert_array_equal(model.classes_, np.unique(y))
    P, F, predicted = model.predict_proba(X), model.decision_function(X), model.predict(X)
    assert P.shape == (len(X), len(labels))
    assert F.shape == ((len(X),) if len(labels) == 2 else P.shape)
    assert_allclose(P.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[P.argmax(axis=1)], predicted)
    assert_array_equal(model.classes_[(F > 0).astype(int) if F.ndim == 1 else F.argmax(axis=1)], predicted)
    majority = max(np.mean(y == label) for label in labels)
    assert model.score(X, y) > majority


@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_a_late_class_is_learnt_exactly_as_if_known_from_the_start(name):
    X, y = blobs(labels=("d", "a", "c", "b"))
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    late, known = OnlineKernelClassifier(LEAST_SQUARES[name]()), OnlineKernelClassifier(LEAST_SQUARES[name]())
    for part in (slice(0, 20), slice(20, 50), slice(50, 150)):
        late.partial_fit(X[part], y[part], sample_weight=weights[part])
    known.partial_fit(X, y, classes=["a", "b", "c", "d"], sample_weight=weights)
    assert "b" not in y[:50]
    assert_array_equal(late.classes_, known.classes_)
    assert_allclose(late.decision_function(X), known.decision_function(X), **EXACT)
    assert_allclose(late.predict_proba(X), known.predict_proba(X), **EXACT)


def test_least_squares_regresses_codes_of_minus_one_and_one():
    X, y = blobs()
    model = OnlineKernelClassifier(nystream.PKRR(fourier(), lam=0.1)).fit(X, y)
    Z = fourier().fit(X).transform(X)
    codes = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    expected = Z @ np.linalg.solve(0.1 * np.eye(60) + Z.T @ Z, Z.T @ codes)
    assert_allclose(model.decision_function(X), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes_may_appear_late_with_every_learner(name):
    X, y = blobs(labels=("oak", "ash", "fir", "elm"), n=240)
    model = OnlineKernelClassifier(CLASSIFIERS[name]())
    for t in range(0, 240, 16):
        model.partial_fit(X[t : t + 16], y[t : t + 16])
        assert_array_equal(model.classes_, np.unique(y[: t + 16]))
    assert model.score(X[120:], y[120:]) > 0.6
    assert model.predict_proba(X).shape == (240, 4)


def test_when_a_third_class_appears_the_first_two_keep_the_learners_that_they_would_have_had():
    X, y = blobs(n=90)
    y[:40] = np.where(y[:40] == "cedar", "ash", y[:40])
    make = CLASSIFIERS["one versus rest, hinge"]
    late = OnlineKernelClassifier(make()).partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    known = OnlineKernelClassifier(make()).partial_fit(X, y, classes=["ash", "birch", "cedar"])
    assert len(late.learners_) == 3
    assert_allclose(late.decision_function(X)[:, :2], known.decision_function(X)[:, :2], **EXACT)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_predict_then_learn_answers_every_row_before_its_label(name):
    X, y = blobs()
    block, rows = OnlineKernelClassifier(CLASSIFIERS[name]()), OnlineKernelClassifier(CLASSIFIERS[name]())
    p = block.predict_then_learn(X, y)
    assert p[0] is None  # nothing was known
    rows.partial_fit(X[:1], y[:1])
    for t in range(1, len(X)):
        assert rows.model_.predict(X[t : t + 1], ahead=1)[0] == p[t]
        rows.partial_fit(X[t : t + 1], y[t : t + 1])
    assert_allclose(block.decision_function(X), rows.decision_function(X), rtol=1e-7, atol=1e-9)
    assert_allclose(block.predict_proba(X), rows.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_one_class_alone_is_always_predicted():
    X, _ = blobs()
    for name, make in CLASSIFIERS.items():
        model = OnlineKernelClassifier(make()).fit(X, ["only"] * len(X))
        assert set(model.predict(X)) == {"only"}, name
        assert_array_equal(model.predict_proba(X), 1.0)


# -- the default learner -------------------------------------------------------------------------------------------
def test_rows_sorted_by_label_are_fitted_as_well_as_any_others():
    X, y = blobs(n=240)
    order = np.argsort(y, kind="stable")
    straight, sorted_ = OnlineKernelClassifier().fit(X, y), OnlineKernelClassifier().fit(X[order], y[order])
    assert sorted_.score(X, y) == pytest.approx(straight.score(X, y), abs=0.02)
    stream = OnlineKernelClassifier().partial_fit(X[order], y[order])  # the last label came 80 times
    assert np.mean(stream.model_.predict(X, ahead=1) == y) < sorted_.score(X, y)
    R, t = regression()
    order = np.argsort(t)
    ours, ridge = OnlineKernelRegressor(), OnlineKernelRegressor(nystream.Baseline())
    assert ours.fit(R[order], t[order]).score(R, t) > ridge.fit(R[order], t[order]).score(R, t) - 0.05


def test_missing_values_reach_a_learner_that_takes_them_and_are_refused_by_others():
    X, y = regression(400)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = OnlineKernelRegressor().fit(holes[:300], y[:300])
    assert model.score(holes[300:], y[300:]) > 0.3
    assert_allclose(model.predict(np.full((1, 3), np.nan)), y.mean(), atol=2 * y.std())
    frame = pd.DataFrame(holes, columns=["u", "v", "w"])
    assert_array_equal(OnlineKernelRegressor().fit(frame[:300], y[:300]).predict(frame), model.predict(holes))
    labels = np.where(y > 0, "up", "down")
    classifier = OnlineKernelClassifier()
    right = classifier.predict_then_learn(holes, labels) == labels
    assert right[200:].mean() > 0.7
    assert_allclose(classifier.predict_proba(holes).sum(axis=1), 1.0)
    for estimator, target in [(OnlineKernelRegressor, y), (OnlineKernelClassifier, labels)]:
        assert estimator().__sklearn_tags__().input_tags.allow_nan
        refusing = estimator(nystream.PKRR(fourier()))
        assert not refusing.__sklearn_tags__().input_tags.allow_nan
        with pytest.raises(ValueError, match="contains NaN"):
            refusing.fit(holes, target)
        with pytest.raises(ValueError, match="contains infinity"):
            estimator().fit(np.where(np.isnan(holes), np.inf, X), target)


def test_intervals_cover_and_other_learners_say_that_they_have_none():
    X, y = regression(1400)
    model = OnlineKernelRegressor().fit(X[:1000], y[:1000])
    new, labels = X[1000:], y[1000:]
    covered = {}
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(new, coverage)
        assert (low < model.predict(new)).all()
        assert (model.predict(new) < high).all()
        covered[coverage] = ((low <= labels) & (labels <= high)).mean()
        ends = model.predict_quantile(new, [(1 - coverage) / 2, (1 + coverage) / 2])
        assert_allclose(ends.T, [low, high], atol=1e-9)
    assert covered[0.9] > covered[0.5]
    assert model.predict_quantile(new, 0.5).shape == (400,)
    assert 0.85 < covered[0.9] < 1
    with pytest.raises(nystream.Unable, match=r"PKRR has no intervals: .*learners with `predict_interval` are Auto"):
        OnlineKernelRegressor(nystream.PKRR(fourier())).fit(X, y).predict_interval(X)
    with pytest.raises(NotFittedError):
        OnlineKernelRegressor().predict_interval(X)


def test_models_explain_themselves_whatever_their_learner():
    X, y = blobs()
    assert "classification on 2 columns, 150 rows" in OnlineKernelClassifier().fit(X, y).explain()
    assert "regression on 2 columns" in OnlineKernelRegressor().fit(X, X[:, 0]).explain()
    assert OnlineKernelRegressor(REGRESSORS["KernelRidge"]()).fit(X, X[:, 0]).explain().startswith("mostly 0 (")


# -- refusals ------------------------------------------------------------------------------------------------------
def test_a_learner_of_the_other_task_is_refused():
    X, y = regression()
    with pytest.raises(ValueError, match="learns classes, not real targets; use OnlineKernelClassifier"):
        OnlineKernelRegressor(CLASSIFIERS["one versus rest, hinge"]()).fit(X, y)
    leaning = nystream.losses.Pinball(0.9)
    with pytest.raises(ValueError, match="favours one sign"):
        OnlineKernelClassifier(nystream.FOGD(nystream.Gaussian(1.0), loss=leaning)).fit(X, y > 0)
    with pytest.raises(ValueError, match="learns without labels"):
        OnlineKernelClassifier(nystream.FOGD(nystream.Gaussian(1.0), loss="novelty")).fit(X, y > 0)
    with pytest.raises(TypeError, match="learner must be a nystream learner or None"):
        OnlineKernelClassifier("fogd").fit(X, y > 0)


def test_a_refused_block_changes_nothing():
    X, y = blobs()
    model = OnlineKernelClassifier().partial_fit(X[:80], y[:80])
    before = pickle.dumps(model)
    spoilt = X[80:].copy()
    spoilt[5, 1] = np.inf
    for block, labels in [(spoilt, y[80:]), (X[80:, :1], y[80:]), (X[80:], np.arange(70) % 7), (X[80:], y[80:-1])]:
        with pytest.raises(ValueError, match=r".{20}"):
            model.partial_fit(block, labels)
        assert pickle.dumps(model) == before
    with pytest.raises(NotFittedError):
        OnlineKernelClassifier().predict(X)
    with pytest.raises(NotFittedError):
        _ = OnlineKernelClassifier().learners_


def test_without_scikit_learn_the_import_names_the_extra():
    program = "import sys; sys.modules['sklearn'] = None; import nystream.sklearn"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'nystream[sklearn]'" in done.stderr.splitlines()[-1]


def test_costs_through_the_facade_whatever_the_order_of_the_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=900) > 1, "bad", "good")
    order = np.argsort(y[:600], kind="stable")  # all of one class, then all of the other
    learner = nystream.Thresholded(nystream.Auto(), costs={"fp": 1, "fn": 10}, positive="bad")
    model = OnlineKernelClassifier(learner).fit(X[:600][order], y[:600][order])
    P = model.predict_proba(X[600:])[:, model.classes_.tolist().index("bad")]
    assert_array_equal(model.predict(X[600:]) == "bad", 10 * P > 1 - P)
    said = {"costs": model.predict(X[600:]), "plain": OnlineKernelClassifier().fit(X[:600], y[:600]).predict(X[600:])}
    cost = {
        k: 10 * np.sum((y[600:] == "bad") & (p != "bad")) + np.sum((y[600:] != "bad") & (p == "bad"))
        for k, p in said.items()
    }
    assert cost["costs"] < 0.8 * cost["plain"]
