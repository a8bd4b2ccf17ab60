import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

def margin_rounds(
    margins: _Array, G: _Array, own: _Array, y: _Array, ridge: float, trace: float, b: float
) -> tuple[npt.NDArray[np.int8], _Array, _Array]: ...
