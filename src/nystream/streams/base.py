"""The base class of streams: rows in blocks, repeated passes, and transformations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np

from nystream.runtime.params import at_least
from nystream.runtime.seeds import fixed_seed
from nystream.runtime.types import Array, Seed
from nystream.scaling import FrozenScale
from nystream.streams.cutting import Block, after, first, recut
from nystream.streams.labels import Labels
from nystream.streams.scaling import rescale_blocks, standardize_blocks
from nystream.streams.shuffling import permute, shuffle_in_window

__all__ = ["Derived", "Stream", "Task"]

Task: TypeAlias = Literal["regression", "classification"]

_ROWS = 256  # rows cut at a time by rows(): large enough to parse fast, small enough to stay in cache


class Stream:
    """A finite or endless source of examples (x, y).

    `blocks(size)` gives pairs X (n, d), Y (n,) (or (n, K) with several targets) of float64, C-ordered, with n = size
    in every block but the last. The block size never changes a value. Each call of `blocks` starts a
    new pass over the same rows, except for standard input, which can be read only once.

    A stream whose length is known unpacks into its arrays, ``X, y = stream``; any finite one has `load()`. Single
    rows come from `rows()`.

    Subclasses implement `_chunks(rows)`: an iterator of blocks of any length, about `rows` rows each.

    Attributes
    ----------
    columns : tuple of str or None
        Names of the features, where the source has names.
    d : int or None
        Number of features, where it is known before the first block.
    n : int or None
        Number of rows, where it is known without reading them.
    endless : bool
        Whether the stream never ends.
    task : "regression", "classification" or None
        The task, if the source tells it. A numeric column of a file does not.
    labels : tuple or None
        Class names in order where targets were names: Y holds class numbers 0..K-1 and `labels[k]` is the name of
        class k. Names found on the way (CSV without `labels=`) are appended in order of appearance.
    """

    _live = False  # a source whose rows arrive slowly, so that it is read row by row

    def __init__(
        self,
        name: str,
        *,
        columns: tuple[str, ...] | None = None,
        d: int | None = None,
        n: int | None = None,
        task: Task | None = None,
        labels: Labels | None = None,
        endless: bool = False,
    ) -> None:
        self.name = name
        self._columns = columns
        self._d = len(columns) if d is None and columns is not None else d
        self._n = n
        self._task = task
        self._labels = labels
        self.endless = endless

    # -- properties -----------------------------------------------------------------------------------------------
    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the features, or None."""
        return self._columns

    @property
    def d(self) -> int | None:
        """Number of features, or None before the first block."""
        return self._d

    @property
    def n(self) -> int | None:
        """Number of rows, or None if it is only known after reading."""
        return self._n

    @property
    def task(self) -> Task | None:
        """The task, or None if the source does not tell it."""
        return "classification" if self._labels is not None else self._task

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """Names of the classes 0..K-1, or None if targets are numbers."""
        return None if self._labels is None else self._labels.names

    def __repr__(self) -> str:
        size = "endless" if self.endless else "" if self.n is None else f"{self.n} rows"
        width = "" if self.d is None else f"{self.d} columns"
        about = ", ".join(part for part in (size, width) if part)
        return f"<stream {self.name}{': ' + about if about else ''}>"

    # -- reading ---------------------------------------------------------------------------------------------------
    def _chunks(self, rows: int) -> Iterator[Block]:
        raise NotImplementedError

    def blocks(self, size: int = 1024) -> Iterator[Block]:
        """Start a new pass: yield pairs (X, Y) of `size` rows; the last may be shorter."""
        at_least("size", size, 1)
        return recut(self._chunks(size), size)

    def rows(self) -> Iterator[tuple[Array, Any]]:
        """Start a new pass: yield single rows x (d,) with y, a float (or (K,) with several targets)."""
        for X, Y in self.blocks(1 if self._live else _ROWS):
            yield from zip(X, Y.tolist() if Y.ndim == 1 else Y, strict=True)

    def load(self) -> Block:
        """Return the whole stream in memory: X (n, d), Y (n,) or (n, K)."""
        if self.endless:
            raise ValueError(f"{self.name} is endless; limit it with take(n) before loading it")
        parts = list(self._chunks(_ROWS * 16))
        if not parts:
            return np.empty((0, self.d or 0)), np.empty(0)
        return np.concatenate([X for X, _ in parts]), np.concatenate([Y for _, Y in parts])

    def __iter__(self) -> Iterator[Array]:
        if self.endless:
            raise TypeError(f"{self.name} is endless: use .rows() or .blocks(size), or unpack .take(n)")
        if self.n is None:
            raise TypeError(
                f"{self.name} does not know its length: use .rows() for single rows, .blocks(size) for blocks, "
                f"X, y = stream.load() for everything in memory"
            )
        return iter(self.load())

    # -- chaining --------------------------------------------------------------------------------------------------
    def take(self, n: int) -> Stream:
        """Return a stream of the first n rows (fewer if the stream is shorter)."""
        at_least("n", n, 0)
        length = n if self.endless else None if self.n is None else min(n, self.n)
        return Derived(self, f"take({n})", lambda rows: first(self._chunks(min(rows, max(n, 1))), n), length)

    def skip(self, n: int) -> Stream:
        """Return a stream without the first n rows."""
        at_least("n", n, 0)
        length = None if self.n is None else max(self.n - n, 0)
        return Derived(self, f"skip({n})", lambda rows: after(self._chunks(rows), n), length, self.endless)

    def shuffle(self, seed: Seed = None, buffer: int | None = None) -> Stream:
        """Return a stream of the rows in random order, the same in every pass.

        Parameters
        ----------
        seed : int, Generator or None
            The order. None draws a seed once, now; a Generator gives a child of it (`Generator.spawn`).
        buffer : int or None
            None: every order is equally likely, ``default_rng(seed).permutation(n)``; the whole stream is held in
            memory during a pass. A number: at most that many rows are held, and each new row replaces a
            random one of these, which comes next. This mixes only within about `buffer` rows: a file that is sorted by
            label stays nearly sorted unless `buffer` reaches its length.
        """
        state = fixed_seed(seed)
        if buffer is None:
            if self.endless:
                raise ValueError(f"{self.name} is endless; shuffle it within a window: shuffle(seed, buffer=10000)")
            return Derived(self, "shuffle", lambda rows: permute(self._arrays(), rows, state), self.n)
        at_least("buffer", buffer, 1)
        return Derived(
            self,
            "shuffle",
            lambda rows: shuffle_in_window(self._chunks(rows), buffer, rows, state),
            self.n,
            self.endless,
        )

    def standardize(self) -> Stream:
        """Return a stream with running-standardised features. Targets do not change.

        Row t uses the mean and the (population) deviation of rows 1..t: x_t itself counts, since a learner knows it
        before y_t; nothing later does. A column that has been constant so far is divided by 1, so the first row
        becomes 0. A nan stays nan and is not counted. Welford's recursion, O(d) per row and in memory; the numbers
        do not depend, to the last bit, on how the stream is cut.
        """
        return Derived(self, "standardize", lambda rows: standardize_blocks(self._chunks(rows)), self.n, self.endless)

    def rescale(self, scale: FrozenScale, rows: int = 1000) -> Stream:
        """Return a stream scaled by a scaling, such as `StandardScale()`, that is fitted on the first rows.

        The first `rows` rows (or all) are read ahead and scaled too. `scale` is cloned and never fitted itself. The
        block size makes no difference.
        """
        at_least("rows", rows, 1)
        if not isinstance(scale, FrozenScale):
            raise ValueError(f"scale must be a scaling such as StandardScale(), got {scale!r}")
        return Derived(
            self, "rescale", lambda size: rescale_blocks(self._chunks(size), scale, rows), self.n, self.endless
        )

    def _arrays(self) -> tuple[Any, Any]:
        """Return arrays of all rows, without a copy if the stream has them."""
        return self.load()


class Derived(Stream):
    """A stream made from another by a function of its chunks.

    Parameters
    ----------
    parent : Stream
    what : str
        Name of the step, for messages.
    chunks : function of a number of rows
        Starts a new pass.
    n : int or None
        Length, where known.
    endless : bool
    """

    def __init__(
        self,
        parent: Stream,
        what: str,
        chunks: Callable[[int], Iterator[Block]],
        n: int | None = None,
        endless: bool = False,
    ) -> None:
        super().__init__(f"{parent.name} | {what}", n=n, endless=endless)
        self._parent = parent
        self._make = chunks
        self._live = parent._live

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the features, or None."""
        return self._parent.columns

    @property
    def d(self) -> int | None:
        """Number of features, or None before the first block."""
        return self._parent.d

    @property
    def task(self) -> Task | None:
        """The task, or None if the source does not tell it."""
        return self._parent.task

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """Names of the classes 0..K-1, or None if targets are numbers."""
        return self._parent.labels

    def _chunks(self, rows: int) -> Iterator[Block]:
        return self._make(rows)
