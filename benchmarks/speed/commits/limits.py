"""What this machine can do at best: multiply, read memory again and again, call a method of Python. One thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from nystream.runtime.params import Params

__all__ = ["bare_call", "flops", "reading", "state_bytes"]


@cache
def flops() -> float:
    """Of dgemm, a second."""
    A = np.random.default_rng(0).normal(size=(1000, 1000))
    return 2e9 / least(lambda: A @ A, 9)


def reading(size: float) -> float:
    """Seconds for so many bytes, read again and again: from the cache that they fit into."""
    doubles = max(size / 8, 1.0)
    whole = max(4000, int(float(f"{doubles:.1e}")))  # not every size anew
    return seconds_to_read(whole) * doubles / whole


@cache
def seconds_to_read(doubles: int) -> float:
    """So many, by the faster of a product and a maximum."""
    a, empty, times = np.ones(doubles), np.ones(1), max(1, 2_000_000 // doubles)

    def each(work: Callable[[np.ndarray], object], of: np.ndarray) -> float:
        return least(lambda: [work(of) for _ in range(times)], 9) / times

    return min(max(each(work, a) - each(work, empty), 0.0) for work in (lambda v: v.dot(v), np.max))


@cache
def bare_call() -> float:
    """Of a Python method that gets a row and a label."""

    class Bare:
        def step(self, x: np.ndarray, y: float) -> float:
            return 0.0

    step, X, y = Bare().step, np.zeros((10_000, 22)), [0.0] * 10_000
    return least(lambda: [step(row, label) for row, label in zip(X, y, strict=True)], 9) / len(X)


def least(work: Callable[[], object], repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        start = time.thread_time()
        work()
        taken.append(time.thread_time() - start)
    return min(taken)


def state_bytes(learner: Any) -> int:
    """Of the arrays that a model is made of: equal ones once, of triangular matrices the triangle."""
    known = {(a.shape, a.tobytes()): a for a in arrays(learner)}
    return sum(4 * len(a) * (len(a) + 1) if is_triangle(a) else a.nbytes for a in known.values())


def arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Params):
        yield from arrays(value._state())
    elif isinstance(value, dict):
        yield from arrays(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from arrays(part)


def is_triangle(a: np.ndarray) -> bool:
    return a.ndim == 2 and a.shape[0] == a.shape[1] > 1 and not np.triu(a, 1).any()
