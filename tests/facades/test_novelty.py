"""The novelty facades: both libraries' own checks, thresholds, test-then-train, and agreement of the two."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from river import anomaly, checks, datasets
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nystream
from nystream.compose.novelty import RecentQuantile, default_novelty, margin
from nystream.river import KernelNovelty
from nystream.sklearn import OnlineKernelNovelty

G = nystream.Gaussian(0.8)
LEARNERS = {
    "default": lambda: None,
    "SILK": lambda: nystream.SILK(G, loss="novelty", C=0.1, budget=40),
    "NORMA nu": lambda: nystream.NORMA(G, loss="novelty", nu=0.1, eta=0.05, budget=200),
    "FOGD": lambda: nystream.FOGD(G, dim=60, loss="novelty", eta=0.05, seed=0),
}


def crowd(n=400, d=2, share=0.05, seed=0):
    """Rows around a ring, and a share of outliers anywhere: X and whether each row is one."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    X = 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.2 * rng.normal(size=(n, 2))
    odd = rng.random(n) < share
    X[odd] = rng.uniform(-6, 6, size=(odd.sum(), 2))
    return np.hstack([X, rng.normal(size=(n, d - 2))]), odd


def dicts(X, names="uvwxyz"):
    return [dict(zip(names, row, strict=False)) for row in X.tolist()]


# -- the libraries' own checks -------------------------------------------------------------------------------------
PROGRAM = """
import json
from collections import Counter
from sklearn.utils.estimator_checks import check_estimator
import nystream
from nystream.sklearn import OnlineKernelNovelty
G = nystream.Gaussian(1.0)
for learner in (None, nystream.SILK(G, loss="novelty"), nystream.NORMA(G, loss="novelty", nu=0.1, budget=100)):
    results = check_estimator(OnlineKernelNovelty(learner), on_fail=None, on_skip=None)
    other = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] != "passed"]
    print(json.dumps({"counts": Counter(r["status"] for r in results), "not passed": other}))
"""


def test_every_check_of_scikit_learn_passes_and_none_is_skipped_or_expected_to_fail():
    # a process of its own: SCIPY_ARRAY_API must be set before SciPy is imported, or the array checks are skipped
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 3
    for line in lines:
        print(line["counts"])
        assert line["not passed"] == []
        assert line["counts"]["passed"] >= 47


class CardPayments:
    """The columns of river's CreditCard (Time, V1 .. V28, Amount; 5 percent frauds), which is a 150 MB download."""

    def take(self, n):
        rng = np.random.default_rng(0)
        names = ["Time", *(f"V{i}" for i in range(1, 29)), "Amount"]
        for t in range(n):
            fraud = bool(rng.random() < 0.05)
            V = rng.standard_t(5, size=28) * (3 if fraud else 1)
            yield dict(zip(names, [2.0 * t, *V.tolist(), float(rng.exponential(90))], strict=True)), int(fraud)


@pytest.mark.parametrize("name", ["default", "SILK"])
def test_every_check_of_river_passes_and_none_is_skipped(name, monkeypatch):
    if not datasets.CreditCard().is_downloaded:
        monkeypatch.setattr(datasets, "CreditCard", CardPayments)
    model = KernelNovelty(LEARNERS[name]())
    assert model._unit_test_skips() == set()
    passed: Counter[str] = Counter()
    for check in checks.yield_checks(model):
        check(model.clone())
        passed[check.__name__] += 1
    print({"passed": passed.total(), "failed": 0, "skipped": 0})
    assert passed["check_roc_auc"] == passed["check_bounded_memory_growth"] == 1
    assert passed.total() >= 25


# -- thresholds ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_the_share_asked_for_is_flagged_and_the_outliers_are_among_them(name, share):
    X, odd = crowd()
    model = OnlineKernelNovelty(LEARNERS[name](), contamination=share).fit(X)
    flagged = model.predict(X) == -1
    assert flagged.sum() == pytest.approx(share * len(X), abs=1)
    assert_array_equal(flagged, model.decision_function(X) < 0)
    assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_)
    assert_array_equal(model.fit_predict(X) == -1, flagged)
    assert roc_auc_score(odd, -model.score_samples(X)) > 0.7


