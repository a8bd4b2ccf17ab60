import numpy as np
from numpy.typing import NDArray

from nystream.types import Array

def see(
    losses: Array,
    first: int,
    falls_from: int,
    alert_from: int,
    alert_to: int,
    alike: bool,
    kept: Array,
    order: Array,
    ranks: Array,
    logs: Array,
    began: NDArray[np.int64],
    marks: NDArray[np.int64],
    sums: Array,
    bets: Array,
    ups: int,
    bar: float,
    fall: float,
    low_bar: float,
    least: int,
    floor: float,
    heat: Array,
    left: NDArray[np.int64],
) -> tuple[int, int]: ...
def far(X: Array, where: Array, most: float) -> Array: ...
def fading_shares(
    losses: Array, shares: Array, powers: Array, age: int, rate: float, given: Array | None = None
) -> Array: ...
def few_rounds(
    Z: Array,
    T: Array,
    kept: Array,
    inverse: Array,
    whitened: Array,
    count: int,
    width: float,
    ridge: float,
    given: Array | None = None,
    learn: bool = True,
) -> tuple[Array, int]: ...
