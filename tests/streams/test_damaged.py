"""Damaged files are refused by name; benchmarks/reliability/fuzz_readers.py tries many more."""

import io
import zipfile

import numpy as np
import pytest

from nystream import Model
from nystream.data.values import convert
from nystream.streams import open_stream
from nystream.streams.tabular import open_tables


def consumed(path):
    tables = open_tables(path)
    source = tables if tables is not None else open_stream(str(path))
    return list(source.blocks(10))


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_file_that_is_damaged_inside_is_refused_with_its_name(tmp_path, ending):
    pa = pytest.importorskip("pyarrow")
    module = pytest.importorskip("pyarrow.parquet" if ending == "parquet" else "pyarrow.feather")
    path = tmp_path / f"t.{ending}"
    table = pa.table({"x": np.random.default_rng(0).random(2000), "y": np.arange(2000.0)})
    (module.write_table if ending == "parquet" else module.write_feather)(table, path)
    content = path.read_bytes()
    messages = []
    for start in range(0, 400, 20):
        path.write_bytes(content[:start] + bytes(255 - b for b in content[start : start + 20]) + content[start + 20 :])
        try:
            consumed(path)  # some damage makes other numbers, and nobody can tell
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > 1
    assert all(f"t.{ending} is " in message for message in messages)


@pytest.mark.parametrize("header", ["{'descr': '<f8', 'fortran_order", "{'descr': '<f8', ('", "{'a': 1}", "[" * 50])
def test_a_numpy_header_that_is_no_python_is_refused(tmp_path, header):
    text = header.encode().ljust(118 - 1) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + np.zeros(6).tobytes()
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npy is cut off, or holds no plain numbers"):
        consumed(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", content)
    with pytest.raises(ValueError, match=r"a\.npz is not a NumPy file"):
        consumed(tmp_path / "a.npz")


def test_an_archive_of_a_later_version_is_refused(tmp_path):
    sink = io.BytesIO()
    np.savez(sink, X=np.ones((3, 2)), y=np.ones(3))
    content = bytearray(sink.getvalue())
    content[content.index(b"PK\x01\x02") + 6] = 200
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz is damaged or cut off \(zip file version"):
        consumed(tmp_path / "a.npz")


def test_a_letter_that_parts_numbers_without_being_seen_is_refused_in_a_sparse_file(tmp_path):
    (tmp_path / "a.svmlight").write_bytes(b"1 1:2 5000:1\n0 1:1\x1d66667 5010:1\n1 1:3 4000:1\n")
    with pytest.raises(ValueError, match=r"a\.svmlight:2: '66667' is not index:value"):
        consumed(tmp_path / "a.svmlight")


def test_a_column_whose_name_is_no_text_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(pa.table({"qqqq": [1.0], "y": [2.0]}), tmp_path / "a.feather", compression="uncompressed")
    content = (tmp_path / "a.feather").read_bytes()
    (tmp_path / "a.feather").write_bytes(content.replace(b"qqqq", b"q\xc8qq"))
    with pytest.raises(ValueError, match=r"a\.feather is damaged: the name of a column is not UTF-8"):
        consumed(tmp_path / "a.feather")


def test_half_a_character_is_a_question_mark():
    words, misfits = convert(["ok", "cut \ud83d", "whole \U0001f600"], "text", "note")
    assert (words.tolist(), misfits) == (["ok", "cut ?", "whole \U0001f600"], 0)


def test_a_label_too_large_for_a_number_is_refused():
    with pytest.raises(ValueError, match="no finite number"):
        Model().run([{"a": 1.0}, {"a": 2.0}, {"a": 3.0}], [1, 2, 10**400])
