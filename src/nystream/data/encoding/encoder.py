"""The encoder of typed columns as dense numbers and hashed tokens, in fixed memory."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nystream._core.tables import KINDS as CODES
from nystream._core.tables import TableEncoder
from nystream.data.batch import BATCH_KINDS, Batch
from nystream.data.encoding.hashing import hash_name
from nystream.data.encoding.names import FrequentNames
from nystream.data.sparse_rows import SparseRows
from nystream.runtime.params import Params, at_least, one_of
from nystream.runtime.types import Array

__all__ = ["TIME_NUMBERS", "Encoder", "Encoding"]

TIME_NUMBERS = (
    "sine of the day",
    "cosine of the day",
    "sine of the week",
    "cosine of the week",
    "sine of the year",
    "cosine of the year",
    "hour",
    "weekday",
)
"""The numbers of a time. All are periodic, because a growing number would move later rows away
from all kernels. Chosen by benchmarks/accuracy/time_columns.py."""
WIDTHS = {"number": 1, "boolean": 1, "time": len(TIME_NUMBERS)}
"""Number of dense numbers of a column, without mean labels."""
MOST_CLASSES = 8
"""Largest number of classes, besides the first, whose shares a level keeps."""
TOKENS = 2**32
"""Columns that tokens are hashed to; a learner takes of their bits as many as it has room for."""
NAMED_WORDS = 4
"""Times as many names are kept of words as of levels."""
FEWEST_LEVELS = 16
"""Smallest number of buckets of a column; with fewer, most levels would share one."""

Levels = npt.NDArray[np.uint16]
Places = npt.NDArray[np.int64]


class Encoding(NamedTuple):
    """The encoding of rows."""

    dense: Array
    """(n, D) numbers, times as eight of them, and the mean label of each category's level; nan is missing."""
    levels: Levels
    """(n, categories) the buckets of the levels: what `learn` needs when labels come later."""
    tokens: SparseRows
    """Hashed tokens, pairs of categories among them."""
    plain: SparseRows
    """The same without pairs."""


