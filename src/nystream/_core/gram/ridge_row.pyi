import numpy as np
import numpy.typing as npt

from nystream._core.gram.whitened import WhitenedRow
from nystream._core.kernel_rows import KernelRows
from nystream._core.linalg.cholesky import Triangle

_Array = npt.NDArray[np.float64]

class RidgeRow(WhitenedRow):
    entry: float
    own: float
    def __init__(
        self, form: KernelRows, triangle: Triangle, ridge: float, largest: float, vovk: bool, clip: float
    ) -> None: ...
    def hold(self, points: _Array, scale: _Array, e: _Array, totals: _Array, columns: _Array) -> None: ...
    def one(self, x: object, y: object) -> float | None: ...
    def learn(self) -> None: ...
