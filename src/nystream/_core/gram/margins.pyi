import numpy as np
import numpy.typing as npt

from nystream._core.kernel_rows import KernelRows
from nystream._core.linalg.cholesky import Triangle

_Array = npt.NDArray[np.float64]

def margin_rounds(
    margins: _Array, G: _Array, own: _Array, y: _Array, ridge: float, trace: float, b: float
) -> tuple[npt.NDArray[np.int8], _Array, _Array]: ...

class QuietMargins:
    learns: bool
    def __init__(
        self,
        form: KernelRows,
        points: _Array,
        triangle: Triangle,
        scale: _Array,
        f: _Array,
        outside: _Array,
        signs: _Array,
        ridge: float,
        b: float,
        largest: float,
    ) -> None: ...
    def one(self, x: object, y: object) -> float | None: ...
    def alone(self, x: _Array) -> _Array: ...
