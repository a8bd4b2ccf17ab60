from typing import Any

from nystream._core.kernels import KernelRows
from nystream.auto.views import Parts
from nystream.runtime.types import Array

def seen(X: Array, mean: Array, scale: Array, clip: float | None, T: Array | None = None) -> Array: ...
def with_constant(kernel: KernelRows, X: Array, points: Array) -> Array: ...
def after_constant(X: Array) -> Array: ...
def answered(
    kernel: KernelRows,
    U: Array,
    Y: Array,
    w: Array | None,
    row: int,
    points: Array,
    weights: Array,
    rows: Array,
    at: int,
    P: Array,
) -> int: ...

NEIGHBOURS: int

def smooth(
    points: Array, targets: Array, kept: int, neighbours: int, X: Array, Y: Array | None = None, w: Array | None = None
) -> tuple[Array, int]: ...
def smooth_one(points: Array, targets: Array, kept: int, neighbours: int, x: Any, y: Any) -> float | None: ...

class Asked:
    expert: Any
    def __init__(self, expert: Any) -> None: ...

class AskedRidge(Asked): ...
class AskedWaiting(Asked): ...
class AskedForgetting(Asked): ...
class AskedLinear(AskedForgetting): ...
class AskedWindow(Asked): ...
class AskedChange(Asked): ...

def answers(
    asked: tuple[tuple[Asked, int], ...],
    views: tuple[Parts, ...],
    X: Array,
    beside: Array | None,
    Y: Array,
    w: Array | None = None,
) -> Array: ...
