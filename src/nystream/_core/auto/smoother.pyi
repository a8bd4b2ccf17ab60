from nystream.types import Array

NEIGHBOURS: int

def smooth(
    points: Array, targets: Array, kept: int, neighbours: int, X: Array, T: Array | None = None
) -> tuple[Array, int]: ...
