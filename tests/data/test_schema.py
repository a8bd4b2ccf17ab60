"""What a schema tells of a table, and how rows become typed columns."""

from __future__ import annotations

import datetime

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import nystream
from nystream import Schema
from nystream.data.places import BadCell
from nystream.data.reading import read

ROWS = [
    {"temp": 21.5, "open": True, "city": "Oslo", "when": "2024-05-01 10:00", "note": "all quiet on the eastern side"},
    {"temp": None, "open": False, "city": None, "when": None, "note": ""},
    {"temp": 3, "open": None, "city": "Bonn", "when": "2024-05-02", "note": "a train was late by an hour or two"},
]
KINDS = {"temp": "number", "open": "boolean", "city": "category", "when": "time", "note": "text"}


def frames():
    pandas_frame = pandas.DataFrame(ROWS)
    yield "dicts", ROWS
    yield "pandas", pandas_frame
    yield (
        "pandas typed",
        pandas_frame.assign(
            when=pandas.to_datetime(pandas_frame["when"], format="mixed"),
            city=pandas_frame["city"].astype("category"),
            open=pandas_frame["open"].astype("boolean"),
            temp=pandas_frame["temp"].astype("Float64"),
        ),
    )
    yield "polars", polars.DataFrame(ROWS)
    yield (
        "polars typed",
        polars.DataFrame(ROWS).with_columns(
            polars.col("city").cast(polars.Categorical),
            when=polars.Series([datetime.datetime(2024, 5, 1, 10), None, datetime.datetime(2024, 5, 2)]),
        ),
    )
    yield "arrow", pyarrow.Table.from_pylist(ROWS)
    yield "record batch", pyarrow.RecordBatch.from_pylist(ROWS)
    yield "columns", {name: [row[name] for row in ROWS] for name in KINDS}


@pytest.mark.parametrize("table", [pytest.param(table, id=name) for name, table in frames()])
def test_every_kind_of_table_has_the_same_schema_and_the_same_columns(table):
    schema = Schema.of(table)
    assert schema.columns == KINDS
    columns, n, misfits = schema.columns_of(table)
    assert (n, misfits) == (3, 0)
    np.testing.assert_array_equal(columns["temp"], [21.5, np.nan, 3.0])
    np.testing.assert_array_equal(columns["open"], [1.0, 0.0, np.nan])
    assert columns["city"].tolist() == ["Oslo", None, "Bonn"]
    assert columns["note"].tolist() == [ROWS[0]["note"], None, ROWS[2]["note"]]
    assert columns["when"].dtype == "datetime64[us]"
    expected = np.array(["2024-05-01T10:00", "NaT", "2024-05-02"], dtype="datetime64[us]")
    np.testing.assert_array_equal(columns["when"], expected)


def test_structured_arrays_have_names_and_matrices_places():
    structured = np.array([(1.5, 2, True), (2.5, 3, False)], dtype=[("a", "f8"), ("b", "i4"), ("c", "?")])
    assert Schema.of(structured).columns == {"a": "number", "b": "number", "c": "boolean"}
    assert Schema.of(np.zeros((2, 3))).columns == {"0": "number", "1": "number", "2": "number"}
    columns, n, _ = Schema(["u", "v"]).columns_of([[1, 2], [3, 4]])
    assert n == 2
    np.testing.assert_array_equal(columns["v"], [2.0, 4.0])
    with pytest.raises(ValueError, match="rows have 3 columns without names, the schema has 2: u, v"):
        Schema(["u", "v"]).columns_of(np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 1, 2] * 10, "number"),
        (["1", "2.5", ""], "number"),
        (["true", "False", None], "boolean"),
        ([True, False], "boolean"),
        (["yes", "no"], "category"),
        ([0, 1, 0], "number"),
        (["2024-01-02", "2024-01-03T10:11:12Z"], "time"),
        (["31/01/2024", "01/02/2024"], "time"),
        (["3.1.2024 10:20", "4.1.2024 11:30"], "time"),
        ([datetime.date(2024, 1, 1)], "time"),
        ([np.datetime64("2024-01-01")], "time"),
        (["10 Main Street", "12 Side Street"], "category"),
        (["a b c d e f g"], "text"),
        ([f"word {i} of three" for i in range(40)], "text"),
        (["never mind the gap here"] * 40, "category"),
        ([None, None], "number"),
        ([1, "x"], "category"),
        (["12345", "AB123"], "category"),
    ],
)
def test_kinds_are_told_from_values(values, kind):
    assert Schema.of([{"a": value} for value in values]).columns["a"] == kind


