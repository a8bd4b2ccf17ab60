import numpy as np
import numpy.typing as npt

from nystream._core.gram.whitened import WhitenedRow
from nystream._core.kernel_rows import KernelRows
from nystream._core.linalg.cholesky import Triangle

_Array = npt.NDArray[np.float64]

def margin_rounds(
    margins: _Array, G: _Array, own: _Array, y: _Array, ridge: float, trace: float, b: float
) -> tuple[npt.NDArray[np.int8], _Array, _Array]: ...

class MarginRow(WhitenedRow):
    did: int
    scale: float
    entry: float
    gained: float
    def __init__(self, form: KernelRows, triangle: Triangle, ridge: float, b: float, largest: float) -> None: ...
    def hold(self, points: _Array, scale: _Array, f: _Array, outside: _Array, signs: _Array) -> None: ...
    def one(self, x: object, y: object, trace: float) -> float | None: ...
    def learn(self, points: _Array, scale: _Array, f: _Array, outside: _Array, signs: _Array) -> None: ...
    def alone(self, x: _Array) -> _Array: ...
