"""Lines out of bytes: those of Python's own reader of text, however the bytes arrive."""

from __future__ import annotations

import gzip
import io
import itertools
import random

import pytest

from nystream.streams.lines import Lines
from nystream.streams.text import Pipe, TextFile, unpack


class Dripping(io.RawIOBase):
    """Bytes in pieces of random sizes, as a pipe has them."""

    def __init__(self, content: bytes, seed: int, most: int = 9) -> None:
        self._rest, self._rng, self._most = content, random.Random(seed), most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        size = min(len(buffer), self._rng.randint(1, self._most))
        piece, self._rest = self._rest[:size], self._rest[size:]
        buffer[: len(piece)] = piece
        return len(piece)


def lines_of(content: bytes, seed: int) -> Lines:
    return Lines(io.BufferedReader(Dripping(content, seed), 4), "a.txt")


def text(rng: random.Random) -> bytes:
    parts = ["\n", "\r\n", "\r", "\n\n", "a", "1,2", "größe", "\u2028", "\x0b\x1c\x85", "\ufeff", "", "long" * 20]
    content = "".join(rng.choices(parts, k=rng.randint(0, 40))).encode()
    return (b"\xef\xbb\xbf" if rng.random() < 0.3 else b"") + content


@pytest.mark.parametrize("seed", range(200))
def test_lines_are_those_of_pythons_reader(seed):
    content = text(random.Random(seed))
    expected = list(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig"))
    assert list(lines_of(content, seed)) == expected


@pytest.mark.parametrize("seed", range(200))
def test_lines_in_blocks_are_the_same_lines(seed):
    """Some blocks are parsed, and the lines of others come one by one, as where a parser finds something doubtful."""
    rng = random.Random(seed)
    content = text(rng).replace(b"\r", b"\n")
    lines, found, counts = lines_of(content, seed), [], []
    while True:
        count = rng.randint(1, 5)
        parsed = lines.parsed(count, lambda data, n: (bytes(data), n) if rng.random() < 0.6 else None)
        if parsed is None:
            more = list(itertools.islice(lines, count))
            if not more:
                break
            found += more
            continue
        (data, told), n = parsed
        assert told == n <= count
        found += io.StringIO(data.decode(), newline="\n").readlines()
        counts.append((n, count, len(found)))
    expected = list(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig"))
    assert found == expected
    assert all(n == count or total == len(expected) for n, count, total in counts)  # short at the end alone


def test_lines_without_line_feeds_are_not_held_together():
    content = b"12345678\r" * 400_000  # 3.6 MB
    lines = Lines(io.BufferedReader(io.BytesIO(content)), "a.txt")
    assert next(lines) == "12345678\n"
    assert len(lines._held) < len(content) / 2
    assert sum(1 for _ in lines) == 399_999


def test_text_in_another_encoding_is_refused_at_its_line():
    lines = lines_of("a\nb\ngröße\n".encode("latin-1"), 0)
    assert [next(lines), next(lines)] == ["a\n", "b\n"]
    with pytest.raises(ValueError, match=r"a\.txt is not UTF-8 text \(byte 0xf6\)"):
        next(lines)


def test_a_line_put_back_comes_first_and_is_parsed_by_nobody_else():
    lines = lines_of(b"a\nb\nc\n", 0)
    lines.put_back([next(lines), next(lines)])
    assert lines.parsed(1, lambda data, n: bytes(data)) is None
    assert [next(lines), next(lines)] == ["a\n", "b\n"]
    assert lines.parsed(1, lambda data, n: bytes(data)) == (b"c\n", 1)
    assert lines.parsed(1, lambda data, n: bytes(data)) is None


def test_a_file_is_closed_with_its_lines(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"1\n2\n"))
    lines = TextFile(path).lines()
    file = lines._whole
    assert list(lines) == ["1\n", "2\n"]
    assert file.closed
    lines = TextFile(path).lines()
    file = lines._whole
    del lines
    assert file.closed


def test_standard_input_stays_open():
    content = io.BytesIO(b"1\n2\n")
    pipe = Pipe(io.BufferedReader(content))
    assert pipe.head(1) == ["1\n"]
    assert list(pipe.lines()) == ["1\n", "2\n"]
    assert not content.closed


@pytest.mark.parametrize("sizes", [(5,), (3, 0, 4), (200_000, 300_000)])
@pytest.mark.parametrize("padding", [b"", b"\0" * 700, b"\0" * 200_000])
def test_members_of_gzip_follow_each_other(sizes, padding):
    rng = random.Random(0)
    parts = [rng.randbytes(size) for size in sizes]
    packed = io.BufferedReader(io.BytesIO(b"".join(map(gzip.compress, parts)) + padding))
    with unpack(packed, "a.gz") as content:
        assert content.read() == b"".join(parts)


@pytest.mark.parametrize("damage", ["cut", "checksum", "content", "garbage behind"])
def test_damaged_gzip_is_refused(damage):
    whole = gzip.compress(b"1,2\n" * 5000)
    packed = {
        "cut": whole[:-9],
        "checksum": whole[:-8] + bytes(8),
        "content": whole[:40] + bytes(20) + whole[60:],
        "garbage behind": whole + b"garbage",
    }[damage]
    lines = Lines(unpack(io.BufferedReader(io.BytesIO(packed)), "a.gz"), "a.gz")
    with pytest.raises(ValueError, match=r"a\.gz is damaged or cut off: "):
        list(lines)
