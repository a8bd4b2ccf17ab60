"""Auto: its events, late classes, missing values, weights, intervals, budgets, and streams made to break it."""

from __future__ import annotations

import copy
import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import Auto, Classifier
from nystream.learners.auto_recipe import Recipe, bytes_of, seconds_of
from nystream.learners.classes import NativeClasses, class_learner

SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=40, refresh=25, windows=(30, 10), metric=50)


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
    assert_allclose(late.bank_.predict(X[:20], 4), early.bank_.predict(X[:20], 4), atol=1e-7)
    assert late.outputs_ == 3
    assert_allclose(np.exp(late.predict(X)).sum(axis=1), 1.0)


def test_inside_a_classifier_it_learns_classes_natively():
    assert isinstance(class_learner(Auto()), NativeClasses)
    X, c = classes()
    wrapped, plain = Classifier(Auto(recipe=SMALL)), Auto(recipe=SMALL, task="classification")
    assert_allclose(wrapped.run(X, c), plain.run(X, c))
    assert_allclose(wrapped.probabilities(X), plain.probabilities(X))
    assert_allclose(plain.probabilities(X), np.exp(plain.predict(X)))


def test_labels_that_come_late_give_the_predictions_of_the_time():
    X, y = stream()
    model = Auto(recipe=SMALL)
    model.run(X[:100], y[:100])
    early = model.predict(X[100:110])
    twin = copy.deepcopy(model)
    for x, label in zip(X[100:110], y[100:110], strict=True):
        model.step(x, label)
    assert_array_equal(early, twin.predict(X[100:110]))


def test_lags_follow_a_label_that_no_input_tells_about():
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(800, 2)), np.cumsum(rng.random(800) < 0.1) % 2.0  # one label in ten differs from the last
    models = [Auto(task="classification", recipe=SMALL, lags=lags) for lags in (True, False)]
    with_lags, without = ((model.run(X, c).argmax(axis=1) != c)[100:].mean() for model in models)
    assert with_lags < 0.13 < without


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
    assert model.bank_.holes_.tolist() == [0]
    assert np.mean((p - y)[200:] ** 2) < 0.5 * y.var()
    with pytest.raises(ValueError, match="X has inf at row 0, column 1"):
        model.run(np.array([[0.0, np.inf, 0.0]]), [0.0])


def test_more_columns_that_were_0_so_far_change_no_prediction():
    X, y = stream()
    model = Auto(recipe=SMALL)
    model.run(X[:100], y[:100])
    before = model.predict(X)
    model.widen(5)
    wide = np.pad(X, ((0, 0), (0, 2)))
    assert_allclose(model.predict(wide), before, atol=1e-9)
    model.run(wide[100:], y[100:])
    assert np.isfinite(model.predict(wide)).all()


# -- intervals -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_cover_what_they_promise_also_where_noise_grows(coverage):
    rng = np.random.default_rng(0)
    X, _ = stream(3000)
    y = np.sin(2 * X[:, 0]) + np.linspace(0.1, 1.0, 3000) * (1 + np.abs(X[:, 1])) * rng.normal(size=3000)
    model, inside = Auto(recipe=SMALL), []
    for i in range(0, 3000, 50):
        if i >= 200:
            low, high = model.predict_interval(X[i : i + 50], coverage)
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
    with pytest.raises(ValueError, match="regression"):
        Auto(task="classification").predict_interval(X)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, 1.0)


# -- budgets and words -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("memory", "d"), [("4MB", 8), ("4MB", 60), ("16MB", 200), ("64MB", 900)])
def test_memory_is_never_exceeded_not_even_for_a_moment(memory, d):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2100, d)), rng.normal(size=2100)
    tracemalloc.start()
    model = Auto(memory=memory)
    for i in range(0, 2100, 100):  # over the end of the warm-up and, for the small ones, refreshes
        model.run(X[i : i + 100], y[i : i + 100])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.nbytes < most < bytes_of(memory)


