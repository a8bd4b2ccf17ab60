"""NumPy files as streams: .npy mapped into memory, .npz and compressed .npy read forward, block by block."""

from __future__ import annotations

import lzma
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from tokenize import TokenError
from typing import IO, Any, Protocol

import numpy as np

from nystream.runtime.types import Array
from nystream.streams.base import Stream
from nystream.streams.columns import Column, Target, choose
from nystream.streams.cutting import Block
from nystream.streams.in_memory import arrays
from nystream.streams.labels import Labels
from nystream.streams.text import unpack

__all__ = ["NumpyStream", "numpy"]

_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError, RuntimeError)
"""Errors of damaged compressed files."""
_BAD_HEADER = (ValueError, TypeError, KeyError, OverflowError, OSError, EOFError, SyntaxError, TokenError, MemoryError)
"""Errors of NumPy for a wrong header."""
_FEATURES = ("X", "x", "data", "features")
_TARGETS = ("y", "Y", "target", "targets", "labels")
_ROWS = 1024  # rows read at once


def numpy(
    X: Any,
    y: Any = None,
    target: Target = -1,
    *,
    drop: Column | Iterable[Column] = (),
    columns: Iterable[Column] | None = None,
    labels: Iterable[Any] | None = None,
) -> Stream:
    """Return NumPy arrays or files as a stream, in bounded memory.

    Parameters
    ----------
    X : path or array
        A .npy file with a matrix; or a .npz file with arrays X and y, or with one matrix. Compressed files are
        unpacked on the way. An array goes to `arrays`.
    y : path, array or None
        The targets, if they are not in X.
    target, drop, columns : positions
        Columns of a matrix that holds both, as in `csv`; by default the last one is the target.
    labels : iterable or None
        The classes in order, where targets are classes.

    A plain .npy file is mapped into memory. Others are read forward, which needs rows one after the other in the
    file (C order, NumPy's default); a Fortran-ordered matrix in them is refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "both.npz")
    >>> np.savez_compressed(path, X=np.arange(6.0).reshape(3, 2), y=np.array([1, -1, 1]))
    >>> [block.tolist() for _, block in numpy(path).blocks(2)]
    [[1.0, -1.0], [1.0]]
    """
    if not isinstance(X, (str, os.PathLike)):
        return arrays(X, y, labels=labels)
    name = os.path.basename(os.fspath(X))
    found = _members(os.fspath(X))
    first = found[_key(found, _FEATURES, name)]
    second: _Rows | None = None
    if isinstance(y, (str, os.PathLike)):
        targets = _members(os.fspath(y))
        second = targets[_key(targets, _TARGETS, os.path.basename(os.fspath(y)))]
    elif y is not None:
        second = _Held(np.asarray(y))
    elif len(found) > 1:
        second = found[_key(found, _TARGETS, name)]
    return NumpyStream(name, first, second, target, drop=drop, columns=columns, labels=labels)


class _Rows(Protocol):
    """An array whose rows can be read in order repeatedly."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def read(self, rows: int) -> Iterator[Any]: ...


class NumpyStream(Stream):
    """A matrix, or a matrix and targets, read in blocks; parameters as `numpy`."""

    def __init__(
        self,
        name: str,
        X: _Rows,
        y: _Rows | None,
        target: Target = -1,
        *,
        drop: Column | Iterable[Column] = (),
        columns: Iterable[Column] | None = None,
        labels: Iterable[Any] | None = None,
    ) -> None:
        if len(X.shape) != 2 or X.dtype.kind not in "biuf":
            raise ValueError(f"{name}: X must be a matrix of numbers, got shape {X.shape} and dtype {X.dtype}")
        if y is not None and (len(y.shape) not in (1, 2) or y.shape[0] != X.shape[0]):
            raise ValueError(f"{name}: y must have one target for each of the {X.shape[0]} rows, got shape {y.shape}")
        names = [str(j) for j in range(X.shape[1])]
        self._choice = choose(names, target if y is None else None, drop, columns, name)
        self._X, self._y = X, y
        classes = labels is not None or (y is not None and y.dtype.kind in "US")
        super().__init__(
            name, d=len(self._choice.features), n=X.shape[0], labels=Labels(labels) if classes else None
        )  # fmt: skip

    def _chunks(self, rows: int) -> Iterator[Block]:
        rows = max(rows, _ROWS)
        whole = self._choice.features == tuple(range(self._X.shape[1]))
        targets = None if self._y is None else self._y.read(rows)
        start = 0
        for block in self._X.read(rows):
            Y = self._targets(block) if targets is None else next(targets)
            X = block if whole else block[:, self._choice.features]
            yield _floats(X), _floats(Y) if self._labels is None else self._labels.encode(Y, self.name, start)
            start += len(block)

    def _targets(self, block: Any) -> Any:
        if not self._choice.targets:
            return np.full(len(block), np.nan)
        return block[:, self._choice.targets[0] if self._choice.single else self._choice.targets]


class _Held:
    """An array in memory, or mapped into it."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape: tuple[int, ...] = array.shape
        self.dtype: np.dtype[Any] = array.dtype

    def read(self, rows: int) -> Iterator[Any]:
        """Yield blocks of `rows` rows."""
        for start in range(0, len(self.array), rows):
            yield self.array[start : start + rows]


