import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

SLACK: int

def cosines(X: _Array, W: _Array, m: int, gain: float, out: _Array) -> _Array: ...
def cosine_sums(
    X: _Array, chunks: _Array, block: int, coef: _Array, factors: _Array, gain: float, F: _Array
) -> _Array: ...
