from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.inputs import RowMap
from nystream._core.kernels import KernelRows
from nystream._core.landmarks import WhitenedRow
from nystream._core.linalg import NestedFactor, Triangle
from nystream.runtime.types import Array

_Array = npt.NDArray[np.float64]

class KernelNewton:
    def __init__(
        self,
        loss: Any,
        clip: float,
        lam: float,
        eta: float,
        scale: float,
        *,
        gamma: float = 1.0,
        eps: float = 0.5,
        beta: float = 1.0,
    ) -> None: ...
    def rounds(
        self,
        f: _Array,
        G: _Array,
        own: _Array,
        y: _Array,
        t: int,
        trace: float,
        H: _Array | None = None,
        u: _Array | None = None,
    ) -> tuple[_Array, float, _Array, _Array, _Array, _Array, _Array]: ...

class NewtonRow:
    record: _Array
    own: float
    loss: float
    odds: float
    stored: bool
    entered: bool
    scale: float
    entry: float
    gained: float
    @property
    def full(self) -> bool: ...
    def __init__(
        self,
        newton: KernelNewton,
        form: KernelRows,
        triangle: Triangle,
        largest: float,
        limit: float,
        kors: WhitenedRow | None = None,
    ) -> None: ...
    def hold(self, points: _Array, record: _Array, scale: _Array, v: _Array, n: int) -> None: ...
    def one(self, x: object, y: object, t: int, trace: float, coin: float) -> float | None: ...
    def learn(self, x: _Array) -> None: ...

def toss(
    G: _Array, own: _Array, c: _Array, u: _Array, ridge: float, eps: float, beta: float, room: int
) -> tuple[_Array, _Array, npt.NDArray[np.bool_]]: ...

class KnownAtoms(RowMap):
    m: int
    def __init__(
        self,
        form: KernelRows,
        points: Array,
        nested: NestedFactor,
        largest: float,
        far: float,
        state: dict[str, Any],
        places: object = None,
        sampled: tuple[Triangle, Array, float, float, float] | None = None,
        combined: bool = False,
    ) -> None: ...
