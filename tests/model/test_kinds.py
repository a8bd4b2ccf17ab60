"""Kinds of columns row by row: the first rows may change them, and the model is then as if they had been told."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import PKRR, Auto, Model, Schema, Standardized, WithConstant, from_bytes
from nystream.auto.recipe import Recipe
from nystream.model import first_rows

SMALL = Auto(recipe=Recipe((1, 2, 5, 14, 40), landmarks=8, big=16, small=6, ring=20, refresh=15, window=15))
LINEAR = Standardized(PKRR(WithConstant(), lam=0.1))

NIGHT = datetime.datetime(2024, 2, 29, 23, 30)
CHANGES = {
    "a code and a word": (["12345", "23456"], "AB1", "category"),
    "a whole number and a word": ([1, 2], "three", "category"),
    "a missing value and a word": ([None, None], "red", "category"),
    "a missing value and a time": ([None, None], NIGHT, "time"),
    "a missing value and a truth": ([None, None], True, "boolean"),
    "a truth and a number": ([True, False], 0.5, "number"),
    "a truth and a word": ([True, False], "maybe", "category"),
    "two orders of a date": (["05/06/2024", "06/06/2024"], "25/06/2024", "time"),
    "a date and a word": (["2024-01-01", "2024-01-02"], "soon", "category"),
    "a word and a remark": (["fine", "good"], "the street was very busy and the sea was near", "text"),
}

pytestmark = pytest.mark.filterwarnings("ignore:rows lack columns of the model")


def stream(cells, other, at, n=60, seed=0):
    """Rows with a number `u` and a column `c`, which shows the other value from row `at` on, now and then."""
    rng = np.random.default_rng(seed)
    rows, y = [], []
    for t in range(n):
        is_other = t == at or (t > at and (t % 3 == 0 or (isinstance(other, str) and len(other) > 20)))
        cell = f"{other} {t}" if is_other and isinstance(other, str) and len(other) > 20 else other
        rows.append({"u": float(rng.normal()), "c": cell if is_other else cells[t % 2]})
        y.append(rows[-1]["u"] + 4.0 * is_other)
    return rows, y


def stepped(model, rows, y):
    return np.array([model.step(row, label) for row, label in zip(rows, y, strict=True)])


@pytest.mark.parametrize("at", [1, 6])
@pytest.mark.parametrize("change", CHANGES)
def test_a_kind_that_changes_is_as_if_it_had_been_told_from_the_first_row(change, at):
    cells, other, kind = CHANGES[change]
    rows, y = stream(cells, other, at)
    model = Model(SMALL)
    p = stepped(model, rows, y)
    assert model.schema_.columns["c"] == kind
    told = Model(SMALL, Schema({"u": "number", "c": kind}, formats=model.schema_.formats))
    q = stepped(told, rows, y)
    late = 50 if kind == "text" else at + 1  # a text shows after more rows
    assert_array_equal(p[late:], q[late:])
    assert_array_equal(model.predict(rows), told.predict(rows))
    assert model.n_seen == told.n_seen == 60
    assert_array_equal(model.recent_.labels, told.recent_.labels)


@pytest.mark.parametrize("change", CHANGES)
def test_blocks_say_what_single_rows_say_whatever_their_size(change):
    cells, other, _ = CHANGES[change]
    rows, y = stream(cells, other, 6)
    by_row = Model(SMALL)
    stepped(by_row, rows, y)
    for size in (60, 4, 25):
        blocks = Model(SMALL)
        for i in range(0, 60, size):
            blocks.run(rows[i : i + size], y[i : i + size])
            blocks = from_bytes(blocks.to_bytes())  # kinds that are not final are saved
        assert blocks.schema_.columns == by_row.schema_.columns
        assert blocks.schema_.looks_ == by_row.schema_.looks_
        assert blocks.first_._state() == by_row.first_._state()
        assert_allclose(blocks.predict(rows), by_row.predict(rows), rtol=1e-8, atol=1e-9)


def test_codes_become_a_category_as_long_as_kinds_are_not_final():
    for at in (150, 900):
        rows, y = stream(["12345", "23456"], "AB1", at, n=at + 5)
        model, told = Model(SMALL), Model(SMALL, Schema({"u": "number", "c": "category"}))
        model.run(rows[:at], y[:at])
        assert model.schema_.columns["c"] == "number"
        p = stepped(model, rows[at:], y[at:])
        assert_allclose(p, told.run(rows, y)[at:], rtol=1e-8, atol=1e-9)
        assert model.schema_.columns["c"] == "category"
    rows, y = stream(["12345", "23456"], "AB1", 1200, n=1201)
    model = Model(SMALL)
    model.run(rows[:1200], y[:1200])
    assert model.first_ is None
    before = model.to_bytes()
    with pytest.raises(ValueError, match="column 'c' is 'AB1', which is no finite number"):
        model.step(rows[1200], y[1200])
    assert model.to_bytes() == before


def test_numbers_with_fractions_and_times_become_no_levels():
    for cells, other in (([1.5, 2.5], "broken"), ([NIGHT, NIGHT], "soon")):
        model = Model(SMALL)
        model.step({"u": 1.0, "c": cells[0]}, 1.0)
        model.step({"u": 2.0, "c": cells[1]}, 2.0)
        before = model.to_bytes()
        with pytest.raises(ValueError, match=f"column 'c' is '{other}'"):
            model.step({"u": 3.0, "c": other}, 3.0)
        assert model.to_bytes() == before
        lenient = Model(SMALL, on_error="missing")
        stepped(lenient, [{"u": 1.0, "c": cell} for cell in (*cells, other)], [1.0, 2.0, 3.0])
        assert lenient.n_misfits == 1


def test_a_row_that_is_refused_changes_no_kind():
    model = Model(SMALL)
    model.run([{"zip": "12345"}, {"zip": "23456"}], [1.0, 2.0])
    before = model.to_bytes()
    with pytest.raises(ValueError, match="weights"):
        model.run([{"zip": "AB1"}], [1.0], weights=[-1.0])
    with pytest.raises(ValueError, match="no finite number"):
        model.step({"zip": "AB1"}, "high")
    assert model.to_bytes() == before
    assert np.isfinite(model.predict([{"zip": "AB1"}])).all()  # a value of another kind is missing so far
    assert model.to_bytes() == before


@pytest.mark.parametrize("cell", [2.0, True, "red", "2024-01-01", "a busy street near the old harbour"])
def test_a_column_that_appears_late_is_learnt_while_kinds_are_not_final(cell):
    rng = np.random.default_rng(0)
    rows = [{"u": float(rng.normal()), **({"late": cell} if t >= 20 and t % 2 else {})} for t in range(60)]
    y = [row["u"] + 5.0 * ("late" in row) for row in rows]
    one, block = Model(SMALL), Model(SMALL)
    p = stepped(one, rows, y)
    q = block.run(rows, y)
    assert one.schema_.columns == block.schema_.columns
    assert_allclose(p[22:], q[22:], rtol=1e-7, atol=1e-8)
    assert_allclose(one.predict(rows), block.predict(rows), rtol=1e-7, atol=1e-8)
    assert abs(one.predict([rows[-1]])[0] - one.predict([{"u": rows[-1]["u"]}])[0]) > 2.0


@pytest.mark.parametrize("kind", ["number", "boolean", "category", "time", "text"])
@pytest.mark.parametrize("first", ["number", "category"])
def test_widen_takes_columns_of_every_kind_and_leaves_predictions(first, kind):
    rng = np.random.default_rng(0)
    u = rng.normal(size=140)
    rows = [{"u": float(v), "s": float(v) if first == "number" else "ab"[t % 2]} for t, v in enumerate(u)]
    model = Model(SMALL, Schema({"u": "number", "s": first}))
    model.run(rows[:100], u[:100])
    before = model.predict(rows[:20])
    model.widen({"late": kind})
    assert_array_equal(model.predict(rows[:20]), before)
    cells = {
        "number": [0.0, 1.0],
        "boolean": [True, False],
        "category": ["x", "y"],
        "time": ["2024-01-01 10:00", "2024-01-01 20:00"],
        "text": ["a calm and blue sea", "the storm is near"],
    }[kind]
    model = from_bytes(model.to_bytes())
    for t in range(100, 140):
        model.step({**rows[t], "late": cells[t % 2]}, float(u[t] + 6 * (t % 2)))
    other = [model.predict([{**rows[0], "late": cell}], ahead=1)[0] for cell in cells]
    assert other[1] - other[0] > 1.0
    assert np.isfinite(model.predict(rows[:5])).all()  # without it again
    assert (
        model.recent_.columns["late"][0] is None or model.recent_.columns["late"][0] != model.recent_.columns["late"][0]
    )


def test_learners_of_numbers_refuse_other_late_columns_and_declared_kinds_never_change():
    model = Model(LINEAR)
    model.run([{"u": 1.0}, {"u": 2.0}], [1.0, 2.0])
    with pytest.raises(ValueError, match="column 'c' is of kind 'category'"):
        model.widen({"c": "category"})
    with pytest.raises(ValueError, match="column 'u' is of kind 'category'"):
        model.step({"u": "red"}, 1.0)
    assert model.n_seen == 2
    told = Model(SMALL, Schema({"zip": "number"}))
    told.step({"zip": "12345"}, 1.0)
    with pytest.raises(ValueError, match="column 'zip' is 'AB1', which is no finite number"):
        told.step({"zip": "AB1"}, 1.0)


def test_classes_weights_several_targets_and_rows_without_label_are_learnt_again_as_they_were():
    rows, _ = stream(["12345", "23456"], "AB1", 12, n=30)
    labels = [None if t % 5 == 4 else ["low", "high"][t % 2] for t in range(30)]
    weights = np.linspace(0.5, 2.0, 30)
    kinds = Schema({"u": "number", "c": "category"})
    for y in (labels, [[float(t), t % 3] for t in range(30)]):
        balanced = "balanced" if y is labels else None
        model, told = (Model(SMALL, schema, class_weight=balanced) for schema in (None, kinds))
        for i in range(0, 30, 10):
            model.run(rows[i : i + 10], y[i : i + 10], weights[i : i + 10])
        told.run(rows, y, weights)
        assert model.n_unlabelled == told.n_unlabelled
        assert model.classes == told.classes
        assert_allclose(model.scores(rows), told.scores(rows), rtol=1e-8, atol=1e-9)


def test_what_is_kept_is_bounded_and_what_has_types_is_final(monkeypatch):
    wide = Model(SMALL)
    wide.run([{f"c{j}": "1" for j in range(700)} for _ in range(100)], np.arange(100.0))
    assert wide.first_ is None
    letters = Model(SMALL)
    letters.run([{"text": "word " * 5000, "u": 1.0} for _ in range(50)], np.arange(50.0))
    assert letters.first_ is None
    frame = pd.DataFrame({"u": [1.0, 2.0], "s": pd.Categorical(["a", "b"])})
    typed = Model(SMALL)
    typed.run(frame, [1.0, 2.0])
    assert typed.first_ is None
    assert typed.schema_.columns == {"u": "number", "s": "category"}
    matrix = Model(SMALL)
    matrix.run(np.eye(3), [1.0, 2.0, 3.0])
    assert matrix.first_ is None
    monkeypatch.setattr(first_rows, "REPLAYED", 10)
    often = Model(SMALL)
    stepped(often, [{"u": 1.0, f"new{t}": 1.0} for t in range(5)], np.arange(5.0))
    assert often.first_ is None  # 0 + 1 + 2 + 3 + 4 rows were learnt again
    with pytest.warns(UserWarning, match="the model knows no column 'new9'"):
        often.step({"u": 1.0, "new9": 1.0}, 1.0)


def test_a_schema_says_nothing_of_typed_columns_from_the_first_row_alone():
    frame = pd.DataFrame({"u": [np.nan, 1.0, 2.0] * 10, "s": ["a", "b", "c"] * 10})
    model = Model(SMALL)
    model.run(frame, np.arange(30.0))
    assert str(model.schema_) == "u  number\ns  category  a"


def test_cells_that_do_not_fit_while_kinds_are_open_are_told_in_predictions():
    model = Model()
    model.run([{"size": t % 7 / 3, "shop": "ab"[t % 2]} for t in range(60)], [t % 7 / 3 for t in range(60)])
    rows = [{"size": "hot", "shop": "a"}, {"size": 1.5, "shop": "b"}, {"size": "x", "shop": "b"}]
    with pytest.warns(UserWarning, match=r"row 0: column 'size' is 'hot', .*; 2 such cells count as missing"):
        found = model.predict(rows)
    with pytest.warns(UserWarning, match="the cell counts as missing in predictions"):
        model.predict_interval(rows[:2])
    assert found[0] == model.predict({"shop": "a"})[0] == model.predict(rows[0])[0]  # one row: without a warning