def test_what_was_told_can_be_overridden_dropped_and_chosen():
    rows = [{"zip": 12345, "a": 1.0, "b": "x", "y": 2.5}, {"zip": 54321, "a": 2.0, "b": "z", "y": 3.5}]
    schema = Schema.of(rows, target="y", kinds={"zip": "category"}, drop=["b"])
    assert schema.columns == {"zip": "category", "a": "number", "b": "ignored"}
    assert (schema.names, schema.targets) == (["zip", "a"], ["y"])
    assert schema.columns_of([{"zip": 12345.0}])[0]["zip"].tolist() == ["12345"]
    assert Schema.of(rows, target="y", columns=["a", "zip"]).names == ["a", "zip"]
    with pytest.raises(ValueError, match="there is no column 'zpi'; did you mean 'zip'"):
        Schema.of(rows, kinds={"zpi": "category"})
    with pytest.raises(ValueError, match="there is no column 'c'"):
        Schema.of(rows, drop="c")
    with pytest.raises(ValueError, match="kind of column 'a' must be one of"):
        Schema.of(rows, kinds={"a": "float"})


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 1], "classification"),
        (list(range(30)), "regression"),
        ([0.5, 1.5], "regression"),
        ([0.5, 1.5] * 20, "regression"),
    ],
)
def test_the_task_is_told_from_the_target(values, task):
    assert Schema.of([{"a": 1.0, "y": value} for value in values], target="y").task == task


def test_columns_are_found_by_name_in_any_order_and_missing_ones_are_missing():
    schema = Schema({"a": "number", "b": "boolean", "c": "category", "t": "time"})
    columns, _, _ = schema.columns_of([{"b": "yes", "a": "1.5"}, {"a": 2}])
    np.testing.assert_array_equal(columns["a"], [1.5, 2.0])
    np.testing.assert_array_equal(columns["b"], [1.0, np.nan])
    assert columns["c"].tolist() == [None, None]
    assert np.isnat(columns["t"]).all()


def test_an_unknown_column_is_reported_with_its_name():
    with pytest.warns(UserWarning, match="does not know are left out: zzz"):
        Schema(["a"]).columns_of([{"a": 1.0, "zzz": 2.0}])


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("number", "abc", "row 1: column 'a' is 'abc', which is no finite number"),
        ("number", float("inf"), "row 1: column 'a' is inf, which is no finite number"),
        ("number", "1_000", "'1_000', which is no finite number"),
        ("number", [1], r"\[1\], which is no finite number"),
        ("number", 10**400, "which is no finite number"),
        ("boolean", 2, "row 1: column 'a' is 2, which is no boolean"),
        ("boolean", "maybe", "'maybe', which is no boolean"),
        ("time", "soon", "'soon', which is no date or time"),
        ("time", True, "True, which is no date or time"),
        ("category", {"x": 1}, "which is no level of a category"),
    ],
)
def test_a_value_that_does_not_fit_is_named_or_counted(kind, value, message):
    schema = Schema({"a": kind})
    good = {"number": 1.5, "boolean": True, "time": "2024-01-01", "category": "x"}[kind]
    rows = [{"a": good}, {"a": value}]
    with pytest.raises(BadCell, match=message):
        schema.columns_of(rows)
    columns, _, misfits = schema.columns_of(rows, on_error="missing")
    assert misfits == 1
    second = columns["a"][1]
    assert second is None or np.isnat(second) if kind in ("time", "category") else np.isnan(second)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-05-01T10:00:00+02:00", "2024-05-01T08:00:00"),
        (pandas.Timestamp("2024-05-01 10:00", tz="Europe/Berlin"), "2024-05-01T08:00:00"),
        (datetime.date(2024, 5, 1), "2024-05-01"),
        (1714557600, "2024-05-01T10:00:00"),
        (1714557600000, "2024-05-01T10:00:00"),
        (1714557600000000, "2024-05-01T10:00:00"),
        ("1714557600", "2024-05-01T10:00:00"),
        ("soon", None),
    ],
)
def test_times_come_without_zone_from_strings_objects_and_seconds(value, expected):
    schema = Schema({"t": "time"})
    if expected is None:
        with pytest.raises(BadCell):
            schema.columns_of([{"t": value}])
    else:
        assert schema.columns_of([{"t": value}])[0]["t"][0] == np.datetime64(expected, "us")


