"""The encoder against its slow definition, and the laws of purity."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import from_bytes, to_bytes
from nystream._core.tables import words
from nystream.data.batch import Batch
from nystream.data.encoding import Encoder, hash_level
from oracles.sparse import EncoderOracle

KINDS = {
    "size": "number",
    "shop": "category",
    "when": "time",
    "open": "boolean",
    "note": "text",
    "city": "category",
    "price": "number",
}


def table(n: int = 120, seed: int = 0) -> dict[str, np.ndarray]:
    """Every kind of column, with missing values, repeats, wild numbers and times that go back."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, size=n)
    size[rng.random(n) < 0.1] = np.nan
    size[n // 2] = 1e200
    price = np.where(rng.random(n) < 0.6, 0.0, rng.integers(-5, 100, size=n))
    when = np.datetime64("2019-12-30T22:10:00", "us") + np.cumsum(rng.integers(-9, 400, size=n)).astype(
        "timedelta64[m]"
    )
    when[rng.random(n) < 0.1] = np.datetime64("NaT")
    notes = ["good GOOD soup", "", "No soup — 東京!", "a b a b a", "good soup"]
    return {
        "size": size,
        "shop": _some(rng, [f"shop {i}" for i in range(7)], n),
        "when": when,
        "open": np.where(rng.random(n) < 0.1, np.nan, rng.integers(2, size=n).astype(float)),
        "note": _some(rng, notes, n),
        "city": _some(rng, [f"city {i}" for i in range(60)], n),
        "price": price,
    }


def _some(rng, values, n):
    out = np.array([values[i] for i in rng.integers(len(values), size=n)], dtype=object)
    out[rng.random(n) < 0.1] = None
    return out


def labels(n: int = 120, classes: int = 0, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(classes, size=n).astype(float) if classes else rng.normal(size=n) * 3 + 50


def rows_of(content):
    """One dict for each row, missing values as None."""
    n = len(content["size"])
    out = []
    for t in range(n):
        row = {name: values[t] for name, values in content.items()}
        out.append({k: None if v is None or v != v else v for k, v in row.items()})
    return out


def cut(content, part):
    return {name: values[part] for name, values in content.items()}


def made(outputs: int = 1, classes: bool = False, **params) -> Encoder:
    encoder = Encoder(**params)
    encoder.start(KINDS, outputs, classes=classes)
    return encoder


def row_tokens(rows, t):
    part = slice(int(rows.begin[t]), int(rows.end[t]))
    return list(zip(rows.indices[part].tolist(), rows.values[part].tolist(), strict=True))


def assert_same(one, two):
    assert_array_equal(one.dense, two.dense)
    assert_array_equal(one.levels, two.levels)
    for a, b in ((one.tokens, two.tokens), (one.plain, two.plain)):
        assert_array_equal(a.end - a.begin, b.end - b.begin)
        for t in range(len(a)):
            assert row_tokens(a, t) == row_tokens(b, t)


@pytest.mark.parametrize(("outputs", "classes"), [(1, False), (3, False), (2, True), (5, True), (12, True)])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_encoded_as_by_the_slow_definition(outputs, classes, weighted):
    content, Y = table(), labels(classes=outputs if classes else 0)
    if not classes and outputs > 1:
        Y = np.column_stack([Y, Y**2, -Y])
    w = np.random.default_rng(5).choice([0.0, 0.5, 1.0, 2.0], size=len(Y)) if weighted else None
    encoder, slow = made(outputs, classes), EncoderOracle(KINDS, outputs, classes=classes)
    got = encoder.run(content, Y, w)
    assert got.dense.shape == (len(Y), encoder.width)
    for t, row in enumerate(rows_of(content)):
        dense, keys, tokens, pairs = slow.encode(row, words)
        assert_allclose(got.dense[t], dense, rtol=1e-12, atol=1e-12)
        assert got.levels[t].tolist() == [bucket for _, bucket in keys]
        for found, expected in ((row_tokens(got.plain, t), tokens), (row_tokens(got.tokens, t), tokens + pairs)):
            assert [h for h, _ in found] == [h for h, _ in expected]
            assert_allclose([x for _, x in found], [x for _, x in expected], rtol=1e-12, atol=1e-12)
        if w is None or w[t] > 0:
            slow.observe(row, 1.0 if w is None else w[t])
            slow.learn(keys, Y[t], 1.0 if w is None else w[t])


@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_equal_rows_bit_for_bit(size):
    content, Y = table(), labels()
    whole, parts = made(), made()
    expected = whole.run(content, Y)
    for i in range(0, len(Y), size):
        part = slice(i, i + size)
        got = parts.run(cut(content, part), Y[part])
        assert_array_equal(got.dense, expected.dense[part])
        assert_array_equal(got.levels, expected.levels[part])
        for t in range(len(got.dense)):
            assert row_tokens(got.tokens, t) == row_tokens(expected.tokens, i + t)
    assert to_bytes(parts) == to_bytes(whole)


@pytest.mark.parametrize("classes", [False, True])
def test_no_label_reaches_its_own_row_or_an_earlier_one(classes):
    content, Y = table(), labels(classes=3 if classes else 0)
    expected = made(3 if classes else 1, classes).run(content, Y)
    for row in (0, 5, 77, 119):
        other = Y.copy()
        other[row] = (other[row] + 1) % 3
        got = made(3 if classes else 1, classes).run(content, other)
        assert_array_equal(got.dense[: row + 1], expected.dense[: row + 1])
        assert row_tokens(got.tokens, row) == row_tokens(expected.tokens, row)
        assert row == 119 or not np.array_equal(got.dense, expected.dense, equal_nan=True)


def test_encoding_changes_nothing_and_is_what_run_says_next():
    content, Y = table(), labels()
    encoder = made()
    encoder.run(cut(content, slice(0, 80)), Y[:80])
    before = to_bytes(encoder)
    now = encoder.encode(cut(content, slice(80, 120)))
    assert to_bytes(encoder) == before
    one = encoder.run(cut(content, slice(80, 81)), Y[80:81])
    assert_array_equal(one.dense[0], now.dense[0])
    assert row_tokens(one.tokens, 0) == row_tokens(now.tokens, 0)


def test_a_row_of_weight_zero_leaves_no_trace():
    content, Y = table(), labels()
    with_zeros, without = made(), made()
    weights = np.where(np.arange(120) % 3 == 1, 0.0, 1.5)
    with_zeros.run(content, Y, weights)
    kept = weights > 0
    without.run(cut(content, kept), Y[kept], weights[kept])
    assert to_bytes(with_zeros) == to_bytes(without)


def test_labels_may_come_later():
    """`run` is encode, observe and learn row by row; with levels kept, labels may be learnt in any later call."""
    content, Y = table(), labels()
    at_once, apart = made(), made()
    expected = at_once.run(content, Y)
    for t in range(len(Y)):
        row = cut(content, slice(t, t + 1))
        got = apart.encode(row)
        assert_array_equal(got.dense[0], expected.dense[t])
        apart.observe(row)
        apart.learn(got.levels, Y[t : t + 1])
    assert to_bytes(apart) == to_bytes(at_once)
    late = made()
    seen = late.encode(content)
    late.observe(content)
    late.learn(seen.levels, Y)
    assert_same(late.encode(content), at_once.encode(content))


def test_late_classes_are_learnt_as_if_they_had_been_known():
    content, Y = table(), np.minimum(labels(classes=12), np.repeat([1, 2, 11], 40)).astype(float)
    known, growing = made(12, classes=True), made(2, classes=True)
    expected = known.run(content, Y)
    for i in range(0, 120, 40):
        part = slice(i, i + 40)
        growing.grow(int(Y[part].max()) + 1)
        growing.run(cut(content, part), Y[part])
    assert growing.width == known.width == expected.dense.shape[1]
    assert sorted(growing.dense_names()) == sorted(known.dense_names())
    mine, theirs = growing.encode(content).dense, known.encode(content).dense
    places = [growing.dense_names().index(name) for name in known.dense_names()]
    assert_array_equal(mine[:, places], theirs)


def test_new_columns_were_missing_so_far_and_come_last():
    content, Y = table(), labels()
    first = dict(list(KINDS.items())[:4])
    late, known = Encoder(), made()
    late.start(first, 1)
    late.run({name: content[name][:60] for name in first}, Y[:60])
    width = late.width
    late.widen(dict(list(KINDS.items())[4:]))
    known.run({name: content[name][:60] for name in first}, Y[:60])
    assert late.dense_names()[:width] != known.dense_names()[:width]
    places = [known.dense_names().index(name) for name in late.dense_names()]
    ahead = cut(content, slice(60, 120))
    fresh = [i for i, name in enumerate(late.dense_names()) if name[0] == "city"]
    mine, theirs = late.run(ahead, Y[60:]).dense, known.run(ahead, Y[60:]).dense[:, places]
    others = [i for i in range(late.width) if i not in fresh]
    assert_array_equal(mine[:, others], theirs[:, others])
    # a missing value is a level, and before it was a column there was none to count
    seen = np.array([v is not None for v in ahead["city"]])
    assert_array_equal(mine[np.ix_(seen, fresh)], theirs[np.ix_(seen, fresh)])


def test_save_load_and_go_on():
    content, Y = table(), labels()
    stayed = made()
    stayed.run(cut(content, slice(0, 50)), Y[:50])
    resumed, copied = from_bytes(to_bytes(stayed)), copy.deepcopy(stayed)
    rest = cut(content, slice(50, 120))
    expected = stayed.run(rest, Y[50:])
    for twin in (resumed, copied):
        assert_same(twin.run(rest, Y[50:]), expected)
        assert to_bytes(twin) == to_bytes(stayed)


def test_memory_is_fixed():
    encoder = Encoder()
    encoder.start({"id": "category", "note": "text"}, 1)
    start = encoder.nbytes
    for block in range(20):
        ids = np.array([f"id {block} {i}" for i in range(500)], dtype=object)
        encoder.run({"id": ids, "note": ids}, np.ones(500))
    assert encoder.nbytes <= start + 80 * (256 + 1024)


def test_many_categories_share_a_bounded_memory():
    encoder = Encoder(max_bytes=2**20)
    encoder.start({f"c{i}": "category" for i in range(200)}, 1)
    assert encoder.levels_.nbytes <= 2**20


def test_frequent_levels_and_words_keep_their_names():
    encoder = Encoder(names=16)
    encoder.start({"shop": "category", "note": "text", "size": "number"}, 1)
    rng = np.random.default_rng(0)
    shops = np.array(["often" if rng.random() < 0.5 else f"rare {i}" for i in range(2000)], dtype=object)
    notes = np.array([f"again word{i}" for i in range(2000)], dtype=object)
    encoder.run({"shop": shops, "note": notes, "size": np.zeros(2000)}, np.zeros(2000))
    named = encoder.token_names()
    assert named[hash_level("shop", "often")] == ("shop", "often")
    assert named[hash_level("note", "again")] == ("note", "again")
    assert ("size", "value") in named.values()
    assert sum(column == "shop" for column, _ in named.values()) <= 16


def test_names_are_kept_whole_characters_of_at_most_80_bytes():
    encoder = Encoder()
    encoder.start({"shop": "category"}, 1)
    encoder.run({"shop": np.array(["é" * 100, "a" + "é" * 100], dtype=object)}, np.zeros(2))
    assert {level for _, level in encoder.token_names().values()} == {"é" * 40, "a" + "é" * 39}


def test_the_examples_of_the_definition():
    """Literal numbers: means drawn to that of all by ten rows, a new level as the mean, hours and weekdays."""
    encoder = Encoder()
    encoder.start({"shop": "category", "when": "time"}, 1)
    times = np.array(["2024-01-01T00:00", "2024-01-01T00:59", "2024-01-02T12:00"], dtype="datetime64[m]")
    got = encoder.run({"shop": np.array(["a", "a", "b"], dtype=object), "when": times}, [1.0, 3.0, 8.0])
    assert_allclose(got.dense[:, 6], [0, 59 / 60, 12], rtol=1e-12)
    assert_allclose(got.dense[:, 7], [0, 0, 1], rtol=0)
    assert_allclose(got.dense[2, :2], [0, -1], atol=1e-9)
    assert encoder.dense_names()[6:9] == [("when", "hour"), ("when", "weekday"), ("shop", "mean of target 0 by level")]
    assert_allclose(got.dense[:, 8], [0, (1 + 10 * 1) / 11, 2], rtol=1e-12)
    later = encoder.encode({"shop": np.array(["a", "new", None], dtype=object)})
    assert_allclose(later.dense[:, 8], [(4 + 10 * 4) / 12, 4, 4], rtol=1e-12)


@pytest.mark.parametrize(
    ("time", "hour", "weekday"),
    [
        ("2024-02-29T23:59:59.999999", 24 - 1e-6 / 3600, 3),  # a leap day, the last microsecond, a Thursday
        ("2024-03-01T00:00:00", 0, 4),  # midnight belongs to the new day
        ("1969-12-31T23:30:00", 23.5, 2),  # before 1970
        ("1900-03-01", 0, 3),  # 1900 was no leap year
        ("2000-02-29T12:00", 12, 1),
        ("9999-12-31T06:15", 6.25, 4),
        ("0001-01-01T00:00:01", 1 / 3600, 0),
    ],
)
def test_hours_and_weekdays_are_those_of_the_calendar(time, hour, weekday):
    encoder = Encoder()
    encoder.start({"when": "time"}, 0)
    (row,) = encoder.encode({"when": np.array([time], dtype="datetime64[us]")}).dense
    assert_allclose(row[6:], [hour, weekday], rtol=0, atol=1e-12)
    assert row[6] < 24
    angle = 2 * np.pi * hour / 24
    assert_allclose(row[:2], [np.sin(angle), np.cos(angle)], rtol=0, atol=1e-9)
    assert_allclose(row[:6:2] ** 2 + row[1:6:2] ** 2, 1.0, rtol=1e-12)


def test_a_missing_time_has_no_hour_and_is_filled_where_the_learner_needs_it():
    none = np.array(["NaT"], dtype="datetime64[us]")
    for fill in (False, True):
        encoder = Encoder(fill=fill)
        encoder.start({"when": "time"}, 1)
        encoder.run({"when": np.array(["2024-01-01T05"], dtype="datetime64[us]")}, [3.0])
        row = encoder.encode({"when": none}).dense[0]
        assert_allclose(row[:8], [0, 0, 0, 0, 0, 0, 12, 3] if fill else np.nan)
        assert_allclose(row[8:], 3.0)  # the mean of all labels


def test_a_time_leaves_no_trace_beside_its_levels():
    """All numbers of a time come back: none of them depends on the first row, or on the one before."""
    rows = np.array(["2024-01-01T05", "2031-05-06T07:08", "NaT", "1999-01-01"], dtype="datetime64[us]")
    early, late = Encoder(), Encoder()
    for encoder in (early, late):
        encoder.start({"when": "time"}, 0)
    late.observe({"when": rows})
    assert_array_equal(early.encode({"when": rows}).dense, late.encode({"when": rows}).dense)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"size": [1.0], "colour": [2.0]}, "column 'colour' is not one of"),
        ({"size": [1.0, 2.0], "price": [1.0]}, r"same number of rows, got \[1, 2\]"),
        ({"size": [np.inf]}, "column 'size' has inf at row 0"),
        ({"size": ["a"]}, "column 'size' must hold numbers"),
        ({"shop": [3]}, "column 'shop' is of kind category: it must hold text or None, got int64"),
        ({"shop": np.array(["a", 3], dtype=object)}, "got 3 at row 1"),
        ({"when": ["2020"]}, "column 'when' is of kind time: it must hold datetime64"),
        ({"size": [[1.0]]}, "column 'size' must be one-dimensional"),
    ],
)
def test_columns_that_do_not_fit_are_refused(content, message):
    encoder = made()
    before = to_bytes(encoder)
    with pytest.raises(ValueError, match=message):
        encoder.encode(content)
    assert to_bytes(encoder) == before


