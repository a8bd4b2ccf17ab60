import numpy as np
from numpy.typing import NDArray

from nystream.runtime.types import Array

def mix_targets(
    G: Array,
    stacked: Array,
    experts: Array,
    members: Array,
    last: int,
    aside: int,
    steady: NDArray[np.int64],
    low: Array,
    high: Array,
    shift: Array,
    scale: Array,
    eta: float,
    share: float,
    T: Array | None = None,
    given: Array | None = None,
    recent: Array | None = None,
    rate: float = 0.0,
    reach: float = ...,
    early: int = 0,
) -> tuple[Array, Array, Array, Array]: ...
def mix_classes(
    G: Array,
    stacked: Array,
    experts: Array,
    members: Array,
    same: Array | None,
    steady: NDArray[np.int64],
    eta: float,
    share: float,
    first: int = 0,
    T: Array | None = None,
    labels: Array | None = None,
    given: Array | None = None,
    recent: Array | None = None,
    rate: float = 0.0,
) -> tuple[Array, Array]: ...
