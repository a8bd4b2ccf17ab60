from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.one_row import OneRow, RowMap
from nystream.runtime.types import Array

ISA: str

def aligned_zeros(*shape: int, dtype: str = "float64") -> Array: ...
def record(totals: Array, columns: Array, Y: Array, R: Array, P: Array, s: Array, weights: Array) -> None: ...

class LDL(OneRow):
    dim: int
    outputs: int
    samples: int
    def __init__(
        self,
        dim: int,
        outputs: int,
        tiles: npt.NDArray[np.float64],
        dinv: Array,
        q: Array,
        totals: Array,
        columns: Array,
        vovk: bool,
        clip: float | None,
    ) -> None: ...
    def step(self, z: Array, y: Array, weight: float = 1.0) -> Array: ...
    def one_kept(self, map: RowMap, x: Any, y: Any, weight: float, kept: Array, at: int) -> float | None: ...
    def step_one(self, z: Array, y: float) -> float: ...
    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array: ...
    def query(self, Z: Array, emit: bool = False) -> tuple[Array, Array]: ...
    def remove(self, Z: Array, Y: Array, weights: Array) -> tuple[int, Array, Array]: ...
