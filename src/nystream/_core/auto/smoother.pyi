from typing import Any

from nystream.runtime.types import Array

NEIGHBOURS: int

def smooth(
    points: Array, targets: Array, kept: int, neighbours: int, X: Array, Y: Array | None = None, w: Array | None = None
) -> tuple[Array, int]: ...
def smooth_one(points: Array, targets: Array, kept: int, neighbours: int, x: Any, y: Any) -> float | None: ...
