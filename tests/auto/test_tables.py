"""Auto on tables and sparse rows: what it takes of memory and time, and what it says of itself."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from table_streams import KINDS, SMALL, columns, late, sparse

from nystream import Auto, Model, from_bytes
from nystream.auto.budget import bytes_of, slowness
from nystream.auto.recipe import EXPERTS
from nystream.auto.tables import SHARE, seconds_to_translate

WIDE_KINDS = {f"c{i}": "category" for i in range(20)} | {"note": "text", "a": "number", "when": "time"}


def wide_table(n=60):
    rng = np.random.default_rng(0)
    content = {f"c{i}": np.array([f"level {k}" for k in rng.integers(500, size=n)], dtype=object) for i in range(20)}
    content["note"] = np.array([" ".join(map(str, rng.integers(10**6, size=12))) for _ in range(n)], dtype=object)
    content["a"] = rng.normal(size=n)
    content["when"] = np.datetime64("2024-01-01") + np.arange(n).astype("timedelta64[h]")
    return content


@pytest.mark.parametrize("memory", ["3MB", "8MB", "64MB"])
@pytest.mark.parametrize("classes", [False, True])
def test_tables_of_the_sparse_experts_shrink_with_the_memory(memory, classes):
    content, y = wide_table(), np.arange(60.0) % (7 if classes else 50)
    model = Auto(memory=memory, task="classification" if classes else "regression")
    model.run(content, y)
    own = model.translator_.nbytes
    assert 0.02 * bytes_of(memory) < own <= SHARE * bytes_of(memory)
    assert model.nbytes <= bytes_of(memory)


def test_the_peak_of_a_table_is_within_the_memory():
    content, y = wide_table(1200), np.arange(1200.0) % 50
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        Auto(memory="12MB").run(content, y)
        assert tracemalloc.get_traced_memory()[1] - before <= bytes_of("12MB")
    finally:
        tracemalloc.stop()


def test_classes_that_come_late_stay_within_the_memory_of_a_table():
    X, f = columns()
    model = Auto(recipe=SMALL, memory="4MB", task="classification")
    model.run(X, np.arange(len(f), dtype=float) // 2)
    assert model.outputs_ == 30
    assert model.translator_.nbytes <= SHARE * bytes_of("4MB")


def test_the_time_of_translating_rows_is_within_the_deadline():
    X, f = columns()
    numbers = np.column_stack([f] * len(KINDS))
    plain, table = Auto(deadline=3e-4 * slowness()), Auto(deadline=3e-4 * slowness())
    plain.run(numbers, f)
    table.run(X, f)
    assert len(table.pipeline_.sizes_.living) < len(plain.pipeline_.sizes_.living) <= len(EXPERTS)
    assert seconds_to_translate(KINDS, 1) > 1e-4
    with pytest.raises(ValueError, match="deadline is too short"):
        Auto(deadline="0.1ms").run(X, f)


def test_explain_names_the_sparse_experts_and_the_columns_for_people():
    X, f = columns()
    model = Auto(recipe=SMALL)
    model.run(X, f)
    text = model.explain()
    assert "linear in levels, words and bins, rate 3" in text
    assert "linear in those and pairs of levels, filtered" in text
    assert "values were missing in columns size" in text
    weights = model.weights()
    assert "linear in levels, words and bins, rate 1" in weights
    assert sum(weights.values()) == pytest.approx(1.0)
    rows, g = sparse()
    model = Auto(recipe=SMALL)
    model.run(rows, g)
    assert "linear in the sparse columns, filtered" in model.explain()


def test_a_wild_label_spoils_no_mean_of_a_level():
    X, f = columns(300)
    wild = f.copy()
    wild[200] = 1e9
    clean, spoilt = Auto(recipe=SMALL, memory="8MB"), Auto(recipe=SMALL, memory="8MB")
    clean.run(X, f)
    spoilt.run(X, wild)
    assert np.abs(spoilt.translator_.encoder_.totals_[1]) < 10 * np.abs(clean.translator_.encoder_.totals_[1])
    p = spoilt.predict(X[250:])
    assert np.mean((p - f[250:]) ** 2) < f.var()


def test_rows_of_another_kind_than_the_first_are_refused():
    X, f = columns()
    rows, g = sparse()
    table, wide, numbers = Auto(recipe=SMALL), Auto(recipe=SMALL), Auto(recipe=SMALL)
    table.run(X, f)
    wide.run(rows, g)
    numbers.run(np.column_stack([f, g]), f)
    with pytest.raises(ValueError, match="X is sparse, but the learner was started with named columns"):
        table.predict(rows)
    with pytest.raises(ValueError, match="started with sparse rows"):
        wide.predict(X)
    with pytest.raises(ValueError, match="started with rows of 2 numbers without names"):
        numbers.predict(X)
    with pytest.raises(ValueError, match="too large to be squared"):
        wide.run(csr_array(([1e80], ([0], [5])), shape=(1, rows.d)), [1.0])
    with pytest.raises(TypeError, match="use widen_columns"):
        table.widen(9)
    with pytest.raises(TypeError, match="no rows with named columns"):
        numbers.widen_columns({"a": "number"})


def test_columns_of_numbers_with_names_are_found_by_name():
    rng = np.random.default_rng(0)
    content = {"a": rng.normal(size=80), "b": rng.normal(size=80)}
    y = content["a"] - content["b"]
    named, matrix = Auto(recipe=SMALL), Auto(recipe=SMALL)
    X = np.column_stack(list(content.values()))
    assert np.array_equal(named.run(content, y), matrix.run(X, y))
    turned = {"b": content["b"], "a": content["a"]}
    assert np.array_equal(named.predict(turned), matrix.predict(X))
    assert np.isfinite(named.step({"b": 1.0, "a": None}, 2.0))
    named.widen_columns({"c": "number"})
    assert named.d_ == 3
    before = named.predict(content)
    named.widen_columns({"d": "category", "e": "text", "f": "time"})
    assert named.d_ == 6
    assert np.allclose(named.predict(content), before, rtol=1e-9, atol=1e-9)
    resumed = from_bytes(named.to_bytes())
    teams = np.array(["red", "blue"] * 40, dtype=object)
    late = {**content, "d": teams}
    for _ in range(3):
        p = named.run(late, y + 5.0 * (teams == "red"))
        assert np.array_equal(resumed.run(late, y + 5.0 * (teams == "red")), p)
    assert np.mean(np.abs(p - y - 5.0 * (teams == "red"))) < 1.0


def test_numbers_without_names_are_named_so_that_other_columns_may_follow():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = Auto(recipe=SMALL)
    model.run(X, X[:, 0])
    with pytest.raises(TypeError, match="no rows with named columns so far"):
        model.widen_columns({"shop": "category"})
    with pytest.raises(ValueError, match="only 2 columns of numbers without names can be named"):
        model.name_columns({"u": "number"})
    before = model.predict(X)
    model.name_columns({"u": "number", "v": "number"})
    assert np.array_equal(model.predict({"v": X[:, 1], "u": X[:, 0]}), before)
    model.widen_columns({"shop": "category"})
    assert np.allclose(model.predict({"v": X[:, 1], "u": X[:, 0]}), before, rtol=1e-9, atol=1e-9)


def test_a_narrow_sparse_matrix_is_a_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.5)
    one, two = Auto(recipe=SMALL), Auto(recipe=SMALL)
    assert np.array_equal(one.run(csr_array(X), X[:, 0]), two.run(X, X[:, 0]))
    assert np.array_equal(two.predict(csr_array(X)), two.predict(X))


def test_a_model_takes_sparse_rows_and_new_columns_of_tables():
    rows, g = sparse()
    model = Model(Auto(recipe=SMALL))
    model.run(rows, ["high" if v > 4 else "low" for v in g])
    assert set(model.predict(rows)) <= {"high", "low"}
    assert model.schema_.width == rows.d
    with pytest.raises(ValueError, match="have no names"):
        model.widen(["x"])
    X, f = columns()
    content = dict(zip(KINDS, X.arrays, strict=True)) | {"when": X.arrays[2].view("datetime64[us]")}
    table = Model(Auto(recipe=SMALL))
    table.run(content, late(f).astype(int).astype(str))
    table.widen({"team": "category"})
    assert list(table.schema_.columns)[-1] == "team"
    team = np.array(["a", "b"] * 30, dtype=object)
    assert table.run({**content, "team": team}, late(f).astype(int).astype(str)).shape == (60,)
