import numpy as np
from numpy.typing import NDArray

from nystream.runtime.types import Array

def learn(
    X: Array,
    P: Array,
    residuals: Array,
    spread: Array,
    given: Array | None,
    columns: Array,
    level: Array,
    means: Array,
    counts: Array,
    squares: Array,
    sums: Array,
    weights: Array,
    input_squares: Array,
    input_sums: Array,
    input_weights: Array,
    shares: Array,
    window_shares: Array,
    power: Array,
    kept: Array,
    order: Array,
    recent: Array,
    marks: NDArray[np.int64],
) -> None: ...
def quantiles(
    X: Array,
    P: Array,
    spread: Array,
    levels: Array,
    columns: Array,
    level: Array,
    means: Array,
    weights: Array,
    input_weights: Array,
    shares: Array,
    window_shares: Array,
    kept: Array,
    order: Array,
    recent: Array,
    marks: NDArray[np.int64],
) -> Array: ...
