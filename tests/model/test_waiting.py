"""Rows that wait for their labels: predicted when they come, learnt when their label does, saved in between."""

from __future__ import annotations

import copy
import datetime
import warnings

import numpy as np
import pandas
import pytest
from numpy.testing import assert_array_equal

import nystream
from nystream import PKRR, Fourier, Gaussian, Model

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
ROWS = [dict(zip("abc", row, strict=True)) for row in X.tolist()]
DAY = datetime.datetime(2024, 3, 1, 12, 30)
TABLE = [
    {"shop": "xyz"[i % 3], "amount": ROWS[i]["a"], "when": DAY + i * datetime.timedelta(hours=7)} for i in range(60)
]


def ridge():
    return PKRR(Fourier(Gaussian(1.0), 30, seed=0), lam=0.1)


@pytest.mark.parametrize(
    ("make", "block", "rows"),
    [
        (ridge, ROWS, ROWS),
        (ridge, X, list(X)),
        (lambda: None, TABLE, TABLE),
        (lambda: None, TABLE, [pandas.Series(row) for row in TABLE]),
    ],
    ids=["dicts", "numbers", "table", "series"],
)
def test_a_labelled_row_is_learnt_as_if_it_came_then_and_predicted_as_it_was(make, block, rows):
    model, alone = Model(make()), Model(make())
    model.run(block[:40], Y[:40])
    alone.run(block[:40], Y[:40])
    before = alone.predict(block[40:50])
    ids = [model.remember(row) for row in rows[40:50]]
    assert ids == list(model.remembered) == list(range(10))
    assert_array_equal(list(model.remembered.values()), before)
    assert model.n_seen == 40
    order = [3, 0, 9, 5]
    for i in order:
        assert model.label(ids[i], Y[40 + i]) == before[i]  # though others were learnt in between
        alone.run(block[40 + i : 41 + i], [Y[40 + i]])
    assert model.n_seen == 44
    assert list(model.remembered) == [1, 2, 4, 6, 7, 8]
    assert_array_equal(model.predict(block[50:]), alone.predict(block[50:]))


@pytest.mark.parametrize("through", ["file", "bytes", "copy"])
def test_rows_that_wait_are_saved_with_the_model(through, tmp_path):
    labels = np.where(Y > 0, "up", "down")
    model = Model()
    model.run(TABLE[:40], labels[:40])
    ids = [model.remember(row) for row in TABLE[40:45]]
    model.label(ids[1], labels[41])
    if through == "file":
        model.save(tmp_path / "model.nys")
        twin = nystream.load(tmp_path / "model.nys")
    else:
        twin = nystream.from_bytes(model.to_bytes()) if through == "bytes" else copy.deepcopy(model)
    assert twin.remembered == model.remembered != {}
    for id in (ids[4], ids[0]):
        assert twin.label(id, labels[40 + id]) == model.label(id, labels[40 + id])
    assert twin.remember(TABLE[50]) == model.remember(TABLE[50]) == 5
    assert twin.to_bytes() == model.to_bytes()
    with pytest.raises(ValueError, match="id 1 waits for a label: it has been labelled already"):
        twin.label(1, "up")
    assert model.clone().remembered == {}  # a clone has learnt nothing


def test_a_row_may_wait_before_the_first_label_of_all():
    model = Model()
    id = model.remember({"x": 1.0, "k": "a"})
    assert model.remembered == {id: None}
    assert model.label(id, 2.0) is None
    assert (model.task, model.n_seen, model.schema_.columns) == ("regression", 1, {"x": "number", "k": "category"})


def test_several_targets_and_weights():
    model, alone = Model(ridge()), Model(ridge())
    both = np.column_stack([Y, -Y])
    for m in (model, alone):
        m.run(ROWS[:30], both[:30])
    expected = alone.predict(ROWS[30:31])[0]
    id = model.remember(ROWS[30])
    assert_array_equal(nystream.from_bytes(model.to_bytes()).label(id, both[30]), expected)
    assert_array_equal(model.label(id, both[30], weight=3.0), expected)
    alone.run(ROWS[30:31], both[30:31], [3.0])
    assert_array_equal(model.predict(ROWS), alone.predict(ROWS))


def test_a_label_that_never_comes_ends_the_wait():
    model = Model(ridge())
    model.run(ROWS[:30], Y[:30])
    id = model.remember(ROWS[30])
    model.label(id, None)
    assert (model.n_seen, model.n_unlabelled, model.remembered) == (30, 1, {})


def test_the_oldest_give_way_are_counted_and_the_first_is_reported():
    model = Model(ridge(), waiting=3)
    model.run(ROWS[:30], Y[:30])
    ids = [model.remember(row) for row in ROWS[30:33]]
    model.label(ids[1], Y[31])
    model.remember(ROWS[33])
    with pytest.warns(UserWarning, match="3 rows wait for their labels, as many as may"):
        model.remember(ROWS[34])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.remember(ROWS[35])
    assert (model.n_forgotten, list(model.remembered)) == (2, [3, 4, 5])
    with pytest.raises(ValueError, match="or it was one of 2 that were forgotten because more than 3 rows waited"):
        model.label(ids[0], Y[30])
    assert nystream.from_bytes(model.to_bytes()).n_forgotten == 2
    with pytest.raises(ValueError, match="waiting=0"):
        Model(waiting=0).remember(ROWS[0])


def test_what_is_refused_leaves_no_trace():
    model = Model(ridge())
    model.run(ROWS[:30], Y[:30])
    id = model.remember(ROWS[30])
    before = model.to_bytes()
    for call, error, message in [
        (lambda: model.label(7, 1.0), ValueError, "id 7 waits for a label: this model never gave that id"),
        (lambda: model.label(-1, 1.0), ValueError, "never gave that id"),
        (lambda: model.label("0", 1.0), ValueError, "ids are whole numbers"),
        (lambda: model.label(True, 1.0), ValueError, "ids are whole numbers"),
        (lambda: model.label(id, "a word"), ValueError, "a word"),
        (lambda: model.remember(ROWS[:2]), TypeError, "remember takes one row"),
        (lambda: model.remember({"a": [1, 2], "b": 1.0, "c": 2.0}), TypeError, "numbers, strings, booleans, times"),
        (lambda: model.remember({"a": "far", "b": 1.0, "c": 2.0}), ValueError, "far"),
    ]:
        with pytest.raises(error, match=message):
            call()
        assert model.to_bytes() == before
    model.label(id, Y[30])
    with pytest.raises(ValueError, match="it has been labelled already"):
        model.label(id, Y[30])


def test_ids_stay_with_the_model_that_gave_them_when_models_merge():
    left, right = Model(ridge()), Model(ridge())
    right.run(ROWS[:30], Y[:30])
    right.remember(ROWS[30])
    assert left.merge(right).remembered == {}
    assert left.remember(ROWS[31]) == 0
    left.merge(right)
    assert list(left.remembered) == [0]
    left.label(0, Y[31])
    assert left.n_seen == 61


def test_a_file_whose_waiting_rows_are_damaged_is_refused():
    model = Model(ridge())
    model.run(ROWS[:5], Y[:5])
    model.remember(ROWS[5])
    model.waiting_[0] = ["no row"]
    with pytest.raises(ValueError, match="rows that wait for their labels are not in order"):
        nystream.from_bytes(model.to_bytes())
