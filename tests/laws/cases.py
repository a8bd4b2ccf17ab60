"""What laws are tried on: variants of learners, and small streams with labels of their kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.testing import assert_array_equal
from safetensors.numpy import load

from nystream.learners.base import Learner

CLOSE = {"rtol": 1e-8, "atol": 1e-9}  # blocks and rows do the same arithmetic in another order
LIMITS = ("budget", "max_atoms", "max_points", "landmarks", "window")
"""Parameters that bound `size`."""


@dataclass(frozen=True)
class Rows:
    """A stretch of a stream; w is None where rows have no weights."""

    X: np.ndarray
    Y: np.ndarray
    w: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, part: slice | np.ndarray) -> Rows:
        return Rows(self.X[part], self.Y[part], None if self.w is None else self.w[part])

    @property
    def learnt(self) -> int:
        """Rows that count: those of weight 0 do not."""
        return len(self) if self.w is None else int(np.count_nonzero(self.w))

    def blocks(self, size: int) -> Iterator[Rows]:
        for i in range(0, len(self), size):
            yield self[i : i + size]

    def wider(self, columns: np.ndarray) -> Rows:
        """The same rows with more columns (n, k)."""
        return Rows(np.hstack([self.X, columns]), self.Y, self.w)

    def into(self, learner: Learner) -> np.ndarray:
        """Learnt as one block."""
        return learner.run(self.X, self.Y, self.w)

    def step_into(self, learner: Learner) -> np.ndarray:
        """Learnt one by one."""
        weights = [1.0] * len(self) if self.w is None else self.w.tolist()
        return pad([learner.step(x, y, w) for x, y, w in zip(self.X, self.Y, weights, strict=True)])


@dataclass(frozen=True)
class Variant:
    """A learner with its settings, and how many targets and whether weights its stream has.

    indifferent : why weights above 0 all say the same to it, where they do.
    """

    pattern: Learner
    targets: int = 1
    weights: bool = False
    indifferent: str = ""

    def make(self) -> Learner:
        """A fresh learner."""
        return self.pattern.clone()

    def stream(self, n: int = 90, d: int = 3, seed: int = 0) -> Rows:
        """A nonlinear stream with labels of the learner's kind, repeats of earlier points, and a class that is late."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (n, d))
        X[n // 2 : n // 2 + 5] = X[:5]
        f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
        w = rng.choice([0.0, 0.5, 1.0, 1.0, 2.5], size=n) if self.weights else None
        if self.pattern.labels == "sign":
            return Rows(X, np.where(f >= 0, 1.0, -1.0), w)
        if self.pattern.labels == "class":
            two = self.pattern.classes == 2
            Y = np.digitize(f, [0.0] if two else [-0.3, 0.3]).astype(float)
            Y[: n // 5] = np.minimum(Y[: n // 5], 0.0 if two else 1.0)
            return Rows(X, Y, w)
        Y = 0.5 * f
        return Rows(X, Y if self.targets == 1 else np.column_stack([Y, *(X[:, : self.targets - 1].T ** 2 - 0.3)]), w)

    @property
    def kind(self) -> tuple[str, int, bool]:
        """What the laws tell streams apart by."""
        return self.pattern.labels, self.targets, self.weights

    @property
    def multi_output(self) -> bool:
        """Whether the learner takes several real targets."""
        return self.pattern.labels == "real" and self.pattern.multi_output

    @property
    def rebuilds(self) -> bool:
        """Whether everything is computed anew from the rows so far, during a warm-up that is a parameter."""
        return any({"warmup", "recipe"} & set(learner.get_params(deep=False)) for learner in around(self.pattern))

    @property
    def limit(self) -> int | None:
        """What `size` must not exceed, where a parameter says so."""
        return limit_of(self.pattern)


def around(learner: Learner) -> Iterator[Learner]:
    """The learner, and those that it is made around."""
    yield learner
    for value in learner.get_params(deep=False).values():
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Learner):
                yield from around(item)


def limit_of(learner: Learner) -> int | None:
    params = learner.get_params(deep=False)
    own = [params[name] for name in LIMITS if isinstance(params.get(name), int)]
    inner = [item for item in around(learner) if item is not learner]
    if own and not inner:
        return min(own)
    limits = [limit_of(item) for item in inner]
    many = 3 if learner.labels == "class" else 1  # a learner for every class of the stream
    return many * sum(limits) if limits and None not in limits else None


def by_steps(learner: Learner, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Predictions of single steps."""
    return Rows(X, Y).step_into(learner)


def pad(rows: list[Any]) -> np.ndarray:
    """Predictions of single steps as one array; the score of a class unknown at the time is -inf."""
    if np.ndim(rows[0]) == 0:
        return np.array(rows)
    wide = max(len(r) for r in rows)
    return np.array([np.r_[r, np.full(wide - len(r), -np.inf)] for r in rows])


def assert_state(learner: Learner, before: bytes) -> None:
    """The learner is what it was when `before` was its `to_bytes`; the message names what is not."""
    after = learner.to_bytes()
    if after == before:
        return
    old, new = load(before), load(after)
    arrays = [name for name in old.keys() | new.keys() if name not in old or name not in new]
    arrays += [name for name in old.keys() & new.keys() if old[name].tobytes() != new[name].tobytes()]
    headers = [json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]) for content in (before, after)]
    raise AssertionError(f"the state differs in {sorted(arrays) or headers}")


def assert_bits(one: np.ndarray, other: np.ndarray) -> None:
    """Equal to the last bit, shape and kind included."""
    assert one.shape == other.shape
    assert one.dtype == other.dtype
    assert_array_equal(one, other)
