"""Auto: its events, late classes, delayed labels, missing values, weights, intervals, what carries it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import Auto, Classifier, Unable
from nystream.auto.recipe import Recipe
from nystream.compose.classes import NativeClasses, class_learner

EXPERT = re.compile(r"^ *-?[\d.]+ +([\d.]+)  (?:kernel|linear|rough)", re.MULTILINE)
"""A line of an explanation: weight, error, name."""
SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=40, refresh=25, window=30, metric=50)


def stream(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.1 * rng.normal(size=n)


def classes(n=300, seed=0):
    X, y = stream(n, seed=seed)
    return X, np.digitize(y, [-0.5, 0.5]).astype(float)


# -- the same whatever the blocks, and whenever it is saved ----------------------------------------------------------
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("cut", [3, 19, 20, 59, 60, 75, 133])
def test_saving_before_at_and_after_every_event_changes_no_bit(task, cut):
    X, y = stream() if task == "regression" else classes()
    stayed = Auto(task=task, recipe=SMALL)
    stayed.run(X[:cut], y[:cut])
    resumed = nystream.from_bytes(stayed.to_bytes())
    assert_array_equal(resumed.run(X[cut:], y[cut:]), stayed.run(X[cut:], y[cut:]))
    assert resumed.to_bytes() == stayed.to_bytes()


def test_the_default_recipe_runs_over_the_end_of_its_warm_up_in_any_blocks():
    X, y = stream(4100, d=2)
    whole, parts = Auto(), Auto()
    P = whole.run(X, y)
    sizes = [1, 2, 997, 2199, 2, 1, 800, 98]
    ends = np.cumsum(sizes)
    Q = np.concatenate([parts.run(X[e - s : e], y[e - s : e]) for s, e in zip(sizes, ends, strict=True)])
    assert_allclose(Q, P, atol=1e-9)
    assert whole.nbytes == parts.nbytes


def test_other_seeds_are_other_models_and_equal_seeds_the_same():
    X, y = stream()
    a, b, c = (Auto(recipe=SMALL, seed=s).run(X, y) for s in (0, 0, 1))
    assert_array_equal(a, b)
    assert np.abs(a - c).max() > 1e-6


# -- targets and classes ---------------------------------------------------------------------------------------------
def test_each_of_several_targets_is_stacked_by_itself():
    X, y = stream()
    Y = np.column_stack([y, 100 - 7 * y])
    P = Auto(recipe=SMALL).run(X, Y)
    assert P.shape == (300, 2)
    assert_allclose(P[1:, 1], 100 - 7 * P[1:, 0], atol=1e-6)


def test_units_of_targets_do_not_matter():
    X, y = stream()
    P = Auto(recipe=SMALL).run(X, y)
    for unit in (1e-6, 1e6):
        assert_allclose(Auto(recipe=SMALL).run(X, unit * y) / unit, P, atol=1e-6)


def test_a_class_that_appears_late_leaves_the_experts_as_if_it_had_been_known():
    """Rows 0..99 have two classes; the experts' outputs are those of a learner told of three from the start."""
    X, c = classes()
    c[:100] = np.minimum(c[:100], 1)
    late, early = Auto(task="classification", recipe=SMALL), Auto(task="classification", recipe=SMALL)
    early.reserve(3, 3)
    for model in (late, early):
        model.run(X, c)
    assert_allclose(late.expert_set_.predict(X[:20], 4), early.expert_set_.predict(X[:20], 4), atol=1e-7)
    assert late.outputs_ == 3
    assert_allclose(np.exp(late.predict(X)).sum(axis=1), 1.0)


def test_inside_a_classifier_it_learns_classes_natively():
    assert isinstance(class_learner(Auto()), NativeClasses)
    X, c = classes()
    wrapped, plain = Classifier(Auto(recipe=SMALL)), Auto(recipe=SMALL, task="classification")
    assert_allclose(wrapped.run(X, c), plain.run(X, c))
    assert_allclose(wrapped.probabilities(X), plain.probabilities(X))
    assert_allclose(plain.probabilities(X), np.exp(plain.predict(X)))


def test_lags_follow_a_label_that_no_input_tells_about():
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(800, 2)), np.cumsum(rng.random(800) < 0.1) % 2.0  # one label in ten differs from the last
    models = [Auto(task="classification", recipe=SMALL, lags=lags) for lags in (True, False)]
    with_lags, without = ((model.run(X, c).argmax(axis=1) != c)[100:].mean() for model in models)
    assert with_lags < 0.13 < without


