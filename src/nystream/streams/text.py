"""Lines of text from a file or from standard input, unpacked on the way where they are compressed."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from typing import IO, Any, cast

__all__ = ["Pipe", "TextFile", "unpacked"]

_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
_NOT_READ = {b"PK\x03\x04": "a zip archive", b"\x28\xb5\x2f\xfd": "compressed with zstandard"}


def unpacked(raw: Any, name: str) -> IO[bytes]:
    """The content of a binary file. Compression is read off the first bytes, not off the name."""
    start = raw.peek(6)[:6]
    for magic, what in _NOT_READ.items():
        if start.startswith(magic):
            raise ValueError(f"{name} is {what}; unpack it first (gzip, bzip2 and xz are read directly)")
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if start.startswith(b"BZh"):
        return cast("IO[bytes]", bz2.BZ2File(raw))
    if start.startswith(b"\xfd7zXZ\x00"):
        return cast("IO[bytes]", lzma.LZMAFile(raw))
    return cast("IO[bytes]", raw)


class TextFile:
    """A text file that can be read again and again, .gz, .bz2 and .xz included."""

    live = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = os.path.basename(self.path)

    def lines(self) -> Iterator[str]:
        """A new pass over the lines."""
        with open(self.path, "rb") as raw, unpacked(raw, self.name) as content:
            yield from _decoded(content, self.name)

    def head(self, count: int = 2) -> list[str]:
        """The first lines, up to and including `count` that are not blank."""
        return _head(self.lines(), count)


class Pipe:
    """Standard input, or another file object: read once, lines as they arrive."""

    live = True

    def __init__(self, file: Any = None) -> None:
        self.name = "standard input"
        self._file: Any = sys.stdin.buffer if file is None else file
        self._head: list[str] = []
        self._rest: Iterator[str] | None = None
        self._read = False

    def lines(self) -> Iterator[str]:
        """The lines, once."""
        if self._read:
            raise ValueError(f"{self.name} can be read only once; save it to a file to read it again")
        self._read = True
        return itertools.chain(self._head, self._opened())

    def head(self, count: int = 2) -> list[str]:
        """The first lines, up to and including `count` that are not blank; `lines` gives them again."""
        count -= sum(bool(line.strip()) for line in self._head)
        if count > 0:
            self._head += _head(self._opened(), count)
        return list(self._head)

    def _opened(self) -> Iterator[str]:
        if self._rest is None:
            raw: Any = self._file if hasattr(self._file, "peek") else io.BufferedReader(self._file)
            self._rest = _decoded(unpacked(raw, self.name), self.name)
        return self._rest


def _decoded(content: IO[bytes], name: str) -> Iterator[str]:
    """Lines of UTF-8 text. Damage in the middle of a file is the file's fault, so it is said as a ValueError."""
    text = io.TextIOWrapper(content, encoding="utf-8-sig")
    try:
        yield from iter(text.readline, "")  # "yield from text" would close the file along with this generator
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(f"{name} is not UTF-8 text (byte 0x{byte:02x}); convert it with iconv -t utf-8") from None
    except _DAMAGE as error:
        raise ValueError(f"{name} is damaged or cut off: {error}") from None
    finally:
        text.detach()  # the file belongs to whoever opened it


def _head(lines: Iterator[str], count: int) -> list[str]:
    head: list[str] = []
    for line in lines:
        head.append(line)
        count -= bool(line.strip())
        if count == 0:
            break
    return head
