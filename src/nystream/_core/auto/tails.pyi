import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

def with_residuals(P: _Array, Y: _Array) -> _Array: ...
def medians(X: _Array) -> _Array: ...
def cuts(
    sizes: _Array, median: _Array, least: _Array, reaches: _Array, part: float
) -> tuple[_Array, _Array, _Array]: ...
def weighed(
    past: _Array,
    first: int,
    last: int,
    y: _Array,
    p: _Array,
    least: _Array,
    reaches: _Array,
    part: float,
    far: float,
    gain: float,
    changed: float,
) -> _Array: ...