def test_labels_that_swing_are_foreseen_from_the_last_two():
    rng = np.random.default_rng(0)
    X, noise, y = rng.normal(size=(1500, 2)), rng.normal(size=1500), np.zeros(1500)
    for t in range(2, 1500):
        y[t] = 1.6 * y[t - 1] - 0.8 * y[t - 2] + noise[t]
    misses = Auto(recipe=SMALL).run(X, y) - y
    assert np.mean(misses[500:] ** 2) < 1.25 * np.mean(noise[500:] ** 2)


# -- weights, columns, missing values --------------------------------------------------------------------------------
def test_rows_of_weight_0_leave_no_trace_and_are_predicted():
    X, y = stream()
    w = np.where(np.arange(300) % 3 == 1, 0.0, 1.5)
    weighted, plain = Auto(recipe=SMALL), Auto(recipe=SMALL)
    P = weighted.run(X, y, w)
    Q = plain.run(X[w > 0], y[w > 0], w[w > 0])
    assert_allclose(P[w > 0], Q, atol=1e-9)
    assert np.isfinite(P).all()


@pytest.mark.parametrize("heavy", [1e-6, 1e6])
def test_weights_of_any_size_are_learnt(heavy):
    X, y = stream()
    p = Auto(recipe=SMALL).run(X, y, np.full(300, heavy))
    assert np.mean((p - y)[100:] ** 2) < (0.6 if heavy > 1 else 1.2) * y.var()


def test_missing_values_count_as_the_mean_and_have_an_indicator():
    X, y = stream(400)
    gone = np.random.default_rng(1).random(400) < 0.3
    X[gone, 0] = np.nan
    y = y + 5 * gone
    model = Auto(recipe=SMALL)
    p = model.run(X, y)
    assert model.expert_set_.holes_.tolist() == [0]
    assert np.mean((p - y)[200:] ** 2) < 0.5 * y.var()
    with pytest.raises(ValueError, match="X has inf at row 0, column 1"):
        model.run(np.array([[0.0, np.inf, 0.0]]), [0.0])


def test_columns_that_come_late_change_no_prediction_at_first_and_were_missing_before():
    X, y = stream()
    model = Auto(recipe=SMALL)
    model.run(X[:30], y[:30])
    before = model.predict(X)
    model.widen(5)
    wide = np.pad(X, ((0, 0), (0, 2)))
    assert_allclose(model.predict(wide), before, atol=1e-9)
    assert np.isnan(model.pipeline_.buffer_.inputs_.rows[:, 3:]).all()
    model.run(wide[30:], y[30:])
    assert model.expert_set_.holes_.tolist() == [3, 4]
    assert np.isfinite(model.predict(wide)).all()


def test_scales_metric_and_targets_count_weights():
    """Whole weights against repeated rows: the same scales, fences and targets (metrics draw rows, so not those)."""
    X, y = stream(60)
    w = np.random.default_rng(1).integers(1, 4, 60).astype(float)
    model = Auto(recipe=SMALL)
    model.run(X, y, w)
    repeated = np.repeat(X, w.astype(int), axis=0)
    view = model.expert_set_.views_["ag"].scale_
    assert_allclose(view.mean_, repeated.mean(axis=0))
    assert_allclose(view.scale_, repeated.std(axis=0))
    assert_allclose(model.pipeline_.incumbent_.targets_.scale_, np.repeat(y, w.astype(int)).std())


# -- intervals -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_cover_what_they_promise_also_where_noise_grows(coverage):
    rng = np.random.default_rng(0)
    X, _ = stream(3000)
    y = np.sin(2 * X[:, 0]) + np.linspace(0.1, 1.0, 3000) * (1 + np.abs(X[:, 1])) * rng.normal(size=3000)
    model, inside = Auto(recipe=SMALL), []
    for i in range(0, 3000, 50):
        if i >= 200:
            low, high = model.predict_interval(X[i : i + 50], coverage, ahead=1)
            inside.append((low <= y[i : i + 50]) & (y[i : i + 50] <= high))
        model.run(X[i : i + 50], y[i : i + 50])
    assert abs(np.mean(inside) - coverage) < 0.03


def test_intervals_are_infinite_before_enough_rows_and_refused_for_classes():
    X, y = stream(20)
    model = Auto(recipe=SMALL)
    with pytest.raises(ValueError, match="needs a row"):
        model.predict_interval(X)
    model.run(X[:5], y[:5])
    low, high = model.predict_interval(X, 0.9)
    assert np.isinf(low).all()
    assert np.isinf(high).all()
    with pytest.raises(Unable, match="task='classification', where there are probabilities"):
        Auto(task="classification").predict_interval(X)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, 1.0)


