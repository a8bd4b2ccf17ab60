"""Lines of text from a file, a pipe or standard input, which may be compressed."""

from __future__ import annotations

import bz2
import codecs
import importlib
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable
from typing import IO, Any, cast

from nystream.streams.lines import Lines

__all__ = ["COMPRESSED", "Pipe", "TextBytes", "TextFile", "pipe_at", "text_at", "unpack"]

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Endings of packed files."""


def unpack(raw: Any, name: str) -> IO[bytes]:
    """Return the content of a binary file. Compression is recognised by the first bytes, not by the name."""
    start = bytes(raw.peek(6)[:6])
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", io.BufferedReader(_Gzip(raw)))
    if start.startswith(b"BZh"):
        return cast("IO[bytes]", bz2.BZ2File(raw))
    if start.startswith(b"\xfd7zXZ\x00"):
        return cast("IO[bytes]", lzma.LZMAFile(raw))
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return cast("IO[bytes]", io.BufferedReader(_Zstd(raw, name)))
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return cast("IO[bytes]", io.BufferedReader(_Zip(raw, name)))
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        raise ValueError(f"{name} is a spreadsheet or another document; save its table as CSV first")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # "Unicode text" of spreadsheets
        return cast("IO[bytes]", io.BufferedReader(_Utf16(raw, "utf-16")))
    for encoding, marks, zeros in (("utf-16-le", start[:4:2], start[1:4:2]), ("utf-16-be", start[1:4:2], start[:4:2])):
        if zeros == b"\0\0" and marks.isascii() and b"\0" not in marks:  # no other text begins with such bytes
            return cast("IO[bytes]", io.BufferedReader(_Utf16(raw, encoding)))
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


class _Utf16(io.RawIOBase):
    """UTF-16 text as UTF-8."""

    _PIECE = 2**16

    def __init__(self, raw: Any, encoding: str) -> None:
        self._raw = raw
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._found = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._found:
            piece = self._raw.read1(self._PIECE)
            try:
                self._found = self._decoder.decode(piece, final=not piece).encode()
            except UnicodeError as error:
                raise OSError(str(error)) from None
            if not piece:
                break
        count = min(len(buffer), len(self._found))
        buffer[:count], self._found = self._found[:count], self._found[count:]
        return count


class _Zstd(io.RawIOBase):
    """The content of zstandard frames, one after the other."""

    _PIECE = 2**11
    """Bytes unpacked at once: a frame may grow to 40,000 times its size."""

    def __init__(self, raw: Any, name: str) -> None:
        self._raw = raw
        self._make, self._error = _zstd_library(name)
        self._frame = self._make()
        self._packed = self._found = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._found:
            if self._frame.eof:
                self._packed = self._frame.unused_data
                self._frame = self._make()
                if not self._more():
                    return 0
            elif not self._more():
                raise EOFError("the compressed file ends before its end mark")
            packed, self._packed = self._packed, b""
            try:
                self._found = self._frame.decompress(packed)
            except self._error as error:
                raise OSError(str(error)) from None
        count = min(len(buffer), len(self._found))
        buffer[:count], self._found = self._found[:count], self._found[count:]
        return count

    def _more(self) -> bool:
        self._packed = self._packed or self._raw.read1(self._PIECE)
        return bool(self._packed)


def _zstd_library(name: str) -> tuple[Callable[[], Any], type[Exception]]:
    """Return the decompressor class and its error, from Python 3.14 or the package zstandard."""
    try:
        own = importlib.import_module("compression.zstd")
        return own.ZstdDecompressor, own.ZstdError
    except ImportError:
        pass
    try:
        package = importlib.import_module("zstandard")
    except ImportError:
        raise ImportError(
            f"{name} is compressed with zstandard, which needs one more package: pip install 'nystream[zstd]'; or "
            "unpack it first (zstd -d)"
        ) from None
    return package.ZstdDecompressor().decompressobj, package.ZstdError


class _Zip(io.RawIOBase):
    """The content of the only file in a zip archive."""

    def __init__(self, raw: Any, name: str) -> None:
        if not raw.seekable():
            raise ValueError(f"{name} is a zip archive, which is read from files only; unpack it first (unzip -p)")
        self._zipfile: Any = importlib.import_module("zipfile")
        try:
            archive = self._zipfile.ZipFile(raw)
            members = [m for m in archive.namelist() if not m.endswith("/") and not _is_hidden(m)]
            if "[Content_Types].xml" in members or "content.xml" in members:
                raise ValueError(f"{name} is a spreadsheet or another document; save its table as CSV first")
            if len(members) != 1:
                shown = ", ".join(members[:5]) + (", ..." if len(members) > 5 else "")
                holds = f"{len(members)} files ({shown})" if members else "no file"
                raise ValueError(f"{name} holds {holds}; an archive of exactly one is read, so unpack it first")
            self._content = archive.open(members[0])
        except (self._zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise ValueError(f"{name} is a damaged zip archive: {error}") from None
        except (RuntimeError, NotImplementedError) as error:  # encrypted, or packed in another way
            raise ValueError(f"{name} cannot be unpacked: {error}") from None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            found = self._content.read(len(buffer))
        except self._zipfile.BadZipFile as error:
            raise OSError(str(error)) from None
        buffer[: len(found)] = found
        return len(found)


def _is_hidden(member: str) -> bool:
    """Return whether the system that packed an archive put this file there."""
    return member.startswith("__MACOSX/") or os.path.basename(member).startswith(".")


class TextFile:
    """A text file that can be read again and again, .gz, .bz2, .xz, .zst and .zip included."""

    live = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = os.path.basename(self.path)

    def lines(self) -> Lines:
        """Start a new pass over the lines."""
        return _lines_of(self.path, self.name)

    def head(self, count: int = 2) -> list[str]:
        """Return the first lines, up to and including `count` that are not blank."""
        return self.lines().head(count)


class TextBytes:
    """A text in memory, as a request brings it. It is never unpacked: what is read is not larger than what came."""

    live = False

    def __init__(self, content: bytes, name: str) -> None:
        self._content = content
        self.name = name

    def lines(self) -> Lines:
        """Start a new pass over the lines."""
        return Lines(io.BytesIO(self._content), self.name)

    def head(self, count: int = 2) -> list[str]:
        """Return the first lines, up to and including `count` that are not blank."""
        return self.lines().head(count)


class Pipe:
    """Standard input, another file object, or the path of a pipe. It is read once, and gives lines as they arrive."""

    live = True

    def __init__(self, file: Any = None) -> None:
        self.name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else "standard input"
        self._file: Any = sys.stdin.buffer if file is None else file
        self._head: list[str] = []
        self._rest: Lines | None = None
        self._read = False

    def lines(self) -> Lines:
        """Yield the lines, once."""
        if self._read:
            raise ValueError(f"{self.name} can be read only once; save it to a file to read it again")
        self._read = True
        lines = self._opened()
        lines.put_back(self._head)
        return lines

    def head(self, count: int = 2) -> list[str]:
        """Return the first lines, up to and including `count` that are not blank; `lines` yields them again."""
        count -= sum(bool(line.strip()) for line in self._head)
        if count > 0:
            self._head += self._opened().head(count)
        return list(self._head)

    def _opened(self) -> Lines:
        if self._rest is None and isinstance(self._file, (str, os.PathLike)):
            self._rest = _lines_of(self._file, self.name)
        elif self._rest is None:
            raw: Any = self._file if hasattr(self._file, "peek") else io.BufferedReader(self._file)
            self._rest = Lines(unpack(raw, self.name), self.name)
        return self._rest


def pipe_at(path: str | os.PathLike[str]) -> Pipe | None:
    """Return the named pipe or device at this path, such as `<(command)` of a shell; None for a file, a folder, or
    nothing.

    What is read from there is gone: who opened it a second time would lose the lines that were read before.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else Pipe(path)


def text_at(path: str | os.PathLike[str]) -> TextFile | Pipe:
    """Return the text file or pipe at this path."""
    return pipe_at(path) or TextFile(path)


def _lines_of(path: str | os.PathLike[str], name: str) -> Lines:
    raw = open(path, "rb")  # noqa: SIM115 (the lines close it)
    try:
        return Lines(unpack(raw, name), name, raw)
    except BaseException:
        raw.close()
        raise
