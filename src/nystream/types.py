"""The shapes that parts agree on: arrays and the protocols between layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Change", "FeatureMap", "LabelKind", "Link", "Seed", "Solver", "Stream"]

Array: TypeAlias = npt.NDArray[np.float64]
Seed: TypeAlias = "int | np.random.Generator | None"
LabelKind: TypeAlias = Literal["real", "sign", "class", "none"]
"""What a label may be: any number, -1/+1, 0..K-1, or absent (novelty)."""
Link: TypeAlias = Literal["logistic", "softmax"]
"""What turns raw predictions into probabilities."""


class Change(NamedTuple):
    """A feature map moved: weights become `transport @ weights`; None means that the solver starts again."""

    transport: Array | None


@runtime_checkable
class FeatureMap(Protocol):
    """x -> z(x) in R^dim. `observe` may move the map; it sees x, never y."""

    @property
    def dim(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def settled(self) -> bool: ...
    def clone(self) -> Any: ...
    def start(self, d: int) -> None: ...
    def transform(self, X: Any, out: Array | None = None) -> Array: ...
    def row(self, x: Array) -> Array: ...
    def observe(self, x: Array) -> Change | None: ...


class Solver(Protocol):
    """A linear model in feature space with K outputs: Z (n, dim), Y (n, K) (or (n, 1) class labels), P (n, K)."""

    @property
    def nbytes(self) -> int: ...
    def start(self, dim: int, outputs: int) -> None: ...
    def predict(self, Z: Array) -> Array: ...
    def step(self, z: Array, y: Array, weight: float = 1.0) -> Array: ...
    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array: ...
    def rebase(self, change: Change, dim: int) -> None: ...
    def grow(self, outputs: int) -> None: ...


class Stream(Protocol):
    """An endless or finite source of examples, in blocks of at most `size` rows."""

    def blocks(self, size: int) -> Iterator[tuple[Array, Array]]: ...
