"""The laws of learners on tables and sparse rows: purity, blocks and rows, weights, delays, classes, files, threads."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from table_streams import CASES, KINDS, SMALL, Case, Stream, columns, late, translators

from nystream import Auto, from_bytes
from nystream.data.batch import Batch
from nystream.evaluate import prequential
from nystream.learners.base import Learner

CLOSE = {"rtol": 1e-7, "atol": 1e-8}
"""What experts of dense rows do in another order in blocks and rows."""
TRANSLATORS = {name: (make, stream) for name, make, stream in translators()}


@pytest.fixture(params=CASES)
def case(request) -> Case:
    return Case.of(request.param)


@pytest.fixture(params=TRANSLATORS)
def translated(request):
    return TRANSLATORS[request.param]


def padded(parts: list[np.ndarray], width: int) -> np.ndarray:
    """Predictions of parts; a class that a part did not know has the score -inf."""
    if not width:
        return np.concatenate(parts)
    wide = [np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=-np.inf) for p in parts]
    return np.concatenate(wide)


def width_of(P: np.ndarray) -> int:
    return P.shape[1] if P.ndim > 1 else 0


def exact(learner: Learner) -> bool:
    """Whether blocks and rows agree to the last bit: where no dense expert comes after."""
    return type(learner).__name__ in ("SparseLinear", "GaussianFilter")


# -- what rows become ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 7, 37])
def test_rows_are_translated_in_blocks_as_one_by_one_to_the_last_bit(translated, size):
    make, stream = translated
    whole, parts = make(), make()
    expected = whole.run(stream.rows, stream.Y, stream.w)
    got = [parts.run(part.rows, part.Y, part.w) for part in stream.blocks(size)]
    for i in range(2):
        assert_array_equal(np.concatenate([part[i] for part in got]), expected[i])
    assert_array_equal(parts.predict(stream.rows)[0], whole.predict(stream.rows)[0])


def test_a_label_changes_nothing_up_to_its_own_row(translated):
    make, stream = translated
    expected = make().run(stream.rows, stream.Y, stream.w)
    for r in (0, 1, 30, 58):
        Y = stream.Y.copy()
        Y[r] = (Y[r] + 1) % 4 if Y.shape[1] == 1 else Y[r] + 50.0
        changed = make().run(stream.rows, Y, stream.w)
        for i in range(2):
            assert_array_equal(changed[i][: r + 1], expected[i][: r + 1])
        assert not np.array_equal(changed[1][r + 1 :], expected[1][r + 1 :], equal_nan=True) or r == 58


def test_asking_a_translator_changes_nothing(translated):
    make, stream = translated
    translator = make()
    translator.run(stream[:30].rows, stream.Y[:30])
    first = translator.predict(stream.rows)
    again = translator.predict(stream.rows)
    one = translator.predict(stream[40:41].rows)
    for i in range(2):
        assert_array_equal(first[i], again[i])
        assert_array_equal(one[i][0], first[i][40])


def test_mean_labels_of_late_classes_are_as_if_the_classes_had_been_known():
    X, f = columns()
    Y = late(f)[:, None]
    known, grown = (Auto(recipe=SMALL, task="classification", memory="8MB") for _ in range(2))
    known.reserve_for(X, 4)
    known.run(X, Y)
    grown.run(X, Y)
    one, two = known.translator_, grown.translator_
    assert sorted(one.layout_) == sorted(two.layout_)
    own = [name for name in one.layout_ if "output" not in name]
    a, b = one.predict(X).dense, two.predict(X).dense
    for name in own:
        assert_array_equal(a[:, one.layout_.index(name)], b[:, two.layout_.index(name)])


# -- learners --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 13])
def test_blocks_equal_rows(case, size):
    whole, parts = case.make(), case.make()
    expected = case.stream.into(whole)
    got = padded([part.into(parts) for part in case.stream.blocks(size)], width_of(expected))
    if exact(whole):
        assert_array_equal(got, expected)
        assert parts.to_bytes() == whole.to_bytes()
    assert_allclose(got, expected, **CLOSE)
    assert parts.n_seen == whole.n_seen


def test_no_label_reaches_its_own_prediction(case):
    one, stream = case.make(), case.stream
    stream[:50].into(one)
    for t in range(50, 54):
        twin = copy.deepcopy(one)
        row = stream[t : t + 1]
        Y = 1.0 - row.Y if row.Y.max() < 2 and row.Y.min() >= 0 and row.Y.ndim == 1 else row.Y * 0
        assert_array_equal(row.into(one), Stream(row.rows, Y, row.w).into(twin))


def test_predicting_changes_nothing_and_a_file_goes_on_to_the_last_bit(case):
    model, stream = case.make(), case.stream
    stream[:30].into(model)
    before = model.to_bytes()
    first = model.predict(stream.rows)
    assert_array_equal(model.predict(stream[7:8].rows)[0], first[7])
    assert model.to_bytes() == before
    resumed = from_bytes(before)
    assert_array_equal(stream[30:].into(resumed), stream[30:].into(model))
    assert resumed.to_bytes() == model.to_bytes()


def test_four_threads_get_the_answers_of_one(case):
    model, stream = case.make(), case.stream
    stream.into(model)
    expected = [model.predict(part.rows) for part in stream.blocks(9)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            got = list(pool.map(lambda part: model.predict(part.rows), stream.blocks(9)))
            for a, b in zip(got, expected, strict=True):
                assert_array_equal(a, b)


def test_rows_of_weight_0_leave_no_trace(case):
    stream = case.stream
    w = np.where(np.arange(len(stream)) % 3 == 1, 0.0, 1.0 if stream.w is None else stream.w)
    kept = np.flatnonzero(w > 0)
    one, two = case.make(), case.make()
    Stream(stream.rows, stream.Y, w).into(one)
    Stream(stream.rows[kept], stream.Y[kept], w[kept]).into(two)
    if exact(one):
        assert one.to_bytes() == two.to_bytes()
    assert_allclose(one.predict(stream.rows), two.predict(stream.rows), **CLOSE)
    assert one.n_seen == two.n_seen == len(kept)


def test_labels_that_come_late_are_learnt_as_if_they_had_not(case):
    stream = case.stream
    if stream.w is not None:
        stream = Stream(stream.rows, stream.Y)
    late_labels, plain = case.make(), case.make()
    waiting: list[Stream] = []
    for row in stream.blocks(1):
        late_labels.predict(row.rows)
        waiting.append(row)
        if len(waiting) > 8:
            waiting.pop(0).into(late_labels)
    for row in waiting:
        row.into(late_labels)
    for row in stream.blocks(1):
        row.into(plain)
    assert late_labels.to_bytes() == plain.to_bytes()


def test_an_interrupt_between_blocks_loses_nothing(case):
    stream = case.stream
    stopped, plain = case.make(), case.make()

    def learn_until_stopped():
        for i, part in enumerate(stream.blocks(15)):
            if i == 3:
                raise KeyboardInterrupt
            part.into(stopped)

    with pytest.raises(KeyboardInterrupt):
        learn_until_stopped()
    for part in stream[:45].blocks(15):
        part.into(plain)
    assert stopped.to_bytes() == plain.to_bytes()
    assert_array_equal(stream[45:].into(stopped), stream[45:].into(plain))


def test_a_block_that_is_refused_changes_nothing(case):
    model, stream = case.make(), case.stream
    stream[:40].into(model)
    before = model.to_bytes()
    labels = np.array(stream.Y[40:50])
    labels[-1] = np.nan
    with pytest.raises(ValueError, match="labels must be finite"):
        model.run(stream.rows[40:50], labels)
    with pytest.raises(ValueError, match="weights must be finite"):
        model.run(stream.rows[40:50], stream.Y[40:50], np.full(10, -1.0))
    assert model.to_bytes() == before


# -- what is particular to tables ------------------------------------------------------------------------------------
def test_the_evaluation_of_a_sparse_stream_may_delay_its_labels():
    case = Case.of("sparse linear, sparse, one target")
    one = prequential((case.stream.rows, case.stream.Y), case.make(), "mse", every=30, delay=5)
    two = prequential((case.stream.rows, case.stream.Y), case.make(), "mse", every=30)
    assert one.rows == two.rows == 60
    assert one.final["mse"] != two.final["mse"]


def test_columns_that_come_late_are_learnt_and_were_missing_before():
    X, f = columns(300)
    rng = np.random.default_rng(5)
    team = np.array([f"team {i}" for i in rng.integers(4, size=300)], dtype=object)
    y = f + 10.0 * (team == "team 2")
    model = Auto(recipe=SMALL)
    model.run(X[:100], y[:100])
    narrow = model.predict(X[:10])
    model.widen_columns({"team": "category", "age": "number"})
    assert model.d_ == 8
    wide = {**KINDS, "team": "category", "age": "number"}
    known = Batch(dict(zip(KINDS, X.arrays, strict=True)) | _times(X), wide)
    assert_allclose(model.predict(known[:10]), narrow, rtol=1e-12, atol=1e-12)
    content = dict(zip(KINDS, X.arrays, strict=True)) | _times(X) | {"team": team}
    rows = Batch(content, wide)
    resumed = from_bytes(model.to_bytes())
    p = model.run(rows[100:], y[100:])
    assert_array_equal(resumed.run(rows[100:], y[100:]), p)
    assert np.mean((p - y[100:])[100:] ** 2) < 0.5 * y.var()
    with pytest.raises(ValueError, match="there is a column 'team' already"):
        model.widen_columns({"team": "category"})


def _times(X: Batch) -> dict[str, np.ndarray]:
    """The time column as people write it."""
    return {"when": X.arrays[list(KINDS).index("when")].view("datetime64[us]")}
