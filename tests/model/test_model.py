"""The model: a learner with its table. Any kind of rows, by name; labels by name, some missing; saved and resumed."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from numpy.testing import assert_array_equal

import nystream
from nystream import PKRR, Auto, Fourier, Gaussian, Model, Schema
from nystream.auto.recipe import Recipe

rng = np.random.default_rng(0)
N = 120
X = rng.normal(size=(N, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
NAMES = ["a", "b", "c"]
ROWS = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
CLASSES = np.where(Y > 0.7, "high", np.where(Y < -0.7, "low", "mid"))
SMALL = Recipe((1, 2, 5, 14, 40), landmarks=8, big=16, small=6, ring=20, refresh=15, window=15, metric=30)


def ridge():
    return PKRR(Fourier(Gaussian(1.0), 30, seed=0), lam=0.1)


def small_auto():
    return Auto(recipe=SMALL)


def known(predictions):
    """As a list, None where nothing was known, which an array of numbers has as nan."""
    return [None if p is None or p != p else p for p in predictions]


def every_form():
    yield "matrix", X
    yield "dicts", ROWS
    yield "dicts in another order", [dict(reversed(row.items())) for row in ROWS]
    yield "pandas", pandas.DataFrame(X, columns=NAMES)[["c", "a", "b"]]
    yield "polars", polars.DataFrame(ROWS).select("b", "c", "a")
    yield "arrow", pyarrow.Table.from_pylist(ROWS)
    yield "structured", np.array([tuple(row) for row in X.tolist()], dtype=[(name, "f8") for name in NAMES])


@pytest.mark.parametrize("make", [ridge, small_auto])
@pytest.mark.parametrize("rows", [pytest.param(rows, id=name) for name, rows in every_form()])
def test_every_form_of_rows_gives_the_numbers_of_the_learner_alone(make, rows):
    model = Model(make(), Schema(NAMES))
    alone = make()
    assert_array_equal(model.run(rows, Y), alone.run(X, Y))
    assert_array_equal(model.predict(rows), alone.predict(X))
    assert (model.task, model.n_seen, model.size) == ("regression", N, alone.size)
    assert model.nbytes == alone.nbytes + model.recent_.nbytes


@pytest.mark.parametrize("labels", [Y, CLASSES], ids=["numbers", "classes"])
@pytest.mark.parametrize("make", [ridge, small_auto])
def test_blocks_equal_steps_whatever_is_missing(make, labels):
    labels = list(labels)
    for i in (0, 5, 6, 7, 30):
        labels[i] = (None, float("nan"), "")[i % 3] if isinstance(labels[-1], str) else (None, np.nan)[i % 2]
    whole, steps, parts = Model(make()), Model(make()), Model(make())
    expected = known(whole.run(ROWS, labels))
    assert known(steps.step(row, y) for row, y in zip(ROWS, labels, strict=True)) == expected
    cut = [parts.run(ROWS[i:j], labels[i:j]) for i, j in [(0, 1), (1, 8), (8, 9), (9, 60), (60, N)]]
    assert known(p for part in cut for p in part) == expected
    assert whole.learner_.to_bytes() == parts.learner_.to_bytes()
    assert whole.n_unlabelled == steps.n_unlabelled == 5
    assert whole.n_seen == steps.n_seen == N - 5


def test_a_row_without_a_label_leaves_no_trace_but_its_count():
    labels = [None if i % 4 == 1 else y for i, y in enumerate(Y.tolist())]
    model, alone = Model(small_auto()), Model(small_auto())
    model.run(ROWS, labels)
    alone.run([row for row, y in zip(ROWS, labels, strict=True) if y is not None], [y for y in labels if y is not None])
    assert_array_equal(model.predict(ROWS), alone.predict(ROWS))
    before = model.predict(ROWS)
    model.run(ROWS)
    assert_array_equal(model.predict(ROWS), before)
    assert model.n_unlabelled == N // 4 + N


def test_the_first_prediction_does_not_know_its_own_class_and_none_does_later():
    for make in (ridge, small_auto):
        model = Model(make())
        said = model.run(ROWS, CLASSES)
        assert said[0] is None
        for i, name in enumerate(said[1:], 1):
            assert name in set(CLASSES[:i])
        assert model.classes == list(dict.fromkeys(CLASSES))
        late = Model(make())
        early = ["low"] * 10 + ["high"] * 10
        assert list(late.run(ROWS[:20], early))[:11] == [None] + ["low"] * 10


def test_declared_classes_are_known_from_the_start_and_come_first():
    model = Model(ridge(), Schema(NAMES, task="classification", classes=["mid", "low", "high"]))
    assert model.run(ROWS[:10], CLASSES[:10])[0] == "mid"
    assert model.classes == ["mid", "low", "high"]
    assert model.probabilities(ROWS).shape == (N, 3)
    model.step(ROWS[0], "new")
    assert model.classes[-1] == "new"


def test_probabilities_come_in_the_order_of_the_classes():
    for make in (ridge, small_auto):
        model = Model(make())
        model.run(ROWS, CLASSES)
        P = model.probabilities(ROWS)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert [model.classes[k] for k in P.argmax(axis=1)] == model.predict(ROWS).tolist()


@pytest.mark.parametrize(("labels", "names"), [([True, False] * 10, {True, False}), ([3, 7.0] * 10, {3, 7})])
def test_classes_keep_the_type_they_came_with(labels, names):
    model = Model(ridge(), Schema(NAMES, task="classification"))
    model.run(ROWS[:20], labels)
    assert set(model.predict(ROWS)) <= names
    assert [type(c) for c in model.classes] == [type(labels[0]), int if labels[1] == 7.0 else bool]


def test_several_targets_are_learnt_together():
    Y2 = np.column_stack([Y, -2 * Y])
    expected = ridge().run(X, Y2)
    model = Model(ridge(), Schema(NAMES, target=["u", "v"]))
    assert model.predict(ROWS[:2]).shape == (2,)  # no label has told the task
    assert_array_equal(model.run(ROWS, Y2), expected)
    frame = pandas.DataFrame(X, columns=NAMES).assign(u=Y2[:, 0], v=Y2[:, 1])
    named = Model(ridge(), Schema(NAMES, target=["u", "v"]))
    assert_array_equal(named.run(frame), expected)
    assert_array_equal(named.step(ROWS[0], [0.0, None]), named.predict(ROWS[:1])[0])
    assert named.n_unlabelled == 1
    with pytest.raises(ValueError, match="y has 3 columns; the targets are u, v"):
        named.run(ROWS[:1], [[1, 2, 3]])
    lists = Model(ridge())
    assert_array_equal(lists.run(X, Y2.tolist()), expected)


def test_the_target_may_be_a_column_of_the_rows():
    frame = pandas.DataFrame(X, columns=NAMES).assign(y=Y)
    expected = Model(ridge()).run(X, Y)
    by_schema = Model(ridge(), Schema.of(frame, target="y"))
    assert_array_equal(by_schema.run(frame), expected)
    by_name = Model(ridge())
    assert_array_equal(by_name.run(frame, "y"), expected)
    assert by_name.target == "y"
    assert_array_equal(by_name.predict(frame), by_name.predict(frame.drop(columns="y")))


def test_labels_come_as_series_arrow_arrays_and_lists():
    expected = Model(ridge()).run(X, Y)
    for labels in (pandas.Series(Y), polars.Series(Y), pyarrow.array(Y), tuple(Y.tolist()), pyarrow.chunked_array([Y])):
        assert_array_equal(Model(ridge()).run(X, labels), expected)


def test_an_unknown_column_is_reported_once_and_a_missing_one_is_missing():
    model = Model(small_auto())
    model.run(ROWS[:50], Y[:50])
    with pytest.warns(UserWarning, match="the model knows no column 'z'"):
        p = model.predict([{**ROWS[0], "z": 1.0}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(model.predict([{**ROWS[0], "z": 1.0}]), p)
    holes = X[:1].copy()
    holes[0, 1] = np.nan
    with pytest.warns(UserWarning, match="rows lack columns of the model, which count as missing: 'b'"):
        assert_array_equal(model.predict([{"a": X[0, 0], "c": X[0, 2]}]), model.predict(holes))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict([{"a": X[0, 0], "c": X[0, 2]}])
    with pytest.raises(ValueError, match=r"rows have none of the model's columns \('a', 'b', 'c'\); they have 'd'"):
        model.predict([{"d": 1.0}])


def test_a_learner_without_missing_values_says_which_column_is_missing():
    model = Model(ridge())
    model.run(ROWS[:50], Y[:50])
    before = model.to_bytes()
    for act in (model.predict, lambda rows: model.run(rows, [1.0, 2.0])):
        with pytest.raises(ValueError, match="row 1: column 'b' is missing, and PKRR takes no missing values"):
            act([ROWS[0], {"a": 1.0, "c": 2.0}])
    assert model.to_bytes() == before


def test_values_that_do_not_fit_are_errors_or_counted():
    rows = [ROWS[0], {**ROWS[1], "b": "broken"}]
    strict = Model(small_auto())
    strict.run(ROWS, Y)
    before = strict.to_bytes()
    with pytest.raises(ValueError, match="row 1: column 'b' is 'broken', which is no finite number"):
        strict.run(rows, Y[:2])
    assert strict.to_bytes() == before
    lenient = Model(small_auto(), on_error="missing")
    lenient.run(ROWS, Y)
    lenient.run(rows, Y[:2])
    assert lenient.n_misfits == 1
    lenient.predict(rows)
    assert lenient.n_misfits == 1


def test_a_refused_first_block_leaves_a_fresh_model():
    model = Model(ridge())
    with pytest.raises(ValueError, match="weights"):
        model.run(ROWS, Y, weights=[1.0])
    with pytest.raises(ValueError, match="one label for each of the 120 rows, got 3"):
        model.run(ROWS, Y[:3])
    assert model.schema_ is None
    assert model.learner_ is None
    assert_array_equal(model.run(ROWS, Y), ridge().run(X, Y))


def test_weights_reach_the_learner():
    w = rng.uniform(0.5, 2, size=N)
    assert_array_equal(Model(ridge()).run(ROWS, Y, w), ridge().run(X, Y, w))
    one, other = Model(ridge()), ridge()
    for row, x, y, weight in zip(ROWS[:20], X, Y.tolist(), w.tolist(), strict=False):
        assert one.step(row, y, weight) == other.step(x, y, weight)
    with pytest.raises(ValueError, match="does not take weights"):
        Model(nystream.KONS(Gaussian(1.0))).run(ROWS, Y, w)


@pytest.mark.parametrize("labels", [Y, CLASSES], ids=["numbers", "classes"])
def test_a_model_resumes_bit_for_bit(tmp_path, labels):
    model = Model(small_auto())
    model.run(ROWS[:70], labels[:70])
    model.save(tmp_path / "m.nys")
    resumed = nystream.load(tmp_path / "m.nys")
    assert resumed.schema_.columns == dict.fromkeys(NAMES, "number")
    assert resumed.classes == model.classes
    assert_array_equal(resumed.run(ROWS[70:], labels[70:]), model.run(ROWS[70:], labels[70:]))
    assert nystream.from_bytes(resumed.to_bytes()).to_bytes() == model.to_bytes()


def test_a_target_of_another_kind_is_refused_with_the_way_out():
    model = Model(ridge())
    model.run(ROWS[:50], CLASSES[:50])
    with pytest.raises(ValueError, match=r"label 1.5 is a number, the classes so far are names \(.*begin a new model"):
        model.run(ROWS[:1], [1.5])
    numbers = Model(ridge())
    numbers.run(ROWS[:50], Y[:50])
    with pytest.raises(ValueError, match="'low', which is no finite number"):
        numbers.run(ROWS[:1], ["low"])
    whole = Model(ridge(), Schema(NAMES, task="classification"))
    whole.run(ROWS[:2], [0, 1])
    with pytest.raises(ValueError, match=r"label 0.5 is no whole number"):
        whole.step(ROWS[0], 0.5)


def test_learners_of_classes_refuse_fractions_with_one_line():
    with pytest.raises(ValueError, match=r"label 0.37: Perceptron learns classes, and the target is a number"):
        Model(nystream.Perceptron(Gaussian(1.0))).run(ROWS[:2], [0.37, 0.5])
    with pytest.raises(ValueError, match=r"FOGD learns classes.*loss='squared'"):
        Model(nystream.FOGD(Gaussian(1.0)), Schema(NAMES, task="regression")).run(ROWS[:2], [0.37, 0.5])


def test_columns_that_are_no_numbers_are_refused_until_they_are_encoded():
    with pytest.raises(ValueError, match=r"column 'city' is of kind 'category'.*Encoded"):
        Model(ridge()).run([{"a": 1.0, "city": "Oslo"}], [1.0])


def test_prediction_from_four_threads_equals_prediction():
    model = Model(small_auto())
    model.run(ROWS, CLASSES)
    expected, before = model.predict(ROWS), model.to_bytes()
    found: list[bool] = []

    def ask(form):
        found.extend(bool((model.predict(form) == expected).all()) for _ in range(10))

    threads = [threading.Thread(target=ask, args=(form,)) for form in (ROWS, X, pandas.DataFrame(ROWS), ROWS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 40
    assert model.to_bytes() == before


def test_before_any_row_nothing_is_known():
    assert Model().predict(ROWS[:2]).tolist() == [None, None]
    assert Model(None, Schema(NAMES, task="regression")).predict(ROWS[:2]).tolist() == [0.0, 0.0]
    assert Model(None, Schema(NAMES, ["u", "v"], "regression")).predict(ROWS[:2]).shape == (2, 2)
    model = Model()
    assert model.run(ROWS[:3]).tolist() == [None] * 3
    assert (model.n_unlabelled, model.n_seen, model.task) == (3, 0, None)
    assert model.run(ROWS[3:5], [1.5, 2.5])[0] == 0.0


def test_novelty_needs_no_labels():
    model = Model(None, Schema(NAMES, task="novelty"))
    scores = model.run(ROWS)
    assert (model.task, model.n_seen, scores.shape) == ("novelty", N, (N,))
    far = model.predict([dict.fromkeys(NAMES, 9.0)])[0]
    assert far < model.predict(ROWS).mean()


def test_a_trained_learner_becomes_a_model():
    learner = ridge()
    learner.run(X, Y)
    model = Model.around(learner, Schema(NAMES, "y"))
    assert_array_equal(model.predict(ROWS), learner.predict(X))
    assert model.learner_ is learner
    assert model.n_seen == N
    with pytest.raises(ValueError, match="the learner has 3 columns, the schema 2"):
        Model.around(learner, Schema(["a", "b"]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Model("pkrr"), "learner must be a nystream learner or None, got 'pkrr'"),
        (lambda: Model(None, {"a": "number"}), "schema must be a nystream.Schema or None"),
        (lambda: Model(on_error="ignore"), "on_error must be one of"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize(
    "columns", [{"x": "number", "z": "number"}, {"x": "number", "z": "category"}, {"x": "boolean"}]
)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_parsed_row_is_learnt_like_the_row_itself(columns, task):
    rng = np.random.default_rng(0)
    values = {"number": lambda: float(rng.normal()), "category": lambda: str(rng.choice(["a", "b"])), "boolean": bool}
    plain, parsed = (Model(schema=Schema(columns, "y", task)) for _ in range(2))
    for i in range(30):
        row, y = (
            {name: values[kind]() for name, kind in columns.items()},
            float(i % 3) if task == "regression" else i % 3,
        )
        assert_array_equal(np.array([plain.step(row, y)]), np.array([parsed.step(parsed.parse([row]), y)]))
    assert plain.to_bytes() == parsed.to_bytes()
