import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

def lagged(T: _Array, means: _Array, rates: _Array) -> _Array: ...