def test_memory_and_deadline_choose_sizes_and_nonsense_is_named():
    full, less = Recipe(), Recipe().within(4e6, 22, 1)
    assert less.big < full.big
    assert less.nbytes(22, 1) <= 4e6
    quick = full.until(100e-6, 22, 1)
    assert quick.big == 0 or quick.seconds(22, 1) <= 100e-6
    assert full.until(1.0, 22, 1).big == full.big
    assert (bytes_of("64MB"), bytes_of(1000), seconds_of("1ms"), seconds_of(None)) == (64e6, 1000, 1e-3, None)
    for bad in ({"memory": "much"}, {"memory": -1}, {"deadline": "soon"}, {"task": "both"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Auto(**bad)
    with pytest.raises(ValueError, match="memory is too small"):
        Auto(memory="1KB").run(np.zeros((1, 50)), [0.0])


def test_the_explanation_names_what_carries_the_prediction():
    """Labels that follow the last one and nothing else: the lag must lead the list."""
    assert "no row" in Auto().explain()
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.normal(size=600))
    model = Auto(recipe=SMALL)
    model.run(rng.normal(size=(600, 2)), y)
    table = model.explain().splitlines()
    first = next(i for i, line in enumerate(table) if "weight" in line) + 1
    assert table[first].split()[0] in ("label", "win100", "lin.95")


# -- streams made to break it ----------------------------------------------------------------------------------------
def poisoned(kind):
    rng = np.random.default_rng(0)
    X, y = stream(300)
    if kind == "constant, outliers, missing":
        X[:, 0] = 7.0
        X[rng.random(300) < 0.02, 1] = 1e9
        X[rng.random(300) < 0.3, 2] = np.nan
    elif kind == "tiny labels":
        y *= 1e-6
    elif kind == "huge labels":
        y *= 1e6
    elif kind == "ten rows":
        X, y = X[:10], y[:10]
    elif kind == "a drifting column":
        X[150:, 0] += 0.5 * np.arange(150)
    elif kind == "all values missing in a row":
        X[37] = np.nan
    elif kind == "nothing but missing values":
        X[:] = np.nan
    elif kind == "many columns":
        X = np.hstack([X[:60], rng.normal(size=(60, 2000))])
        y = y[:60]
    elif kind == "constant labels":
        y[:] = 3.0
    return X, y


@pytest.mark.parametrize(
    "kind",
    [
        "constant, outliers, missing",
        "tiny labels",
        "huge labels",
        "ten rows",
        "a drifting column",
        "all values missing in a row",
        "nothing but missing values",
        "many columns",
        "constant labels",
    ],
)
def test_poison_gives_finite_predictions_no_warning_and_no_nonsense(kind):
    X, y = poisoned(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Auto(recipe=SMALL)
        p = model.run(X, y)
        ends = model.predict_interval(X)
    assert np.isfinite(p).all()
    assert not np.isnan(ends).any()
    assert (np.abs(p[1:] - y.mean()) <= 1.01 * np.ptp(y) + 1e-12).all()
    assert np.mean((p - y)[5:] ** 2) <= 1.5 * y.var() + 1e-20


def test_one_class_for_long_and_then_another():
    X, y = stream(500)
    c = np.where(np.arange(500) < 300, 0.0, (y > 0).astype(float))
    model = Auto(task="classification", recipe=SMALL)
    P = model.run(X, c)
    assert np.isfinite(P).all()
    assert (P.argmax(axis=1) != c)[:300].mean() < 0.02
    assert (P.argmax(axis=1) != c)[400:].mean() < 0.35


def test_predictions_that_were_exact_for_long_do_not_overflow_the_intervals():
    X, _ = stream(200)
    y = np.where(np.arange(200) < 150, 3.0, 1e9)
    model = Auto(recipe=SMALL)
    model.run(X, y)
    assert not np.isnan(model.predict_interval(X)).any()