@pytest.mark.parametrize("name", ["default", "SILK", "NORMA nu"])  # FOGD's scores still rise at the end
def test_a_stream_flags_the_share_asked_for_before_it_learns(name):
    X, _ = crowd(3000)
    flagged = OnlineKernelNovelty(LEARNERS[name](), contamination=0.1).predict_then_learn(X) == -1
    assert flagged[0]
    assert flagged[1000:].mean() == pytest.approx(0.1, abs=0.025)


def test_the_margin_that_norma_adapts_is_violated_by_a_share_nu():
    X, _ = crowd(6000)
    for nu in (0.05, 0.2):
        learner = nystream.NORMA(nystream.Gaussian(1.5), loss="novelty", nu=nu, eta=0.01, budget=400, keep="support")
        model = OnlineKernelNovelty(learner, contamination="auto")
        flagged = model.predict_then_learn(X) == -1
        assert flagged[2000:].mean() == pytest.approx(nu, abs=0.02)
        assert model.offset_ == model.learner_.level > 0
        scaled = OnlineKernelNovelty(nystream.Standardized(learner), contamination="auto").fit(X)
        assert scaled.offset_ == scaled.learner_.learner_.level


def test_the_recent_quantile_is_that_of_numpy_over_the_last_numbers():
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 20, size=300) / 7
    for share in (0.01, 0.1, 0.5):
        recent = RecentQuantile(share, size=40)
        before = recent.passed(numbers)
        assert before[0] == np.inf
        for t in range(1, 300):
            assert_allclose(before[t], np.quantile(numbers[max(0, t - 40) : t], share), rtol=1e-12)
        assert_allclose(recent.value, np.quantile(numbers[-40:], share), rtol=1e-12)


# -- test-then-train -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "share"), [*((name, 0.1) for name in LEARNERS), ("NORMA nu", "auto")])
def test_predict_then_learn_answers_every_row_before_it_is_learnt(name, share):
    X, _ = crowd(150)
    block, rows = (OnlineKernelNovelty(LEARNERS[name](), contamination=share) for _ in range(2))
    labels = block.predict_then_learn(X)
    rows.partial_fit(X[:1])
    for t in range(1, len(X)):
        assert rows.predict(X[t : t + 1])[0] == labels[t]
        rows.partial_fit(X[t : t + 1])
    assert_allclose(block.score_samples(X), rows.score_samples(X), rtol=1e-9, atol=1e-12)
    assert block.offset_ == pytest.approx(rows.offset_)


@pytest.mark.parametrize("name", LEARNERS)
def test_fit_learns_what_partial_fit_learns_and_partial_fit_goes_on(name):
    X, _ = crowd()
    one = OnlineKernelNovelty(LEARNERS[name]()).fit(X)
    two = OnlineKernelNovelty(LEARNERS[name]()).partial_fit(X[:150]).partial_fit(X[150:])
    assert_allclose(one.score_samples(X), two.score_samples(X), rtol=1e-9, atol=1e-12)
    twin = pickle.loads(pickle.dumps(one))
    assert_array_equal(one.predict_then_learn(X[:50]), twin.predict_then_learn(X[:50]))
    assert one.learner_.n_seen == len(X) + 50
    assert one.fit(X).learner_.n_seen == len(X)


def test_the_learner_given_is_a_pattern_and_a_search_reaches_into_it():
    X, odd = crowd()
    learner = nystream.SILK(G, loss="novelty", C=0.1, budget=40)
    model = make_pipeline(StandardScaler(), OnlineKernelNovelty(learner))
    width = "onlinekernelnovelty__learner__kernel__sigma"

    def score(fitted, X, odd):
        return roc_auc_score(odd, -fitted.score_samples(X))

    search = GridSearchCV(model, {width: [0.3, 50.0]}, scoring=score, cv=3).fit(X, odd)
    assert search.best_params_ == {width: 0.3}
    assert learner.n_seen == 0
    assert clone(OnlineKernelNovelty(learner, contamination=0.2)).contamination == 0.2


