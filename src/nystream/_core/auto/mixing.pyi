import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

def mix(
    Q: _Array,
    log_prior: _Array,
    regrets: _Array,
    bound: float,
    eta: float,
    aggregating: bool,
    Y: _Array | None = None,
) -> _Array: ...
