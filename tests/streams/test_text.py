"""Compression, damage and encodings of text files."""

import bz2
import gzip
import lzma
import zipfile

import pytest
from numpy.testing import assert_array_equal

from nystream import streams
from nystream.streams.tabular import TextTables
from nystream.streams.text import TextBytes

CONTENT = "".join(f"{i},{i * 0.5},{i % 3}\n" for i in range(5000)).encode()
COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("extension", COMPRESS)
def test_compressed_files_read_like_plain_ones(tmp_path, extension):
    plain, packed = tmp_path / "a.csv", tmp_path / f"a.csv.{extension}"
    plain.write_bytes(CONTENT)
    packed.write_bytes(COMPRESS[extension](CONTENT))
    for ours, theirs in zip(streams.csv(packed).load(), streams.csv(plain).load(), strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("extension", COMPRESS)
def test_compression_is_read_off_the_content_and_not_off_the_name(tmp_path, extension):
    (tmp_path / "a.csv").write_bytes(COMPRESS[extension](CONTENT))
    assert len(streams.csv(tmp_path / "a.csv").load()[0]) == 5000


@pytest.mark.parametrize("extension", COMPRESS)
def test_a_compressed_file_that_was_cut_off_is_said_to_be(tmp_path, extension):
    path = tmp_path / f"a.csv.{extension}"
    packed = COMPRESS[extension](CONTENT)
    path.write_bytes(packed[: len(packed) - 20])
    with pytest.raises(ValueError, match=rf"a\.csv\.{extension} is damaged or cut off"):
        streams.csv(path).load()


def test_an_archive_of_two_files_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", CONTENT)
        archive.writestr("b.csv", CONTENT)
    with pytest.raises(ValueError, match=r"a\.zip holds 2 files \(a\.csv, b\.csv\); an archive of exactly one is read"):
        streams.csv(tmp_path / "a.zip")


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_the_data(tmp_path):
    (tmp_path / "a.csv").write_bytes("\ufeffa,b\r\n1,2\r\n3,4\r\n".encode())
    stream = streams.csv(tmp_path / "a.csv")
    assert stream.columns == ("a",)
    assert_array_equal(stream.load()[1], [2.0, 4.0])


def test_text_in_another_encoding_is_an_error_that_says_so(tmp_path):
    (tmp_path / "a.csv").write_bytes("a,größe\n1,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"a\.csv is not UTF-8 text \(byte 0xf6\)"):
        streams.csv(tmp_path / "a.csv")


def test_a_file_that_is_not_there_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        streams.csv(tmp_path / "absent.csv")


def test_text_in_memory_is_read_again_and_again_and_never_unpacked():
    tables = TextTables(TextBytes(b"a;b\n1,5;x\n2,5;y\n", "body"))
    for _ in range(2):
        (table,) = tables.blocks()
        assert (table.columns, table.marks["a"]) == ({"a": ["1,5", "2,5"], "b": ["x", "y"]}, ",")
    with pytest.raises(ValueError, match="body is not UTF-8 text"):
        TextTables(TextBytes(gzip.compress(CONTENT), "body"))


def test_columns_that_were_renamed_are_told_to_who_asks():
    told = []
    tables = TextTables(TextBytes(b"a,a\n1,2\n", "body"), report=told.append)
    assert tables.columns == ["a", "a.2"]
    assert told == ["body: two or more columns have the same name: 'a' is now 'a.2'"]
