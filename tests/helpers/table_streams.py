"""Small streams whose rows are tables of all kinds of columns, or sparse, with labels of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from nystream import Auto, Classifier, Encoded, GaussianFilter, SparseLinear, Standardized
from nystream.auto.recipe import Recipe
from nystream.data.batch import Batch
from nystream.data.sparse_rows import SparseRows, as_sparse_rows
from nystream.features import WithConstant
from nystream.learners import PKRR
from nystream.learners.base import Learner
from nystream.learners.translator import Translator

KINDS = {"size": "number", "shop": "category", "when": "time", "note": "text", "open": "boolean", "town": "category"}
SMALL = Recipe((1, 2, 5, 14, 40), landmarks=8, big=16, small=6, ring=20, refresh=15, window=15, metric=30)
LINEAR = Standardized(PKRR(WithConstant(), lam=0.1))
WIDE = 10**6
"""Columns of the sparse rows."""
N = 60


@dataclass(frozen=True)
class Stream:
    """Rows that are sliced as they are, labels and, or None, weights."""

    rows: Batch | SparseRows
    Y: np.ndarray
    w: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.Y)

    def __getitem__(self, part: Any) -> Stream:
        return Stream(self.rows[part], self.Y[part], None if self.w is None else self.w[part])

    def blocks(self, size: int) -> Iterator[Stream]:
        for i in range(0, len(self), size):
            yield self[i : i + size]

    def into(self, learner: Learner) -> np.ndarray:
        return learner.run(self.rows, self.Y, self.w)


def columns(n: int = N, seed: int = 0) -> tuple[Batch, np.ndarray]:
    rng = np.random.default_rng(seed)
    shop = np.array([f"shop {i}" for i in range(9)] + [None], dtype=object)[rng.integers(10, size=n)]
    size = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    when = np.datetime64("2024-03-01", "us") + np.cumsum(rng.integers(1, 300, size=n)).astype("timedelta64[m]")
    words = np.array(["red", "green", "blue", "große"], dtype=object)[rng.integers(4, size=n)]
    town = np.array(["Oslo", "Łódź", ""], dtype=object)[rng.integers(3, size=n)]
    content = {"size": size, "shop": shop, "when": when, "note": words + " thing", "open": rng.random(n) < 0.5}
    effect = np.array([0.0 if s is None else float(s[5:]) for s in shop])
    f = effect + np.nan_to_num(size) + 3 * (words == "red") + 0.1 * rng.normal(size=n)
    return Batch({**content, "town": town}, KINDS), f


def sparse(n: int = N, seed: int = 0) -> tuple[SparseRows, np.ndarray]:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 12, size=n)
    places = 31 * rng.integers(300, size=int(counts.sum())) + (WIDE - 10_000) * rng.integers(2, size=int(counts.sum()))
    values = rng.normal(size=len(places)) + 1.0
    X = csr_array((values, places, np.concatenate([[0], np.cumsum(counts)])), shape=(n, WIDE))
    return as_sparse_rows(X), X @ np.sin(np.arange(WIDE)) + 0.1 * rng.normal(size=n) + 4.0


def one(f: np.ndarray) -> np.ndarray:
    return f


def two(f: np.ndarray) -> np.ndarray:
    return np.column_stack([f, np.cos(f) - f])


def late(f: np.ndarray) -> np.ndarray:
    """Classes of which two come after a third of the rows."""
    return np.minimum(np.digitize(f, [2.0, 5.0, 8.0]), np.where(np.arange(len(f)) < len(f) // 3, 1, 3)).astype(float)


LABELS = {"one target": one, "two targets": two, "late classes": late}
ROWS = {"table": columns, "sparse": sparse}
LEARNERS: dict[str, tuple[Callable[[], Learner], tuple[str, ...], tuple[str, ...]]] = {
    "auto": (lambda: Auto(recipe=SMALL, memory="4MB"), ("table", "sparse"), ("one target", "two targets")),
    "auto without lags": (lambda: Auto(recipe=SMALL, lags=False, memory="4MB"), ("table",), ("one target",)),
    "auto, classes": (
        lambda: Auto(recipe=SMALL, task="classification", memory="4MB"),
        ("table", "sparse"),
        ("late classes",),
    ),
    "encoded": (lambda: Encoded(LINEAR.clone()), ("table",), ("one target", "two targets")),
    "encoded, experts": (
        lambda: Encoded(LINEAR.clone(), experts=True),
        ("table", "sparse"),
        ("one target", "two targets"),
    ),
    "encoded, classes": (
        lambda: Encoded(Classifier(LINEAR.clone()), experts=True),
        ("table", "sparse"),
        ("late classes",),
    ),
    "encoded auto": (lambda: Encoded(Auto(recipe=SMALL, memory="4MB"), experts=True), ("table",), ("one target",)),
    "sparse linear": (lambda: SparseLinear(bits=10), ("sparse",), ("one target", "two targets")),
    "sparse linear, pairs": (lambda: SparseLinear("softmax", pairs=True, bits=10), ("sparse",), ("late classes",)),
    "gaussian filter": (lambda: GaussianFilter(bits=10), ("sparse",), ("one target", "two targets")),
}
"""Learners, the rows they take, and the labels."""

CASES = {
    f"{name}, {rows}, {labels}{', weights' if weights else ''}": (make, rows, labels, weights)
    for name, (make, taken, told) in LEARNERS.items()
    for rows in taken
    for labels in told
    for weights in (False, True)
}


@dataclass(frozen=True)
class Case:
    make: Callable[[], Learner]
    stream: Stream

    @classmethod
    def of(cls, name: str, n: int = N, seed: int = 0) -> Case:
        make, rows, labels, weights = CASES[name]
        X, f = ROWS[rows](n, seed)
        w = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.5], size=n) if weights else None
        return cls(make, Stream(X, LABELS[labels](f), w))


def translators() -> Iterator[tuple[str, Callable[[], Translator], Stream]]:
    """Translators of tables and sparse rows, started, with streams whose classes are known and weights above 0."""
    for rows, read in ROWS.items():
        for told, labels in LABELS.items():
            for weights in (False, True):
                X, f = read()
                Y = labels(f).reshape(N, -1)
                w = np.random.default_rng(1).choice([0.5, 1.0, 2.5], size=N) if weights else None
                classes = told == "late classes"
                outputs = 4 if classes else Y.shape[1]

                def make(rows: str = rows, classes: bool = classes, K: int = outputs) -> Translator:
                    found = Translator(classes, max_bytes=2**18)
                    found.start(KINDS if rows == "table" else None, K)
                    return found

                yield f"{rows}, {told}{', weights' if weights else ''}", make, Stream(X, Y, w)
