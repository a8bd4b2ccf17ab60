import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

def fixed_share(losses: _Array, weights: _Array, eta: float, share: float) -> _Array: ...
