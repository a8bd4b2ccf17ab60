import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

def absolute_sums(W: _Array, U: _Array, V: _Array) -> _Array: ...
