"""The stream: examples in blocks, again and again where the source allows it, and what can be chained onto it."""

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
from nystream.streams.scaling import rescaled, standardized
from nystream.streams.shuffling import permuted, windowed

__all__ = ["Derived", "Stream", "Task"]

Task: TypeAlias = Literal["regression", "classification"]

_ROWS = 256  # rows cut at a time by rows(): large enough to parse fast, small enough to stay in cache


class Stream:
    """A finite or endless source of examples (x, y).

    `blocks(size)` gives pairs X (n, d), Y (n,) (or (n, K) with several targets) of float64, C-ordered, with n = size
    in every block but the last. How a stream is cut into blocks never changes a value in it. Each call of `blocks`
    starts a new pass over the same rows; only standard input, which cannot be read twice, refuses the second one.

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
        What the targets are, where the source says so: a numeric column of a file says nothing.
    labels : tuple or None
        Class names in order where targets were names: Y holds class numbers 0..K-1 and `labels[k]` is the name of
        class k. Names found on the way (CSV without `labels=`) are appended in order of appearance.
    """

    _live = False  # a source that is worth reading one row at a time, because rows arrive slowly

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

    # -- what a stream says about itself ---------------------------------------------------------------------------
    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the features, or None."""
        return self._columns

    @property
    def d(self) -> int | None:
        """Number of features, or None where the first block tells."""
        return self._d

    @property
    def n(self) -> int | None:
        """Number of rows, or None where only reading tells."""
        return self._n

    @property
    def task(self) -> Task | None:
        """What the targets are, or None where the source does not say."""
        return "classification" if self._labels is not None else self._task

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """Names of the classes 0..K-1, or None where targets were numbers."""
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
        """A new pass: pairs (X, Y) of `size` rows, the last one perhaps shorter."""
        at_least("size", size, 1)
        return recut(self._chunks(size), size)

    def rows(self) -> Iterator[tuple[Array, Any]]:
        """A new pass, one example at a time: x (d,) and y, a float (or (K,) with several targets)."""
        for X, Y in self.blocks(1 if self._live else _ROWS):
            yield from zip(X, Y.tolist() if Y.ndim == 1 else Y, strict=True)

    def load(self) -> Block:
        """The whole stream in memory: X (n, d), Y (n,) or (n, K)."""
        if self.endless:
            raise ValueError(f"{self.name} is endless; cut it with take(n) before loading it")
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
        """The first n rows (fewer where the stream is shorter)."""
        at_least("n", n, 0)
        length = n if self.endless else None if self.n is None else min(n, self.n)
        return Derived(self, f"take({n})", lambda rows: first(self._chunks(min(rows, max(n, 1))), n), length)

    def skip(self, n: int) -> Stream:
        """All but the first n rows."""
        at_least("n", n, 0)
        length = None if self.n is None else max(self.n - n, 0)
        return Derived(self, f"skip({n})", lambda rows: after(self._chunks(rows), n), length, self.endless)

    def shuffle(self, seed: Seed = None, buffer: int | None = None) -> Stream:
        """The rows in random order, the same one in every pass.

        Parameters
        ----------
        seed : int, Generator or None
            The order. None draws a seed once, now; a Generator gives a child of it (`Generator.spawn`).
        buffer : int or None
            None: every order is equally likely, ``default_rng(seed).permutation(n)``; the whole stream is held in
            memory during a pass. A number: at most that many rows are held, and each row that comes in takes the
            place of a random held one, which goes out. That mixes only within about `buffer` rows: a file sorted by
            label stays nearly sorted unless `buffer` reaches its length.
        """
        state = fixed_seed(seed)
        if buffer is None:
            if self.endless:
                raise ValueError(f"{self.name} is endless; shuffle it within a window: shuffle(seed, buffer=10000)")
            return Derived(self, "shuffle", lambda rows: permuted(self._arrays(), rows, state), self.n)
        at_least("buffer", buffer, 1)
        return Derived(
            self, "shuffle", lambda rows: windowed(self._chunks(rows), buffer, rows, state), self.n, self.endless
        )

    def standardize(self) -> Stream:
        """Features minus their running mean, over their running standard deviation; targets are left alone.

        Row t uses the mean and the (population) deviation of rows 1..t: x_t itself counts, since a learner knows it
        before y_t; nothing later does. A column that has been constant so far is divided by 1, so the first row
        becomes 0. A nan stays nan and is not counted. Welford's recursion, O(d) per row and in memory; the numbers
        do not depend, to the last bit, on how the stream is cut.
        """
        return Derived(self, "standardize", lambda rows: standardized(self._chunks(rows)), self.n, self.endless)

    def rescale(self, scale: FrozenScale, rows: int = 1000) -> Stream:
        """Features by a scaling that is fitted on the first rows, `StandardScale()` say, and frozen.

        The first `rows` rows (all, if there are fewer) are read ahead for it, and scaled by it themselves. The pattern
        `scale` is cloned, never fitted. As elsewhere, nothing depends on how the stream is cut.
        """
        at_least("rows", rows, 1)
        if not isinstance(scale, FrozenScale):
            raise ValueError(f"scale must be a scaling such as StandardScale(), got {scale!r}")
        return Derived(self, "rescale", lambda size: rescaled(self._chunks(size), scale, rows), self.n, self.endless)

    def _arrays(self) -> tuple[Any, Any]:
        """Arrays of all rows; a stream that has them already gives them without a copy."""
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
        """Number of features, or None where the first block tells."""
        return self._parent.d

    @property
    def task(self) -> Task | None:
        """What the targets are, or None where the source does not say."""
        return self._parent.task

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """Names of the classes 0..K-1, or None where targets were numbers."""
        return self._parent.labels

    def _chunks(self, rows: int) -> Iterator[Block]:
        return self._make(rows)