def test_days_before_months_are_told_and_kept():
    rows = [{"d": "05/06/2024"}, {"d": "31/01/2024"}]
    schema = nystream.from_bytes(nystream.to_bytes(Schema.of(rows)))
    assert schema.formats == {"d": "day-first"}
    assert schema.columns_of(rows)[0]["d"].astype("datetime64[D]").astype(str).tolist() == ["2024-06-05", "2024-01-31"]
    assert Schema.of(rows[:1]).formats == {"d": "month-first"}


def test_a_schema_survives_a_file_and_prints_what_was_decided():
    schema = Schema.of(ROWS, target="city")
    twin = nystream.from_bytes(nystream.to_bytes(schema))
    assert twin.get_params() == schema.get_params()
    assert str(twin) == str(schema)
    lines = str(schema).splitlines()
    assert lines[0].split() == ["temp", "number", "21.5", "33%", "missing"]
    assert lines[-1] == "city  target, classification"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"a": "numbers"},), "kind of column 'a' must be one of"),
        (({1: "number"},), "names of type str, got 1"),
        (("abc",), "columns must be a dict"),
        (({"a": "ignored"},), "none that is not ignored"),
        ((["a"], "a"), "target 'a' is among the columns too"),
        ((["a"], []), "target is an empty list"),
        ((["a"], "y", "ranking"), "task must be one of"),
        ((["a"], ["y", "z"], "classification"), "several targets are regression"),
    ],
)
def test_a_bad_schema_is_refused_when_it_is_made(arguments, message):
    with pytest.raises(ValueError, match=message):
        Schema(*arguments)


def test_lists_inside_columns_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"column 'tags' holds lists or dicts .* drop it"):
        Schema.of([{"a": 1, "tags": ["x"]}])
    assert Schema.of([{"a": 1, "tags": ["x"]}], drop="tags").names == ["a"]


def test_tables_that_are_none_are_refused():
    for rows, message in [
        (3.5, "rows must be a frame"),
        ("a.csv", "rows must be a frame"),
        ([1.0, 2.0], "for one row pass row"),
        ([{"a": 1}, [2]], "row 1 is a list"),
        ({"a": [1], "b": [1, 2]}, "different lengths: 1, 2"),
        (polars.LazyFrame({"a": [1]}), "collect it"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(rows)


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["1,042.3", "980.0", "1,500"], "regression"),
        (["0.5", "1", "2"], "regression"),
        (["$1,200", "$980"], "regression"),
        (["1", "2", "1"], "classification"),
        (["-1", "1", "-1"], "classification"),
        (["1,042.3", "many"], "classification"),
    ],
)
def test_labels_that_are_numbers_written_as_text_are_quantities(labels, task):
    rows = [{"x": i, "y": label} for i, label in enumerate(labels)]
    assert Schema.of(rows, target="y").task == task
