"""What the speed benchmarks share: the least time of several runs, rows one by one, and the rows of ijcnn1."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

import nystream

__all__ = ["by_rows", "in_turn", "rows_of_ijcnn1", "seconds"]

Key = TypeVar("Key")


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Least processor time of several runs: the one that the rest of the machine disturbed least."""
    return in_turn({"": work}, repeats)[""]


def in_turn(works: dict[Key, Callable[[], object]], repeats: int) -> dict[Key, float]:
    """`seconds` of several works that take turns: what the rest of the machine does then disturbs all alike."""
    taken = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for name, work in works.items():
            start = time.thread_time()
            work()
            taken[name] = min(taken[name], time.thread_time() - start)
    return taken


def by_rows(step: Callable[[np.ndarray, float], float], X: np.ndarray, y: np.ndarray) -> list[float]:
    """Predictions of a stream that comes one row at a time."""
    return [step(row, label) for row, label in zip(X, y.tolist(), strict=True)]


def rows_of_ijcnn1(rows: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Its first rows with labels -1/+1, or made ones of the same width; and which of them these are."""
    folder = Path(os.environ.get("NYSTREAM_DATA", Path(__file__).parents[3] / "shared" / "data"))
    path = folder / "ijcnn1" / "ijcnn1.bz2"
    if path.exists():
        X, y = nystream.streams.libsvm(str(path)).take(rows).load()
        return "ijcnn1", X, np.where(np.asarray(y, dtype=float) > 0, 1.0, -1.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 22)) / 5
    return f"synthetic ({path} not found)", X, np.where(X[:, 0] * X[:, 1] >= 0, 1.0, -1.0)
