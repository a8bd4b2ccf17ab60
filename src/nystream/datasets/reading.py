"""Read the files of datasets as streams: parts in sequence, images with labels, tables in two files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from nystream.datasets.entry import Dataset
from nystream.runtime.types import Array
from nystream.streams.base import Stream
from nystream.streams.cutting import Block
from nystream.streams.in_memory import ArrayStream
from nystream.streams.text import TextFile, unpack

__all__ = ["PartStream", "covtype_binary", "idx_images", "min_max", "scaled_by", "two_tables"]

_IDX_BYTES = 8  # the type of the values in an idx header: unsigned bytes


class PartStream(Stream):
    """A stream of the parts of a dataset in sequence. Rows and columns are counted and checked.

    Parameters
    ----------
    dataset : Dataset
    streams : sequence of (Stream, int)
        Each stream with its expected number of rows.
    """

    def __init__(self, dataset: Dataset, streams: Sequence[tuple[Stream, int]]) -> None:
        self._streams = streams
        self._dataset = dataset
        first = streams[0][0]
        super().__init__(
            dataset.name,
            columns=first.columns,
            d=dataset.columns,
            n=sum(rows for _, rows in streams),
            task="regression" if dataset.task == "regression" else "classification",
        )

    @property
    def labels(self) -> tuple[object, ...] | None:
        """Names of the classes 0..K-1, or None where targets were numbers."""
        return self._streams[0][0].labels

    def _chunks(self, rows: int) -> Iterator[Block]:
        for stream, expected in self._streams:
            count = 0
            for X, Y in stream._chunks(rows):
                if X.shape[1] != self._dataset.columns:
                    raise ValueError(self._other(stream, f"{X.shape[1]} columns", str(self._dataset.columns)))
                count += len(X)
                if count > expected:
                    raise ValueError(self._other(stream, "more rows", f"{expected:,}"))
                yield X, Y
            if count != expected:
                raise ValueError(self._other(stream, f"{count:,} rows", f"{expected:,}"))

    def _other(self, stream: Stream, has: str, expected: str) -> str:
        return f"{stream.name} has {has}, but {self._dataset.name} has {expected}: it is cut off or another dataset"


def idx_images(images: str | os.PathLike[str], labels: str | os.PathLike[str]) -> Stream:
    """Read images and labels in the idx format of MNIST as rows of pixels 0..255 and class numbers."""
    X, y = _idx(images), _idx(labels)
    return ArrayStream(X.reshape(len(X), -1), y, task="classification", name=os.path.basename(images))


def two_tables(rows: str | os.PathLike[str], targets: str | os.PathLike[str]) -> Stream:
    """Read features from one comma-separated file and class numbers from another."""
    X, y = (np.loadtxt(TextFile(path).lines(), delimiter=",") for path in (rows, targets))
    return ArrayStream(X, y, task="classification", name=os.path.basename(rows))


def min_max(low: float, high: float, X: Array, y: Array) -> Block:
    """Scale each feature from its range to [`low`, `high`]. A constant feature becomes `low`."""
    least, most = X.min(axis=0), X.max(axis=0)
    spread = np.where(most > least, most - least, 1.0)
    return low + (high - low) * (X - least) / spread, y


def scaled_by(factor: float, X: Array, y: Array) -> Block:
    """Multiply the features by a number."""
    return X * factor, y


def covtype_binary(X: Array, y: Array) -> Block:
    """Scale features to [0, 1]; label the second class +1 and all others -1."""
    return min_max(0.0, 1.0, X, np.where(y == 1, 1.0, -1.0))


def _idx(path: str | os.PathLike[str]) -> npt.NDArray[np.uint8]:
    name = os.path.basename(path)
    with open(path, "rb") as raw, unpack(raw, name) as file:
        content = file.read()
    axes = content[3] if len(content) > 3 else 0
    shape = tuple(int(n) for n in np.frombuffer(content, ">u4", axes, 4)) if len(content) >= 4 + 4 * axes else ()
    if content[:2] != b"\0\0" or content[2:3] != bytes([_IDX_BYTES]) or len(content) != 4 + 4 * axes + math.prod(shape):
        raise ValueError(f"{name} is no whole idx file of bytes")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