# -- what carries the prediction -------------------------------------------------------------------------------------
@pytest.mark.parametrize("lags", [True, False])
def test_weights_are_shares_of_the_experts_and_the_lags(lags):
    X, c = classes()
    model = Auto(task="classification", recipe=SMALL, lags=lags)
    assert model.weights() == {}
    model.run(X, c)
    before = model.to_bytes()
    shares = model.weights()
    assert list(shares) == [*model.expert_set_.titles(model.d_).values(), *(["the last labels"] if lags else [])]
    assert min(shares.values()) >= 0
    assert_allclose(sum(shares.values()), 1.0)
    assert model.to_bytes() == before


def test_weights_follow_what_is_useful():
    """Labels that follow the last one and nothing else: they lead; labels that the inputs tell: they do not."""
    rng = np.random.default_rng(0)
    X, walk = rng.normal(size=(600, 3)), np.cumsum(rng.normal(size=600))
    models = Auto(recipe=SMALL), Auto(recipe=SMALL)
    models[0].run(X, walk)
    models[1].run(X, X[:, 0] + X[:, 1])
    shares = [
        sum(w for name, w in model.weights().items() if "last label" in name or "change" in name) for model in models
    ]
    assert shares[0] > 0.5 > 0.1 > shares[1]


def test_the_explanation_names_what_carries_the_prediction():
    """Labels that follow the last one and nothing else: the lag must lead the list."""
    assert "no row" in Auto().explain()
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.normal(size=600))
    model = Auto(recipe=SMALL)
    model.run(rng.normal(size=(600, 2)), y)
    table = model.explain().splitlines()
    first = next(i for i, line in enumerate(table) if line.split()[:1] == ["weight"]) + 1
    assert any(name in table[first] for name in ("change", "last label", "nearest of the last", "linear, forgets"))


def test_the_explanation_tells_errors_of_predictions_in_units_of_the_label():
    """The labels' offset of 500 is no error, whatever was predicted before the first label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    noise = rng.normal(size=700)
    y = 10 * X[:, 0] + 500 + noise
    model = Auto(recipe=SMALL)
    p = model.run(X, y)
    text = model.explain()
    found = re.search(r"root mean squared error over the last 500 rows: ([\d.]+) \(units of the label\)", text)
    assert float(found[1]) == pytest.approx(np.sqrt(np.mean((p - y)[-500:] ** 2)), rel=0.1)
    shares = re.search(r"always predicting the mean: ([\d.]+)%; relative to repeating the last value: ([\d.]+)%", text)
    kept = len(model.pipeline_.buffer_.labels_) - 1
    error, tail = np.mean((p - y)[-kept:] ** 2), y[-kept - 1 :]
    assert float(shares[1]) == pytest.approx(100 * error / tail[1:].var(), rel=0.1)
    assert float(shares[2]) == pytest.approx(100 * error / np.mean(np.diff(tail) ** 2), rel=0.1)
    errors = [float(error) for error in re.findall(EXPERT, text)]
    assert len(errors) >= 5
    assert 0.8 < min(errors) < max(errors) < 8
    assert "(units of the label)" in text.split("experts, their weights")[1].splitlines()[0]


def test_the_explanation_of_classes_tells_errors_of_probabilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    model = Auto(task="classification", recipe=SMALL)
    model.run(X, (X[:, 0] > 0).astype(float))
    text = model.explain()
    assert re.search(r"log loss over the last 499 rows: 0\.\d+", text)
    errors = [float(error) for error in re.findall(EXPERT, text)]
    assert len(errors) >= 5
    assert max(errors) < 0.5


def test_experts_are_named_by_what_they_are():
    rng = np.random.default_rng(0)
    model = Auto(recipe=SMALL)
    X = rng.normal(size=(30, 3))
    model.run(X, X[:, 0])
    assert list(model.weights()) == [
        f"kernel, {SMALL.landmarks} landmarks, learnt metric",
        f"kernel, {SMALL.landmarks} landmarks, one scale",
        f"kernel, {SMALL.big} landmarks",
        "kernel, forgets in about 100 rows",
        "linear, forgets in about 20 rows",
        f"nearest of the last {SMALL.window} rows",
        f"rough kernel, {SMALL.rough:,} landmarks",
        "no change",
        "the last labels",
    ]
    assert all(name in model.explain() for name in list(model.weights())[:-1])


def test_a_linear_expert_that_forgets_nothing_does_not_say_that_it_does():
    model = Auto(recipe=SMALL.resized(full=2))
    model.run(np.eye(3), np.arange(3.0))
    assert model.expert_set_.experts_["lin.95"].decay == 1.0
    assert "linear, all rows" in model.weights()
    assert "linear, all rows" in model.explain()


def test_titles_of_experts_differ_even_where_sizes_do_not():
    model = Auto(recipe=SMALL.resized(landmarks=9, big=9, small=9, rough=9, change=9, window=9))
    model.run(np.eye(3), np.arange(3.0))
    assert len(model.weights()) == len(model.expert_set_.names) + 1
