import numpy as np
import numpy.typing as npt

from nystream.runtime.types import Array

_Array = npt.NDArray[np.float64]

def lagged(T: _Array, means: _Array, rates: _Array) -> _Array: ...
def gathered(
    F: Array,
    first: int,
    low: Array,
    high: Array,
    shift: Array,
    scale: Array,
    answers: Array | None = None,
    scaled: bool = False,
    lags: Array | None = None,
    rates: Array | None = None,
    T: Array | None = None,
) -> Array: ...
def all_inside(Y: Array, fences: Array, outside: Array) -> bool: ...
def entered(
    Y: Array, low: Array, high: Array, shift: Array, scale: Array, around: float
) -> tuple[Array, Array, Array]: ...
def coded(Y: Array, classes: int) -> Array: ...
def ridge_rounds(
    F: Array,
    weights: Array,
    Y: Array | None = None,
    given: Array | None = None,
    gram: Array | None = None,
    sums: Array | None = None,
) -> Array: ...
def ridge_systems(
    gram: Array,
    sums: Array,
    new_gram: Array,
    new_sums: Array,
    decay: Array,
    lam: Array,
    start: float,
    rounding: float,
) -> tuple[Array, Array]: ...
def moving_rounds(
    F: Array,
    Y: Array,
    weights: Array,
    gram: Array,
    sums: Array,
    decay: Array,
    lam: Array,
    start: float,
    rounding: float,
    given: Array | None = None,
) -> Array: ...
def softmax_rounds(
    F: Array,
    weights: Array,
    classes: int,
    labels: Array | None = None,
    given: Array | None = None,
    gradient: Array | None = None,
    hessian: Array | None = None,
    curve: Array | None = None,
) -> Array: ...
def softmax_systems(
    weights: Array,
    gradient: Array,
    hessian: Array,
    new_hessian: Array,
    decay: Array,
    lam: Array,
    inputs: int,
    start: float,
    twice: float,
) -> tuple[Array, Array]: ...
