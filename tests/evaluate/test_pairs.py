"""Rows in memory for models: by name, in parts, with labels as people have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nystream as ny
from nystream.data import inputs
from nystream.data.schema import Schema
from nystream.model import Model

pandas = pytest.importorskip("pandas")
ROWS = 2600
KINDS = {"a": "number", "b": "number", "c": "category"}


def fogd() -> ny.FOGD:
    return ny.FOGD(ny.Gaussian(2.0), dim=20, loss="squared", seed=0)


def tabular(**settings: Any) -> Model:
    return Model(ny.Encoded(fogd()), Schema(KINDS, **{"task": "regression", **settings}))


@pytest.fixture(scope="module")
def frame() -> Any:
    rng = np.random.default_rng(0)
    levels = np.array(["x", "y", "z"], dtype=object)[rng.integers(3, size=ROWS)]
    return pandas.DataFrame({"a": rng.normal(size=ROWS), "b": rng.normal(size=ROWS), "c": levels})


@pytest.fixture(scope="module")
def y(frame) -> np.ndarray:
    return (frame["a"] * frame["b"] + (frame["c"] == "x")).to_numpy()


def polars_of(frame: Any) -> Any:
    return pytest.importorskip("polars").DataFrame(frame.to_dict("list"))


def arrow_of(frame: Any) -> Any:
    return pytest.importorskip("pyarrow").table(frame.to_dict("list"))


WAYS = {"pandas": lambda f: f, "polars": polars_of, "arrow": arrow_of, "dicts": lambda f: f.to_dict("records")}


@pytest.mark.parametrize("block", [100, 256, 3000])
@pytest.mark.parametrize("way", WAYS)
def test_an_evaluation_of_mixed_columns_is_the_model_run_on_them(frame, y, way, block, monkeypatch):
    monkeypatch.setattr(inputs, "NUMBERS_TO_CONVERT", 1)  # parts of 1024 rows, or one block
    rows, whole, model = WAYS[way](frame), tabular(), tabular()
    expected = whole.run(frame, y)
    seen: list[np.ndarray] = []
    result = ny.prequential((rows, y), model, ["mse"], every=1000, block=block, watch=seen.append)
    np.testing.assert_array_equal(np.concatenate(seen)[:, 0], expected)
    assert model.to_bytes() == whole.to_bytes()
    assert result.final["mse"] == pytest.approx(np.mean((expected - y)[1:] ** 2), rel=1e-9)


def test_labels_may_be_a_column_by_name_or_the_target_of_the_schema(frame, y):
    labelled = frame.assign(load=y)
    expected = ny.prequential((frame, y), tabular(), ["mse"]).final["mse"]
    assert ny.prequential((labelled, "load"), tabular(), ["mse"]).final["mse"] == expected
    assert ny.prequential((labelled, None), tabular(target="load"), ["mse"]).final["mse"] == expected
    with pytest.raises(ValueError, match="'lod' is not a column"):
        ny.prequential((labelled, "lod"), tabular(), ["mse"])


def test_classes_by_name_and_missing_labels(frame):
    names = np.where(frame["a"] > 0, "up", "down").astype(object)
    names[::7] = None
    models = [Model(ny.Encoded(ny.FOGD(ny.Gaussian(2.0), dim=20, seed=0)), Schema(KINDS, task="classification"))]
    models.append(models[0].clone())
    for learner, labels in zip(models, (names, names.tolist()), strict=True):
        ny.prequential((frame, labels), learner, ["accuracy"])
    assert models[0].classes == ["up", "down"] or models[0].classes == ["down", "up"]
    assert models[0].n_unlabelled == len(names[::7])
    assert models[0].to_bytes() == models[1].to_bytes()


def test_columns_in_another_order_are_found_by_name(frame, y):
    numbers = frame[["a", "b"]]
    models = [Model(fogd(), Schema(["a", "b"], task="regression")) for _ in range(2)]
    for model, rows in zip(models, (numbers, numbers[["b", "a"]]), strict=True):
        ny.prequential((rows, y), model, ["mse"])
    assert models[0].to_bytes() == models[1].to_bytes()


@pytest.mark.parametrize("kind", ["lists", "tuples", "dicts"])
def test_lists_of_numbers_are_the_matrix(frame, y, kind, monkeypatch):
    monkeypatch.setattr(inputs, "NUMBERS_TO_CONVERT", 1)
    X = frame[["a", "b"]].to_numpy()
    rows = {"lists": X.tolist(), "tuples": list(map(tuple, X.tolist())), "dicts": frame[["a", "b"]].to_dict("records")}
    models = [Model(fogd(), Schema(["a", "b"], task="regression")) for _ in range(2)]
    for model, given in zip(models, (X, rows[kind]), strict=True):
        ny.prequential((given, y), model, ["mse"])
    assert models[0].to_bytes() == models[1].to_bytes()


def test_a_dict_that_is_different_in_a_later_part_is_read_with_its_holes(frame, y, monkeypatch):
    monkeypatch.setattr(inputs, "NUMBERS_TO_CONVERT", 1)
    rows = frame[["a", "b"]].to_dict("records")
    del rows[2000]["b"]
    model = Model(ny.Auto(memory="1MB", seed=0), Schema(["a", "b"], task="regression"))
    holes = frame[["a", "b"]].to_numpy().copy()
    holes[2000, 1] = np.nan
    twin = model.clone()
    ny.prequential((rows, y), model, ["mse"])
    ny.prequential((holes, y), twin, ["mse"])
    assert model.to_bytes() == twin.to_bytes()


def test_lists_that_are_no_numbers_are_refused():
    good = [[1.0, 2.0]] * 3000
    with pytest.raises(ValueError, match="X must hold numbers"):
        ny.prequential(([["one", 2.0], *good], np.zeros(3001)), fogd(), ["mse"])
    with pytest.raises(ValueError, match=r"X must hold numbers|inhomogeneous"):
        ny.prequential(([*good, [1.0]], np.zeros(3001)), fogd(), ["mse"])
    with pytest.raises(ValueError, match="X must hold numbers"):
        ny.prequential(([*good, ["one", 2.0]], np.zeros(3001)), fogd(), ["mse"])


def test_the_task_of_pairs_and_of_dicts_that_come_one_by_one_is_chosen_from_the_first_labels():
    rows = [({"a": i % 7, "b": "uvw"[i % 3]}, i % 7 / 2) for i in range(300)]
    whole = ny.prequential(([x for x, _ in rows], [t for _, t in rows]), Model(ny.Encoded(fogd())))
    found = ny.prequential(iter(rows), Model(ny.Encoded(fogd())))
    assert found.final == whole.final
    with_target = ({**x, "y": t} for x, t in rows)
    model = Model(ny.Encoded(fogd()), Schema({"a": "number", "b": "category"}, target="y"))
    assert ny.prequential(with_target, model).final == whole.final
    named = (({**x, "y": t} for x, t in rows), "y")
    assert ny.prequential(named, Model(ny.Encoded(fogd()))).final == whole.final
    with pytest.raises(ValueError, match="the rows have no labels: give pairs"):
        ny.prequential((x for x, _ in rows), Model(ny.Encoded(fogd())))
    with pytest.raises(ValueError, match="y='z' is not in item 0 of the iterator: it has a, b"):
        ny.prequential(((x for x, _ in rows), "z"), Model(ny.Encoded(fogd())))
    with pytest.raises(ValueError, match="rows of an iterator bring their labels"):
        ny.prequential(((x for x, _ in rows), [t for _, t in rows]), Model(ny.Encoded(fogd())))


def test_names_are_no_labels_of_a_learner_of_numbers():
    X, names = np.random.default_rng(0).normal(size=(60, 2)), ["a", "b", "c"] * 20
    with pytest.raises(
        ValueError, match=r"the labels are names \(a, b, c\), and FOGD learns numbers; use a learner of"
    ):
        ny.prequential((X, names), fogd())
    assert ny.prequential((X, names), ny.Classifier(fogd())).final["accuracy"] > 0
