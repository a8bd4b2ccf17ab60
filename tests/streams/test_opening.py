"""Streams by name."""

import bz2
import gzip
import io

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import streams

FILES = {
    "a.csv": b"1,2\n3,4\n",
    "a.csv.gz": gzip.compress(b"1,2\n3,4\n"),
    "a.tsv": b"1\t2\n3\t4\n",
    "a.data": b"1,2\n3,4\n",
    "table": b"x y\n1 2\n3 4\n",
    "a.txt": b"x;y\n1;2\n3;4\n",
    "a.libsvm": b"2 1:1\n4 1:3\n",
    "plain.bz2": bz2.compress(b"2 1:1\n4 1:3\n"),
    "a.arff": b"@relation r\n@attribute x real\n@attribute y real\n@data\n1,2\n3,4\n",
    "weka": b"% c\n@relation r\n@attribute x real\n@attribute y real\n@data\n1,2\n3,4\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_by_its_extension_or_by_its_first_lines(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    X, y = streams.open_stream(tmp_path / name).load()
    assert_array_equal(X, [[1.0], [3.0]])
    assert_array_equal(y, [2.0, 4.0])


def test_numpy_and_parquet_files_are_read_by_extension(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    files = pytest.importorskip("pyarrow.parquet")
    np.save(tmp_path / "a.npy", np.array([[1, 2], [3, 4]]))
    files.write_table(arrow.table({"x": [1, 3], "y": [2, 4]}), tmp_path / "a.parquet")
    for name in ("a.npy", "a.parquet"):
        assert_array_equal(streams.open_stream(str(tmp_path / name)).load()[1], [2.0, 4.0])


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1,2\n3,4\n")))
    assert_array_equal(streams.open_stream("-", target=0).load()[1], [1.0, 3.0])


def test_a_generator_takes_parameters_from_the_text_and_from_options():
    got = streams.open_stream("friedman:n=50,drift=abrupt,at=10,noise=0.5", seed=3).load()
    for ours, theirs in zip(got, streams.friedman(50, drift="abrupt", at=10, noise=0.5, seed=3), strict=True):
        assert_array_equal(ours, theirs)
    assert streams.open_stream("sine").endless


def test_a_file_goes_before_a_generator_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sine").write_text("1,2\n")
    assert streams.open_stream("sine").load()[0].shape == (1, 1)


@pytest.mark.parametrize(
    ("spec", "options", "error", "message"),
    [
        ("sin", {}, FileNotFoundError, r"no file 'sin' \(did you mean the generator sine\?\); generators are alter"),
        ("power.csv", {}, FileNotFoundError, "no file 'power.csv'"),
        ("sine:amplitude=3", {}, ValueError, "sine has no option 'amplitude'; it has n, periods, noise, seed"),
        ("sine:500", {}, ValueError, "'sine:500': '500' is not name=value"),
        ("sine:n=0", {}, ValueError, "n must be a whole number of at least 1, got 0"),
        (".", {}, IsADirectoryError, "'.' is a directory, not a file"),
    ],
)
def test_what_names_no_stream_is_refused_with_a_hint(spec, options, error, message):
    with pytest.raises(error, match=message):
        streams.open_stream(spec, **options)


def test_an_option_that_the_reader_does_not_have_is_refused_with_those_it_has(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(ValueError, match=r"a\.csv has no option 'tarjet'; it has target, header, delimiter"):
        streams.open_stream(tmp_path / "a.csv", tarjet=0)