class Encoder(Params):
    """An encoder of numbers, booleans, categories, times and text as numbers, row by row.

    Dense: numbers and booleans as they are; a time as sine and cosine of day, week and year, the hour with its fraction
    (0 to 24) and the weekday (0 is Monday); for each category (hour and weekday of a time are two) the mean label of
    its level, (S + 10 m) / (n + 10), where m is the mean of all labels so far: with classes the share of each class but
    the first, eight at most. Levels are hashed into `levels` buckets a column; a missing value is a level. Times are
    used as written; those with a zone are converted to UTC.

    Tokens: a number's running z-score, clipped at 3; two bins of it, floor(2 z) and floor(2 log2 |x|) with its sign, 1
    each, nan in a bin of its own; a category's level 1; distinct words, bigrams and the whole of a text, each
    1 / sqrt(their number); pairs of categories 1. Hashed to 32 bits, see `nystream.data.encoding.hashing`.

    Blocks do not change the result, the encoding of a row does not use its own label, and a row of weight 0 changes
    nothing. Memory is fixed: nothing grows with rows or levels.

    Parameters
    ----------
    levels : int, default 8192
        Buckets for each category's levels, a power of 2; fewer where many categories would take more than `max_bytes`.
    pairs : int, default 64
        Pairs of categories, the first ones.
    names : int, default 256
        Names of levels kept for each category, so that explanations can name them, a power of 2; four times as many
        of words.
    fill : bool, default False
        Whether a missing number is the mean of its column so far in a dense row, and a missing time the middle of day
        and week, in no season; else they are nan.
    max_bytes : int, default 2^24
        Limit of the statistics of levels.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.data.encoding import Encoder
    >>> encoder = Encoder()
    >>> encoder.start({"size": "number", "shop": "category"}, outputs=1)
    >>> table = {"size": [1.0, 2.0, 2.5], "shop": np.array(["a", "b", "a"], dtype=object)}
    >>> encoder.run(table, [3.0, 5.0, 0.0]).dense.round(2).tolist()
    [[1.0, 0.0], [2.0, 3.0], [2.5, 3.91]]
    >>> encoder.encode({"shop": np.array(["a", "new"], dtype=object)}).dense.round(2).tolist()
    [[nan, 2.47], [nan, 2.67]]
    """

    kinds_: dict[str, str]
    outputs_: int
    classes_: bool
    moments_: Array
    """(numbers, 3) weight, mean and sum of squares around it."""
    levels_: Array
    """(categories, buckets, 1 + k) weight and sums of labels of each level."""
    totals_: Array
    """(1 + k,) the same of all rows."""
    places_: Places
    """(columns,) where the numbers of a column begin in a dense row."""
    means_: Places
    """(k, categories) where the mean labels are."""
    names_: list[FrequentNames | None]

    def __init__(
        self, levels: int = 2**13, *, pairs: int = 64, names: int = 256, fill: bool = False, max_bytes: int = 2**24
    ) -> None:
        self.levels = at_least("levels", levels, FEWEST_LEVELS)
        self.pairs = at_least("pairs", pairs, 0)
        self.names = at_least("names", names, 1)
        self.fill = fill
        self.max_bytes = at_least("max_bytes", max_bytes, 1)
        if levels & (levels - 1) or levels > 2**16:
            raise ValueError(f"levels must be a power of 2 up to {2**16}, got {levels!r}")
        if names & (names - 1):
            raise ValueError(f"names must be a power of 2, got {names!r}")

    def start(self, kinds: Mapping[str, str], outputs: int, *, classes: bool = False) -> None:
        """Start with columns by name and kind, in the order of encoding, and so many targets (0: none) or classes."""
        if not kinds:
            raise ValueError("kinds is empty: at least one column is needed")
        self.kinds_, self.outputs_, self.classes_ = {}, at_least("outputs", outputs, 0), classes
        self.moments_ = np.zeros((0, 3))
        k = self._sums
        self.levels_, self.totals_ = (
            np.zeros((0, self._buckets(_bucket_bytes(kinds, outputs, classes)), 1 + k)),
            np.zeros(1 + k),
        )
        self.places_, self.means_ = np.zeros(0, dtype=np.int64), np.zeros((k, 0), dtype=np.int64)
        self.names_ = []
        self.widen(kinds)

    @property
    def width(self) -> int:
        """Columns of a dense row."""
        return sum(WIDTHS.get(kind, 0) for kind in self.kinds_.values()) + self.means_.size

    def width_of(self, outputs: int) -> int:
        """Return the `width` for this number of targets or classes."""
        sums = min(outputs - 1, MOST_CLASSES) if self.classes_ else outputs
        return self.width + (sums - len(self.means_)) * self.means_.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        arrays = sum(v.nbytes for v in self.__dict__.values() if isinstance(v, np.ndarray))
        return arrays + sum(names.nbytes for names in self.names_ if names is not None)

    # -- rows --------------------------------------------------------------------------------------------------------
    def columns(self, content: Mapping[str, Any] | Batch, n: int | None = None) -> Batch:
        """Check and return the typed columns of a block."""
        return content if isinstance(content, Batch) else Batch(content, self.kinds_, n)

    def encode(self, content: Mapping[str, Any] | Batch) -> Encoding:
        """Return the encoding of the rows by the present statistics."""
        columns = self.columns(content)
        with self._alone:
            return _encoding(*self._compiled.encode(columns.arrays, columns.n))

    def run(self, content: Mapping[str, Any] | Batch, Y: Any, weights: Array | None = None) -> Encoding:
        """Encode, observe and learn the rows one by one; Y (n,) or (n, K), or class numbers.

        The same as `encode`, `observe` and `learn` called row by row.
        """
        columns = self.columns(content)
        with self._alone:
            return _encoding(*self._compiled.run(columns.arrays, columns.n, self._labels(Y), weights))

    def observe(self, content: Mapping[str, Any] | Batch, weights: Array | None = None) -> None:
        """Update scales of numbers and names of levels by rows, without labels."""
        columns = self.columns(content)
        self._compiled.observe(columns.arrays, columns.n, weights)

    def learn(self, levels: Levels, Y: Any, weights: Array | None = None) -> None:
        """Learn the labels of rows from the `levels` of their encoding."""
        self._compiled.learn(np.ascontiguousarray(levels), self._labels(Y), weights)

    # -- more classes, more columns ----------------------------------------------------------------------------------
    def grow(self, outputs: int) -> None:
        """Add classes, exactly as if they had been known. Their columns come last in a dense row."""
        self.outputs_ = outputs
        new = self._sums - len(self.means_)
        if new > 0:
            S = self.means_.shape[1]
            fresh = self.width + np.arange(new * S, dtype=np.int64).reshape(new, S)
            self.means_ = np.vstack([self.means_, fresh])
            self.levels_ = np.pad(self.levels_, ((0, 0), (0, 0), (0, new)))
            self.totals_ = np.pad(self.totals_, (0, new))
            self._bind()

    def widen(self, kinds: Mapping[str, str]) -> None:
        """Add columns by name with their kinds, missing in all rows so far. They come last in a dense row."""
        for name, kind in kinds.items():
            if not isinstance(name, str):
                raise ValueError(f"names of columns must be text, got {name!r}")
            if name in self.kinds_:
                raise ValueError(f"there is a column {name!r} already")
            one_of(f"the kind of column {name!r}", kind, BATCH_KINDS)
        before = self.width
        numbers = sum(kind in ("number", "boolean") for kind in kinds.values())
        slots = sum(2 * (kind == "time") + (kind == "category") for kind in kinds.values())
        widths = [WIDTHS.get(kind, 0) for kind in kinds.values()]
        places = before + np.concatenate([[0], np.cumsum(widths[:-1], dtype=np.int64)]).astype(np.int64)
        k = len(self.means_)
        fresh = before + sum(widths) + np.arange(k * slots, dtype=np.int64).reshape(k, slots)
        self.kinds_ = {**self.kinds_, **kinds}
        self.places_ = np.concatenate([self.places_, places])
        self.means_ = np.hstack([self.means_, fresh])
        self.moments_ = np.vstack([self.moments_, np.zeros((numbers, 3))])
        self.levels_ = np.concatenate([self.levels_, np.zeros((slots, *self.levels_.shape[1:]))])
        for kind in kinds.values():
            size = {"category": self.names, "text": NAMED_WORDS * self.names}.get(kind)
            self.names_.append(None if size is None else FrequentNames(size))
            if self.names_[-1] is not None:
                self.names_[-1].start()
        self._bind()

    # -- names of encoded columns -----------------------------------------------------------------------------------
    def dense_names(self) -> list[tuple[str, str]]:
        """Return, for each dense column, the table's column and its part: "value", a part of a date, a mean."""
        out = [("", "")] * self.width
        slots: list[tuple[str, str]] = []
        for (name, kind), place in zip(self.kinds_.items(), self.places_.tolist(), strict=True):
            if kind in ("number", "boolean"):
                out[place] = (name, "value")
            elif kind == "time":
                out[place : place + len(TIME_NUMBERS)] = [(name, part) for part in TIME_NUMBERS]
                slots += [(name, "hour"), (name, "weekday")]
            elif kind == "category":
                slots.append((name, "level"))
        for j, row in enumerate(self.means_.tolist()):
            label = f"share of class {j + 1}" if self.classes_ else f"mean of target {j}"
            for (name, part), place in zip(slots, row, strict=True):
                out[place] = (name, f"{label} by {part}")
        return out

    def token_names(self) -> dict[int, tuple[str, str]]:
        """Return table column and level of nameable tokens: numbers, frequent levels and frequent words."""
        out: dict[int, tuple[str, str]] = {}
        for (name, kind), names in zip(self.kinds_.items(), self.names_, strict=True):
            if kind in ("number", "boolean"):
                out[hash_name(name)] = (name, "value")
            elif names is not None:
                out |= {h: (name, level) for h, level in names.by_hash().items()}
        return out

    # -- inner -------------------------------------------------------------------------------------------------------
    @property
    def _sums(self) -> int:
        """k: sums of labels that a level keeps."""
        return max(0, min(self.outputs_ - 1, MOST_CLASSES)) if self.classes_ else self.outputs_

    def _buckets(self, each: int) -> int:
        """Return the buckets of a column, where a bucket takes `each` bytes in all columns together."""
        buckets = self.levels
        while buckets > FEWEST_LEVELS and each * buckets > self.max_bytes:
            buckets //= 2
        return buckets

    def most_bytes(self, kinds: Mapping[str, str], outputs: int, *, classes: bool = False) -> int:
        """Return the largest bytes of the statistics of levels, when all counted classes have appeared."""
        each = _bucket_bytes(kinds, outputs, classes)
        return each * self._buckets(each)

    def _labels(self, Y: Any) -> Array:
        labels = np.ascontiguousarray(Y, dtype=np.float64)
        return labels[:, None] if labels.ndim == 1 else labels

    def _bind(self) -> None:
        codes = np.array([CODES[kind] for kind in self.kinds_.values()], dtype=np.int64)
        seeds = np.array([[hash_name(name, i) for i in range(3)] for name in self.kinds_], dtype=np.uint32)
        names = [None if part is None else part.bound for part in self.names_]
        arrays = (self.moments_, self.levels_, self.totals_, self.places_, self.means_)
        self._alone = Lock()  # the compiled encoder has its own scratch memory: one thread at a time
        self._compiled = TableEncoder(codes, seeds, names, *arrays, self.classes_, self.pairs, self.fill)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "kinds_" in state:
            self._bind()


def _bucket_bytes(kinds: Mapping[str, str], outputs: int, classes: bool) -> int:
    """Return the bytes of one bucket in every category."""
    slots = sum(2 * (kind == "time") + (kind == "category") for kind in kinds.values())
    return 8 * (1 + (MOST_CLASSES if classes else outputs)) * max(slots, 1)


def _encoding(
    dense: Array,
    levels: Levels,
    begin: Places,
    split: Places,
    end: Places,
    indices: npt.NDArray[np.uint32],
    values: Array,
) -> Encoding:
    tokens, plain = (SparseRows(begin, stop, indices, values, TOKENS) for stop in (end, split))
    return Encoding(dense, levels, tokens, plain)
