import numpy as np
from numpy.typing import NDArray

from nystream.runtime.types import Array

def recalibrated(
    P: Array,
    labels: Array | None,
    given: Array | None,
    squares: Array,
    sums: Array,
    weights: Array,
    shares: Array,
    marks: NDArray[np.int64],
) -> Array: ...
