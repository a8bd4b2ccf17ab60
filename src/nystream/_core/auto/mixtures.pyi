from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from nystream._core.kernels import RowPanel
from nystream.runtime.types import Array

_Array = npt.NDArray[np.float64]

def mix_aggregated(
    Q: _Array,
    log_prior: _Array,
    regrets: _Array,
    bound: float,
    eta: float,
    aggregating: bool,
    Y: _Array | None = None,
) -> _Array: ...

class Aggregated(RowPanel):
    def __init__(
        self,
        learners: list[Any],
        groups: list[list[int]],
        told: list[Any],
        log_prior: _Array,
        regrets: _Array,
        bound: float,
        eta: float,
        aggregating: bool,
    ) -> None: ...

def mix_shared(
    Q: _Array, weights: _Array, losses: _Array, bound: float, eta: float, share: float, Y: _Array | None = None
) -> _Array: ...

class Shared(RowPanel):
    def __init__(
        self,
        learners: list[Any],
        groups: list[list[int]],
        told: list[Any],
        weights: _Array,
        losses: _Array,
        bound: float,
        eta: float,
        share: float,
    ) -> None: ...

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
def repeated(labels: Array | None, counts: Array, last: int, times: int) -> tuple[Array, int, int]: ...
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
