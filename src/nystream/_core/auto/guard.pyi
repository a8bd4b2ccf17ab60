import numpy as np
from numpy.typing import NDArray

from nystream.runtime.types import Array

def guarded_targets(
    P: Array,
    labels: Array | None,
    given: Array | None,
    last: Array,
    after: Array,
    steps: Array,
    sums: Array,
    count: NDArray[np.int64],
) -> Array: ...
def guarded_classes(
    P: Array,
    labels: Array | None,
    given: Array | None,
    last: Array,
    after: Array,
    steps: Array,
    counts: Array,
    shares: Array,
    count: NDArray[np.int64],
) -> Array: ...
def parts_of_targets(after: Array, steps: Array, sums: Array) -> Array: ...
def part_of_class(after: Array, steps: Array, shares: Array) -> float: ...
