from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nystream.runtime.types import Array

Ranks: TypeAlias = tuple[
    bool, float, Array, Array, Array, Array, NDArray[np.int64], NDArray[np.int64], Array
]  # alike, bar, kept, order, ranks, logs, began, marks, sums
Rules: TypeAlias = tuple[Array, int, float, float, int, float]  # bets, ups, fall, low bar, least, floor

def see(
    losses: Array,
    first: int,
    falls_from: int,
    alert_from: int,
    alert_to: int,
    alarm: Ranks,
    given: Rules,
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
    alarms: tuple[Ranks, Ranks, Ranks],
    given: Rules,
    falls_from: int,
    alert_from: int,
    alert_to: int,
    losses: Array,
    said: Array,
) -> tuple[float, int, float, int] | None: ...
