"""Memory on the way in: clean rows are not copied, others once; where rows come in blocks, one block at a time."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import nystream as ny
from nystream.cli.app import call
from nystream.data import inputs
from nystream.data.schema import Schema
from nystream.features import Identity
from nystream.model import Model
from nystream.registry import LEARNERS
from nystream.sklearn import OnlineKernelRegressor

ROWS, COLUMNS = 8000, 100
NONE, PART, ONE, RECENT = 0.11, 0.19, 1.11, 0.15
"""Most that may be held at once, in matrices: labels and predictions alone, not even a mask; some rows converted; or
one conversion. A model keeps its recent rows besides, and what it converts to keep them while nothing else is."""
OF_MODELS = ("model", "scikit-learn")
NAMES = [f"c{j}" for j in range(COLUMNS)]


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(ROWS, COLUMNS))


def labels() -> np.ndarray:
    return np.random.default_rng(1).normal(size=ROWS)


def fogd() -> ny.FOGD:
    return ny.FOGD(ny.Gaussian(4.0), dim=20, loss="squared", seed=0)


def model() -> Model:
    return Model(fogd(), Schema(NAMES, task="regression"))


def river() -> Any:
    pytest.importorskip("river", reason="river is not installed")
    return importlib.import_module("nystream.river")


def held(work: Callable[[], Any], whole: int = 8 * ROWS * COLUMNS) -> float:
    """Return the most that the work holds at once beyond what was there, in matrices; what it loads is loaded before.

    It is the least of three measurements: threads of the test runner may allocate memory meanwhile.
    """
    work()
    return min(peak(work) for _ in range(3)) / whole


def peak(work: Callable[[], Any]) -> int:
    """Return the most bytes that the work holds at once."""
    gc.collect()
    tracemalloc.start()
    try:
        with of_arrow() as taken:
            work()
        return tracemalloc.get_traced_memory()[1] + taken()
    finally:
        tracemalloc.stop()


@contextlib.contextmanager
def of_arrow() -> Iterator[Callable[[], int]]:
    """The most that Arrow holds inside, which nobody else sees."""
    arrow = sys.modules.get("pyarrow")
    if arrow is None:
        yield lambda: 0
        return
    usual = arrow.default_memory_pool()
    pool = arrow.proxy_memory_pool(usual)
    arrow.set_memory_pool(pool)
    try:
        yield pool.max_memory
    finally:
        arrow.set_memory_pool(usual)


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "learner": lambda X, y: fogd().run(X, y),
    "expansion": lambda X, y: ny.SILK(ny.Gaussian(4.0), loss="squared", budget=10).run(X, y),
    "second order": lambda X, y: ny.PKAWV(ny.Fourier(ny.Gaussian(4.0), 20, seed=0)).run(X, y),
    "aggregate": lambda X, y: ny.Aggregate([fogd()], bound=9.0).run(X, y),
    "model": lambda X, y: model().run(X, y),
    "scikit-learn": lambda X, y: OnlineKernelRegressor(fogd()).fit(X, y),
}
KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "single": lambda X: X.astype(np.float32),
    "columns first": np.asfortranarray,
    "integers": lambda X: (10 * X).astype(np.int64),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_matrix_of_doubles_is_not_copied(matrix, way):
    assert held(lambda: WAYS[way](matrix, labels())) < NONE + RECENT * (way in OF_MODELS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_other_matrices_are_converted_a_part_at_a_time(matrix, way, kind):
    X = KINDS[kind](matrix)
    assert held(lambda: WAYS[way](X, labels())) < PART + RECENT * (way in OF_MODELS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("started", [False, True])
def test_a_matrix_converted_in_parts_gives_the_bits_of_a_clean_one(matrix, kind, weighted, started):
    X, y = KINDS[kind](matrix), labels()
    weights = np.random.default_rng(2).integers(0, 3, ROWS) * 1.0 if weighted else None
    models = [ny.PKAWV(ny.Fourier(ny.Gaussian(4.0), 20, seed=0)) for _ in range(2)]
    answers = []
    for learner, rows in zip(models, (X, np.ascontiguousarray(X, dtype=np.float64)), strict=True):
        if started:
            learner.run(matrix[:10], y[:10])
        answers.append(learner.run(rows, y, weights))
    np.testing.assert_array_equal(*answers)
    assert models[0].to_bytes() == models[1].to_bytes()


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_gives_the_same_bits_for_a_matrix_converted_in_parts(name, started, monkeypatch):
    monkeypatch.setattr(inputs, "NUMBERS_TO_CONVERT", 1)
    X = np.random.default_rng(0).normal(size=(1100, 3)).astype(np.float32)
    learners = [LEARNERS[name].example.clone() for _ in range(2)]
    y = np.sign(X[:, 0] * X[:, 1]) if learners[0].labels == "sign" else np.round(X[:, 0] > 0)
    if started:
        for learner in learners:
            learner.run(X[:9].astype(float), y[:9])
    parts, whole = (learner.run(rows, y) for learner, rows in zip(learners, (X, X.astype(float)), strict=True))
    np.testing.assert_array_equal(parts, whole)
    assert learners[0].to_bytes() == learners[1].to_bytes()


def test_classes_that_appear_in_a_later_part_are_unknown_before_it(matrix):
    X = matrix.astype(np.float32)
    classes = np.arange(ROWS) * 4 // ROWS
    models = [ny.FOGD(ny.Gaussian(4.0), dim=20, loss="multiclass_hinge", seed=0) for _ in range(2)]
    P, Q = models[0].run(X, classes), models[1].run(X.astype(np.float64), classes)
    np.testing.assert_array_equal(P, Q)
    assert P.shape == (ROWS, 4)


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("kind", ["single", "columns first"])
def test_a_matrix_that_is_refused_in_its_last_part_has_taught_nothing(matrix, started, kind):
    X = KINDS[kind](matrix)
    X[-1, 7] = np.nan
    learner = fogd()
    if started:
        learner.run(matrix[:10], labels()[:10])
    before = learner.to_bytes()
    with pytest.raises(ValueError, match=f"nan at row {ROWS - 1}, column 7"):
        learner.run(X, labels())
    assert learner.to_bytes() == before


def frame_of(library: str, X: np.ndarray) -> Any:
    """A frame of columns of numbers, every second one of another type."""
    module = pytest.importorskip(library.partition(",")[0])
    if library == "pandas, one type":
        return module.DataFrame(X.astype(np.float32), columns=NAMES)
    if library.endswith("pieces"):
        join = module.concat_tables if library.startswith("pyarrow") else partial(module.concat, rechunk=False)
        return join([frame_of(library.partition(",")[0], part) for part in np.array_split(X, 11)])
    columns = {name: X[:, j] if j % 2 else X[:, j].astype(np.float32) for j, name in enumerate(NAMES)}
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


LIBRARIES = ("pandas, one type", "pandas", "polars", "polars, pieces", "pyarrow", "pyarrow, pieces")
OF_FRAMES: dict[str, Callable[[Any, Any], Any]] = {
    "model": lambda X, y: model().run(X, y),
    "predictions": lambda X, y: asked().predict(X),
    "scikit-learn": lambda X, y: OnlineKernelRegressor(fogd()).fit(X, y),
    "river": lambda X, y: river().KernelRegressor(fogd()).learn_many(X, pandas_series(y)),
}


def asked() -> Model:
    learner = model()
    learner.run(np.ones((1, COLUMNS)), [1.0])
    return learner


def pandas_series(y: np.ndarray) -> Any:
    return pytest.importorskip("pandas").Series(y)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("way", OF_FRAMES)
def test_a_frame_is_converted_a_part_at_a_time(matrix, way, library):
    frame, y = frame_of(library, np.vstack([matrix, matrix])), np.tile(labels(), 2)
    assert held(lambda: OF_FRAMES[way](frame, y), 16 * ROWS * COLUMNS) < 0.25


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_converted_in_parts_gives_the_bits_of_a_matrix(matrix, library):
    frame, y = frame_of(library, matrix), labels()
    clean = np.column_stack([np.asarray(frame[name], dtype=np.float64) for name in NAMES])
    y[::3] = np.nan  # rows that are only predicted
    models = [model() for _ in range(2)]
    answers = [learner.run(X, y) for learner, X in zip(models, (frame, clean), strict=True)]
    np.testing.assert_array_equal(*answers)
    np.testing.assert_array_equal(models[0].predict(frame), models[1].predict(clean))
    assert models[0].to_bytes() == models[1].to_bytes()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "learner", [fogd, lambda: ny.Standardized(fogd()), lambda: ny.Auto(memory="1MB", changes=False, seed=0)]
)
def test_facades_give_the_bits_of_a_matrix_for_a_frame(library, learner, monkeypatch):
    monkeypatch.setattr(inputs, "NUMBERS_TO_CONVERT", 1)
    frame, y = frame_of(library, np.random.default_rng(3).normal(size=(2500, COLUMNS))), labels()[:2500]
    clean = np.column_stack([np.asarray(frame[name], dtype=np.float64) for name in NAMES])
    models = [OnlineKernelRegressor(learner()).fit(rows, y) for rows in (frame, clean)]
    assert models[0].learner_.to_bytes() == models[1].learner_.to_bytes()
    np.testing.assert_array_equal(models[0].predict(frame), models[1].predict(clean))
    monkeypatch.setattr(inputs, "NUMBERS_TO_CONVERT", 1 << 30)  # all at once
    whole = OnlineKernelRegressor(learner()).fit(frame, y)
    assert whole.learner_.to_bytes() == models[0].learner_.to_bytes()


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("library", ["matrix", *LIBRARIES])
def test_a_model_that_refuses_the_last_part_has_learnt_nothing(matrix, bad, started, library):
    X = matrix.astype(np.float32)
    X[-1, 7] = bad
    learner = model()
    if started:
        learner.run(matrix[:10], labels()[:10])
    before = learner.to_bytes()
    with pytest.raises(ValueError, match=f"row {ROWS - 1}: column 'c7' is"):
        learner.run(X if library == "matrix" else frame_of(library, X), labels())
    assert learner.to_bytes() == before


def test_a_row_that_a_started_learner_refuses_in_the_last_part_has_taught_nothing(matrix):
    X = np.asfortranarray(matrix)
    X[-1, 7] = 1e200  # finite, but its square is not
    learner = ny.PKRR(Identity())
    learner.run(matrix[:10], labels()[:10])
    before = learner.to_bytes()
    with pytest.raises(ValueError, match="scale the inputs"):
        learner.run(X, labels())
    assert learner.to_bytes() == before


def test_what_does_not_fit_in_the_last_part_is_missing_where_that_was_said(matrix):
    X = matrix.astype(np.float32)
    X[-1, 7] = np.inf
    learner = Model(ny.Auto(memory="1MB", seed=0), Schema(NAMES, task="regression"), on_error="missing")
    learner.run(X, labels())
    assert learner.n_misfits == 1


@pytest.mark.parametrize("kind", ["double", *KINDS])
@pytest.mark.parametrize("learner", [fogd, model])
def test_an_evaluation_converts_a_block_at_a_time(matrix, learner, kind):
    X = matrix if kind == "double" else KINDS[kind](matrix)
    assert held(lambda: ny.prequential((X, labels()), learner(), ["mse"], every=4000)) < NONE + RECENT


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("learner", [fogd, model])
def test_an_evaluation_of_a_frame_converts_a_part_at_a_time(matrix, learner, library):
    frame, y = frame_of(library, np.vstack([matrix, matrix])), np.tile(labels(), 2)
    assert held(lambda: ny.prequential((frame, y), learner(), ["mse"], every=4000), 16 * ROWS * COLUMNS) < 0.25


MIXED = {f"{kind} {j}": kind for kind in ("number", "category", "time") for j in range(4)}


def mixed_rows(kind: str, n: int) -> Any:
    """Numbers, strings and times; of pandas a category is one of its own."""
    rng = np.random.default_rng(4)
    made = {
        "number": lambda: rng.normal(size=n),
        "category": lambda: np.array([f"level {k}" for k in rng.integers(50, size=n)], dtype=object),
        "time": lambda: np.datetime64("2024-01-01", "us") + rng.integers(10**6, size=n).astype("timedelta64[s]"),
    }
    columns = {name: made[which]() for name, which in MIXED.items()}
    if kind == "dicts":
        return [dict(zip(columns, row, strict=True)) for row in zip(*map(list, columns.values()), strict=True)]
    module = pytest.importorskip(kind)
    if kind == "polars":  # which has no objects
        columns = {name: list(v) if v.dtype == object else v for name, v in columns.items()}
    return module.table(columns) if kind == "pyarrow" else module.DataFrame(columns)


@pytest.mark.parametrize("kind", ["dicts", "pandas", "polars", "pyarrow"])
def test_an_evaluation_of_mixed_columns_converts_a_part_at_a_time(kind, monkeypatch):
    monkeypatch.setattr(inputs, "NUMBERS_TO_CONVERT", 1)
    held_for = [mixed_held(kind, n) for n in (20_000, 40_000)]
    assert held_for[1] < 1.2 * held_for[0]  # in bytes: however many rows there are


def mixed_held(kind: str, n: int) -> float:
    rows, y = mixed_rows(kind, n), np.random.default_rng(5).normal(size=n)
    tabular = Model(ny.Encoded(fogd()), Schema(MIXED, task="regression"))
    return held(lambda: ny.prequential((rows, y), tabular.clone(), ["mse"], every=5000))


@pytest.mark.parametrize("kind", ["lists", "dicts"])
def test_an_evaluation_of_lists_converts_a_part_at_a_time(kind, matrix):
    narrow = np.vstack([matrix.reshape(-1, 20)] * 2)
    rows = narrow.tolist() if kind == "lists" else [dict(zip(NAMES, row, strict=False)) for row in narrow.tolist()]
    y = np.random.default_rng(5).normal(size=len(rows))
    learner = Model(fogd(), Schema(NAMES[:20], task="regression"))
    found = held(lambda: ny.prequential((rows, y), learner.clone(), ["mse"], every=2000), narrow.nbytes)
    assert found < 0.3  # one conversion of the whole holds a matrix and more


@pytest.mark.parametrize("standardized", [True, False])
def test_predictions_of_a_model_copy_nothing_and_standardising_once(matrix, standardized):
    learner = model() if not standardized else Model(ny.Standardized(fogd()), Schema(NAMES, task="regression"))
    learner.run(matrix[:500], labels()[:500])
    if standardized:
        assert held(lambda: learner.run(matrix, labels())) < ONE + RECENT
    else:
        assert held(lambda: learner.predict(matrix)) < NONE


def test_the_command_line_holds_a_few_blocks(tmp_path, matrix):
    """Those that were read ahead, however long the file is."""
    narrow = matrix.reshape(-1, 20)[:4000]
    text = "\n".join(",".join(map(repr, row)) for row in narrow.tolist())
    found = []
    for times in (6, 24):
        path = tmp_path / f"{times}.csv"
        path.write_text("\n".join([",".join(NAMES[:20]), *([text] * times)]))
        command = ["run", str(path), "--learner", "fogd", "--task", "regression", "--quiet"]
        found.append(held(lambda command=command: call(command), 6 * narrow.nbytes))
    assert found[1] - found[0] < 1.5  # the longer file has three matrices more
