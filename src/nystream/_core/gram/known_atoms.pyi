from typing import Any

from nystream._core.kernel_rows import KernelRows
from nystream._core.linalg.cholesky import Triangle
from nystream._core.linalg.nested import NestedFactor
from nystream._core.one_row import RowMap
from nystream.runtime.types import Array

class KnownAtoms(RowMap):
    m: int
    def __init__(
        self,
        form: KernelRows,
        points: Array,
        nested: NestedFactor,
        largest: float,
        far: float,
        state: dict[str, Any],
        places: object = None,
        sampled: tuple[Triangle, Array, float, float, float] | None = None,
        combined: bool = False,
    ) -> None: ...
