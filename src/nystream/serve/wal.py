"""The write-ahead log of SQLite, read byte by byte.

SQLite takes the first frame whose checksum is wrong for the end of the log, and drops everything behind it without a
word. That is right after a loss of power, where the end was never synced. It is wrong where a byte of an older frame
has changed on the disk. Each frame stores the checksum of all frames up to it, so a frame can be checked with the
stored checksum of the frame before it, and the two cases can be told apart.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["WalState", "mend_wal", "read_wal"]

HEADER, FRAME = 32, 24
"""Bytes of the header of the file and of that of each frame, as SQLite's file format says."""
MAGIC = 0x377F0682
"""The last bit says that checksums are of big-endian words."""


@dataclass
class WalState:
    """What a WAL file holds."""

    frames: int = 0
    """Frames of the current generation, up to the last commit that can be recognised."""
    damaged: list[int] = field(default_factory=list)
    """Frames among them, counted from 0, that SQLite would stop at."""
    header_damaged: bool = False
    last_transaction: int = 0
    """First frame of the last transaction."""
    page: int = 4096
    salts: tuple[int, int] = (0, 0)
    big: bool = False
    sequence: int = 0

    @property
    def is_whole(self) -> bool:
        return not self.damaged and not self.header_damaged

    @property
    def may_be_torn(self) -> bool:
        """Whether only the last transaction is damaged, as after a loss of power."""
        return not self.header_damaged and bool(self.damaged) and min(self.damaged) >= self.last_transaction


def _coefficients(words: int) -> tuple[Any, Any, Any]:
    """Return the linear checksum: weights of the words in both sums, and the 2 x 2 matrix of the sums before."""
    one, two = np.zeros(words, dtype=np.uint32), np.zeros(words, dtype=np.uint32)
    a, b, c, d = 1, 0, 0, 1  # sums behind the words seen so far (from the end), by the sums before
    for k in range(words - 2, -1, -2):
        # s1' = s1 + x0 + s2 ; s2' = s2 + x1 + s1' = s1 + 2 s2 + x0 + x1
        one[k], two[k] = (a + b) & 0xFFFFFFFF, (c + d) & 0xFFFFFFFF
        one[k + 1], two[k + 1] = b, d
        a, b, c, d = a + b, a + 2 * b, c + d, c + 2 * d
        a, b, c, d = (v & 0xFFFFFFFF for v in (a, b, c, d))
    return one, two, (a, b, c, d)


def _sums(content: Any, big: bool) -> tuple[Any, Any, Any]:
    """Return for rows of bytes their shares in both sums, and the matrix that the sums before are multiplied with."""
    words = np.ascontiguousarray(content).view(">u4" if big else "<u4").astype(np.uint32)
    one, two, matrix = _coefficients(words.shape[1])
    with np.errstate(over="ignore"):
        return (words * one).sum(axis=1, dtype=np.uint32), (words * two).sum(axis=1, dtype=np.uint32), matrix


def _chained(before: tuple[int, int], share: tuple[int, int], matrix: Any) -> tuple[int, int]:
    a, b, c, d = matrix
    return (
        (a * before[0] + b * before[1] + share[0]) & 0xFFFFFFFF,
        (c * before[0] + d * before[1] + share[1]) & 0xFFFFFFFF,
    )


def _header(page: int, sequence: int, salts: tuple[int, int], big: bool) -> tuple[bytes, tuple[int, int]]:
    head = struct.pack(">6I", MAGIC | int(big), 3007000, page, sequence, *salts)
    one, two, matrix = _sums(np.frombuffer(head, np.uint8)[None], big)
    sums = _chained((0, 0), (int(one[0]), int(two[0])), matrix)
    return head + struct.pack(">2I", *sums), sums


def read_wal(path: Path) -> WalState:
    """Read and check a WAL file. One that is not there, or empty, is whole."""
    state = WalState()
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return state
    if len(content) < HEADER + FRAME:
        return state
    magic, version, page, sequence, salt1, salt2 = struct.unpack(">6I", content[: HEADER - 8])
    state.header_damaged = True
    if magic & ~1 == MAGIC and version == 3007000 and page in (512 << k for k in range(8)):
        whole, sums = _header(page, sequence, (salt1, salt2), bool(magic & 1))
        state.header_damaged = whole != content[:HEADER]
    if state.header_damaged:
        magic, page, sequence = MAGIC, _guess_page(content, page), sequence
        salt1, salt2 = struct.unpack(">2I", content[HEADER + 8 : HEADER + 16])
        _, sums = _header(page, sequence, (salt1, salt2), False)
    state.page, state.salts, state.big, state.sequence = page, (salt1, salt2), bool(magic & 1), sequence
    count = (len(content) - HEADER) // (FRAME + page)
    if not count:
        return state
    rows = np.frombuffer(content, np.uint8, count * (FRAME + page), HEADER).reshape(count, FRAME + page)
    heads = rows[:, :FRAME].copy().view(">u4").astype(np.int64)
    one, two, matrix = _sums(np.hstack([rows[:, :8], rows[:, FRAME:]]), state.big)
    before, strict = (sums if not state.header_damaged else None), not state.header_damaged
    good = []
    for k in range(count):
        salted = (int(heads[k, 2]), int(heads[k, 3])) == state.salts
        stored = (int(heads[k, 4]), int(heads[k, 5]))
        chained = before is not None and _chained(before, (int(one[k]), int(two[k])), matrix) == stored
        strict = strict and salted and chained
        good.append((salted and (chained or (k == 0 and state.header_damaged)), strict, salted))
        before = stored
    commits = [k for k in range(count) if heads[k, 1] > 0 and good[k][0]]
    tail = [k for k in range(count) if good[k][2] and not good[k][0] and heads[k, 1] > 0]
    last = max([*commits, *(k for k in tail if not commits or k <= commits[-1] + MOST_TAIL)], default=-1)
    state.frames = last + 1
    state.damaged = [k for k in range(last + 1) if not good[k][0]]
    earlier = [k for k in range(last) if heads[k, 1] > 0 and good[k][0]]
    state.last_transaction = earlier[-1] + 1 if earlier else 0
    return state


MOST_TAIL = 4096
"""Frames behind the last good commit among which a damaged commit is looked for."""


def _guess_page(content: bytes, page: int) -> int:
    """Guess the size of a page where the header is damaged: with it, the second frame has the salts of the first."""
    for size in (4096, page, *(512 << k for k in range(8))):
        at = HEADER + FRAME + size
        if size >= 512 and content[at + 8 : at + 16] == content[HEADER + 8 : HEADER + 16] != b"":
            return size
    return 4096


def mend_wal(path: Path, state: WalState) -> None:
    """Write the checksums anew, so that SQLite reads every frame; the rows' own checksums then find the damage."""
    content = bytearray(path.read_bytes())
    head, sums = _header(state.page, state.sequence, state.salts, state.big)
    content[:HEADER] = head
    size = FRAME + state.page
    for k in range(state.frames):
        at = HEADER + k * size
        struct.pack_into(">2I", content, at + 8, *state.salts)
        part = np.frombuffer(bytes(content[at : at + 8] + content[at + FRAME : at + size]), np.uint8)[None]
        one, two, matrix = _sums(part, state.big)
        sums = _chained(sums, (int(one[0]), int(two[0])), matrix)
        struct.pack_into(">2I", content, at + 16, *sums)
    path.write_bytes(bytes(content[: HEADER + state.frames * size]))
