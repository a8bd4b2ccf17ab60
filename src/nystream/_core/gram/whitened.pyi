import numpy as np
import numpy.typing as npt

from nystream._core.kernel_rows import KernelRows
from nystream._core.linalg.cholesky import Triangle

_Array = npt.NDArray[np.float64]

class WhitenedRow:
    def __init__(self, form: KernelRows, triangle: Triangle) -> None: ...
    def hold_row(self, points: _Array, scale: _Array) -> None: ...
    def enter(self, scale: float, own: float, ridge: float) -> None: ...