class _Forward:
    """An array in a compressed .npy file, or in a member of a .npz file."""

    def __init__(self, path: str, member: str | None = None) -> None:
        self.path = path
        self.member = member
        self.name = os.path.basename(path)
        with self._open() as content:
            self.shape, fortran, self.dtype = _npy_header(content, self.name)
        if self.dtype.hasobject:
            raise ValueError(f"{self.name} holds Python objects, which are not read; save numbers or text")
        if fortran and len(self.shape) > 1:
            raise ValueError(f"{self.name} holds a Fortran-ordered array; save np.ascontiguousarray(X)")

    def read(self, rows: int) -> Iterator[Any]:
        """Yield blocks of `rows` rows."""
        with self._open() as content:
            _npy_header(content, self.name)
            width = int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize
            for start in range(0, self.shape[0], rows):
                count = min(rows, self.shape[0] - start)
                data = content.read(count * width)
                if len(data) < count * width:
                    raise ValueError(f"{self.name} is cut off after {start + len(data) // max(width, 1)} rows")
                yield np.frombuffer(data, self.dtype).reshape(count, *self.shape[1:])

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        try:
            if self.member is None:
                with open(self.path, "rb") as raw, unpack(raw, self.name) as content:
                    yield content
            else:
                with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as content:
                    yield content
        except FileNotFoundError:
            raise
        except _DAMAGED as error:
            raise ValueError(f"{self.name} is damaged or cut off ({error})") from None


def _members(path: str) -> dict[str, _Rows]:
    """Return the arrays of a file by name; the single array of a .npy file has no name."""
    name = os.path.basename(path)
    with open(path, "rb") as raw:
        start = raw.read(6)
    if not start:
        raise ValueError(f"{name} is empty")
    if start == b"\x93NUMPY":
        try:
            return {"": _Held(np.load(path, mmap_mode="r", allow_pickle=False))}
        except _BAD_HEADER as error:
            raise ValueError(f"{name} is cut off, or holds no plain numbers ({_line(error)})") from None
    if start.startswith(b"PK"):
        try:
            with zipfile.ZipFile(path) as archive:
                members = [member for member in archive.namelist() if member.endswith(".npy")]
        except _DAMAGED as error:
            raise ValueError(f"{name} is damaged or cut off ({error})") from None
        return {member[:-4]: _Forward(path, member) for member in members}
    return {"": _Forward(path)}


def _key(found: dict[str, _Rows], wanted: tuple[str, ...], name: str) -> str:
    if len(found) == 1:
        return next(iter(found))
    for key in wanted:
        if key in found:
            return key
    raise ValueError(f"{name} holds the arrays {', '.join(found) or 'none'}; name them X and y")


def _npy_header(content: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(content)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(content)
    except _BAD_HEADER as error:
        raise ValueError(f"{name} is not a NumPy file: {_line(error)}") from None
    return shape, fortran, dtype


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:120]


def _floats(values: Any) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)
