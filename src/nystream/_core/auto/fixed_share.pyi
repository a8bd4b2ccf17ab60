from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.row_panel import RowPanel

_Array = npt.NDArray[np.float64]

def mix(
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
