"""ARFF: attributes, nominal values, quotes, missing values, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import streams

HEAD = """% a comment
@RELATION 'two words'

@Attribute 'a b' NUMERIC
@attribute day {1, 2, 7}
@attribute "sky" {clear, 'part cloudy', "it\\'s raining"}
@attribute class {no,yes}
@data
"""
BODY = """1.5,7,clear,yes
% between rows
-2e1, 1 ,'part cloudy',no

0,2,"it\\'s raining",yes
"""


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "a.arff"
        path.write_text(text)
        return path

    return written


def test_nominal_features_become_codes_and_numeric_ones_their_number(write):
    stream = streams.arff(write(HEAD + BODY))
    X, y = stream.load()
    assert_array_equal(X, [[1.5, 7.0, 0.0], [-20.0, 1.0, 1.0], [0.0, 2.0, 2.0]])
    assert_array_equal(y, [1.0, 0.0, 1.0])
    assert (stream.columns, stream.labels, stream.task) == (("a b", "day", "sky"), ("no", "yes"), "classification")


def test_nominal_features_become_columns_of_zeros_and_ones(write):
    stream = streams.arff(write(HEAD + BODY), nominal="onehot")
    assert stream.columns == ("a b", "day=1", "day=2", "day=7", "sky=clear", "sky=part cloudy", "sky=it's raining")
    assert_array_equal(stream.load()[0], [[1.5, 0, 0, 1, 1, 0, 0], [-20.0, 1, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0, 1]])


def test_a_clean_file_reads_the_same_as_one_with_quotes(write):
    plain = write("@relation r\n@attribute a real\n@attribute c {x,y}\n@data\n1,x\n2,y\n")
    first = streams.arff(plain).load()
    quoted = write("@relation r\n@attribute a real\n@attribute c {x,y}\n@data\n1,'x'\n2,\"y\"\n")
    for ours, theirs in zip(streams.arff(quoted).load(), first, strict=True):
        assert_array_equal(ours, theirs)


def test_a_missing_value_is_an_error_or_nan(write):
    path = write(HEAD + "?,7,clear,yes\n1,7,?,no\n")
    with pytest.raises(ValueError, match=r"a\.arff:9: column 'a b' is missing \('\?'\)"):
        streams.arff(path).load()
    assert_array_equal(streams.arff(path, missing="nan").load()[0], [[np.nan, 7, 0], [1, 7, np.nan]])
    onehot = streams.arff(path, missing="nan", nominal="onehot").load()[0]
    assert np.isnan(onehot[1, 4:]).all()


def test_a_numeric_target_is_left_as_it_is(write):
    stream = streams.arff(write(HEAD + BODY), "a b")
    assert_array_equal(stream.load()[1], [1.5, -20.0, 0.0])
    assert (stream.labels, stream.task) == (None, "regression")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (HEAD + "{0 1, 1 7}\n", {}, r"a\.arff:9: sparse ARFF rows are not supported"),
        (HEAD + "1,7,clear,yes\n1,7,clear\n", {}, r"a\.arff:10: has 3 fields, expected 4"),
        (HEAD + "1,7,foggy,yes\n", {}, r"a\.arff:9: column 'sky': 'foggy' is not one of the labels clear"),
        (HEAD + "1,7,clear,maybe\n", {}, r"a\.arff:9: target 'class': 'maybe' is not one of the labels no, yes"),
        (HEAD + "x,7,clear,no\n", {}, r"a\.arff:9: column 'a b' is 'x', not a finite number"),
        (HEAD + "1,7,'clear,no\n", {}, r"a\.arff:9: cannot read .*; is a quote not closed\?"),
        (HEAD, {}, r"a\.arff has no rows"),
        ("", {}, r"a\.arff is empty"),
        ("1,2\n", {}, r"a\.arff:1: expected @attribute or @data, got '1,2'"),
        ("@relation r\n", {}, r"a\.arff has no @data line"),
        ("@relation r\n@data\n", {}, r"a\.arff:2: @data comes before any @attribute"),
        ("@attribute a\n@data\n", {}, r"a\.arff:1: cannot read the attribute '@attribute a'"),
        ("@attribute s string\n@attribute y real\n@data\na,1\n", {}, r"attribute 's' is of type string; drop it"),
        (HEAD + BODY, {"nominal": "embed"}, r"nominal must be one of 'code', 'onehot'; got 'embed'"),
        (HEAD + BODY, {"target": ["a b", "class"]}, r"several targets must be numeric, but 'class' is nominal"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(write, text, options, message):
    with pytest.raises(ValueError, match=message):
        streams.arff(write(text), **options).load()


def test_attributes_of_other_types_may_be_dropped(write):
    path = write("@relation r\n@attribute s string\n@attribute a real\n@attribute y real\n@data\n'a, b',1,2\n")
    assert_array_equal(streams.arff(path, drop="s").load()[0], [[1.0]])
