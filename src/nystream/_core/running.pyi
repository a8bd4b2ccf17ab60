import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

def scale_rows(X: _Array, first: _Array, count: _Array, total: _Array, spread: _Array) -> _Array: ...
