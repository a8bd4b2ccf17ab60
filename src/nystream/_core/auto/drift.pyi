from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from nystream.runtime.types import Array

_Ranks: TypeAlias = tuple[
    bool, float, Array, Array, Array, Array, NDArray[np.int64], NDArray[np.int64], Array
]  # alike, bar, kept, order, ranks, logs, began, marks, sums
_Rules: TypeAlias = tuple[Array, int, float, int, float]  # bets, ups, fall, least, floor

def see(
    losses: Array,
    first: int,
    falls_from: int,
    alarm: _Ranks,
    given: _Rules,
    heat: Array,
    left: NDArray[np.int64],
) -> tuple[int, int]: ...
def far(X: Array, where: Array, most: float) -> Array: ...
def losses_of(P: Array, Y: Array, scale: Array | None, least: float) -> Array: ...
def watch(
    row: int,
    P: Array,
    core: Array | None,
    Y: Array,
    heard: Array | None,
    scale: Array | None,
    least: float,
    steady: float,
    X: Array,
    where: Array,
    most: float,
    alarms: tuple[_Ranks, _Ranks, _Ranks],
    given: _Rules,
    falls_from: int,
    losses: Array,
    said: Array,
) -> tuple[float, int, float, int] | None: ...
def fading_shares(
    losses: Array, shares: Array, powers: Array, age: int, rate: float, given: Array | None = None
) -> Array: ...
def mix_fading(
    members: tuple[Array, ...],
    T: Array,
    shares: Array,
    powers: Array,
    age: int,
    rate: float,
    shift: Array,
    scale: Array,
    parts: Array,
    given: Array | None = None,
) -> tuple[Array, Array]: ...
def together(members: tuple[Array | float, ...], n: int, K: int) -> Array: ...
def standardised(V: Array, shift: Array, scale: Array) -> Array: ...
def spread_of_two(P: Array, share: Array, A: Array, a: Array, B: Array, b: Array) -> Array: ...
def placed(X: Array, where: Array, most: float) -> Array: ...
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
