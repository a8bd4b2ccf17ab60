import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

def toss(
    G: _Array, own: _Array, c: _Array, u: _Array, ridge: float, eps: float, beta: float, room: int
) -> tuple[_Array, _Array, npt.NDArray[np.bool_]]: ...
