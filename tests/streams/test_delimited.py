"""CSV: headers, delimiters, columns, classes, missing values, and errors that name the line."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import streams


@pytest.fixture
def write(tmp_path):
    def written(text, name="a.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


@pytest.mark.parametrize(
    ("text", "columns"),
    [("a,b,y\n1,2,3\n", ("a", "b")), ("1,2,3\n", None), ("1,2,yes\n3,4,no\n", None), (",b,y\n1,2,3\n", ("0", "b"))],
)
def test_a_first_line_without_numbers_is_a_header(write, text, columns):
    assert streams.csv(write(text)).columns == columns


def test_header_can_be_stated_where_names_are_numbers(write):
    stream = streams.csv(write("2019,2020,2021\n1,2,3\n"), header=True, target="2019")
    assert stream.columns == ("2020", "2021")
    assert_array_equal(stream.load()[0], [[2.0, 3.0]])


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " ", "   "])
def test_the_delimiter_is_found(write, mark):
    path = write(mark.join("aby") + "\n" + mark.join(["1.5", "2", "-3e1"]) + "\n")
    X, y = streams.csv(path).load()
    assert_array_equal(X, [[1.5, 2.0]])
    assert_array_equal(y, [-30.0])


def test_a_comma_inside_quotes_does_not_delimit(write):
    stream = streams.csv(write('"load, MW",y\n"1.5",2\n'))
    assert stream.columns == ("load, MW",)
    assert_array_equal(stream.load()[0], [[1.5]])


@pytest.mark.parametrize("target", ["y", 1, -2, "1"])
def test_a_target_is_a_name_or_a_position(write, target):
    stream = streams.csv(write("a,y,b\n1,2,3\n4,5,6\n"), target)
    assert stream.columns == ("a", "b")
    assert_array_equal(stream.load()[1], [2.0, 5.0])


def test_several_targets_make_a_matrix_and_none_makes_nan(write):
    path = write("a,b,c\n1,2,3\n4,5,6\n")
    X, Y = streams.csv(path, ["c", 0]).load()
    assert_array_equal(X, [[2.0], [5.0]])
    assert_array_equal(Y, [[3.0, 1.0], [6.0, 4.0]])
    X, y = streams.csv(path, None).load()
    assert X.shape == (2, 3)
    assert np.isnan(y).all()


def test_columns_are_kept_in_the_order_asked_for_and_dropped_ones_may_hold_anything(write):
    path = write("when,a,b,y\n2020-01-01,1,2,3\n2020-01-02,4,5,6\n")
    stream = streams.csv(path, drop="when")
    assert_array_equal(stream.load()[0], [[1.0, 2.0], [4.0, 5.0]])
    stream = streams.csv(path, columns=["b", "a"])
    assert stream.columns == ("b", "a")
    assert_array_equal(stream.load()[0], [[2.0, 1.0], [5.0, 4.0]])


def test_text_targets_become_classes_in_order_of_appearance(write):
    stream = streams.csv(write("1,setosa\n2,virginica\n3,setosa\n"))
    assert_array_equal(stream.load()[1], [0.0, 1.0, 0.0])
    assert (stream.labels, stream.task) == (("setosa", "virginica"), "classification")


def test_given_labels_fix_the_order_and_also_number_numeric_classes(write):
    path = write("1,setosa\n2,virginica\n")
    assert_array_equal(streams.csv(path, labels=["virginica", "setosa"]).load()[1], [1.0, 0.0])
    path = write("1,7\n2,1\n3,2.0\n")
    assert_array_equal(streams.csv(path, labels=range(1, 8)).load()[1], [6.0, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"a\.csv:1: target '1': 7.0 is not one of the labels 1, 2"):
        streams.csv(path, labels=[1, 2]).load()


def test_a_quoted_field_may_hold_line_ends_across_parsed_chunks(write):
    rows = [f'{i},"two\nlines",{i}\n' for i in range(5000)]
    stream = streams.csv(write("a,note,y\n" + "".join(rows)), drop="note")
    assert_array_equal(stream.load()[1], np.arange(5000.0))


@pytest.mark.parametrize("missing", ["", "NA", "nan", "?", " null ", "N/A"])
def test_a_missing_feature_is_an_error_or_nan(write, missing):
    path = write(f"a,b,y\n1,2,3\n4,{missing},6\n")
    with pytest.raises(ValueError, match=r"a\.csv:3: column 'b' is missing .*missing=\"nan\""):
        streams.csv(path).load()
    assert_array_equal(streams.csv(path, missing="nan").load()[0], [[1.0, 2.0], [4.0, np.nan]])


def test_a_missing_target_is_always_an_error(write):
    for text, line in (("a,y\n1,2\n3,\n", 3), ("1,yes\n2,?\n", 2)):
        with pytest.raises(ValueError, match=rf"a\.csv:{line}: target .* is missing .*; remove the row"):
            streams.csv(write(text), missing="nan").load()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b,y\n1,2,3\n4,5\n", {}, r"a\.csv:3: has 2 fields, expected 3"),
        ("a,b,y\n1,2,3\n\n4,5,6,7\n", {}, r"a\.csv:4: has 4 fields, expected 3"),
        ("a,b,y\n1,2,3\n4,5,6,7\n", {"drop": "a"}, r"a\.csv:3: has 4 fields, expected 3"),
        ("a,b,y\n1,x,3\n", {}, r"a\.csv:2: column 'b' is 'x', not a finite number; drop the column"),
        ("a,b,y\n1,1_000,3\n", {}, r"a\.csv:2: column 'b' is '1_000', not a finite number"),
        ("a,b,y\n1,inf,3\n", {"missing": "nan"}, r"a\.csv:2: column 'b' is 'inf', not a finite number"),
        ("a,y\n1,2\n1,no\n", {}, r"a\.csv:3: target 'y' is 'no', not a finite number; pass labels="),
        ("bad,1,7\n3,4,5\n", {}, r"a\.csv:1: column '0' is 'bad', not a finite number"),
        ('a,y\n1,"2\n3,4\n', {}, r"a\.csv:2: a quoted field is not closed"),
        ("", {}, r"a\.csv is empty"),
        (" \n\n", {}, r"a\.csv is empty"),
        ("a,b\n", {}, r"a\.csv has a header but no rows"),
        ("1\n2\n", {}, r"a\.csv has 1 column, of which none is left as a feature"),
        ("load,temp\n1,2\n", {"target": "laod"}, r"no column 'laod'; did you mean 'load'\? it has load, temp"),
        ("load,temp\n1,2\n", {"target": 2}, r"no column 2: it has 2 columns, 0 to 1"),
        ("a,b,y\n1,2,3\n", {"drop": "y"}, r"column 'y' is both a target and dropped"),
        ("a,b,y\n1,2,3\n", {"columns": ["y"]}, r"column 'y' is both a target and a feature"),
        ("a,b,y\n1,2,3\n", {"target": ["y", -1]}, r"target names a column twice"),
        ("a,b,y\n1,2,3\n", {"target": []}, r"target is an empty list"),
        ("a,b,y\n1,2,3\n", {"target": ["a", "y"], "labels": [1]}, r"labels needs exactly one target"),
        ("a,b,y\n1,2,3\n", {"delimiter": "::"}, r"delimiter must be .* one character"),
        ("a,b,y\n1,2,3\n", {"header": "yes"}, r"header must be"),
        ("a,b,y\n1,2,3\n", {"missing": "skip"}, r"missing must be one of 'error', 'nan'; got 'skip'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_a_way_out(write, text, options, message):
    with pytest.raises(ValueError, match=message):
        streams.csv(write(text), **options).load()


def test_a_bad_line_deep_in_a_file_is_counted_right(write):
    rows = [f"{i},{i}\n" for i in range(20_000)]
    rows[12_345] = "1,2,3\n"
    with pytest.raises(ValueError, match=r"a\.csv:12347: has 3 fields, expected 2"):
        streams.csv(write("x,y\n" + "".join(rows))).load()
