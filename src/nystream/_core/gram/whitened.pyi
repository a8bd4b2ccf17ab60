import numpy as np
import numpy.typing as npt

from nystream._core.kernel_rows import KernelRows
from nystream._core.linalg.cholesky import Triangle

_Array = npt.NDArray[np.float64]

class WhitenedRow:
    def __init__(
        self, form: KernelRows, triangle: Triangle, points: _Array | None = None, scale: _Array | None = None
    ) -> None: ...
