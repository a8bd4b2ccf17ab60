from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.one_row import RowMap

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