# -- river ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("library", [pd, pl])
def test_the_two_facades_and_frames_and_rows_agree(name, library):
    X, _ = crowd(200)
    sklearn, one, many = OnlineKernelNovelty(LEARNERS[name]()), *(KernelNovelty(LEARNERS[name]()) for _ in range(2))
    sklearn.partial_fit(X)
    for x in dicts(X):
        one.learn_one(x)
    frame = library.DataFrame({"u": X[:, 0], "v": X[:, 1]})
    many.learn_many(frame[:90])
    many.learn_many(frame[90:])
    scores = np.array([one.score_one(x) for x in dicts(X)])
    assert_allclose(scores, margin(sklearn.learner_) - sklearn.score_samples(X), rtol=1e-7, atol=1e-9)
    assert_allclose(many.score_many(frame).to_numpy(), scores, rtol=1e-7, atol=1e-9)


def test_outliers_score_higher_before_they_are_learnt():
    X, odd = crowd(1500)
    model, scores = KernelNovelty(), []
    for x in dicts(X):
        scores.append(model.score_one(x))
        model.learn_one(x)
    assert scores[0] == 1.0
    assert roc_auc_score(odd[100:], scores[100:]) > 0.8
    filtered = anomaly.QuantileFilter(KernelNovelty(), q=0.95)
    flags = []
    for x in dicts(X):
        flags.append(filtered.classify(filtered.score_one(x)))
        filtered.learn_one(x)
    assert roc_auc_score(odd[100:], flags[100:]) > 0.6


@pytest.mark.parametrize("name", LEARNERS)
def test_features_may_appear_late_and_a_stream_may_start_without_any(name):
    X, _ = crowd(60, d=3)
    model = KernelNovelty(LEARNERS[name]())
    before = model.score_one({"u": 1.0})
    assert before == margin(default_novelty(1)) or name == "NORMA nu"
    model.learn_one({})
    for x in dicts(X[:, :2]):
        model.learn_one(x)
    scores = [model.score_one(x) for x in dicts(X[:, :2])]
    model._admit(["w"])
    assert [model.score_one(x) for x in dicts(X[:, :2])] == pytest.approx(scores, rel=1e-9)
    for x in dicts(X):
        model.learn_one(x)
    assert np.isfinite([model.score_one(x) for x in dicts(X)]).all()
    assert model.clone().score_one({"u": 1.0}) == before


# -- refusals ------------------------------------------------------------------------------------------------------
def test_learners_with_labels_and_bad_shares_are_refused():
    X, _ = crowd(50)
    hinge = nystream.SILK(G)
    for facade in (lambda learner: OnlineKernelNovelty(learner).fit(X), KernelNovelty):
        with pytest.raises(ValueError, match="learns from labels; novelty detection takes loss='novelty'"):
            facade(hinge)
        with pytest.raises(TypeError, match="learner must be a nystream learner or None"):
            facade("silk")
    for share in (0.0, 0.6, -0.1, "some", None, True):
        with pytest.raises(ValueError, match=r"contamination must be 'auto' or a share in \(0, 0.5\]"):
            OnlineKernelNovelty(contamination=share).fit(X)
    for learner in (None, nystream.SILK(G, loss="novelty"), nystream.NORMA(G, loss="novelty")):
        with pytest.raises(ValueError, match="needs a learner that adapts its margin"):
            OnlineKernelNovelty(learner, contamination="auto").fit(X)


def test_a_refused_block_changes_nothing():
    X, _ = crowd(100)
    model = OnlineKernelNovelty().partial_fit(X)
    before = pickle.dumps(model)
    spoilt = X.copy()
    spoilt[5, 1] = np.nan
    for block in (spoilt, X[:, :1], X[0]):
        with pytest.raises(ValueError, match=r".{20}"):
            model.partial_fit(block)
        assert pickle.dumps(model) == before
    with pytest.raises(NotFittedError):
        OnlineKernelNovelty().predict(X)
    row = KernelNovelty()
    row.learn_one({"u": 1.0})
    before = pickle.dumps(row)
    with pytest.raises(ValueError, match="'v' must be a number"):
        row.learn_one({"u": 1.0, "v": "red"})
    assert pickle.dumps(row) == before
