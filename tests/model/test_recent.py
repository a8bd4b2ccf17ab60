"""The rows that a model keeps to explain itself: which, how many, and what becomes of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import PKRR, SILK, Auto, Fourier, Gaussian, KernelRidge, Model, Schema, Standardized
from nystream.auto.recipe import Recipe
from nystream.model.recent import Recent, capacity_for

N = 400
rng = np.random.default_rng(0)
NUMBERS = pd.DataFrame({"size": rng.normal(size=N), "noise": rng.normal(size=N), "level": rng.normal(size=N)})
Y = 2 * NUMBERS["size"].to_numpy() + NUMBERS["level"].to_numpy() + 0.1 * rng.normal(size=N)
SMALL = Recipe(rebuilds=(1, 2, 5, 20, 50, 100, 200), landmarks=30, big=50, small=15, metric=100, ring=150, refresh=100)


def small_auto():
    return Auto(recipe=SMALL)


def ridge():
    return Standardized(PKRR(Fourier(Gaussian(2.0), 60, seed=0), lam=0.1))


def test_nothing_is_kept_where_nothing_is_to_be_and_that_is_said():
    model = Model(ridge(), keep=0)
    model.run(NUMBERS, Y)
    assert model.recent_ is None
    assert not {"importance", "explain_row", "explain"} & model.abilities
    with pytest.raises(ValueError, match=r"kept none of the rows it has learnt; give it some \(rows="):
        model.importance()
    with pytest.raises(ValueError, match="background="):
        model.explain_row(NUMBERS.iloc[[0]])
    with pytest.raises(nystream.Unable, match="has no explanation"):
        model.explain()
    assert next(iter(model.importance(NUMBERS, Y))) == "size"
    reasons = model.explain_row(NUMBERS.iloc[[0]], background=NUMBERS)
    assert_allclose(sum(reasons.values()), reasons.prediction - reasons.base, rtol=1e-10)
    with pytest.raises(ValueError, match="keep must be a whole number of at least 0"):
        Model(keep=-1)


@pytest.mark.parametrize("make", [Model, lambda: Model(schema=Schema(["a", "b"], task="regression"))])
def test_before_the_first_row_there_is_nothing_to_explain(make):
    model = make()
    for ask in (model.importance, lambda: model.explain_row({"a": 1.0, "b": 2.0})):
        with pytest.raises(ValueError, match="learnt nothing yet, so there is nothing to explain"):
            ask()
    assert model.explain() == "Auto has seen no row yet."
    with pytest.raises(ValueError, match="nothing to explain"):
        Model(ridge()).explain()


def test_rows_without_a_label_and_rows_of_weight_zero_are_not_kept():
    model = Model(ridge())
    y = Y.astype(object)
    y[::2] = None
    model.run(NUMBERS, y, weights=np.where(np.arange(N) < 200, 0.0, 1.0))
    assert_array_equal(model.recent_.labels[:, 0], Y[201::2])


def test_a_block_that_is_refused_is_not_kept():
    model = Model(KernelRidge(Gaussian(1.0), max_points=50))
    model.run(NUMBERS[:50], Y[:50])
    with pytest.raises(ValueError, match="max_points"):
        model.run(NUMBERS[50:], Y[50:])
    assert len(model.recent_) == 50


def test_wide_tables_keep_fewer_rows_and_very_wide_ones_none():
    assert capacity_for(dict.fromkeys("abc", "number"), 1) == 512
    assert capacity_for({str(j): "number" for j in range(784)}, 1) == 166
    assert capacity_for({str(j): "number" for j in range(100_000)}, 1) == 0
    assert capacity_for({str(j): "text" for j in range(100)}, 1) == 104
    assert capacity_for(dict.fromkeys("abc", "number"), 1, 3) == 3
    wide = Model(ridge())
    X = rng.normal(size=(12, 20_000))
    wide.run(X, X[:, 0])
    assert wide.recent_ is None
    for x in X[:3]:
        wide.step(x, 1.0)
    assert "importance" not in wide.abilities
    with pytest.raises(ValueError, match="kept none"):
        wide.importance()


def test_long_texts_are_cut_and_missing_words_and_times_come_back_missing():
    recent = Recent({"note": "text", "when": "time", "n": "number"}, 2, 3)
    day = np.array(["2024-01-01T00:00:00.000001", "NaT"], dtype="datetime64[us]")
    block = {"note": np.array(["x" * 5000, None], dtype=object), "when": day, "n": np.array([np.nan, 2.0])}
    recent.extend(block, np.array([[1.0, 2.0], [3.0, 4.0]]))
    found = recent.columns
    assert (len(found["note"][0]), found["note"][1]) == (2000, None)
    assert_array_equal(found["when"], day)
    assert_array_equal(found["n"], [np.nan, 2.0])
    assert list(found) == ["note", "when", "n"]
    for _ in range(4):
        recent.extend(block, np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert_array_equal(recent.labels[:, 1], [4.0, 2.0, 4.0])
    assert [word is None for word in recent.columns["note"]] == [True, False, True]


def test_kept_rows_follow_columns_that_appear_late_or_get_other_names():
    for make, fill in ((small_auto, np.nan), (lambda: SILK(Gaussian(1.0), loss="squared"), 0.0)):
        model = Model(make(), Schema(["size", "noise"]))
        model.run(NUMBERS[["size", "noise"]], Y)
        model.widen(["level"])
        assert_array_equal(model.recent_.columns["level"], np.full(N, fill))
        model.rename({"size": "length"})
        assert list(model.recent_.columns) == ["length", "noise", "level"]
        assert_array_equal(model.recent_.columns["length"], NUMBERS["size"])
        model.run(NUMBERS.rename(columns={"size": "length"}), Y)
        assert list(model.importance())[:1] == ["length"]


def test_what_is_unlearnt_is_not_kept_and_merged_models_keep_the_rows_of_both():
    first, second = (Model(PKRR(Fourier(Gaussian(2.0), 20, seed=0))) for _ in range(2))
    first.run(NUMBERS[:100], Y[:100])
    second.run(NUMBERS[100:150], Y[100:150])
    first.unlearn(NUMBERS[:30], Y[:30])
    assert_array_equal(first.recent_.labels[:, 0], Y[30:100])
    first.merge(second)
    assert_array_equal(first.recent_.labels[:, 0], Y[30:150])
    assert_array_equal(first.recent_.columns["size"], NUMBERS["size"][30:150])
    empty = Model(PKRR(Fourier(Gaussian(2.0), 20, seed=0)))
    assert empty.merge(second).importance() == second.importance()


def test_a_file_without_kept_rows_goes_on_and_keeps_those_to_come():
    model = Model(ridge())
    model.run(NUMBERS, Y)
    old = nystream.from_bytes(model.to_bytes())
    old.recent_ = None
    old = nystream.from_bytes(old.to_bytes())
    with pytest.raises(ValueError, match="kept none"):
        old.importance()
    for row, label in zip(NUMBERS.to_dict("records")[:20], Y[:20].tolist(), strict=True):
        assert old.step(row, label) == model.step(row, label)
    assert len(old.recent_) == 20
    assert_array_equal(old.recent_.labels[:, 0], Y[:20])
