"""Lines of text from a file, a pipe or standard input, unpacked on the way where they are compressed."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from typing import IO, Any, cast

from nystream.streams.lines import Lines

__all__ = ["Pipe", "TextFile", "pipe_at", "text_at", "unpacked"]

_NOT_READ = {b"PK\x03\x04": "a zip archive", b"\x28\xb5\x2f\xfd": "compressed with zstandard"}


def unpacked(raw: Any, name: str) -> IO[bytes]:
    """The content of a binary file. Compression is read off the first bytes, not off the name."""
    start = raw.peek(6)[:6]
    for magic, what in _NOT_READ.items():
        if start.startswith(magic):
            raise ValueError(f"{name} is {what}; unpack it first (gzip, bzip2 and xz are read directly)")
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", io.BufferedReader(_Gzip(raw)))
    if start.startswith(b"BZh"):
        return cast("IO[bytes]", bz2.BZ2File(raw))
    if start.startswith(b"\xfd7zXZ\x00"):
        return cast("IO[bytes]", lzma.LZMAFile(raw))
    return cast("IO[bytes]", raw)


class _Gzip(io.RawIOBase):
    """The content of gzip members, one after the other, in larger pieces than Python's module of that name reads."""

    _PIECE = 2**17

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)  # with header and checksum

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = b""
        while not found:
            if self._member.eof:
                packed = self._member.unused_data.lstrip(b"\0") or self._raw.read1(self._PIECE).lstrip(b"\0")
                if not packed:
                    return 0
                self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            else:
                packed = self._member.unconsumed_tail or self._raw.read1(self._PIECE)
                if not packed:
                    raise EOFError("the compressed file ends before its end mark")
            found = self._member.decompress(packed, len(buffer))
        buffer[: len(found)] = found
        return len(found)


class TextFile:
    """A text file that can be read again and again, .gz, .bz2 and .xz included."""

    live = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = os.path.basename(self.path)

    def lines(self) -> Lines:
        """A new pass over the lines."""
        return _lines_of(self.path, self.name)

    def head(self, count: int = 2) -> list[str]:
        """The first lines, up to and including `count` that are not blank."""
        return _head(self.lines(), count)


class Pipe:
    """Standard input, another file object, or the path of a pipe: read once, lines as they arrive."""

    live = True

    def __init__(self, file: Any = None) -> None:
        self.name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else "standard input"
        self._file: Any = sys.stdin.buffer if file is None else file
        self._head: list[str] = []
        self._rest: Lines | None = None
        self._read = False

    def lines(self) -> Lines:
        """The lines, once."""
        if self._read:
            raise ValueError(f"{self.name} can be read only once; save it to a file to read it again")
        self._read = True
        lines = self._opened()
        lines.put_back(self._head)
        return lines

    def head(self, count: int = 2) -> list[str]:
        """The first lines, up to and including `count` that are not blank; `lines` gives them again."""
        count -= sum(bool(line.strip()) for line in self._head)
        if count > 0:
            self._head += _head(self._opened(), count)
        return list(self._head)

    def _opened(self) -> Lines:
        if self._rest is None and isinstance(self._file, (str, os.PathLike)):
            self._rest = _lines_of(self._file, self.name)
        elif self._rest is None:
            raw: Any = self._file if hasattr(self._file, "peek") else io.BufferedReader(self._file)
            self._rest = Lines(unpacked(raw, self.name), self.name)
        return self._rest


def pipe_at(path: str | os.PathLike[str]) -> Pipe | None:
    """The named pipe or device that has this path, as `<(command)` of a shell has; None: a file, a folder, nothing.

    What is read from there is gone: who opened it a second time would lose the lines that were read before.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else Pipe(path)


def text_at(path: str | os.PathLike[str]) -> TextFile | Pipe:
    """The text that has this path."""
    return pipe_at(path) or TextFile(path)


def _lines_of(path: str | os.PathLike[str], name: str) -> Lines:
    raw = open(path, "rb")  # noqa: SIM115 (the lines close it)
    try:
        return Lines(unpacked(raw, name), name, raw)
    except BaseException:
        raw.close()
        raise


def _head(lines: Iterator[str], count: int) -> list[str]:
    head: list[str] = []
    for line in lines:
        head.append(line)
        count -= bool(line.strip())
        if count == 0:
            break
    return head
