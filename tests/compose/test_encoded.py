"""Learners of numbers behind the encoder: tables in, predictions out, and the laws on tables."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import (
    FOGD,
    KONS,
    PKRR,
    Auto,
    Classifier,
    Encoded,
    Fourier,
    Gaussian,
    GaussianFilter,
    KernelRidge,
    Linear,
    Standardized,
    WithConstant,
    from_bytes,
)
from nystream.auto.recipe import Recipe
from nystream.data.batch import Batch
from nystream.data.encoding import Encoder

KINDS = {"size": "number", "shop": "category", "when": "time", "note": "text", "open": "boolean"}
SMALL = Recipe((1, 2, 5, 14, 40), landmarks=8, big=16, small=6, ring=20, refresh=15, window=15, metric=30)
LINEAR = Standardized(PKRR(WithConstant(), lam=0.1))


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    shops = np.array([f"shop {i}" for i in range(9)] + [None], dtype=object)
    shop = shops[rng.integers(10, size=n)]
    size = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    when = np.datetime64("2024-03-01", "us") + np.cumsum(rng.integers(1, 300, size=n)).astype("timedelta64[m]")
    words = np.array(["red", "green", "blue"], dtype=object)[rng.integers(3, size=n)]
    content = {"size": size, "shop": shop, "when": when, "note": words + " thing", "open": rng.random(n) < 0.5}
    effect = np.array([0.0 if s is None else float(s[5:]) for s in shop])
    y = effect + np.nan_to_num(size) + 3 * (words == "red") + 0.1 * rng.normal(size=n)
    return content, y


def cut(content, part):
    return {name: values[part] for name, values in content.items()}


def classes_of(y):
    return np.digitize(y, [2.0, 6.0, 9.0]).astype(float)


MAKERS = {
    "least squares": (lambda: Encoded(LINEAR.clone(), KINDS), lambda y: y),
    "experts": (lambda: Encoded(LINEAR.clone(), KINDS, experts=True), lambda y: y),
    "auto": (lambda: Encoded(Auto(recipe=SMALL), KINDS, experts=True), lambda y: y),
    "auto, classes": (
        lambda: Encoded(Auto(recipe=SMALL, task="classification"), KINDS, experts=True),
        classes_of,
    ),
    "classifier": (lambda: Encoded(Classifier(LINEAR.clone()), KINDS, experts=True), classes_of),
    "signs": (lambda: Encoded(FOGD(Gaussian(1.0), dim=20, seed=0), KINDS), lambda y: np.where(y > 4, 1.0, -1.0)),
}


@pytest.fixture(params=MAKERS)
def case(request):
    return MAKERS[request.param]


def test_blocks_equal_rows_on_tables(case):
    make, labels = case
    content, y = table()
    y = labels(y)
    whole, parts, rows = make(), make(), make()
    expected = whole.run(content, y)
    got = [parts.run(cut(content, slice(i, i + 37)), y[i : i + 37]) for i in range(0, 150, 37)]
    width = expected.ndim > 1 and expected.shape[1]
    if width:
        got = [np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=-np.inf) for p in got]
    assert_allclose(np.concatenate(got), expected, rtol=1e-7, atol=1e-9)
    last = [rows.step({k: v[t] for k, v in content.items()}, y[t]) for t in range(150)][-1]
    assert_allclose(last, expected[-1], rtol=1e-6, atol=1e-8)
    assert whole.n_seen == rows.n_seen == 150


def test_no_label_reaches_its_own_prediction(case):
    make, labels = case
    content, y = table()
    y = labels(y)
    one = make()
    one.run(cut(content, slice(0, 100)), y[:100])
    for t in range(100, 104):
        twin, row = copy.deepcopy(one), cut(content, slice(t, t + 1))
        other = y[t + 1 : t + 2] if y[t + 1] != y[t] else y[:1]
        assert_array_equal(one.run(row, y[t : t + 1]), twin.run(row, other))


def test_predicting_changes_nothing_and_files_go_on(case):
    make, labels = case
    content, y = table()
    y = labels(y)
    model = make()
    model.run(cut(content, slice(0, 90)), y[:90])
    before = model.to_bytes()
    first = model.predict(content)
    assert_array_equal(model.predict(cut(content, slice(7, 8)))[0], first[7])
    assert model.to_bytes() == before
    resumed = from_bytes(before)
    rest = cut(content, slice(90, 150))
    assert_array_equal(resumed.run(rest, y[90:]), model.run(rest, y[90:]))
    assert resumed.to_bytes() == model.to_bytes()


def test_the_learner_gets_the_dense_rows_of_the_encoder():
    content, y = table()
    model = Encoded(Auto(recipe=SMALL), KINDS)
    got = model.run(content, y)
    encoder, inner = Encoder(), Auto(recipe=SMALL)
    encoder.start(KINDS, 1)
    assert_array_equal(got, inner.run(encoder.run(content, y).dense, y))


def test_experts_hear_what_only_the_text_says():
    content, y = table(600)
    errors = []
    for experts in (False, True):
        p = Encoded(LINEAR.clone(), KINDS, experts=experts).run(content, y)
        errors.append(np.mean((p - y)[300:] ** 2))
    assert errors[1] < 0.3 * errors[0]


def test_missing_numbers_are_the_mean_so_far_where_the_learner_takes_none():
    model = Encoded(PKRR(WithConstant(), lam=0.1), {"size": "number"})
    model.run({"size": [1.0, 3.0, np.nan, 8.0]}, [1.0, 2.0, 3.0, 4.0])
    assert model.predict({"size": [np.nan]})[0] == model.predict({"size": [4.0]})[0]


def test_a_late_class_adds_columns_where_the_learner_can_be_widened():
    content, y = table()
    y = np.minimum(classes_of(y), np.repeat([1, 3], 75)).astype(float)
    wide = Encoded(Auto(recipe=SMALL, task="classification"), KINDS, experts=True)
    fixed = Encoded(Classifier(LINEAR.clone()), KINDS, experts=True)
    for model, columns in ((wide, 13 - 1 + 3 * 3 + 2 * 4), (fixed, 13 - 1 + 3 * 1 + 2 * 1)):
        P = model.run(content, y)
        assert P.shape == (150, 4)
        assert np.isneginf(P[:75, 2:]).all()
        layout = model.translator_.layout_
        assert len(layout) == model.learner_.d_
        assert np.isfinite(model.predict(content)).all()
        assert len(set(layout)) == len(layout)
        assert model.learner_.d_ == columns - 2


def test_frames_dicts_matrices_and_typed_columns_are_rows():
    content, y = table()
    expected = Encoded(LINEAR.clone(), KINDS).run(content, y)
    frame = pd.DataFrame(content)
    assert_array_equal(Encoded(LINEAR.clone(), KINDS).run(frame, y), expected)
    assert_array_equal(Encoded(LINEAR.clone(), KINDS).run(Batch(content, KINDS), y), expected)
    numbers = {"a": content["size"], "b": np.arange(150.0)}
    matrix = np.column_stack(list(numbers.values()))
    assert_array_equal(Encoded(LINEAR.clone()).run(matrix, y), Encoded(LINEAR.clone()).run(numbers, y))
    told = Encoded(LINEAR.clone())
    told.run(content, y)
    assert told.translator_.encoder_.kinds_ == {**KINDS, "note": "category"}


def test_columns_are_matched_by_name_and_absent_ones_are_missing():
    content, y = table()
    model, turned = Encoded(LINEAR.clone(), KINDS), Encoded(LINEAR.clone(), KINDS)
    model.run(content, y)
    turned.run(dict(reversed(content.items())), y)
    assert turned.to_bytes() == model.to_bytes()
    assert np.isfinite(model.predict({"shop": np.array(["shop 1"], dtype=object)})).all()
    with pytest.raises(ValueError, match="column 'color' is not one of 'size'"):
        model.predict({"color": [1.0]})


def test_what_the_inner_learner_can_do_it_can_but_not_merge():
    content, y = table()
    model = Encoded(Auto(recipe=SMALL), KINDS)
    model.run(content, y)
    low, high = model.predict_interval(content, 0.8)
    assert (low < high).all()
    assert model.can("explain")
    assert not Encoded(LINEAR).can("merge")
    assert not Encoded(PKRR(WithConstant())).can("merge")
    assert "the encoding of a row depends on the rows before it" in Encoded(PKRR(WithConstant())).why_not("merge")


def test_weights_and_several_targets_reach_the_encoder():
    content, y = table()
    Y, w = np.column_stack([y, -y]), np.where(np.arange(150) % 4 == 0, 0.0, 2.0)
    kept = w > 0
    one, two = Encoded(LINEAR.clone(), KINDS, experts=True), Encoded(LINEAR.clone(), KINDS, experts=True)
    one.run(content, Y, w)
    two.run(cut(content, kept), Y[kept], w[kept])
    assert one.to_bytes() == two.to_bytes()
    assert one.predict(content).shape == (150, 2)


@pytest.mark.parametrize("name", ["least squares", "experts", "auto"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_is_encoded_a_part_at_a_time_with_the_same_results(name, weighted, monkeypatch):
    content, y = table(150)
    weights = np.linspace(0.5, 2.0, 150) if weighted else None
    make, labels = MAKERS[name]
    whole, parts = make(), make()
    expected = whole.run(content, labels(y), weights)
    asked = whole.predict(content)
    seen = []
    encode = Encoder.run
    monkeypatch.setattr("nystream.compose.encoded.rows_at_once", lambda d: 32)
    monkeypatch.setattr(Encoder, "run", lambda self, rows, *rest: seen.append(len(rows)) or encode(self, rows, *rest))
    assert_array_equal(parts.run(content, labels(y), weights), expected)
    assert seen == [32, 32, 32, 32, 22]
    assert_array_equal(parts.predict(content), asked)
    monkeypatch.undo()
    assert_array_equal(parts.run(content, labels(y), weights), whole.run(content, labels(y), weights))


@pytest.mark.parametrize("experts", [False, True])
def test_a_block_that_the_inner_learner_would_refuse_on_the_way_changes_nothing(experts):
    """A label makes the mean of its level too large for a later row of the same block."""
    model = Encoded(KONS(Linear(), lam=1.0, clip=1.0, loss="squared"), KINDS, experts=experts)
    content, y = table(30)
    y = y / 100
    model.run(cut(content, slice(0, 20)), y[:20])
    before = model.to_bytes()
    y[22] = 1e200
    with pytest.raises(ValueError, match="scale the inputs"):
        model.run(cut(content, slice(20, 30)), y[20:])
    assert model.to_bytes() == before
    y[22] = 0.1
    assert np.isfinite(model.run(cut(content, slice(20, 30)), y[20:])).all()


def test_the_rows_of_a_full_learner_are_not_encoded():
    model = Encoded(KernelRidge(Gaussian(1.0), lam=1.0, max_points=25), KINDS)
    content, y = table(40)
    model.run(cut(content, slice(0, 20)), y[:20])
    before = model.to_bytes()
    with pytest.raises(ValueError, match="more than max_points=25"):
        model.run(cut(content, slice(20, 40)), y[20:])
    assert model.to_bytes() == before


def test_columns_that_come_late_join_or_are_refused_by_name():
    content, y = table()
    fixed = Encoded(Classifier(LINEAR.clone()), KINDS)
    fixed.run(content, classes_of(y))
    before = fixed.to_bytes()
    with pytest.raises(TypeError, match="columns"):
        fixed.widen_columns({"team": "category"})
    assert fixed.to_bytes() == before
    wide = Encoded(Auto(recipe=SMALL), KINDS, experts=True)
    wide.run(cut(content, slice(0, 100)), y[:100])
    wide.widen_columns({"team": "category"})
    assert wide.d_ == 6
    team = np.array(["a", "b"] * 75, dtype=object)
    assert np.isfinite(wide.run({**cut(content, slice(100, 150)), "team": team[100:]}, y[100:])).all()
    with pytest.raises(ValueError, match="nothing was learnt yet"):
        Encoded(LINEAR.clone(), KINDS).widen_columns({"team": "category"})
    with pytest.raises(TypeError, match="use widen_columns"):
        wide.widen(9)


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="the kind of column 'a' must be one of"):
        Encoded(LINEAR, {"a": "colour"})
    with pytest.raises(ValueError, match="kinds must map names"):
        Encoded(LINEAR, ["a"])
    with pytest.raises(ValueError, match="experts need labels"):
        Encoded(FOGD(Gaussian(1.0), loss="novelty", seed=0), experts=True)
    model = Encoded(LINEAR.clone(), KINDS)
    with pytest.raises(ValueError, match=r"columns are .* were declared"):
        model.run(Batch({"size": [1.0]}, {"size": "number"}), [1.0])
    assert model.n_seen == 0


def test_a_fitted_map_of_random_features_takes_the_encoded_rows():
    content, y = table(400)
    model = Encoded(Standardized(PKRR(Fourier(Gaussian(4.0), 100, seed=0), lam=0.1)), KINDS)
    p = model.run(content, y)
    assert np.mean((p - y)[200:] ** 2) < 0.6 * y.var()
    assert isinstance(Encoded(GaussianFilter()).run(np.zeros((2, 3)), [1.0, 2.0]), np.ndarray)
