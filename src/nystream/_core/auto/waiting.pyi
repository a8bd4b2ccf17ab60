from nystream._core.kernel_rows import KernelRows
from nystream.runtime.types import Array

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
