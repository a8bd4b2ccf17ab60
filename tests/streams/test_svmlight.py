"""LIBSVM files against scikit-learn's reader, and errors that name the line."""

import bz2
import random

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import streams
from nystream.streams import svmlight


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "a.libsvm"
        path.write_text(text)
        return path

    return written


def test_rows_agree_with_those_of_scikit_learn(tmp_path):
    datasets = pytest.importorskip("sklearn.datasets")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 9)) * (rng.random((3000, 9)) < 0.5)
    datasets.dump_svmlight_file(X, rng.integers(0, 3, 3000), str(tmp_path / "a"), zero_based=False)
    packed = tmp_path / "a.bz2"
    packed.write_bytes(bz2.compress((tmp_path / "a").read_bytes()))
    theirs, labels = datasets.load_svmlight_file(str(packed), n_features=9)
    ours, y = streams.libsvm(packed, 9).load()
    assert_array_equal(ours, theirs.toarray())
    assert_array_equal(y, labels)


def test_clean_and_untidy_lines_read_alike(write):
    """The same rows by the fast way and field by field: comments, tabs, blank lines, stray spaces."""
    tidy = streams.libsvm(write("+1 1:0.5 3:2\n-1 2:1\n0\n"))
    X, y = tidy.load()
    assert_array_equal(X, [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert_array_equal(y, [1.0, -1.0, 0.0])
    for text in ("# of rain\n+1\t1:0.5  3:2 \n\n-1 2:1 # dry\n  0", "+1 1:.5 3:2e0 \n-1  2:1\n0 \n"):
        for ours, theirs in zip(streams.libsvm(write(text)).load(), (X, y), strict=True):
            assert_array_equal(ours, theirs)


def test_the_width_is_found_by_a_first_pass_or_given(write):
    path = write("1 1:1\n2 7:1\n3 2:1\n")
    assert streams.libsvm(path).d == 7
    assert streams.libsvm(path, 10).load()[0].shape == (3, 10)
    with pytest.raises(ValueError, match=r"a\.libsvm:2: has index 7, beyond the d = 3 features"):
        streams.libsvm(path, 3).load()


def test_an_index_zero_makes_a_file_zero_based(write):
    path = write("1 1:5\n2 0:4 2:6\n")
    assert_array_equal(streams.libsvm(path).load()[0], [[0, 5, 0], [4, 0, 6]])
    assert_array_equal(streams.libsvm(write("1 1:5\n"), zero_based=True).load()[0], [[0, 5]])
    with pytest.raises(ValueError, match=r"a\.libsvm:2: has index 0, but indices start at 1 here; pass zero_based"):
        streams.libsvm(write("1 1:5\n2 0:4 2:6\n"), 3).load()


def test_labels_number_the_classes(write):
    path = write("10 1:1\n1 1:2\n\n3 1:1\n")
    assert_array_equal(streams.libsvm(path, labels=[1, 3, 10]).load()[1], [2.0, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"a\.libsvm:4: label 3.0 is not one of the labels 1, 10"):
        streams.libsvm(path, labels=[1, 10]).load()
    with pytest.raises(ValueError, match="labels must be numbers"):
        streams.libsvm(path, labels=["1", "10"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 1:2 3", "'3' is not index:value"),
        ("1 1:2:3", "the value of feature 1 is '2:3', not a finite number"),
        ("1:2 3:4 5", "the label is '1:2', not a finite number"),
        ("1 2:3:4 5", "not a finite number"),
        ("1 1:", "the value of feature 1 is '', not a finite number"),
        ("1 :2", "':2' is not index:value"),
        ("1 a:2", "'a:2' is not index:value"),
        ("1 1:2 3.0:1", "'3.0:1' is not index:value"),
        ("1 1e0:2", "'1e0:2' is not index:value"),
        ("1 +1:2", r"'\+1:2' is not index:value"),
        ("x 1:2", "the label is 'x', not a finite number"),
        ("1 1:nan", "the value of feature 1 is 'nan', not a finite number"),
        ("1 2:1 1:1", "index 1 comes after 2; indices must rise within a line"),
        ("1 2:1 2:1", "index 2 comes after 2"),
        ("1 qid:3 1:2", "has qid:3: ranking data is not supported"),
        ("1,2 1:1", "the label is '1,2'"),
    ],
)
def test_a_bad_token_is_an_error_that_names_the_line(write, line, message):
    for good in ("1 1:1 5:1\n", "# noted\n"):
        with pytest.raises(ValueError, match=rf"a\.libsvm:2: .*{message}"):
            streams.libsvm(write(f"{good}{line}\n1 1:1\n"), 5).load()


def test_a_ranking_file_is_refused_in_the_first_pass_too(write):
    with pytest.raises(ValueError, match=r"a\.libsvm:1: has qid:1"):
        streams.libsvm(write("1 qid:1 1:1\n")).load()
    with pytest.raises(ValueError, match=r"a\.libsvm:2: 'b' is not index:value"):
        streams.libsvm(write("1 1:1\n1 1:1 b\n")).load()


def test_an_empty_file_and_a_file_of_comments_are_errors(write):
    with pytest.raises(ValueError, match=r"a\.libsvm is empty"):
        streams.libsvm(write("\n"))
    with pytest.raises(ValueError, match=r"a\.libsvm has no rows"):
        streams.libsvm(write("# nothing\n")).load()


def test_the_first_pass_is_not_misled_by_indices_that_fall(write):
    with pytest.raises(ValueError, match=r"a\.libsvm:1: index 1 comes after 3; indices must rise within a line"):
        streams.libsvm(write("1 3:2 1:4\n")).load()


def test_rows_that_would_not_fit_in_memory_are_refused_with_their_size(write):
    with pytest.raises(ValueError, match=r"a\.libsvm has index 3999999999: dense rows .* take 32\.0 GB each"):
        streams.libsvm(write("1 1:3 3999999999:1\n")).load()
    with pytest.raises(ValueError, match=r"a\.libsvm has index 99999999999; hash features"):
        streams.libsvm(write("1 1:3 99999999999:1\n")).load()


def test_sparse_blocks_are_the_dense_ones(write):
    lines = ["1 1:3 7:2", "", "-1", "2.5 2:1e3 # a remark", "0 1:1 2:2 3:3 7:7"]
    stream = streams.libsvm(write("\n".join(lines) + "\n"))
    X, y = stream.load()
    for size in (1, 2, 100):
        parts = list(stream.sparse_blocks(size))
        assert np.array_equal(np.concatenate([part.toarray() for part, _ in parts]), X)
        assert np.array_equal(np.concatenate([labels for _, labels in parts]), y)
    wide = list(streams.libsvm(write("1 1:3 3999999999:1\n")).sparse_blocks())
    assert wide[0][0].shape == (1, 3999999999)
    assert wide[0][0].indices.tolist() == [0, 3999999998]


ODD = [
    *(
        "1",
        "x",
        "3:",
        ":4",
        "2:1:2",
        "qid:3",
        "# 9:9",
        "#",
        "2:nan",
        "3:inf",
        "4:1e999",
        "5:1_0",
        "1:0x1",
        "0:2",
        "99:1",
    ),
    *(
        "\u0661:2",
        "3:\u0662",
        "12345678901234567890:1",
        "2:.5",
        "3:6.",
        "4:+1e3",
        "5:-0",
        "6:1e-400",
        "\t",
        "  ",
        "\x0b",
    ),
    *("7:1\r", "x7:1", "7:1x", "+7:1", "7.0:1", "7 :1", "7: 1", f"8:{'1' * 400}", f"9:0.{'1' * 30}"),
]


def untidy(rng: random.Random) -> str:
    """Rows of pairs with, at random, odd tokens, indices that fall, empty lines and other ends of lines."""
    odd = rng.choice([0.0, 0.0, 0.01, 0.1, 0.4])
    lines = []
    for _ in range(rng.randint(1, 50)):
        places = sorted(rng.sample(range(1, 9), rng.randint(0, 6)))
        tokens = [repr(rng.gauss(0, 1)), *(f"{j}:{rng.choice([rng.gauss(0, 1), 1, 1e-7])!r}" for j in places)]
        for _ in range(rng.random() < odd):
            tokens.insert(rng.randint(0, len(tokens)), rng.choice(ODD))
        lines.append(rng.choice([" ", " ", "  ", "\t"] if odd else [" "]).join(tokens) + " " * (rng.random() < odd))
        lines += [""] * (rng.random() < odd)
    return rng.choice(["\n", "\n", "\r\n"]).join(lines) + rng.choice(["", "\n", "\n\n"])


def told(path, size: int, d: int | None) -> list:
    """Every block, then the error that ended it, if one did."""
    found = []
    try:
        stream = streams.libsvm(path, d)
        found.append(stream.d)
        found += [(X.toarray(), y) for X, y in stream.sparse_blocks(size)]
        found += list(stream.blocks(size))
    except ValueError as error:
        found.append(f"{type(error).__name__}: {error}")
    return found


@pytest.mark.parametrize("seed", range(300))
def test_the_parser_of_pairs_reads_what_the_exact_one_does(tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    path = tmp_path / "a.libsvm"
    path.write_bytes(untidy(rng).encode())
    size, d = rng.choice([1, 3, 8, 1000]), rng.choice([None, None, 8, 5])
    found = told(path, size, d)
    monkeypatch.setattr(svmlight, "entries_of_pairs", lambda *arguments: None)
    monkeypatch.setattr(svmlight, "extremes_of_pairs", lambda *arguments: None)
    expected = told(path, size, d)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if not isinstance(a, tuple) or not isinstance(b, tuple):
            assert a == b
            continue
        for one, other in zip(a, b, strict=True):
            assert_array_equal(one.view(np.int64), other.view(np.int64))


def test_clean_lines_are_for_the_parser_of_pairs(write, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("lines were taken for doubtful")

    monkeypatch.setattr(svmlight, "_exact", refuse)
    monkeypatch.setattr(svmlight, "_ends", refuse)
    X, y = streams.libsvm(write("+1 1:0.5 3:2\r\n-1\t2:1e-3 \n0\n 4 1:7.123456789012345678901")).load()
    assert_array_equal(X, [[0.5, 0, 2], [0, 1e-3, 0], [0, 0, 0], [7.123456789012345678901, 0, 0]])
    assert_array_equal(y, [1.0, -1.0, 0.0, 4.0])