def test_bad_parameters_and_kinds_are_refused():
    with pytest.raises(ValueError, match="levels must be a power of 2"):
        Encoder(levels=1000)
    with pytest.raises(ValueError, match="names must be a power of 2"):
        Encoder(names=100)
    with pytest.raises(ValueError, match="the kind of column 'a' must be one of 'number'"):
        Encoder().start({"a": "colour"}, 1)
    with pytest.raises(ValueError, match="kinds is empty"):
        Encoder().start({}, 1)
    with pytest.raises(ValueError, match="there is a column 'size' already"):
        made().widen({"size": "number"})
    with pytest.raises(ValueError, match=r"labels \(1, 1\) do not fit 2 rows"):
        made().run({"size": [1.0, 2.0]}, [1.0])
    with pytest.raises(ValueError, match=r"labels \(1, 2\) do not fit 1 rows"):
        made(3).run({"size": [1.0]}, [[1.0, 2.0]])
    with pytest.raises(ValueError, match="2 weights do not fit 1 rows"):
        made().run({"size": [1.0]}, [1.0], np.ones(2))
    with pytest.raises(ValueError, match="4 levels in every row are needed, got 1"):
        made().learn(np.zeros((1, 1), dtype=np.uint16), [1.0])
    with pytest.raises(ValueError, match="level 9000 is not below 8192"):
        made().learn(np.full((1, 4), 9000, dtype=np.uint16), [1.0])


def test_rows_may_be_none_and_columns_missing():
    encoder = made()
    empty = encoder.encode(Batch({}, KINDS, n=0))
    assert empty.dense.shape == (0, encoder.width)
    missing = encoder.encode(Batch({}, KINDS, n=2))
    assert np.isnan(missing.dense[:, :1]).all()
    assert len(row_tokens(missing.tokens, 0)) > 0
