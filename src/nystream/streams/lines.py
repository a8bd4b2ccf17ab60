"""Lines of UTF-8 text from bytes: one by one, or many at once as bytes for a parser."""

from __future__ import annotations

import lzma
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, TypeVar

from nystream._core.tables import end_of_lines

__all__ = ["Lines"]

T = TypeVar("T")
_PIECE = 2**20
"""Bytes asked for at once; a pipe gives what it has."""
_LOOK = 1000
"""Bytes of a line that are examined for signs of a binary file."""
_MARK = b"\xef\xbb\xbf"
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)


class Lines(Iterator[str]):
    """The lines of a binary file. Each ends with "\n", whether the file has "\n", "\r\n" or "\r".

    A byte order mark is removed. Bytes that are not text, or damaged, raise a ValueError with the name of the file.
    `whole` is a file that is closed with this.
    """

    def __init__(self, content: IO[bytes], name: str, whole: IO[bytes] | None = None) -> None:
        self._content: Any = content
        self._name = name
        self._whole = whole
        self._held = b""  # bytes that were read, used up to `_at`
        self._at = 0
        self._begun = self._ended = False
        self._waiting: deque[str] = deque()  # lines that end in "\r" come several at once

    def __next__(self) -> str:
        if self._waiting:
            return self._waiting.popleft()
        end = self._end_of_line()
        if end == self._at:
            self.close()
            raise StopIteration
        try:
            line = self._held[self._at : end].decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{self._name} is not UTF-8 text {_other_encoding(error)}") from None
        self._at = end
        if "\r" in line:
            self._waiting.extend(_ended_alike(line))
            return self._waiting.popleft()
        return line

    def take(self, count: int) -> tuple[list[str], Exception | None]:
        """Return the next `count` lines, fewer at the end of the file, and the error after them or None."""
        found: list[str] = []
        try:
            while len(found) < count:
                found.append(self.__next__())
        except StopIteration:
            pass
        except (ValueError, OSError) as error:
            return found, error
        return found, None

    def head(self, count: int) -> list[str]:
        """Return the next lines, up to and including `count` that are not blank."""
        found: list[str] = []
        while count > 0:
            try:
                line = self.__next__()
            except StopIteration:
                break
            found.append(line)
            count -= bool(line.strip())
        return found

    def parsed(self, count: int, parse: Callable[[memoryview, int], T | None]) -> tuple[T, int] | None:
        """Return the result of `parse` for the bytes of the next `count` lines, fewer at the end, and the number of
        these lines.

        None, and the lines are still to come, where it gives None, and at the end.
        """
        if self._waiting:
            return None
        end, lines = self._end_of(count)
        found = parse(memoryview(self._held)[self._at : end], lines) if lines else None
        if found is None:
            return None
        self._at = end
        return found, lines

    def put_back(self, lines: Iterable[str]) -> None:
        """Put lines back, before all others."""
        self._waiting.extendleft(reversed(list(lines)))

    def close(self) -> None:
        """Close the file. Nothing is read afterwards."""
        self._held, self._at, self._ended = b"", 0, True
        if self._whole is not None:
            self._content.close()
            self._whole.close()

    def __del__(self) -> None:
        self.close()

    def _end_of(self, count: int) -> tuple[int, int]:
        """Return where the next `count` lines end, and how many there are."""
        self._begin()
        end, lines = end_of_lines(self._held, self._at, count)
        while lines < count and not self._ended:
            past = end - self._at
            self._more()
            end, new = end_of_lines(self._held, self._at + past, count - lines)
            lines += new
        return (len(self._held), lines + 1) if lines < count and end < len(self._held) else (end, lines)

    def _end_of_line(self) -> int:
        """Return where the next line ends; where lines end with "\r", this may be the end of several."""
        self._begin()
        start = self._at
        while (end := self._held.find(b"\n", start)) < 0 and not self._ended:
            end = self._held.rfind(b"\r", max(self._at, start - 1), len(self._held) - 1)  # "\n" may follow the last one
            if end >= 0:
                break
            past = len(self._held) - self._at
            self._more()
            start = self._at + past
        return end + 1 if end >= 0 else len(self._held)

    def _begin(self) -> None:
        while not self._begun:
            self._more()
            if self._ended or len(self._held) >= len(_MARK):
                self._held = self._held.removeprefix(_MARK)
                self._begun = True
            elif not _MARK.startswith(self._held):
                self._begun = True

    def _more(self) -> None:
        left = self._held[self._at :]
        try:
            piece = self._content.read1(max(_PIECE, len(left)))  # a long line is not copied again and again
        except _DAMAGE as error:
            raise ValueError(f"{self._name} is damaged or cut off: {error}") from None
        self._held, self._at, self._ended = left + piece, 0, not piece


def _other_encoding(error: UnicodeDecodeError) -> str:
    """Return a guess of the encoding and how to convert it, or that the file is no text."""
    byte = error.object[error.start]
    if any(other < 32 and other not in b"\t\n\v\f\r\x1a" for other in error.object[:_LOOK]):
        return f"(byte 0x{byte:02x}); it seems to be a binary file, and no table of text"
    encoding = "windows-1252" if 0x80 <= byte < 0xA0 else "latin1"  # control characters in the second
    return f"(byte 0x{byte:02x}); convert it, as in iconv -f {encoding} -t utf-8"


def _ended_alike(text: str) -> list[str]:
    *whole, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]
