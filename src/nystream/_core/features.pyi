from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.inputs import RowMap

_Array = npt.NDArray[np.float64]

class TaylorFeatures(RowMap):
    dim: int
    degree: int
    centre: _Array
    coef: _Array
    ops: npt.NDArray[np.int32]
    nbytes: int
    def __init__(self, d: int, degree: int, sigma: float, factor: float, centre: _Array) -> None: ...
    def map(self, X: _Array, out: _Array) -> None: ...
    def row(self, x: _Array) -> _Array: ...
    def tail(self, X: _Array, total: float) -> float: ...

class _Angles(RowMap):
    m: int
    gain: float
    def map(self, X: _Array, out: _Array) -> None: ...
    def row(self, x: _Array) -> _Array: ...

class FourierFeatures(_Angles):
    W: npt.NDArray[Any]
    def __init__(self, W: npt.NDArray[Any], gain: float) -> None: ...

class FastfoodFeatures(_Angles):
    def __init__(
        self,
        d: int,
        m: int,
        gain: float,
        signs: _Array,
        order: npt.NDArray[np.int32],
        gauss: _Array,
        scale: _Array,
        short: bool = False,
    ) -> None: ...

def hadamard(A: _Array) -> None: ...
def sincos(u: _Array) -> tuple[_Array, _Array]: ...

SLACK: int

def cosines(X: _Array, W: _Array, m: int, gain: float, out: _Array) -> _Array: ...
def cosine_sums(
    X: _Array, chunks: _Array, block: int, coef: _Array, factors: _Array, gain: float, F: _Array
) -> _Array: ...

class DirectionRounds:
    scale: float
    cum: float
    t: int
    stored: bool
    left: _Array
    coef: _Array
    def __init__(
        self,
        loss: Any,
        K: int,
        step: float,
        t0: float,
        lam: float,
        gain: float,
        own: _Array,
        draw: Callable[[int, _Array], None],
        long: float,
        tiny: float,
    ) -> None: ...
    def run(
        self,
        X: _Array,
        Y: _Array,
        weights: _Array | None,
        F: _Array,
        P: _Array,
        first: int,
        scale: float,
        cum: float,
        t: int,
        room: int,
    ) -> tuple[int, _Array, _Array]: ...
    def one(
        self, x: Any, y: Any, chunks: _Array, rounds: _Array, coef: _Array, scale: float, cum: float, t: int
    ) -> float | None: ...

def absolute_sums(W: _Array, U: _Array, V: _Array) -> _Array: ...
