from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.one_row import RowMap

_Array = npt.NDArray[np.float64]

class LandmarkMap(RowMap):
    kernel: Any
    points: _Array
    rotation: _Array
    m: int
    r: int
    def __init__(self, kernel: Any, points: _Array, rotation: _Array, rank: int | None = None) -> None: ...
    def row(self, x: _Array) -> _Array: ...
    def meet(self, x: _Array) -> tuple[_Array, int, float]: ...
    def map(self, X: _Array, out: _Array) -> None: ...

class Sight:
    X: _Array
    near: npt.NDArray[np.intp]
    gap: _Array
    n: int
    def __init__(self, map: LandmarkMap, X: _Array) -> None: ...
    def far(self, start: int, eps: float) -> int: ...
    def features(self, start: int, stop: int) -> _Array: ...
    def moved(self, q: int, start: int) -> None: ...
